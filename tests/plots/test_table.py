from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.errors import QueryError
from roofline.plots.draw import save
from roofline.plots.figure import Axis, Cell, Curve, Figure, Lane, Line, Point, Span
from roofline.plots.table import figure_csv, figure_from_csv
from roofline.report.run import study_result
from roofline.report.study_report import study_figures
from roofline.study.load import list_studies

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\0"), max_size=20)
NUMBER = st.floats(1e-300, 1e300)


@pytest.mark.parametrize("name", list_studies())
def test_every_figure_of_a_study_is_rebuilt_from_its_table(name: str) -> None:
    for figure in study_figures(study_result(name)):
        assert figure_from_csv(figure_csv(figure)) == figure


def test_a_rebuilt_figure_has_the_same_bytes(tmp_path: Path) -> None:
    for figure in study_figures(study_result("rmsnorm-4x512-bf16"))[:2]:
        save(figure, tmp_path / "a.svg")
        save(figure_from_csv(figure_csv(figure)), tmp_path / "b.svg")
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT, st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=4), st.booleans())
def test_any_text_and_number_survives(
    label: str, name: str, at: list[tuple[float, float]], flag: bool
) -> None:
    xs, ys = zip(*at, strict=True)
    figure = Figure(
        key="k",
        title=label,
        subtitle=name,
        x=Axis(label=label, unit="s", low=1.0, high=2.0, scale="linear", ticks=xs),
        scale=Axis(label=name, unit="%", low=0.0, high=ys[0]),
        lines=(Line(key=name, label=label, role="memory", x=xs, y=ys, binding=flag),),
        points=tuple(
            Point(key=name, label=label, x=x, y=y, hollow=flag, detail=((label, name),))
            for x, y in at
        ),
        spans=(Span(key=name, row=0, label=label, low=xs[0], value=ys[0], high=ys[0], tone=name),),
        lanes=(Lane(key=name, row=0, label=label, tone="dma", end=xs[0], working=(0, 7),
                    active=(1, 1000)),),
        curves=(Curve(key=name, row=1, label=label, role="model", x=xs, y=ys, low=xs, high=ys),),
        cells=tuple(
            Cell(key=name, row=at, x=x, y=y, left=y, right=x, bottom=x, top=y, tone=label, value=y,
                 detail=((label, name),))
            for at, (x, y) in enumerate(zip(xs, ys, strict=True))
        ),
        groups=((0, label, name),),
        notes=(name, label),
    )  # fmt: skip
    assert figure_from_csv(figure_csv(figure)) == figure


def test_another_table_is_refused() -> None:
    with pytest.raises(QueryError, match="not the table of a figure"):
        figure_from_csv("a,b\n1,2\n")

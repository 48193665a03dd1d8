from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from roofline.errors import QueryError
from roofline.hardware.load import load_hardware
from roofline.plots.canvas import Drawing
from roofline.plots.draw import draw, save
from roofline.plots.figure import Axis, Figure, Lane, Line, Point, Span
from roofline.plots.labels import Box
from roofline.plots.roofs import roof_lines
from roofline.report.run import study_result
from roofline.report.study_report import study_figures

TRN2 = load_hardware("trn2", lnc=1)
LONG = "fused_attention_forward_with_causal_mask_and_dropout_" * 6
NAMES = ["αβγ ядро", LONG, *(f"kernel {index}" for index in range(18))]


def plane(points: list[tuple[float, float]], names: list[str], low: float, high: float) -> Figure:
    memory = [TRN2.memory_ceiling("theoretical"), TRN2.memory_ceiling("sustained")]
    compute = [TRN2.tensor_peak("bf16"), TRN2.tensor_peak("fp32")]
    rates = [y for _, y in points]
    x = Axis(label="intensity", unit="FLOP/B", low=low, high=high)
    top = max(roof.value for roof in compute)
    return Figure(
        key="roofline",
        title="Roofline",
        subtitle="test",
        x=x,
        y=Axis(label="rate", unit="FLOP/s", low=min(rates) / 4, high=max(top, *rates) * 3),
        lines=roof_lines(compute, memory, x, memory[0]),
        points=tuple(
            Point(key=name, label=name, x=px, y=py, shape=index, tone="vector")
            for index, ((px, py), name) in enumerate(zip(points, names, strict=True))
        ),
        notes=("a note",),
    )


def boxes(drawing: Drawing) -> list[Box]:
    drawing.canvas.canvas.draw()  # settles the key's texts
    renderer = drawing.canvas.canvas.get_renderer()
    return [Box(*text.get_window_extent(renderer).extents) for text in drawing.labels]


def assert_clean(drawing: Drawing, labels: int) -> None:
    found = boxes(drawing)
    assert len(found) >= labels
    width, height = drawing.canvas.canvas.get_width_height()
    for box in found:
        assert box.left >= 0
        assert box.bottom >= 0
        assert box.right <= width
        assert box.top <= height
    for (a, box_a), (b, box_b) in combinations(zip(drawing.labels, found, strict=True), 2):
        assert not box_a.overlaps(box_b), (a.get_text(), b.get_text())


def test_twenty_points_at_one_spot_have_readable_labels() -> None:
    assert_clean(draw(plane([(10.0, 1e12)] * 20, NAMES, 0.01, 1e4)), 20)


def test_extreme_intensities_are_inside_the_figure_and_below_their_roofs() -> None:
    points = [(1e-6, 1e3), (1e6, 7e13)]
    figure = plane(points, ["thin", "thick"], 1e-7, 1e7)
    assert_clean(draw(figure), 2)
    # roofs reach every point
    for x, _ in points:
        assert any(line.x[0] <= x <= line.x[-1] for line in figure.lines)


def test_a_chip_with_one_roof_pair_draws() -> None:
    memory = TRN2.memory_ceiling("theoretical")
    x = Axis(label="intensity", unit="FLOP/B", low=0.1, high=1e3)
    lines = roof_lines([TRN2.tensor_peak("bf16")], [memory], x, memory)
    assert len(lines) == 2
    slope, level = lines
    assert slope.y[1] == pytest.approx(level.y[0])  # they meet at the ridge
    assert slope.x[1] == pytest.approx(TRN2.ridge("bf16"))
    figure = Figure(
        key="roofline",
        title="t",
        subtitle="s",
        x=x,
        y=Axis(label="rate", unit="FLOP/s", low=1e9, high=1e15),
        lines=lines,
    )
    assert_clean(draw(figure), 1)


@pytest.mark.parametrize("spread", [0.0, 0.02, 3.0])
@pytest.mark.parametrize("name", [LONG, "αβγ ядро 核函数 🚀", "</script><b>x", "$x_1^{2}$ \\alpha"])
def test_hostile_names_stay_apart_and_inside(name: str, spread: float) -> None:
    points = [(10.0 ** (spread * (at % 5)), 10.0 ** (9 + spread * (at // 5))) for at in range(20)]
    figure = plane(points, [f"{name} {at}" for at in range(20)], 1e-2, 1e13)
    assert_clean(draw(figure), 20)


@pytest.mark.parametrize("spread", [1e-6, 1e6])
def test_one_point_far_from_every_roof_keeps_its_label(spread: float) -> None:
    figure = plane([(spread, 1e9)], [LONG], spread / 10, max(1e4, spread * 10))
    drawing = draw(figure)
    assert_clean(drawing, 1)
    assert any("fused" in text.get_text() for text in drawing.labels)


def test_every_roof_of_the_article_is_named() -> None:
    figures = study_figures(study_result("rmsnorm-4x512-bf16"))
    for figure in figures[1:3]:
        drawing = draw(figure)
        assert_clean(drawing, 5)
        shown = [text.get_text() for text in drawing.labels]
        for line in figure.lines:
            if line.role == "compute":
                rate = line.label.split("  ")[1]
                assert any(text.endswith(rate) for text in shown), line.label


def test_lanes_and_linear_spans_stay_inside() -> None:
    axis = Axis(label="time", unit="s", low=0.0, high=1e-5, scale="linear")
    busy = tuple(at % 1001 for at in range(256))
    lanes = Figure(
        key="timeline", title="t", subtitle="s", x=axis, groups=((0, LONG, "body"),),
        lanes=tuple(
            Lane(key=f"k{row}", row=row, label="GpSimd, core 1", tone="gpsimd", end=1e-5,
                 working=busy, active=busy)
            for row in range(12)
        ),
    )  # fmt: skip
    assert_clean(draw(lanes), 12)
    steps = Figure(
        key="waterfall", title="t", subtitle="s", x=axis, groups=((0, LONG, "10 µs"),),
        spans=tuple(
            Span(key=f"k{row}", row=row, label="work beyond minimum", low=row * 1e-6,
                 value=row * 1e-6, high=(row + 1) * 1e-6, tone="engines", text="1 µs", share="10 %")
            for row in range(7)
        ),
    )  # fmt: skip
    assert_clean(draw(steps), 7)


def ladder(rows: int) -> Figure:
    return Figure(
        key="ladder",
        title="Where the time goes",
        subtitle="test",
        x=Axis(label="time", unit="s", low=1e-9, high=1e-2),
        spans=tuple(
            Span(
                key=f"r{row}",
                row=row,
                label="device execution",
                low=1e-6,
                value=2e-6,
                high=3e-6,
                tone="device-start",
                text="1 µs to 3 µs",
                share="94 to 98 %",
            )
            for row in range(rows)
        ),
        groups=((0, LONG, "overhead:host"),),
    )


def test_rows_of_a_ladder_stay_apart() -> None:
    assert_clean(draw(ladder(12)), 12)


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    figure = plane([(1.0, 1e9), (2.0, 1e10)], ["one", "two"], 0.01, 1e4)
    for name in ("a", "b"):
        save(figure, tmp_path / f"{name}.{suffix}")
    first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert len(first) > 1000


def test_drawing_leaves_no_global_state() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    draw(ladder(2))
    assert dict(mpl.rcParams) == before


def test_drawing_needs_no_pyplot(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from roofline.plots.draw import save
from roofline.plots.figure import Axis, Figure, Span

span = Span(key="a", row=0, label="b", low=1.0, value=1.0, high=1.0, tone="bytes")
axis = Axis(label="t", unit="s", low=0.1, high=10.0)
save(Figure(key="k", title="t", subtitle="s", x=axis, spans=(span,)), Path(sys.argv[1]))
print("matplotlib.pyplot" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.svg")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


def test_an_unknown_format_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="known: svg, png, pdf"):
        save(ladder(1), tmp_path / "a.gif")


def test_a_description_is_plain_data_that_rebuilds_the_lines() -> None:
    figure = plane([(1.0, 1e9)], ["one"], 0.01, 1e4)
    data = figure.to_dict()
    assert tuple(Line(**line) for line in data["lines"]) == figure.lines
    assert tuple(Point(**point) for point in data["points"]) == figure.points


def test_a_glyph_the_font_lacks_is_no_fault(tmp_path: Path) -> None:
    save(plane([(1.0, 1e9)], ["核 kernel 🚀"], 0.01, 1e4), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000

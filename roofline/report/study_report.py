"""The files of a study's report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roofline.plots.describe import describe_engines, describe_roofline
from roofline.plots.describe_capture import (
    describe_timeline,
    describe_utilization,
    describe_waterfall,
)
from roofline.plots.describe_ladder import describe_ladder
from roofline.plots.describe_sizes import describe_sizes
from roofline.plots.describe_trace import trace_figures
from roofline.plots.figure import Figure
from roofline.report.blocks import Block, FigureBlock
from roofline.report.data import points_csv, study_json, to_json
from roofline.report.html import to_html
from roofline.report.markdown import to_markdown
from roofline.report.panels import panel_of
from roofline.report.study_blocks import study_blocks
from roofline.report.write import fill_report, write_folder
from roofline.study.evaluate import StudyResult
from roofline.study.views import capture_view

__all__ = ["study_figures", "study_page", "write_study_report"]


def study_figures(result: StudyResult) -> tuple[Figure, ...]:
    """Return the descriptions of the figures of a study.

    No engine panel without passes, sizes only where a variant has a series of them.
    """
    if result.trace is not None:
        return trace_figures(result, result.trace)
    figures = [describe_ladder(result), describe_roofline(result)]
    if any(row.placement.passes for row in result.rows):
        figures.append(describe_engines(result))
    sizes = describe_sizes(result)
    views = [capture_view(capture, result.hardware) for capture in result.captures]
    figures += [
        figure
        for figure in (
            sizes,
            describe_timeline(result, views),
            describe_utilization(result),
            describe_waterfall(result, views),
        )
        if figure is not None
    ]
    return tuple(figures)


def write_study_report(result: StudyResult, folder: Path) -> tuple[Path, ...]:
    """Write report.md, report.json, points.csv, figures and index.html; return their paths.

    All files are written, or none.
    """
    figures = study_figures(result)
    blocks = _blocks(result, figures)

    texts = {
        "report.md": to_markdown(blocks),
        "report.json": to_json(study_json(result)),
        "points.csv": points_csv(result),
        "index.html": study_page(result, figures, blocks),
    }
    return write_folder(folder, lambda scratch: fill_report(scratch, figures, texts))


def study_page(
    result: StudyResult, figures: Sequence[Figure] | None = None, blocks: Sequence[Block] = ()
) -> str:
    """Return the interactive page of a result, as one text that needs no other file."""
    figures = study_figures(result) if figures is None else figures
    panels = [panel_of(figure, result.hardware) for figure in figures]
    return to_html(result.study.title, blocks or _blocks(result, figures), panels=panels)


def _blocks(result: StudyResult, figures: Sequence[Figure]) -> list[Block]:
    """Return the blocks of the report, without figures that this result has not."""
    stems = {figure.key for figure in figures}
    return [
        block
        for block in study_blocks(result)
        if not isinstance(block, FigureBlock) or block.stem in stems
    ]

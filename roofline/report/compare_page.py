"""The page of a comparison: everything it says, with interactive figures, in one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline import __version__
from roofline.analysis.comparison import Comparison, Pair
from roofline.analysis.observed import Observed
from roofline.clocks import clock_label
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.plots.compare import describe_compare, plane_hardware
from roofline.plots.compare_bars import compare_bars
from roofline.plots.figure import Figure
from roofline.report.blocks import Block, Bullets, Heading, Paragraph, Table
from roofline.report.compare_blocks import (
    change_text,
    detail,
    figure_blocks,
    headlines,
    kernels,
    overview,
    runs_of,
    sources,
    title,
    value_text,
)
from roofline.report.compare_words import weight
from roofline.report.hardware_card import hardware_card
from roofline.report.html import to_html
from roofline.report.panels import panel_of

__all__ = ["compare_figures", "compare_page"]

_MOST_REASONS = 12  # pairs with their reasons in words; the tables hold all

_CONVENTIONS = """
faster and slower are said of the new run; ratios are above one in the direction named
times are compared on the first clock both sides have; different clocks are not compared
noise: half-width of Welch's 95 % interval of repeats, else the spread a source states; (?): unknown
a window is the busy times of all resources, less what several at once hide, plus waiting
so the changes of work, overlap and waiting add up to the difference
at most: what one reason alone can be worth, beside those that add up
an engine is busy while it computes; DMA while a packet is in flight; cores are merged
FLOP: a multiply-add is 2, any other operation on an element 1
bytes: measured by counters, minimal (each input and output once), dispatched (sum over operators)
bytes of both sides are counted the same way
element-pass: one element through a lane of Vector, Scalar or GpSimd by one instruction
"""


def compare_figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Return the figures a comparison has data for: reasons, roofline, engines, parts."""
    plane = describe_compare(comparison)
    bars = compare_bars(comparison)
    if plane is None:
        return bars
    return (plane, *bars)


def compare_page(
    comparison: Comparison, gate: Sequence[Block] = (), figures: Sequence[Figure] | None = None
) -> str:
    """Return the interactive page of a comparison, as one text that needs no other file.

    ``gate`` is what a gate says; it stands first.
    """
    figures = compare_figures(comparison) if figures is None else figures
    machines = _machines(comparison)
    hardware = plane_hardware(comparison)
    panels = [panel_of(figure, hardware) for figure in figures]
    head = title(comparison)
    blocks = [head, *gate, *_sections(comparison, [one.key for one in figures], machines)]
    return to_html(head.text, blocks, panels=panels)


def _sections(
    comparison: Comparison, stems: Sequence[str], machines: Sequence[Hardware]
) -> Iterator[Block]:
    yield Heading(text="What changed")
    yield from headlines(comparison)
    yield Paragraph(text=sources(comparison))
    yield from overview(comparison)
    for versus in comparison.versus:
        if len(versus.pairs) > 1:
            if len(comparison.versus) > 1:
                yield Heading(text=versus.run.label, level=3)
            yield kernels(versus)
    yield from _reasons(comparison, [stem for stem in stems if stem == "change"])
    for stem, words in (
        ("roofline", "On the roofline"),
        ("activity", "Engines"),
        ("parts", "Where the time goes"),
    ):
        if stem in stems:
            yield Heading(text=words)
            yield from figure_blocks([stem])
    yield from _quantities(comparison)
    yield from _findings(comparison)
    yield from _one_sided(comparison)
    yield from _quality(comparison)
    for hardware in machines:
        yield from hardware_card(hardware)
    yield Heading(text="Conventions")
    yield Bullets(items=tuple(_CONVENTIONS.strip().splitlines()))
    yield from _inputs(comparison)


def _reasons(comparison: Comparison, stems: Sequence[str]) -> Iterator[Block]:
    pairs = sorted(
        (p for p in comparison.pairs if p.base is not None and p.new is not None), key=weight
    )
    shown = [pair for pair in pairs if pair.outcome != "same" or len(pairs) == 1][:_MOST_REASONS]
    impossible = tuple(dict.fromkeys(w for p in comparison.pairs for _, w in p.impossible))
    if not shown and not impossible:
        return
    yield Heading(text="Why")
    if impossible:
        yield Paragraph(text="Times that are impossible, and prove an error of measurement:")
        yield Bullets(items=impossible)
    yield from figure_blocks(stems)
    alone = len(comparison.pairs) == 1
    for pair in shown:
        if not alone:
            yield Heading(text=pair.key, level=3)
        yield from detail(pair, alone=alone, table=False)
    if len(pairs) > len(shown) == _MOST_REASONS:
        yield Paragraph(text=f"The {len(shown)} largest changes; the tables below hold all.")


def _quantities(comparison: Comparison) -> Iterator[Block]:
    rows = tuple(
        (
            versus.run.label,
            pair.key,
            delta.label,
            value_text(delta.base, delta.unit),
            value_text(delta.new, delta.unit),
            *change_text(delta),
        )
        for versus in comparison.versus
        for pair in sorted(versus.pairs, key=weight)
        for delta in pair.deltas
    )
    if not rows:
        return
    yield Heading(text="All quantities")
    yield _named_table(
        ("run", "kernel", "quantity", "base", "new", "change", "of base"),
        rows,
        numeric=frozenset({3, 4, 5, 6}),
        note="part: of the whole time on the device; bound: what a resource needs at least. "
        "- is not known.",
    )


def _named_table(
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    numeric: frozenset[int] = frozenset(),
    note: str = "",
) -> Table:
    """Return a table without run and kernel, its first columns, where there is only one."""
    kept = [at for at in range(len(columns)) if at > 1 or len({row[at] for row in rows}) > 1]
    return Table(
        columns=tuple(columns[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in rows),
        numeric=frozenset(number for number, at in enumerate(kept) if at in numeric),
        note=note,
    )


def _findings(comparison: Comparison) -> Iterator[Block]:
    rows = [
        (versus.run.label, pair.key, *line)
        for versus in comparison.versus
        for pair in versus.pairs
        for line in _finding_lines(pair)
    ]
    searched = any(pair.findings_gone is not None for pair in comparison.pairs)
    if not searched:
        return
    yield Heading(text="Findings")
    if not rows:
        yield Paragraph(text="Neither side has findings.")
        return
    yield _named_table(
        ("run", "kernel", "outcome", "finding", "in the base", "in the new run"), rows
    )


def _finding_lines(pair: Pair) -> Iterator[tuple[str, str, str, str]]:
    yield from (("new", id_, "", what) for id_, what in pair.findings_new or ())
    yield from (("gone", id_, what, "") for id_, what in pair.findings_gone or ())
    yield from (("kept", id_, base, new) for id_, base, new in pair.findings_kept or ())


def _one_sided(comparison: Comparison) -> Iterator[Block]:
    rows = []
    for versus in comparison.versus:
        for pair in versus.of("gone", "new"):
            one = pair.base or pair.new
            if one is not None:
                times = ", ".join(
                    f"{value_text(t.seconds, 's')} ({clock_label(t.clock)})" for t in one.timings
                )
                rows.append((versus.run.label, pair.outcome, pair.key, times, one.verdict))
    if rows:
        yield Heading(text="Gone and new kernels")
        yield Table(columns=("run", "outcome", "kernel", "time", "verdict"), rows=tuple(rows))


def _quality(comparison: Comparison) -> Iterator[Block]:
    runs = runs_of(comparison)
    rows = dict.fromkeys(
        (
            run.label,
            file,
            issue.severity,
            issue.what,
            "" if issue.count is None else f"{issue.count:,}",
        )
        for run in runs
        for file, issue in run.issues
    )
    told = {f"{file}: {issue.what}" for run in runs for file, issue in run.issues}
    notes = dict.fromkeys(note for run in runs for note in run.notes if note not in told)
    sides = [one for run in runs for one in run.observed]
    notes |= dict.fromkeys(f"{one.key}: {note}" for one in sides for note in one.notes)
    if not rows and not notes:
        return
    yield Heading(text="Data quality")
    if notes:
        yield Bullets(items=tuple(notes))
    if rows:
        yield Table(
            columns=("run", "capture", "severity", "what", "count"),
            rows=tuple(rows),
            numeric=frozenset({4}),
        )


def _machines(comparison: Comparison) -> list[Hardware]:
    """Return each hardware of the runs, that of the base first."""
    names = dict.fromkeys(
        (one.hardware, one.lnc, one.working_cores) for one in _sides(comparison) if one.hardware
    )
    return [load_hardware(name, lnc=lnc, working_cores=cores) for name, lnc, cores in names]


def _sides(comparison: Comparison) -> Iterator[Observed]:
    for side in ("base", "new"):
        for pair in comparison.pairs:
            one = pair.base if side == "base" else pair.new
            if one is not None:
                yield one


def _inputs(comparison: Comparison) -> Iterator[Block]:
    yield Heading(text="Inputs")
    yield Table(
        columns=("run", "source", "format", "kernels"),
        rows=tuple(
            (run.label, run.source, run.format, str(len(run.kernels)))
            for run in runs_of(comparison)
        ),
        numeric=frozenset({3}),
        note=f"Compared by roofline {__version__}.",
    )

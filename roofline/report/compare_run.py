"""Compare paths: the one function behind ``roofline compare`` and ``roofline baseline check``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.analysis.compare import compare_runs
from roofline.analysis.comparison import Comparison
from roofline.analysis.gate import (
    DEFAULT_RULES,
    Gate,
    Judgement,
    check_gate,
    gate_passes,
    parse_gate,
)
from roofline.analysis.noise import Tolerance, parse_tolerance
from roofline.analysis.observed import Run, split_kernels
from roofline.errors import QueryError
from roofline.report.blocks import Block
from roofline.report.compare_blocks import compare_blocks, gate_blocks
from roofline.report.compare_data import compare_csv, compare_json
from roofline.report.data import to_json
from roofline.report.markdown import to_markdown
from roofline.report.terminal import to_text
from roofline.report.write import fill_report, write_file, write_folder
from roofline.study.observe import observe, observe_all, observe_joined
from roofline.study.options import Options
from roofline.study.run_file import baseline_json

if TYPE_CHECKING:
    from roofline.plots.figure import Figure

__all__ = [
    "WRITES",
    "Compared",
    "check_baseline",
    "compare",
    "compare_observed",
    "save_baseline",
    "write_compared",
]

WRITES = ("md", "json", "csv", "html", "svg", "png", "pdf")
"""What a comparison can be written as; a path without suffix is a folder with every form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A comparison, and what the gate says of it (empty without one)."""

    comparison: Comparison
    gate: Gate | None = None
    judgements: tuple[Judgement, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether no gate was asked for, or nothing stops it."""
        return gate_passes(self.judgements)

    @property
    def gate_blocks(self) -> list[Block]:
        """What the gate says; nothing without one."""
        return [] if self.gate is None else gate_blocks(self.gate, self.judgements)

    @property
    def blocks(self) -> list[Block]:
        """What to say, the gate first."""
        head, *rest = compare_blocks(self.comparison)
        return [head, *self.gate_blocks, *rest]

    def to_text(self, width: int = 80) -> str:
        """Return text for a terminal."""
        return to_text(self.blocks, width=width)

    def to_markdown(self, *, figures: Sequence[str] = ()) -> str:
        """Return Markdown for a pull request; it shows the SVG of ``figures`` beside it."""
        head, *rest = compare_blocks(self.comparison, figures=figures)
        return to_markdown([head, *self.gate_blocks, *rest])

    def to_html(self, figures: Sequence[Figure] | None = None) -> str:
        """Return the interactive page: one text that needs no other file and no network."""
        from roofline.report.compare_page import compare_page

        return compare_page(self.comparison, self.gate_blocks, figures)

    def to_json(self) -> str:
        """Return JSON; docs/schema/compare-1.json describes it."""
        return to_json(compare_json(self.comparison, self.gate, self.judgements))


def compare(
    paths: Sequence[str],
    *,
    options: Options | None = None,
    keys: Mapping[str, str] | None = None,
    noise: str | None = None,
    fail_on: str | None = None,
) -> Compared:
    """Compare everything in ``paths`` with the first of them.

    A single path with several kernels, such as a study of variants, compares them with its first.
    ``noise`` states the spread of single runs (``3%``, ``500ns``), ``fail_on`` the rules of a
    gate. Raises ``RooflineError`` for paths that cannot be read and rules that make no sense.
    """
    gate = None if fail_on is None else parse_gate(fail_on)
    tolerance = None if noise is None else parse_tolerance(noise)
    options = options or Options()
    runs = observe_all(paths, options)
    options.opener.check()
    if len(runs) == 1:
        runs = split_kernels(runs[0])
        if len(runs) == 1:
            raise QueryError(f"{paths[0]}: holds one kernel; give a second path to compare it with")
    return compare_observed(runs, keys=keys, tolerance=tolerance, gate=gate)


def compare_observed(
    runs: Sequence[Run],
    *,
    keys: Mapping[str, str] | None = None,
    tolerance: Tolerance | None = None,
    gate: Gate | None = None,
) -> Compared:
    """Compare runs that were observed, and hold them against a gate."""
    comparison = compare_runs(runs, keys=keys, tolerance=tolerance)
    judgements = () if gate is None else check_gate(comparison, gate)
    return Compared(comparison=comparison, gate=gate, judgements=judgements)


def save_baseline(paths: Sequence[str], output: Path, *, options: Options | None = None) -> Run:
    """Write what ``paths`` hold as a baseline file, and return it; repeats become samples."""
    run = observe_joined(paths, options or Options(), label=output.stem)
    text = baseline_json(run)
    write_file(output, lambda path: path.write_text(text, "utf-8", "backslashreplace", "\n"))
    return run


def check_baseline(
    baseline: str | Path,
    paths: Sequence[str],
    *,
    options: Options | None = None,
    keys: Mapping[str, str] | None = None,
    noise: str | None = None,
    fail_on: str = DEFAULT_RULES,
) -> Compared:
    """Hold what ``paths`` hold against a baseline, or anything else that can be compared.

    Raises ``RooflineError`` for paths that cannot be read and rules that make no sense.
    """
    gate = parse_gate(fail_on)
    tolerance = None if noise is None else parse_tolerance(noise)
    options = options or Options()
    base = observe(str(baseline), options)
    new = observe_joined(paths, options, label="now")
    return compare_observed([base, new], keys=keys, tolerance=tolerance, gate=gate)


def write_compared(compared: Compared, output: Path) -> tuple[Path, ...]:
    """Write a comparison as its suffix says, or all forms into a folder; return what was written.

    Raises ``QueryError`` for an unknown suffix, and for a figure of kernels that have no place on
    a roofline.
    """
    suffix = output.suffix.removeprefix(".").lower()
    if suffix and suffix not in WRITES:
        raise QueryError(f"{output}: unknown format; known: {', '.join(WRITES)}, or a folder")
    texts = {
        "md": lambda: compared.to_markdown(),
        "json": lambda: compared.to_json(),
        "csv": lambda: compare_csv(compared.comparison),
        "html": lambda: compared.to_html(),
    }
    if suffix in texts:
        text = texts[suffix]()
        return (
            write_file(
                output, lambda path: path.write_text(text, "utf-8", "backslashreplace", "\n")
            ),
        )
    if suffix:
        return (_write_plane(compared, output),)
    return write_folder(output, lambda folder: _fill(compared, folder))


def _write_plane(compared: Compared, output: Path) -> Path:
    from roofline.plots.compare import describe_compare
    from roofline.plots.draw import save

    figure = describe_compare(compared.comparison)
    if figure is None:
        raise QueryError(
            f"{output}: no kernel here has FLOP or element-passes, bytes and a time on both "
            "sides: nothing to place on a roofline"
        )
    return write_file(output, lambda path: save(figure, path))


def _fill(compared: Compared, folder: Path) -> None:
    from roofline.report.compare_page import compare_figures

    figures = compare_figures(compared.comparison)
    texts = {
        "compare.md": compared.to_markdown(figures=[figure.key for figure in figures]),
        "compare.json": compared.to_json(),
        "compare.csv": compare_csv(compared.comparison),
        "index.html": compared.to_html(figures),
    }
    fill_report(folder, figures, texts)

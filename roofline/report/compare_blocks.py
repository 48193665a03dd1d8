"""What a comparison says, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.analysis.comparison import Comparison, Delta, Pair, Versus
from roofline.analysis.explain import signed_time
from roofline.analysis.gate import Gate, Judgement, gate_passes
from roofline.analysis.observed import Run
from roofline.plots.labels import shorten
from roofline.report.blocks import Block, Bullets, FigureBlock, Heading, Paragraph, Table
from roofline.report.compare_words import headline, pair_words, weight
from roofline.units import format_count, format_percent, format_si, format_time

__all__ = [
    "change_text",
    "compare_blocks",
    "detail",
    "figure_blocks",
    "gate_blocks",
    "kernels",
    "overview",
    "runs_of",
    "sources",
    "value_text",
]

_MOST_PAIRS = 40  # rows of a table in the text; the JSON and CSV hold every one
_ALONE = ("gone", "new", "refused")  # what has no change to order it by
_MOST_LETTERS = 60  # of a name in a table; its own section, the JSON and the CSV have all of it
_MOST_NAMES = 4  # runs in a title
_MOST_DETAILS = 3  # pairs with a table of their own

_ALTS = {
    "roofline": "Roofline with an arrow from each base to its new point",
    "change": "From the base to the new time: what each reason saves or adds",
    "activity": "Busy time of each engine and DMA, base and new",
    "parts": "What the whole time is, base and new: from the lower bound up",
}
"""What the figures of a comparison show, by their stems."""


def compare_blocks(comparison: Comparison, *, figures: Sequence[str] = ()) -> list[Block]:
    """Return the whole comparison; ``figures`` are the stems of those that stand beside it."""
    blocks: list[Block] = [
        title(comparison),
        *headlines(comparison),
        Paragraph(text=sources(comparison)),
        *overview(comparison),
    ]
    for versus in comparison.versus:
        blocks += _versus(comparison, versus)
    blocks += figure_blocks(figures)
    notes = dict.fromkeys(note for run in runs_of(comparison) for note in run.notes)
    if notes:
        blocks += [Heading(text="Notes"), Bullets(items=tuple(notes))]
    return blocks


def title(comparison: Comparison) -> Heading:
    """Return the names of the runs as the title."""
    labels = [versus.run.label for versus in comparison.versus]
    others = ", ".join(labels) if len(labels) <= _MOST_NAMES else f"{len(labels)} others"
    return Heading(text=f"{comparison.base.label} against {others}", level=1)


def headlines(comparison: Comparison) -> list[Block]:
    """Return what happened in a sentence a run."""
    said = tuple(headline(versus) for versus in comparison.versus)
    return [Paragraph(text=said[0]) if len(said) == 1 else Bullets(items=said)]


def figure_blocks(stems: Sequence[str]) -> list[Block]:
    """Return figures by their stems."""
    return [FigureBlock(stem=stem, alt=_ALTS[stem]) for stem in stems]


def runs_of(comparison: Comparison) -> tuple[Run, ...]:
    """Return the base and the runs against it."""
    return (comparison.base, *(versus.run for versus in comparison.versus))


def sources(comparison: Comparison) -> str:
    """Return where the runs came from, and which of them is the base."""
    runs = runs_of(comparison)
    if len({run.source for run in runs}) == 1:
        where = f"All of {runs[0].source} ({runs[0].format})."
    else:
        where = " ".join(f"{run.label}: {run.source} ({run.format})." for run in runs)
    return f"{where} Base is {runs[0].label}; faster and slower are said of the other."


def _versus(comparison: Comparison, versus: Versus) -> Iterator[Block]:
    several = len(comparison.versus) > 1
    pairs = sorted(versus.pairs, key=weight)
    if len(pairs) > 1:
        if several:
            yield Heading(text=versus.run.label)
        yield kernels(versus, _MOST_PAIRS)
    detailed = [
        pair
        for pair in pairs
        if pair.base is not None and pair.new is not None
        if pair.outcome != "same" or len(pairs) == 1
    ]
    for pair in detailed[:_MOST_DETAILS]:
        if several or len(pairs) > 1:
            yield Heading(text=pair.key)
        yield from detail(pair, alone=len(pairs) == 1)
    impossible = [line for pair in versus.pairs for _, line in pair.impossible]
    if impossible:
        yield Heading(text="Impossible times")
        yield Bullets(items=tuple(dict.fromkeys(impossible)))


def overview(comparison: Comparison) -> list[Block]:
    """Return one line a run, the base first, where there are several with one kernel each."""
    if len(comparison.versus) < 2 or any(len(v.pairs) != 1 for v in comparison.versus):
        return []
    pairs = [versus.pairs[0] for versus in comparison.versus]
    rows = [
        (
            comparison.base.label,
            _one_time(pairs[0], "base"),
            "",
            "base",
            _of_bound(pairs[0], "base"),
        )
    ]
    for versus, pair in zip(comparison.versus, pairs, strict=True):
        rows.append(
            (
                versus.run.label,
                _one_time(pair, "new"),
                _change(pair),
                _short(pair),
                _of_bound(pair, "new"),
            )
        )
    return [
        Table(
            columns=("run", "time", "change", "outcome", "of bound"),
            rows=tuple(rows),
            numeric=frozenset({1, 2, 4}),
            note=f"of bound: the time that nothing can beat, over the time.{_marks(pairs)}",
        )
    ]


def _marks(pairs: Sequence[Pair]) -> str:
    """Explain the marks that stand in the column of outcomes."""
    outcomes = {pair.outcome for pair in pairs}
    return "".join(
        words
        for outcome, words in (
            ("unproven", " (?): no spread of single runs is known; state it with --noise."),
            ("below-noise", " (noise): the difference is below the noise."),
        )
        if outcome in outcomes
    )


def _of_bound(pair: Pair, side: str) -> str:
    one, seconds = (pair.base, pair.base_s) if side == "base" else (pair.new, pair.new_s)
    if one is None or one.bound_s is None or not seconds:
        return "-"
    return format_percent(one.bound_s / seconds)


def kernels(versus: Versus, most: int | None = None) -> Table:
    """Return a line a kernel, the largest changes first; with ``most`` no more than that."""
    pairs = sorted(versus.pairs, key=weight)
    cut = (
        f" {most} of {len(pairs):,} are shown, the largest changes first; the JSON, the CSV and "
        "the page hold all."
        if most is not None and len(pairs) > most
        else ""
    )
    shown = pairs if most is None else _with_presence(pairs, most)
    return Table(
        columns=("kernel", "base", "new", "change", "outcome", "of bound"),
        rows=tuple(
            (
                shorten(pair.key, _MOST_LETTERS),
                _one_time(pair, "base"),
                _one_time(pair, "new"),
                _change(pair),
                _short(pair),
                _of_bound(pair, "new"),
            )
            for pair in shown
        ),
        numeric=frozenset({1, 2, 3, 5}),
        note=f"{cut}{_marks(shown)}".strip(),
    )


def _with_presence(pairs: Sequence[Pair], most: int) -> list[Pair]:
    """Return the largest changes, with kernels that are gone or new in up to half of the rows."""
    alone = [pair for pair in pairs if pair.outcome in _ALONE]
    rest = [pair for pair in pairs if pair.outcome not in _ALONE]
    room = min(len(alone), max(most // 2, most - len(rest)))
    return [*rest[: most - room], *alone[:room]]


def _change(pair: Pair) -> str:
    if pair.change_s is None:
        return ""
    return "=" if pair.outcome == "same" else signed_time(pair.change_s)


def _one_time(pair: Pair, side: str) -> str:
    value = pair.base_s if side == "base" else pair.new_s
    if value is not None:
        return format_time(value)
    one = pair.base if side == "base" else pair.new
    return format_time(one.timings[0].seconds) if one is not None and one.timings else "-"


def _short(pair: Pair) -> str:
    if pair.outcome in ("gone", "new", "unknown"):
        return pair.outcome
    if pair.outcome == "refused":
        return "not compared: clocks differ" if "clock" in pair.refused else "not compared"
    if pair.outcome == "same" or not pair.change_s or pair.ratio is None:
        return "same"
    more = {"below-noise": " (noise)", "unproven": " (?)"}.get(pair.outcome, "")
    verdict = f"; now {pair.new.verdict}" if pair.verdict_changed and pair.new else ""
    return f"{pair.size}{more}{verdict}"


def detail(pair: Pair, *, alone: bool = False, table: bool = True) -> Iterator[Block]:
    """Yield noise, reasons, verdicts and findings of a pair, then its quantities.

    The sentence on a pair that is ``alone`` in its run stands above; ``table`` adds quantities.
    """
    if not alone:
        yield Paragraph(text=pair_words(pair))
    if pair.noise.seconds is not None:
        yield Paragraph(text=f"Noise: {format_time(pair.noise.seconds)} ({pair.noise.source}).")
    if pair.terms and pair.outcome != "same":
        yield Bullets(items=tuple(_term_lines(pair)))
    lines = list(_verdict_lines(pair))
    if lines:
        yield Bullets(items=tuple(lines))
    if table and pair.deltas:
        yield Table(
            columns=("", "base", "new", "change", ""),
            rows=tuple(_row(one) for one in pair.deltas),
            numeric=frozenset({1, 2, 3, 4}),
        )
    if pair.caveats:
        yield Bullets(items=tuple(f"mind: {line}" for line in pair.caveats))


def _term_lines(pair: Pair) -> Iterator[str]:
    for term in pair.terms:
        worth = ""
        if term.seconds is not None:
            worth = f", {'at most ' if term.at_most else ''}{signed_time(term.seconds)}"
            if not term.at_most and pair.change_s:
                worth += f" of {signed_time(pair.change_s)}"
        yield f"{term.what}{worth}: {term.evidence}"


def _verdict_lines(pair: Pair) -> Iterator[str]:
    if pair.base is None or pair.new is None:
        return
    if pair.verdict_changed:
        yield f"verdict: {pair.base.verdict} -> {pair.new.verdict}"
    elif pair.base.verdict == pair.new.verdict != "":
        yield f"verdict: {pair.base.verdict} on both sides"
    elif pair.base.verdict or pair.new.verdict:
        yield f"verdict: {pair.base.verdict or 'unknown'}, then {pair.new.verdict or 'unknown'}"
    for name, found in (("gone", pair.findings_gone), ("new", pair.findings_new)):
        for id_, what in found or ():
            yield f"finding {name}: {id_}, {what}"


def change_text(delta: Delta) -> tuple[str, str]:
    """Return a change and its share of the base; ``=`` and nothing where both are the same."""
    change = delta.change
    if change is None:
        text = ""
    elif delta.unit == "s":
        text = signed_time(change) or "0 s"
    else:
        text = (
            f"{'+' if change > 0 else '-' if change < 0 else ''}"
            f"{value_text(abs(change), delta.unit)}"
        )
    share = "" if delta.relative is None else format_percent(delta.relative, signed=True)
    if change == 0:
        text, share = "=", ""
    return text, share


def _row(delta: Delta) -> tuple[str, str, str, str, str]:
    values = (value_text(value, delta.unit) for value in (delta.base, delta.new))
    return delta.label, next(values), next(values), *change_text(delta)


def value_text(value: float | None, unit: str) -> str:
    """Return a quantity in the SI base ``unit`` as text."""
    if unit == "s":
        return format_time(value)
    if unit in ("1", "B"):
        return format_count(value)
    return format_si(value, unit)


def gate_blocks(gate: Gate, judgements: Sequence[Judgement]) -> list[Block]:
    """Return what a gate says: failures first, every one of them."""
    stopped = [one for one in judgements if not one.ok]
    passed = len(judgements) - len(stopped)
    outcome = "passes" if gate_passes(judgements) else "fails"
    blocks: list[Block] = [
        Heading(text=f"Gate {outcome}"),
        Paragraph(text=f"Fails on: {gate.text}. {len(stopped)} stop it, {passed} do not."),
    ]
    said = [one for one in judgements if not one.ok or one.why]
    if said:
        blocks.append(
            Bullets(
                items=tuple(
                    f"{one.status}: {one.pair.key} ({one.run})"
                    + (f": {one.why}" if one.why else "")
                    for one in said
                )
            )
        )
    return blocks

"""Findings of a report: each kind once, with all that it was found in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from roofline.analysis.finding import Finding
from roofline.report.alike import among, joined, merged
from roofline.report.blocks import Block, Bullets, Entries, Entry, Heading, Table
from roofline.report.study_rows import noun
from roofline.study.evaluate import StudyResult
from roofline.units import format_time

__all__ = ["findings", "top_findings"]

_NAMED: Final = 3  # stakes of a finding that are named in its lines; its table has every one
_TOP: Final = 3  # findings that stand beside the verdicts


def findings(result: StudyResult) -> Iterator[Block]:
    """Yield the findings, the largest time at stake first; nothing where there is none."""
    if result.findings:
        yield Heading(text="Findings")
        yield Entries(items=tuple(_entry(group, result) for group in _groups(result)))


def top_findings(result: StudyResult) -> Iterator[Block]:
    """Yield the first findings in a line each; nothing where there is none."""
    groups = _groups(result)
    if groups:
        more = len(groups) - _TOP
        yield Heading(text="Largest findings, by time at stake", level=3)
        yield Bullets(
            items=(
                *(_line(group, result) for group in groups[:_TOP]),
                *([f"and {more} more kinds of finding below"] if more > 1 else []),
                *(["and one more finding below"] if more == 1 else []),
            )
        )


def _line(group: Sequence[Finding], result: StudyResult) -> str:
    """Return what was seen and what to try: a reader may stop here."""
    remedy = group[0].remedy
    seen = f"{_stake(group[0])}: {_title(group, result)}"
    return f"{seen}. Try: {remedy}" if remedy else seen


def _groups(result: StudyResult) -> list[list[Finding]]:
    """Return findings of one id and wording together; the first of each has most at stake."""
    return among(result.findings, lambda one: f"{one.id}: {one.what}")


def _entry(group: Sequence[Finding], result: StudyResult) -> Entry:
    first = group[0]
    sure = list(dict.fromkeys(one.confidence for one in group))
    about = f"in {first.subject}: " if len(group) > 1 and first.subject else ""
    lines = (
        ("evidence", f"{about}{first.evidence}"),
        ("at stake", f"{_stakes(group)}; confidence {' or '.join(sure)}"),
        ("try", first.remedy),
    )
    return Entry(
        title=_title(group, result),
        lines=tuple((name, text) for name, text in lines if text),
        each=_each(group, result) if len(group) > 1 else None,
    )


def _title(group: Sequence[Finding], result: StudyResult) -> str:
    where = _where(group, result)
    return merged([one.what for one in group]) + (f" ({where})" if where else "")


def _where(group: Sequence[Finding], result: StudyResult) -> str:
    """Name what a finding was found in, or count it where the names are many."""
    names = list(dict.fromkeys(one.subject for one in group if one.subject))
    if len(names) <= 2:
        return joined(names)
    if result.kind != "capture":
        return joined(names) if len(names) <= _NAMED else f"{len(names)} {noun(result)}"
    held = len(result.captures)
    return f"all {held} captures" if len(names) == held else f"{len(names)} of {held} captures"


def _stakes(group: Sequence[Finding]) -> str:
    if len(group) == 1:
        return _stake(group[0])
    if not any(one.at_stake_s for one in group) and len({_stake(one) for one in group}) == 1:
        return _stake(group[0])
    texts = [f"{_stake(one)} in {one.subject}" if one.subject else _stake(one) for one in group]
    more = len(texts) - _NAMED
    if more <= 0:
        return ", ".join(texts)
    return f"{', '.join(texts[:_NAMED])}, and {more} more"


def _stake(one: Finding) -> str:
    if one.at_stake_s is None:
        return "not known"
    if one.at_stake_s == 0:
        return "nothing"
    return f"{'' if one.on_critical_path else 'at most '}{format_time(one.at_stake_s)}"


def _each(group: Sequence[Finding], result: StudyResult) -> Table:
    return Table(
        columns=(
            "capture" if result.kind == "capture" else "in",
            "at stake",
            "confidence",
            "what",
            "evidence",
        ),
        rows=tuple(
            (one.subject, _stake(one), one.confidence, one.what, one.evidence) for one in group
        ),
    )

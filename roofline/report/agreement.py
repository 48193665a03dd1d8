"""Agreement with the vendor's tool as text and as a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roofline.captures.agreement import Agreement, Check, total_checks

__all__ = ["agreement_record", "agreement_text"]


def agreement_record(agreements: Sequence[Agreement]) -> dict[str, Any]:
    """Return the checks of all pairs and their totals, for JSON."""
    return {
        "agrees": all(agreement.agrees for agreement in agreements),
        "pairs": [
            {
                "trace": str(agreement.ours),
                "vendor": str(agreement.theirs),
                "agrees": agreement.agrees,
                "checks": [_record(check) for check in agreement.checks],
            }
            for agreement in agreements
        ],
        "total": [_record(check) for check in total_checks(agreements)],
    }


def agreement_text(agreements: Sequence[Agreement], *, each: bool = False) -> str:
    """Return a table a pair (where ``each``) and one of the totals."""
    lines: list[str] = []
    if each:
        for agreement in agreements:
            lines += [f"{agreement.ours} against {agreement.theirs}"]
            lines += [*_table(agreement.checks), ""]
    agreeing = sum(agreement.agrees for agreement in agreements)
    lines.append(f"{agreeing} of {len(agreements)} traces agree with the vendor's output")
    lines += _table(total_checks(agreements))
    return "\n".join(lines)


def _record(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "compared": check.compared,
        "equal": check.equal,
        "explained": check.explained,
        "agrees": check.agrees,
        "note": check.note,
    }


def _table(checks: Sequence[Check]) -> list[str]:
    width = max((len(check.name) for check in checks), default=0)
    lines = [f"{'':{width}}  compared     equal  explained  unexplained"]
    notes = []
    for check in checks:
        rest = check.compared - check.equal - check.explained
        lines.append(
            f"{check.name:{width}}  {check.compared:8d}  {check.equal:8d}  {check.explained:9d}  "
            f"{rest:11d}"
        )
        notes += [f"  {check.name}: {note}" for note in check.note.split(" | ") if note]
    return lines + notes

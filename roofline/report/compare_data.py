"""A comparison as records: JSON for programs, CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from roofline import __version__
from roofline.analysis.comparison import Comparison, Pair
from roofline.analysis.gate import Gate, Judgement, gate_passes
from roofline.analysis.observed import Observed, Run

__all__ = ["SCHEMA_VERSION", "compare_csv", "compare_json"]

SCHEMA_VERSION: Final = 1
"""Version of the layout; docs/schema/compare-1.json describes it."""


def compare_json(
    comparison: Comparison, gate: Gate | None = None, judgements: Sequence[Judgement] = ()
) -> dict[str, Any]:
    """Return everything a comparison says, with SI base units in the names."""
    data: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kind": "compare",
        "tool": {"name": "roofline", "version": __version__},
        "base": _run(comparison.base),
        "versus": [
            {"run": _run(versus.run), "pairs": [_pair(pair) for pair in versus.pairs]}
            for versus in comparison.versus
        ],
    }
    if gate is not None:
        data["gate"] = {
            "rules": gate.text,
            "passes": gate_passes(judgements),
            "judgements": [
                {
                    "run": one.run,
                    "key": one.pair.key,
                    "status": one.status,
                    "ok": one.ok,
                    "why": one.why,
                }
                for one in judgements
            ],
        }
    return data


def _run(run: Run) -> dict[str, Any]:
    return {
        "label": run.label,
        "source": run.source,
        "format": run.format,
        "kernels": list(run.kernels),
        "notes": list(run.notes),
        "issues": [{"file": file, **asdict(issue)} for file, issue in run.issues],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "key": pair.key,
        "outcome": pair.outcome,
        "words": pair.words,
        "clock": pair.clock,
        "base_s": pair.base_s,
        "new_s": pair.new_s,
        "change_s": pair.change_s,
        "base_over_new": pair.ratio,
        "refused": pair.refused,
        "noise_s": pair.noise.seconds,
        "noise_source": pair.noise.source,
        "base": _side(pair.base),
        "new": _side(pair.new),
        "verdict_changed": pair.verdict_changed,
        "deltas": [
            {
                "id": one.id,
                "label": one.label,
                "unit": one.unit,
                "base": one.base,
                "new": one.new,
                "change": one.change,
                "relative": one.relative,
            }
            for one in pair.deltas
        ],
        "terms": [
            {
                "id": one.id,
                "what": one.what,
                "seconds": one.seconds,
                "at_most": one.at_most,
                "evidence": one.evidence,
            }
            for one in pair.terms
        ],
        "findings_gone": _findings(pair.findings_gone),
        "findings_new": _findings(pair.findings_new),
        "findings_kept": None
        if pair.findings_kept is None
        else [{"id": id_, "base": base, "new": new} for id_, base, new in pair.findings_kept],
        "impossible": [{"side": side, "what": what} for side, what in pair.impossible],
        "caveats": list(pair.caveats),
    }


def _side(one: Observed | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "kernel": one.kernel,
        "config": one.config,
        "hardware": one.hardware or None,
        "lnc": one.lnc,
        "verdict": one.verdict or None,
        "verdict_weak": one.verdict_weak,
        "times": [
            {
                "clock": timing.clock or None,
                "seconds": timing.seconds,
                "n": timing.n,
                "profiled": timing.profiled,
                "samples": list(timing.samples),
            }
            for timing in one.timings
        ],
        "notes": list(one.notes),
    }


def _findings(found: tuple[tuple[str, str], ...] | None) -> list[dict[str, str]] | None:
    return None if found is None else [{"id": id_, "what": what} for id_, what in found]


def compare_csv(comparison: Comparison) -> str:
    """Return one line a quantity of a pair."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("run", "key", "outcome", "clock", "quantity", "unit", "base", "new", "change", "relative")
    )
    for versus in comparison.versus:
        for pair in versus.pairs:
            for one in pair.deltas:
                numbers = (one.base, one.new, one.change, one.relative)
                writer.writerow(
                    (
                        versus.run.label,
                        pair.key,
                        pair.outcome,
                        pair.clock,
                        one.id,
                        one.unit,
                        *("" if value is None else f"{value:.12g}" for value in numbers),
                    )
                )
            if not pair.deltas:
                writer.writerow((versus.run.label, pair.key, pair.outcome, *[""] * 7))
    return text.getvalue()

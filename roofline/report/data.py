"""The machine-readable side of a report: report.json, points.csv and figures.json."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from roofline import __version__
from roofline.analysis.placement import Placement
from roofline.analysis.verdict import Verdict
from roofline.hardware.model import Hardware
from roofline.plots.figure import Figure
from roofline.report.study_untimed import estimate_json, untimed_json
from roofline.report.trace_data import trace_json
from roofline.study.evaluate import StudyResult
from roofline.study.onset import fit_times
from roofline.study.rows import Row

__all__ = ["SCHEMA_VERSION", "figures_json", "points_csv", "study_json", "to_json"]

SCHEMA_VERSION = 1
"""Version of the layout of report.json; docs/schema/report-1.json describes it."""

_DIGITS = 12  # below what differs between machines


def to_json(data: Mapping[str, Any]) -> str:
    """Return JSON text that ends with a line feed; floats are cut to what all machines agree on."""
    # json itself leaves its compiled encoder when it indents
    compact = json.dumps(_clean(data), ensure_ascii=False, allow_nan=False)
    return f"{msgspec.json.format(compact, indent=1)}\n"


def study_json(result: StudyResult) -> dict[str, Any]:
    """Return everything a study report says, with SI base units in the names."""
    study = result.study
    more = {} if result.trace is None else {"trace": trace_json(result.trace)}
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": result.kind,
        "tool": {"name": "roofline", "version": __version__},
        "name": study.name,
        "title": study.title,
        "op": study.op,
        "preset": result.preset,
        "hardware": hardware_json(result.hardware),
        "rows": [_row(row) for row in result.rows],
        "others": {name: [_row(row) for row in rows] for name, rows in result.others.items()},
        "untimed": [untimed_json(one) for one in result.untimed],
        "findings": [
            {
                "id": one.id,
                "subject": one.subject,
                "what": one.what,
                "evidence": one.evidence,
                "at_stake_s": one.at_stake_s,
                "on_critical_path": one.on_critical_path,
                "share": one.share,
                "remedy": one.remedy,
                "confidence": one.confidence,
            }
            for one in result.findings
        ],
        "onset": [
            {
                "hardware": one.hardware,
                "lnc": one.lnc,
                "what": one.what,
                "fixed_s": list(one.fixed_s),
                "pace_s": list(one.pace_s),
                "elements": list(one.elements),
                "source": one.source,
                "quality": one.quality,
            }
            for one in result.onset
        ],
        "fits": [
            {
                "label": fit.label,
                "fixed_s": fit.fixed_s,
                "pace_s": fit.pace_s,
                "r2": fit.r2,
                "n": fit.n,
            }
            for fit in fit_times(result.rows)
        ],
        "conventions": list(result.rows[0].work.conventions) if result.rows else [],
        "sources": {
            key: {"title": one.title, "date": one.date, "url": one.url, "note": one.note}
            for key, one in study.sources.items()
        },
        "notes": list(study.notes),
        "estimates": {key: estimate_json(one) for key, one in result.estimates.items()},
        "same_execution": {shown: list(other) for shown, other in result.same_execution.items()},
        **more,
    }


def hardware_json(hardware: Hardware) -> dict[str, Any]:
    """Return a hardware as it was used: setting and roofs."""
    return {
        "name": hardware.name,
        "chip": hardware.chip,
        "generation": hardware.generation,
        "lnc": hardware.lnc,
        "working_cores": hardware.working_cores,
        "neighbours_busy": hardware.neighbours_busy,
        "memory_ceiling": hardware.memory_ceiling("theoretical").name,
        "vendor_ridge_flop_per_b": hardware.vendor_ridge(),
        "roofs": [
            {
                "name": roof.name,
                "resource": roof.resource,
                "value": roof.value,
                "unit": roof.unit,
                "kind": roof.kind,
                "scope": roof.scope,
                "dtype": roof.dtype,
                "mode": roof.mode,
                "direction": roof.direction,
                "low": roof.low,
                "high": roof.high,
                "quality": roof.quality,
                "source": roof.source,
            }
            for roof in hardware.roofs()
        ],
    }


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict with everything that carries it."""
    return {
        "label": verdict.label,
        "resource": verdict.resource,
        "reason": verdict.reason,
        "busiest": verdict.busiest,
        "utilization": verdict.utilization,
        "mark": verdict.mark,
        "margin": verdict.margin,
        "margin_words": verdict.margin_words,
        "excluded": list(verdict.excluded),
        "stable": verdict.stable,
        "alternatives": [{"moved": what, "label": label} for what, label in verdict.alternatives],
        "weak": verdict.weak,
        "caveats": list(verdict.caveats),
        "missing": list(verdict.missing),
        "explanation": verdict.explanation,
    }


def placement_json(placement: Placement) -> dict[str, Any]:
    """Return a placement: counts, intensities, rates, roof pairs and the lower bound."""
    return {
        "flop": placement.flops,
        "tensor_flop": placement.tensor_flops,
        "element_passes": placement.passes,
        "bytes": dict(placement.bytes),
        "byte_kind": placement.byte_kind,
        "intensity_flop_per_b": {kind: placement.intensity(kind) for kind in placement.bytes},
        "intensity_pass_per_b": {kind: placement.pass_intensity(kind) for kind in placement.bytes},
        "flop_per_s": placement.flops_per_s,
        "pass_per_s": placement.passes_per_s,
        "byte_per_s": {kind: placement.bytes_per_s(kind) for kind in placement.bytes},
        "side": placement.side,
        "side_words": placement.side_words,
        "lower_bound_s": placement.bound_s,
        "lower_bound_binding": placement.bound.binding if placement.bound else "",
        "bound_fraction": placement.bound_fraction,
        "headroom": placement.headroom,
        "vendor_ridge_flop_per_b": placement.vendor_ridge,
        "pairs": [
            {
                "compute": pair.compute.name,
                "memory": pair.memory.name,
                "memory_kind": pair.memory.kind,
                "unit": pair.unit,
                "intensity": pair.intensity,
                "ridge": pair.ridge,
                "side": pair.side,
                "attainable": pair.attainable,
                "achieved": pair.achieved,
                "headline": pair is placement.headline,
            }
            for pair in placement.pairs
            if pair.memory.kind in ("theoretical", "sustained")
        ],
        "notes": list(placement.notes),
    }


def _row(row: Row) -> dict[str, Any]:
    measured = row.measurement
    return {
        "key": row.key,
        "variant": measured.variant,
        "label": measured.label,
        "config": {"params": measured.config.shape, "dtype": measured.config.dtype},
        "calls": measured.calls,
        "time_s": measured.time_s,
        "clock": measured.clock.key,
        "clock_quality": measured.clock_quality,
        "profiled": measured.clock.profiled,
        "n": measured.n,
        "cpu_s": measured.cpu_s,
        "source": measured.source,
        "launches": row.work.launches,
        "host_copy_bytes": row.work.host_copy_bytes,
        "operators": [
            {"name": op.name, "launches": op.count, "time_s": op.time_s} for op in measured.ops
        ],
        "placement": placement_json(row.placement),
        "ladder": [
            {
                "key": rung.key,
                "label": rung.label,
                "low_s": rung.low_s,
                "value_s": rung.value_s,
                "high_s": rung.high_s,
                "what": rung.what,
                "source": rung.source,
                "quality": rung.quality,
            }
            for rung in row.rungs
        ],
        "verdict": verdict_json(row.verdict),
    }


def points_csv(result: StudyResult) -> str:
    """Return one line for each time and hardware: what a spreadsheet wants."""
    rows = [_flat(row) for found in (result.rows, *result.others.values()) for row in found]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _flat(row: Row) -> dict[str, Any]:
    measured, placement = row.measurement, row.placement
    values: dict[str, Any] = {
        "variant": measured.variant,
        "label": measured.label,
        **measured.config.shape,
        "dtype": measured.config.dtype,
        "hardware": placement.hardware.name,
        "lnc": placement.hardware.lnc,
        "time_s": measured.time_s,
        "clock": measured.clock.key,
        "n": measured.n,
        "calls": measured.calls,
        "launches": row.work.launches,
        "flop": placement.flops,
        "element_passes": placement.passes,
        "minimal_bytes": placement.bytes.get("minimal"),
        "dispatched_bytes": placement.bytes.get("dispatched"),
        "measured_bytes": placement.bytes.get("measured"),
        "flop_per_s": placement.flops_per_s,
        "pass_per_s": placement.passes_per_s,
        "byte_per_s": placement.bytes_per_s(placement.byte_kind),
        "flop_per_byte_minimal": placement.intensity("minimal"),
        "flop_per_byte_dispatched": placement.intensity("dispatched"),
        "flop_per_byte_measured": placement.intensity("measured"),
        "pass_per_byte_minimal": placement.pass_intensity("minimal"),
        "lower_bound_s": placement.bound_s,
        "headroom": placement.headroom,
        "side": placement.side,
        "verdict": row.verdict.label,
        "margin": row.verdict.margin,
        "weak": row.verdict.weak,
        "stable": row.verdict.stable,
        "source": measured.source,
    }
    return {name: _cell(value) for name, value in values.items()}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def figures_json(figures: Sequence[Figure]) -> str:
    """Return the drawn data of figures; it rebuilds them."""
    return to_json({"figures": [figure.to_dict() for figure in figures]})


def _clean(value: Any) -> Any:
    """Cut floats, and turn mappings into dicts; NaN is not allowed."""
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"not a finite number in a report: {value}")
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, (dict, Mapping)):
        return {key: _clean(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        if all(type(entry) is str for entry in value):
            return value  # of ten thousand points these are a quarter of a million pairs
        return [_clean(entry) for entry in value]
    return value

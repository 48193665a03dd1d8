"""A recorded folder as text and as a record: launches, shapes, counts, times, problems."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from roofline.analysis.launches import NO_VALUE, launches
from roofline.analysis.trace_findings import trace_findings
from roofline.captures.registry import open_capture
from roofline.errors import RooflineError
from roofline.record.manifest import Manifest, Run, load_manifest
from roofline.record.measured import study_of
from roofline.report.launches import launches_record
from roofline.study.evaluate import work_of
from roofline.study.study import Config, Study
from roofline.units import format_count, format_si, format_time

__all__ = ["recording_record", "recording_text"]

_HEAD = (
    "variant",
    "config",
    "launches",
    "FLOP",
    "minimal",
    "dispatched",
    "call",
    "window",
    "device",
)


def recording_record(folder: str | Path) -> dict[str, Any]:
    """Return everything known of a recorded folder, for JSON: its manifest, launches and work."""
    root, manifest, study = _open(folder)
    runs = []
    for run in manifest.run:
        record: dict[str, Any] = {**msgspec.to_builtins(run), "work": _work(study, run)}
        if run.trace:
            capture = open_capture(root / run.trace)
            result = launches(capture, warmup=0)
            record["trace_launches"] = launches_record(result, trace_findings(capture, result))
        runs.append(record)
    return {**msgspec.to_builtins(manifest), "run": runs}


def recording_text(folder: str | Path) -> str:
    """Return a table of the runs, what a launch is, and what is wrong or missing."""
    root, manifest, study = _open(folder)
    where = manifest.instance_type or manifest.device
    lines = [f"{root}: {manifest.name}, recorded on {where}, {manifest.created}"]
    lines += [f"  missing: {reason}" for reason in manifest.missing]
    if not manifest.complete:
        lines.append("  incomplete: the recording was interrupted; what is here was finished")
    lines += [f"  note: {note}" for note in manifest.notes]
    lines += [f"  skipped: {one.variant}: {one.why}" for one in manifest.skipped]
    table = [_HEAD, *(_row(run, _work(study, run)) for run in manifest.run)]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEAD))]
    lines += [
        "  " + "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]  # fmt: skip
    for run in manifest.run:
        lines += _operators(root, run)
    lines += _references(manifest)
    lines += _meaning(manifest)
    for run in manifest.run:
        for problem in run.problems:
            remedy = f". Try: {problem.remedy}" if problem.remedy else ""
            lines.append(f"  problem [{run.variant}] {problem.id}: {problem.what}{remedy}")
    return "\n".join(lines)


def _open(folder: str | Path) -> tuple[Path, Manifest, Study | None]:
    root = Path(folder)
    root = root if root.is_dir() else root.parent
    manifest = load_manifest(root)
    try:
        study = study_of(root)
    except RooflineError:
        study = None
    return root, manifest, study


def _work(study: Study | None, run: Run) -> Mapping[str, Any] | None:
    """Return the counts of a run from closed forms, ``None`` where there are none.

    No code of the recorded folder is run for it.
    """
    if study is None or not run.dtype:
        return None
    config = Config(params=tuple(run.params.items()), dtype=run.dtype)
    try:
        work = work_of(study, study.variant(run.variant), config)
    except (RooflineError, StopIteration, TypeError):
        return None
    return {
        "flops": work.total_flops,
        "minimal_bytes": work.minimal_bytes,
        "dispatched_bytes": work.dispatched_bytes,
        "launches": work.launches,
        "partial": work.partial,
    }


def _row(run: Run, work: Mapping[str, Any] | None) -> tuple[str, ...]:
    shape = "x".join(map(str, run.params.values()))
    unknown = "unknown"
    return (
        run.variant,
        " ".join(part for part in (shape, run.dtype) if part),
        unknown if run.launches is None else f"{run.launches:g}",
        unknown if work is None else format_count(work["flops"]),
        unknown if work is None else format_si(work["minimal_bytes"], "B"),
        unknown if work is None else format_si(work["dispatched_bytes"], "B"),
        _median(run.host_wall_s),
        _median(run.window_s),
        _median(run.device_s),
    )


def _median(values: list[float]) -> str:
    return format_time(statistics.median(values)) if values else "unknown"


def _operators(root: Path, run: Run) -> list[str]:
    """Return the operators of a run with their shapes and launches a step."""
    if not run.trace:
        return []
    try:
        result = launches(open_capture(root / run.trace), warmup=0)
    except RooflineError as error:
        return [f"  {run.variant}: {error}"]
    steps = max(1, result.attrs["steps_used"])
    lines = [f"  {run.variant}:"]
    for index in range(result.sizes["op"]):
        count = int(result["op_launches"].values[index])
        if not count:
            continue
        device = int(result["op_device_ns"].values[index])
        spent = (
            "" if device == NO_VALUE else f", {format_time(device * 1e-9 / steps)} on the device"
        )
        lines.append(
            f"    {count / steps:g} x "
            f"{result['op_name'].values[index]} {result['op_shapes'].values[index]}".rstrip()
            + spent
        )
    return lines


def _references(manifest: Manifest) -> list[str]:
    """Return how far each result was from its reference."""
    return [
        f"  {run.variant}: {'agrees with' if check.passed else 'DIFFERS from'} {check.callable}: "
        f"largest error {check.max_abs_error:.3g} absolute, {check.max_rel_error:.3g} relative "
        f"(allowed {check.tolerance:.3g})"
        for run in manifest.run
        if (check := run.reference) is not None
    ]


def _meaning(manifest: Manifest) -> list[str]:
    bases = {run.launch_basis for run in manifest.run if run.launch_basis}
    repeats = manifest.schedule.get("repeats", 0)
    clock = f"call is the median of {repeats} unprofiled calls on the host's clock"
    lines = [f"  launches, window and device are per profiled step; {clock}"]
    if bases == {"dispatch"}:
        lines.append(
            "  no device took part: a launch is an operator that the program called, and the times "
            "are this host's, not Trainium's"
        )
    return lines

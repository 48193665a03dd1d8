"""Runs kept in files: baselines that are saved here, and the report.json of a study."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from roofline import __version__
from roofline.analysis.observed import Observed, Run, Timing
from roofline.errors import CaptureError
from roofline.textfile import read_text

__all__ = ["BASELINE_VERSION", "baseline_json", "is_run_file", "load_run"]

BASELINE_VERSION: Final = 1
"""Version of the layout of a baseline; docs/schema/baseline-1.json describes it."""

_HEAD: Final = 4096


def is_run_file(path: Path) -> bool:
    """Whether a path is a baseline or a report.json, by its first bytes."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return b'"schema_version"' in head and (b'"baseline"' in head or b'"study"' in head)


def baseline_json(run: Run) -> str:
    """Return a run as the text of a baseline file; the same run, the same text."""
    data = {
        "schema_version": BASELINE_VERSION,
        "kind": "baseline",
        "tool": {"name": "roofline", "version": __version__},
        "run": msgspec.to_builtins(run),
    }
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def load_run(path: Path) -> Run:
    """Return the run of a baseline or a study's report; raises ``CaptureError`` naming the key."""
    text = read_text(path, CaptureError)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict):
        raise CaptureError(f"{path}: not an object but a {type(data).__name__}")
    kind, version = data.get("kind"), data.get("schema_version")
    if kind not in ("baseline", "study") or version != BASELINE_VERSION:
        raise CaptureError(
            f"{path}: kind {kind!r} of schema version {version!r}; known: baseline and study, "
            f"version {BASELINE_VERSION}"
        )
    try:
        if kind == "study":
            return _from_report(path, data)
        return msgspec.convert(data["run"], Run)
    except (msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
        what = f"no key {error}" if isinstance(error, KeyError) else str(error)
        raise CaptureError(f"{path}: not a {kind} of this version: {what}") from error


def _from_report(path: Path, data: Mapping[str, Any]) -> Run:
    findings = data["findings"]
    return Run(
        label=data["name"],
        source=str(path),
        format="report",
        observed=tuple(_observed(row, data["hardware"], findings) for row in data["rows"]),
    )


def _observed(
    row: Mapping[str, Any], hardware: Mapping[str, Any], findings: list[Mapping[str, Any]]
) -> Observed:
    config = row["config"]
    shape = f"{'x'.join(str(value) for value in config['params'].values())} {config['dtype']}"
    kernel = f"{row['variant']}, {row['label']}" if row["label"] else row["variant"]
    placement, verdict = row["placement"], row["verdict"]
    subjects = {row["variant"], kernel, shape, row["key"]}
    return Observed(
        kernel=kernel,
        config=shape,
        timings=(
            Timing(
                seconds=row["time_s"],
                clock=row["clock"],
                profiled=row["profiled"],
                n=row["n"],
                clock_quality=row["clock_quality"],
            ),
        ),
        calls=row["calls"],
        launches=row["launches"],
        flops=placement["flop"],
        tensor_flops=placement["tensor_flop"],
        passes=placement["element_passes"],
        bytes=dict(placement["bytes"]),
        bytes_per_s=next(
            roof["value"]
            for roof in hardware["roofs"]
            if roof["name"] == hardware["memory_ceiling"]
        ),
        bound_s=placement["lower_bound_s"],
        bound_what="lower bound",
        verdict=verdict["label"],
        verdict_weak=verdict["weak"],
        findings={one["id"]: one["what"] for one in findings if one["subject"] in subjects},
        hardware=hardware["name"],
        lnc=hardware["lnc"],
        working_cores=hardware["working_cores"],
    )

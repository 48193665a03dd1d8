"""Summary JSON and summary text as a Capture without event tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.capture import Capture, Issue
from roofline.captures.identity import identity_issues, summary_identity
from roofline.captures.plainfile import open_plain
from roofline.captures.summary.fields import clean_summary, fraction_scale, logical_cores
from roofline.captures.summary.parse import Record, parse_summary_json, parse_summary_text
from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_summary_json", "open_summary_text", "select_program"]

_LARGEST_BYTES: Final = 256 << 20


def open_summary_json(path: Path, compat: str | None) -> Capture:
    """Return the Capture of a ``summary-json`` file; log lines around the JSON are skipped."""
    return _capture(path, compat, "summary-json", parse_summary_json(path, _text(path)))


def open_summary_text(path: Path, compat: str | None) -> Capture:
    """Return the Capture of a ``summary-text`` file; shell noise around the lines is skipped."""
    return _capture(path, compat, "summary-text", parse_summary_text(path, _text(path)))


def select_program(capture: Capture, program: str) -> Capture:
    """Return the same capture with the summary of another program of the file.

    ``program`` is its key, the start of its key, or its number in ``metadata["programs"]``,
    counted from 1. Raises ``CaptureError`` listing the programs when none or several fit.
    """
    programs: Sequence[Mapping[str, Any]] = capture.metadata.get("programs", ())
    fitting = [
        index
        for index, held in enumerate(programs)
        if program == str(index + 1) or (program and str(held["key"]).startswith(program))
    ]
    exact = [index for index in fitting if programs[index]["key"] == program]
    fitting = exact if len(exact) == 1 else fitting
    if len(fitting) != 1:
        held = ", ".join(f"{index + 1}: {item['key']}" for index, item in enumerate(programs))
        what = "no program" if not fitting else "more than one program"
        raise CaptureError(f"{capture.path}: {what} fits {program!r}; held: {held or 'none'}")
    return _of_program(capture.path, capture.compat, capture.format, programs, fitting[0], ())


def _text(path: Path) -> str:
    with open_plain(path) as file:
        data = file.read(_LARGEST_BYTES + 1)
    if len(data) > _LARGEST_BYTES:
        raise CaptureError(f"{path}: larger than {_LARGEST_BYTES} bytes: not a summary")
    return data.decode("utf-8-sig", "replace")


def _capture(path: Path, compat: str | None, form: str, records: Sequence[Record]) -> Capture:
    programs: list[dict[str, Any]] = [
        {
            "key": record.key,
            "summary": clean_summary(record.fields),
            "repaired": record.repaired,
        }
        for record in records
    ]
    system = [item for item in programs if item["key"].startswith("s_")]
    device = [item for item in programs if not item["key"].startswith("s_")]
    if not device:
        raise CaptureError(
            f"{path}: only a system profile's summary: no device profile in this file"
        )
    times = [float(item["summary"].get("total_time", 0.0)) for item in device]
    return _of_program(path, compat, form, device, times.index(max(times)), system)


def _of_program(
    path: Path,
    compat: str | None,
    form: str,
    programs: Sequence[Mapping[str, Any]],
    index: int,
    system: Sequence[Mapping[str, Any]],
) -> Capture:
    chosen = programs[index]
    summary = dict(chosen["summary"])
    issues = [
        Issue(id="repaired-line", severity="repaired", what=remark) for remark in chosen["repaired"]
    ]
    scale, evidence = fraction_scale(summary)
    if scale != 1.0:
        summary = {
            name: value * scale if name.endswith("_percent") else value
            for name, value in summary.items()
        }
        issues.append(Issue(id="percent-scale", severity="repaired", what=evidence))
    metadata: dict[str, Any] = summary_identity(summary)
    lnc, reason = logical_cores(summary, metadata.get("hardware"))
    if lnc is not None:
        metadata["lnc"] = metadata["cores"] = lnc
        issues.append(Issue(id="inferred-lnc", severity="estimated", what=f"LNC={lnc}: {reason}"))
    metadata |= {"program_key": chosen["key"], "programs": tuple(programs)}
    if system:
        metadata["system"] = tuple(system)
    issues += identity_issues(metadata)
    if len(programs) > 1:
        issues.append(
            Issue(
                id="several-programs",
                severity="info",
                count=len(programs),
                what=(
                    f"the file holds {len(programs)} programs; this is number {index + 1}, "
                    f"{chosen['key'] or 'without key'} (the longest unless selected)"
                ),
            )
        )
    if not summary.get("total_time"):
        issues.append(
            Issue(id="not-executed", severity="missing", what="total_time is 0: it did not run")
        )
    issues.append(
        Issue(
            id="summary-only",
            severity="missing",
            what="totals only: no instructions, DMA packets or timeline",
        )
    )
    return Capture(
        path=path,
        format=form,
        compat=compat,
        metadata=metadata,
        sources={"programs": lambda _: _programs_table(programs)},
        summary_source=lambda: summary,
        quality_source=lambda: tuple(issues),
    )


def _programs_table(programs: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return one row a program, with the summary fields that any of them has."""
    import pyarrow as pa

    rows = [{"program": item["key"], **item["summary"]} for item in programs]
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if any(isinstance(value, str | dict | list) for value in values):
            columns[name] = pa.array(
                [None if value is None else str(value) for value in values], pa.string()
            ).dictionary_encode()
        else:
            whole = all(isinstance(value, int) for value in values if value is not None)
            small = all(abs(value) < 2**63 for value in values if value is not None)
            columns[name] = pa.array(values, pa.int64() if whole and small else pa.float64())
    return pa.table(columns)

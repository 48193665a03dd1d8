"""The launches of a framework trace as text for people and as a record for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from roofline.analysis.finding import Finding
from roofline.analysis.launches import NO_VALUE
from roofline.units import format_count, format_counted, format_time

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["launches_record", "launches_text"]

_NS = 1e-9
_DIMS = ("op", "launch", "step")


def launches_record(result: xr.Dataset, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the result as plain JSON: a list of rows per dimension; unknown values are null."""

    def rows(dim: str) -> list[dict[str, Any]]:
        names = [name for name in result if result[name].dims == (dim,)]
        columns = [result[name].values.tolist() for name in names]
        keys = [str(name).removeprefix(f"{dim}_") for name in names]
        found = [
            dict(zip(keys, map(_known, row), strict=True)) for row in zip(*columns, strict=True)
        ]
        if dim == "step":
            return [
                {"number": number, **row}
                for number, row in zip(result["step"].values.tolist(), found, strict=True)
            ]
        return found

    return {
        "summary": {
            key: _known(value) for key, value in result.attrs.items() if key != "missing_value"
        },
        **{f"{dim}s" if dim != "launch" else "launches": rows(dim) for dim in _DIMS},
        "findings": [asdict(finding) for finding in findings],
    }


def launches_text(result: xr.Dataset, findings: Sequence[Finding]) -> str:
    """Return a table of operators, the heaviest first, the totals and the findings."""
    head = ("operator", "shapes", "calls", "launches", "host", "window", "device")
    table = [head]
    order = sorted(
        range(result.sizes["op"]),
        key=lambda index: (
            -int(result["op_window_ns"].values[index]),
            -int(result["op_host_ns"].values[index]),
        ),
    )
    for index in order:
        value = {
            str(name): result[name].values[index] for name in result if str(name).startswith("op_")
        }
        table.append(
            (
                _printable(value["op_name"]),
                _printable(value["op_shapes"]),
                format_count(int(value["op_calls"])),
                format_count(int(value["op_launches"])),
                _time(value["op_host_ns"]),
                _time(value["op_window_ns"]),
                _time(value["op_device_ns"]),
            )
        )
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    by = "window" if (result["op_window_ns"].values > 0).any() else "host time"
    lines += ["", f"operators in order of their {by}", *_totals(result)]
    lines += [_finding(finding) for finding in findings]
    return "\n".join(lines)


def _totals(result: xr.Dataset) -> list[str]:
    attrs = result.attrs
    steps = attrs["steps_used"]
    scope = "the whole trace" if steps == NO_VALUE else f"{steps} of {result.sizes['step']} steps"
    flight, running = _time(attrs["launch_union_ns"]), _time(attrs["device_union_ns"])
    lines = [
        (
            f"{format_counted(attrs['launches'], 'launch')} in {scope}: "
            f"{flight} in flight, {running} on the device"
        ),
        f"a launch is: {attrs['basis_meaning']} (clock {attrs['clock']}, profiled)",
    ]
    gaps = result["launch_gap_ns"].values[result["launch_counted"].values]
    gaps = gaps[gaps != NO_VALUE]
    if len(gaps):
        lines.append(
            f"gaps between launches: {_time(gaps.sum())} in {len(gaps)}, "
            f"longest {_time(gaps.max())}"
        )
    return lines


def _finding(finding: Finding) -> str:
    stake = "" if finding.at_stake_s is None else f" [up to {format_time(finding.at_stake_s)}]"
    remedy = f". Try: {finding.remedy}" if finding.remedy else ""
    sure = "" if finding.confidence == "high" else f" ({finding.confidence} confidence)"
    return f"- {finding.id}{stake}: {finding.what}: {finding.evidence}{sure}{remedy}"


def _time(ns: Any) -> str:
    return "unknown" if int(ns) == NO_VALUE else format_time(int(ns) * _NS)


def _printable(text: Any) -> str:
    return "".join(char if char.isprintable() else "?" for char in str(text))


def _known(value: Any) -> Any:
    return None if value == NO_VALUE and not isinstance(value, bool) else value

"""Findings of a study: what follows from comparing its variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from roofline.analysis.checks import Checks
from roofline.analysis.finding import Finding
from roofline.hardware.model import Hardware
from roofline.study.rows import Row
from roofline.units import format_count, format_percent, format_si, format_time

__all__ = ["STUDY_CHECKS", "Rows", "impossible_times", "launch_spread", "study_findings"]

_EXCESS = 1.1  # below this the counters and the minimum agree as well as shapes are known


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of a study on one hardware."""

    rows: Sequence[Row]
    hardware: Hardware


STUDY_CHECKS: Final = Checks[Rows]("a study")


def study_findings(rows: Sequence[Row], hardware: Hardware) -> tuple[Finding, ...]:
    """Return the findings of rows on one hardware, by time at stake."""
    return STUDY_CHECKS.run(Rows(rows=rows, hardware=hardware))


def launch_spread(rows: Sequence[Row]) -> tuple[float, str] | None:
    """Return (largest - smallest) / mean of the launches of one trace, and its variant.

    Only traces that give the time of each operator tell; the widest one is returned.
    """
    spreads = []
    for row in rows:
        each = [op.time_s / op.count for op in row.measurement.ops]
        if len(each) > 1:
            count = sum(op.count for op in row.measurement.ops)
            mean = sum(op.time_s for op in row.measurement.ops) / count
            spreads.append(((max(each) - min(each)) / mean, row.variant.name))
    return max(spreads, default=None)


def _configs(rows: Sequence[Row]) -> list[list[Row]]:
    """Group rows that can be compared: one config, clock and number of calls."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        measured = row.measurement
        key = (measured.config.key, measured.clock.key, measured.calls)
        groups.setdefault(key, []).append(row)
    return list(groups.values())


@STUDY_CHECKS.finding("launches")
def _launches(study: Rows) -> Iterator[Finding]:
    """Say how much of a speed-up fewer launches explain, and how much fewer bytes."""
    for group in _configs(study.rows):
        yield from _launches_of(group, study.hardware)


def _launches_of(rows: Sequence[Row], hardware: Hardware) -> Iterator[Finding]:
    single = [row for row in rows if row.work.launches == 1]
    for many in rows:
        if many.work.launches == 1 or not single or not many.evidence.on_host:
            continue
        ratios = sorted(many.time_s / row.time_s for row in single)
        saved = many.time_s - min(row.time_s for row in single)
        rate = hardware.memory_ceiling("theoretical").value
        fewer = many.work.dispatched_bytes - min(row.work.dispatched_bytes for row in single)
        per_launch = many.time_s / many.work.launches
        by_bytes = fewer / rate / saved if saved > 0 else 0.0
        yield Finding(
            id="launches",
            subject=many.variant.name,
            what=(
                f"{many.work.launches} launches to one explain the "
                f"{ratios[0]:.2f}x to {ratios[-1]:.2f}x; fewer bytes do not"
            ),
            evidence=(
                f"{format_time(per_launch)} a launch in {many.variant.name} against "
                f"{' and '.join(format_time(row.time_s) for row in single)} for one; "
                f"{format_count(fewer)} B fewer are {format_time(fewer / rate)} at "
                f"{format_si(rate, 'B/s')}, {format_percent(by_bytes)} of the "
                f"{format_time(saved)} saved"
            ),
            remedy=(
                "put the operator into one graph with its neighbours; "
                "the kernel itself is not worth tuning at this size"
            ),
            at_stake_s=max(0.0, saved),
        )


@STUDY_CHECKS.finding("faster-than-bound")
def _impossible(study: Rows) -> Iterator[Finding]:
    """Name times that no run can have: shorter than the lower bound of their own work."""
    yield from impossible_times(study.rows)


def impossible_times(rows: Iterable[Row]) -> Iterator[Finding]:
    """Yield a finding for each row whose time is shorter than the lower bound of its own work."""
    for row in rows:
        bound_s = row.placement.bound_s
        if bound_s is None or row.time_s >= bound_s:
            continue
        yield Finding(
            id="faster-than-bound",
            subject=row.variant.name,
            what=(
                f"{format_time(row.time_s)} is less than the lower bound of "
                f"{format_time(bound_s)}: no such run is possible"
            ),
            evidence=(
                "the chip, its number of cores, the shape, the dtype or the clock of this time is "
                "not what ran, or the data is damaged"
            ),
            remedy="check them before anything is read from this row",
        )


@STUDY_CHECKS.finding("below-noise")
def _noise(study: Rows) -> Iterator[Finding]:
    """Name differences that single runs cannot carry."""
    for group in _configs(study.rows):
        yield from _noise_of(group)


def _noise_of(rows: Sequence[Row]) -> Iterator[Finding]:
    spread = launch_spread(rows)
    for a, b in combinations(rows, 2):
        if a.work.launches != b.work.launches:
            continue
        if (a.measurement.n or 0) > 1 and (b.measurement.n or 0) > 1:
            continue
        slow, fast = (a, b) if a.time_s >= b.time_s else (b, a)
        difference = slow.time_s / fast.time_s - 1
        if spread is None or difference >= spread[0]:
            continue
        yield Finding(
            id="below-noise",
            subject=f"{slow.variant.name}, {fast.variant.name}",
            what=(
                f"{format_percent(difference)} between {fast.variant.name} and {slow.variant.name} "
                "is not a result"
            ),
            evidence=(
                f"n = {slow.measurement.n or '?'} and {fast.measurement.n or '?'}; launches of "
                f"one trace ({spread[1]}) differ by {format_percent(spread[0])} whatever they do"
            ),
            remedy="measure both at least ten times, unprofiled, and compare the medians",
        )


@STUDY_CHECKS.finding("host-scalar")
def _host_copy(study: Rows) -> Iterator[Finding]:
    for row in study.rows:
        yield from _host_copy_of(row)


def _host_copy_of(row: Row) -> Iterator[Finding]:
    if not row.work.host_copy_bytes:
        return
    each = {op.name: op.time_s / op.count for op in row.measurement.ops}
    stake, more = None, ""
    if "aten::add" in each and len(each) > 1:
        stake = each["aten::add"] - min(each.values())
        more = (
            f"; aten::add took {format_time(each['aten::add'])}, "
            f"{format_time(stake)} more than the fastest launch"
        )
    yield Finding(
        id="host-scalar",
        subject=row.variant.name,
        what="a scalar on the CPU (epsilon) is copied to the device in every call",
        evidence=f"{row.work.host_copy_bytes} B apart from HBM bytes{more}",
        remedy="pass epsilon as a Python float: it becomes a constant of the program",
        at_stake_s=stake,
        confidence="medium",
    )


@STUDY_CHECKS.finding("excess-bytes")
def _excess_bytes(study: Rows) -> Iterator[Finding]:
    for row in study.rows:
        yield from _excess_bytes_of(row, study.hardware)


def _excess_bytes_of(row: Row, hardware: Hardware) -> Iterator[Finding]:
    work = row.work
    if work.measured_bytes is None or not work.minimal_bytes:
        return
    excess = work.measured_bytes / work.minimal_bytes
    if excess < _EXCESS or work.measured_read_bytes is None or work.measured_write_bytes is None:
        return
    rate = hardware.memory_ceiling("theoretical").value
    stake = (work.measured_bytes - work.minimal_bytes) / rate
    read = work.measured_read_bytes / work.minimal_read_bytes
    write = work.measured_write_bytes / max(1, work.minimal_write_bytes)
    calls = row.measurement.calls
    chained = f"; a chain of {calls} calls could stay on chip between them" if calls > 1 else ""
    yield Finding(
        id="excess-bytes",
        subject=row.measurement.key,
        what=f"{excess:.1f} times the minimal bytes are moved",
        evidence=(
            f"read {format_count(work.measured_read_bytes)} B ({read:.2f}x), wrote "
            f"{format_count(work.measured_write_bytes)} B ({write:.2f}x){chained}"
        ),
        remedy=(
            "keep intermediates in SBUF and read each input once"
            if write > _EXCESS
            else "read each input once; a weight broadcast to every partition counts per partition"
        ),
        at_stake_s=stake,
    )


@STUDY_CHECKS.finding("empty-lanes")
def _lanes(study: Rows) -> Iterator[Finding]:
    """Name rows that leave most lanes empty, once for all variants of a config."""
    seen = set()
    for row in study.rows:
        lanes = row.placement.hardware.partitions
        filled = row.work.params.get("rows", lanes)
        if filled * 2 > lanes or row.measurement.config.key in seen:
            continue
        seen.add(row.measurement.config.key)
        yield Finding(
            id="empty-lanes",
            subject=row.measurement.config.key,
            what=f"{filled} rows fill {filled} of {lanes} lanes",
            evidence=(
                "rows lie on SBUF partitions in the natural layout; "
                f"{format_percent(filled / lanes)} of the element rate is within reach"
            ),
            remedy="batch more rows, or split a row over partitions",
            at_stake_s=_engine_stake(row),
        )


def _engine_stake(row: Row) -> float | None:
    rung = row.rung("engines")
    filled = row.work.params["rows"] / row.placement.hardware.partitions
    return None if rung is None else rung.high_s * (1 - filled)

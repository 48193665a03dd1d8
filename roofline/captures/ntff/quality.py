"""What is missing, lost, repaired or contradictory in an NTFF trace.

``header_issues`` needs the header only; ``find_issues`` decodes everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from roofline.captures.capture import Issue
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.derived import SlotFacts
from roofline.captures.ntff.device import core_clock_hz, hardware_of, marks_transposes
from roofline.captures.ntff.header import ENGINES, Header
from roofline.captures.ntff.links import Links
from roofline.captures.ntff.packet_table import PacketTable
from roofline.captures.ntff.trace import Trace
from roofline.captures.ntff.transfers import Transfers
from roofline.captures.ntff.words import DTYPES

__all__ = ["find_issues", "header_issues"]

_EVENT_SEMAPHORE: Final = 0xA0
_DIRECT2D: Final = 0xB8
_SEMAPHORE_BYTES: Final = 4

_SLACK_PS: Final = 10**9
"""Rows may reach past the execution's time by what start-up and tail take, far below 1 ms."""

_LONGEST_PS: Final = 3600 * 10**12
"""No trace buffer holds an hour; times beyond say that the clocks do not make sense."""


def header_issues(header: Header) -> tuple[Issue, ...]:
    """Return what the header alone tells."""
    return tuple(_of_header(header))


def find_issues(decoded: Decoded) -> tuple[Issue, ...]:
    """Return every issue of a trace; decodes all its records."""
    return (
        *header_issues(decoded.trace.header),
        *_of_records(decoded),
        *_of_words(decoded),
        *_repairs(decoded),
        *_of_dma(decoded),
        *_of_times(decoded),
    )


def _of_header(header: Header) -> Iterator[Issue]:
    if hardware_of(header) is None:
        yield Issue(
            id="unknown-hardware",
            severity="missing",
            what=f"no hardware model for instance {header.instance_type!r} with "
            f"{len(header.cores)} cores: what needs clocks or rates is left out",
        )
    if not marks_transposes(header):
        yield Issue(
            id="transposes-unmarked",
            severity="missing",
            what="words of NeuronCore-v2 do not mark transposes; only the compiled program does",
            table="instructions",
        )
    collectives = sum(s.records for s in header.sections if s.scope == 2)
    if collectives:
        yield Issue(
            id="collectives",
            severity="missing",
            what="records of collectives cores are not decoded",
            count=collectives,
        )
    others = sum(
        section.records
        for section in header.sections
        if section.scope < 2 and section.kind not in (0, 1, 4, 5)
    )
    if others:
        yield Issue(
            id="unknown-section",
            severity="missing",
            what="records in sections of unknown kinds are not decoded",
            count=others,
        )
    yield Issue(
        id="no-program",
        severity="info",
        what="names of tensors, layers and source lines are in the compiled program only",
    )


def _of_records(decoded: Decoded) -> Iterator[Issue]:
    for table, label in (("instructions", "instruction"), ("events", "event"), ("dma", "DMA")):
        counts = decoded.counts(table)
        name = "semaphores" if table == "events" else table
        lost = sum(count.lost for count in counts)
        if lost:
            yield Issue(
                id="lost-records",
                severity="lost",
                what=f"{label} records say that at least one record was lost before them",
                table=name,
                count=lost,
            )
        early = sum(count.lost_before for count in counts)
        if early:
            yield Issue(
                id="lost-before-zero",
                severity="info",
                what=f"{label} records before time zero say that others were lost",
                table=name,
                count=early,
            )
        foreign = sum(count.foreign for count in counts)
        if foreign:
            yield Issue(
                id="foreign-records",
                severity="contradiction",
                what=f"records of another kind among {label} records",
                table=name,
                count=foreign,
            )
        orphans = sum(count.open_ends for count in counts)
        if orphans:
            yield Issue(
                id="ends-without-start",
                severity="lost",
                what=f"{label} ends whose start is missing",
                table=name,
                count=orphans,
            )
        negative = sum(count.negative for count in counts)
        if negative:
            yield Issue(
                id="negative-duration",
                severity="contradiction",
                what=f"{label} rows that end before they begin",
                table=name,
                count=negative,
            )
    yield from _open_starts(decoded)
    after = sum(count.after for count in decoded.counts("instructions"))
    if after:
        yield Issue(
            id="after-execution",
            severity="info",
            what="instructions that end after the execution are left out",
            table="instructions",
            count=after,
        )


def _open_starts(decoded: Decoded) -> Iterator[Issue]:
    waiting = unpaired = 0
    program = decoded.trace.program
    for counts in decoded.counts("instructions"):
        for slot, number in counts.open_starts.items():
            waits = (
                number == 1
                and slot < program.slots
                and decoded.words.opcode[slot] == _EVENT_SEMAPHORE
                and ENGINES[int(program.engine[slot])] == "tensor"
            )
            waiting += waits
            unpaired += 0 if waits else number
    if waiting:
        yield Issue(
            id="waiting-at-end",
            severity="info",
            what="Tensor engines that still waited for a semaphore when the trace stopped: normal",
            table="instructions",
            count=waiting,
        )
    if unpaired:
        yield Issue(
            id="starts-without-end",
            severity="lost",
            what="instruction starts whose end is missing; other runs of them may pair wrongly",
            table="instructions",
            count=unpaired,
        )
    packets = sum(sum(counts.open_starts.values()) for counts in decoded.counts("dma"))
    if packets:
        yield Issue(
            id="starts-without-end",
            severity="lost",
            what="DMA packets that start and are never written",
            table="dma",
            count=packets,
        )


def _of_words(decoded: Decoded) -> Iterator[Issue]:
    words, program = decoded.words, decoded.trace.program
    slots = decoded.instructions["slot"]
    outside = int(np.count_nonzero(slots >= program.slots))
    if outside:
        yield Issue(
            id="outside-program",
            severity="missing",
            what="instructions whose program counter is outside the captured memory: no word",
            table="instructions",
            count=outside,
        )
    executed = np.bincount(slots[slots < program.slots], minlength=program.slots)
    for code in np.unique(words.opcode[words.unknown & (executed > 0)]).tolist():
        yield Issue(
            id="unknown-opcode",
            severity="missing",
            what=f"opcode {code:#04x} has no known name: its work and kind are not known",
            table="instructions",
            count=int(executed[words.opcode == code].sum()),
        )
    for column, name in ((words.dtype_in, "source"), (words.dtype_out, "destination")):
        odd = (column >= 0) & ~np.isin(column, list(DTYPES)) & (executed > 0)
        for code in np.unique(column[odd]).tolist():
            yield Issue(
                id="unknown-dtype",
                severity="missing",
                what=f"{name} element type code {code} has no known name: bytes are not known",
                table="instructions",
                count=int(executed[odd & (column == code)].sum()),
            )


def _repairs(decoded: Decoded) -> Iterator[Issue]:
    severity = "lost" if decoded.trace.vendor else "repaired"
    hidden = len(decoded.overwritten)
    if hidden:
        yield Issue(
            id="overwritten-rows",
            severity=severity,
            what="rows of one core hidden in the vendor's output by another core's row of the "
            "same engine and ns",
            table="instructions",
            count=hidden,
        )
    # a wait below 1 ns is printed as 0
    least = -(-(core_clock_hz(decoded.trace.header) or 0) // 10**9)
    stale = int(
        np.count_nonzero(
            (decoded.by_slot(decoded.instructions["slot"], decoded.words.waits.view(np.int8)) <= 0)
            & (decoded.instructions["wait"] >= max(least, 1))
        )
    )
    if stale:
        yield Issue(
            id="stale-waits",
            severity="info" if decoded.trace.vendor else "repaired",
            what="waits of instructions that do not wait: an old value that the vendor prints",
            table="instructions",
            count=stale,
        )
    across = sum(count.across for count in decoded.counts("dma"))
    if across and not decoded.trace.vendor:
        kept, replaced = _vendor_packets(decoded)
        yield Issue(
            id="packets-at-zero",
            severity="repaired",
            what=f"{across} packets in flight at time zero: packets behind them that the vendor's "
            f"output lacks ({replaced} of its packets pair wrongly)",
            table="dma",
            count=kept,
        )


def _vendor_packets(decoded: Decoded) -> tuple[int, int]:
    """Return how many packets the vendor's pairing lacks, and how many of its are no packets."""
    trace = decoded.trace
    vendor = Decoded(
        Trace(path=trace.path, buffer=trace.buffer, header=trace.header, compat="vendor")
    )
    sides = []
    for rows in (decoded.dma, vendor.dma):
        table = np.empty(len(rows["key"]), dtype=_PACKET)
        for name in _PACKET.names or ():
            table[name] = rows[name]
        sides.append(table)
    only_ours = len(sides[0]) - int(np.isin(sides[0].view(_RAW), sides[1].view(_RAW)).sum())
    only_vendor = len(sides[1]) - int(np.isin(sides[1].view(_RAW), sides[0].view(_RAW)).sum())
    return only_ours, only_vendor


_PACKET: Final = np.dtype(
    [("start_ps", "<i8"), ("end_ps", "<i8"), ("key", "<u4"), ("size", "<u4"), ("core", "<i8")]
)
_RAW: Final = np.dtype((np.void, _PACKET.itemsize))


def _of_dma(decoded: Decoded) -> Iterator[Issue]:
    facts = SlotFacts(decoded.trace.program, decoded.words)
    links = Links(decoded, facts)
    packets = PacketTable(decoded)
    rows = decoded.dma
    payload = rows["size"] > _SEMAPHORE_BYTES
    dynamic = packets.is_class("software_dynamic", "hardware_dynamic")
    unlinked = dynamic & payload & (links.issuer_row < 0)
    if unlinked.any():
        yield Issue(
            id="unlinked-dma",
            severity="missing",
            what="dynamic DMA packets without the instruction that issued them: the trace has no "
            "DGE notifications, and packets and instructions do not match in number",
            table="dma",
            count=int(np.count_nonzero(unlinked)),
        )
    yield from _bytes_unaccounted(decoded, facts, links, dynamic)
    static = packets.is_class("data") & payload
    if static.any():
        yield Issue(
            id="static-dma-direction",
            severity="missing",
            what="bytes moved by planned DMA: source and destination are in the compiled program "
            "only",
            table="dma",
            count=int(rows["size"][static].sum()),
        )
    unknown = packets.is_class("unknown") & payload
    if unknown.any():
        yield Issue(
            id="unknown-queue",
            severity="missing",
            what="packets of rings that the file does not declare",
            table="dma",
            count=int(np.count_nonzero(unknown)),
        )
    left = Transfers(decoded).unassigned
    if left:
        yield Issue(
            id="unplanned-packets",
            severity="estimated",
            what="packets of planned rings beyond those their blocks list: times and bytes of "
            "planned transfers are estimates",
            table="dma",
            count=left,
        )


def _bytes_unaccounted(
    decoded: Decoded, facts: SlotFacts, links: Links, dynamic: np.ndarray
) -> Iterator[Issue]:
    slots = decoded.instructions["slot"]
    issued = decoded.by_slot(slots, facts.dma_bytes["dest"])
    rows = decoded.dma
    linked = dynamic & (links.issuer_row >= 0)
    moved = np.zeros(len(slots), dtype=np.int64)
    payload = linked & (rows["size"] != _SEMAPHORE_BYTES)
    np.add.at(moved, links.issuer_row[payload], rows["size"][payload].astype(np.int64))
    seen = np.unique(links.issuer_row[linked])
    gap = int(np.abs(moved[seen] - issued[seen]).sum())
    if gap:
        yield Issue(
            id="bytes-unaccounted",
            severity="contradiction",
            what="bytes by which packets and the instructions that issued them differ",
            table="dma",
            count=gap,
        )


def _of_times(decoded: Decoded) -> Iterator[Issue]:
    rows, packets = decoded.instructions, decoded.dma
    header = decoded.trace.header
    if not decoded.trace.zero_is_known:
        yield Issue(
            id="no-start-marker",
            severity="estimated",
            what="the trace has no start marker: time zero is the first instruction's start",
        )
    if not len(rows["slot"]):
        yield Issue(
            id="no-instructions",
            severity="contradiction",
            what="no instruction from time zero on: the execution is not in this trace",
            table="instructions",
        )
        return
    last = max(int(rows["end_ps"].max()), int(packets["end_ps"].max(initial=0)))
    total = decoded.trace.end_ps or header.cores[0].total_ps
    if last > _LONGEST_PS or (total and last > total + _SLACK_PS):
        known = f"{total} ps" if total else "not known"
        yield Issue(
            id="times-beyond-execution",
            severity="contradiction",
            what=f"rows reach to {last} ps; the execution's time is {known}",
        )
    elif total and last < total // 2:
        yield Issue(
            id="trace-ends-early",
            severity="lost",
            what=f"the last row ends at {last} ps of {total} ps: the trace buffer may be full",
        )

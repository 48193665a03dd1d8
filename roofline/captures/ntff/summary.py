"""The vendor's summary of an NTFF trace, by the vendor's names, units and definitions.

Times are seconds, percentages fractions. A field that cannot be told from the trace alone is left
out (``summary_absent`` says why), and so is what needs a hardware model that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline import intervals
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.derived import SlotFacts
from roofline.captures.ntff.device import (
    core_clock_hz,
    marks_transposes,
)
from roofline.captures.ntff.event_tables import throttle_spans
from roofline.captures.ntff.header import ENGINES
from roofline.captures.ntff.packet_table import PacketTable
from roofline.captures.ntff.summary_ratios import ratios
from roofline.captures.ntff.transfers import IO_RING, WEIGHT_RING, Transfers

__all__ = ["summarize"]

_PS_PER_S: Final = 10**12
_EVENT_SEMAPHORE: Final = 0xA0
_MATMUL: Final = 0x02
_ACTIVATE: Final = 0x21

Ints = npt.NDArray[np.int64]


def _version(text: str) -> str:
    """Return a version as the vendor prints it: five characters of the commit, or none."""
    number, _, commit = text.partition(" (")
    return f"{number} ({commit[:-1][:5]})" if number else ""


def _s(ps: int) -> float:
    return ps / _PS_PER_S


@dataclass(frozen=True)
class _Summary:
    decoded: Decoded
    known: Mapping[str, Any]

    @cached_property
    def facts(self) -> SlotFacts:
        return SlotFacts(self.decoded.trace.program, self.decoded.words)

    @cached_property
    def total_ps(self) -> int | None:
        """Time of the execution: of the core that was first to start (v6), else of the first."""
        trace = self.decoded.trace
        if trace.header.window_ps is not None:
            return trace.end_ps
        return trace.header.cores[0].total_ps

    def by_slot(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.decoded.by_slot(self.decoded.instructions["slot"], values)

    @cached_property
    def executed(self) -> npt.NDArray[np.int64]:
        """How often each word of the program was executed."""
        slots = self.decoded.trace.program.slots
        slot = self.decoded.instructions["slot"]
        return np.bincount(slot[slot < slots], minlength=slots)

    def _rows(self, values: Ints) -> int:
        """Sum a value a slot over rows, unknown ones left out."""
        return int((np.maximum(values, 0) * self.executed).sum())

    @cached_property
    def busy(self) -> npt.NDArray[np.bool_]:
        """Rows whose time counts: all but waiting on semaphores.

        The vendor's tools for version 5 start each core's times at its own marker, but its counts
        at the first core's.
        """
        trace, rows = self.decoded.trace, self.decoded.instructions
        busy = np.asarray(self.by_slot(self.decoded.words.opcode) != _EVENT_SEMAPHORE)
        if trace.vendor and trace.header.window_ps is None:
            for core in range(1, len(trace.header.cores)):
                own = trace.start_marker_ps(core)
                if own is not None:
                    busy &= (rows["core"] != core) | (rows["start_ps"] >= own)
        return busy

    # Engines ----------------------------------------------------------------------------------

    def engines(self) -> dict[str, Any]:
        rows = self.decoded.instructions
        engine = self.decoded.engine_of(rows["slot"])
        opcode = self.by_slot(self.decoded.words.opcode)
        busy = self.busy
        fields: dict[str, Any] = {}
        for number, key in enumerate(ENGINES):
            mine = engine == number
            chosen = np.flatnonzero(mine & busy)
            start, end = rows["start_ps"][chosen], rows["end_ps"][chosen]
            ordered = end >= start
            fields[f"{key}_engine_instruction_count"] = int(np.count_nonzero(mine))
            fields[f"{key}_engine_instruction_time"] = _s(int((end - start).sum()))
            fields[f"{key}_engine_active_time"] = _s(intervals.total(start[ordered], end[ordered]))
        matmuls = opcode == _MATMUL
        if matmuls.any():
            fields["matmul_instruction_count"] = int(np.count_nonzero(matmuls))
        activations = np.flatnonzero(opcode == _ACTIVATE)
        if len(activations):
            fields["activate_instruction_count"] = len(activations)
        fields["activate_instruction_time"] = _s(
            int((rows["end_ps"][activations] - rows["start_ps"][activations]).sum())
        )
        return fields

    @cached_property
    def active_ps(self) -> int:
        rows, packets = self.decoded.instructions, self.decoded.dma
        busy = self.busy & (rows["end_ps"] >= rows["start_ps"])
        moved = packets["end_ps"] >= packets["start_ps"]
        return intervals.total(
            np.concatenate((rows["start_ps"][busy], packets["start_ps"][moved])),
            np.concatenate((rows["end_ps"][busy], packets["end_ps"][moved])),
        )

    # Work -------------------------------------------------------------------------------------

    def work(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        vendor = self.decoded.trace.vendor
        flops = self._rows(self.facts.raw_flops(vendor=True))
        traffic = {name: self._rows(values) for name, values in self.facts.traffic.items()}
        if flops:
            fields["hardware_flops"] = flops
            if not vendor:
                fields["adjusted_hardware_flops"] = self._rows(self.facts.adjusted_flops())
        if marks_transposes(self.decoded.trace.header):
            transposes = self.facts.is_transpose == 1
            transposed = np.where(transposes, self.facts.raw_flops(vendor=True), -1)
            if self._rows(transposed):
                fields["transpose_flops"] = self._rows(transposed)
        to_sbuf = self.by_slot(self.facts.psum_to_sbuf)
        if (to_sbuf >= 0).any():
            fields["psum_read_sbuf_write_count"] = int(np.count_nonzero(to_sbuf >= 0))
            fields["psum_read_sbuf_write_bytes"] = int(to_sbuf[to_sbuf >= 0].sum())
        for name in ("psum_read", "psum_write"):
            if traffic[name]:
                fields[f"{name}_bytes"] = traffic[name]
        # a static queue's direction is in the compiled program only: weights are read from HBM
        weights = self._static(WEIGHT_RING)
        unknown = self._static(IO_RING)
        if not unknown:
            fields["hbm_read_bytes"] = traffic["hbm_read"] + weights
            fields["hbm_write_bytes"] = traffic["hbm_write"]
            fields["sbuf_read_bytes"] = traffic["sbuf_read"]
            fields["sbuf_write_bytes"] = traffic["sbuf_write"] + weights
        return fields

    @cached_property
    def transfers(self) -> Transfers:
        return Transfers(self.decoded)

    def _static(self, kind: int) -> int:
        return sum(t.payload_bytes for t in self.transfers.all if t.kind == kind)

    # DMA --------------------------------------------------------------------------------------

    def dma(self) -> dict[str, Any]:
        packets = PacketTable(self.decoded)
        rows = self.decoded.dma
        start, end, size = rows["start_ps"], rows["end_ps"], rows["size"].astype(np.int64)
        ordered = end >= start
        active = intervals.total(start[ordered], end[ordered])
        clock_hz = core_clock_hz(self.decoded.trace.header)
        fields: dict[str, Any] = {
            "dma_packet_time": _s(int((end - start).sum())),
            "dma_active_time": _s(active),
        }
        if clock_hz is not None:
            fields["dma_active_cycles"] = active * clock_hz // _PS_PER_S
        groups = {
            "static": ~packets.is_class("software_dynamic", "hardware_dynamic"),
            "software_dynamic": packets.is_class("software_dynamic"),
            "hardware_dynamic": packets.is_class("hardware_dynamic"),
        }
        total_size = int(size.sum())
        shares: dict[str, tuple[float, ...]] = {}
        for name, chosen in groups.items():
            spent = intervals.total(start[chosen & ordered], end[chosen & ordered])
            count, moved = int(np.count_nonzero(chosen)), int(size[chosen].sum())
            if count or name == "static":
                fields[f"{name}_dma_active_time"] = _s(spent)
                fields[f"{name}_dma_packet_count"] = count
                fields[f"{name}_dma_size"] = moved
            shares[name] = (
                count / len(size) if len(size) else 0.0,
                moved / total_size if total_size else 0.0,
                spent / active if active else 0.0,
            )
        shares["dynamic"] = tuple(
            shares["software_dynamic"][index] + shares["hardware_dynamic"][index]
            for index in range(3)
        )
        for name, (packet, byte, spent_share) in shares.items():
            fields[f"{name}_dma_packet_percent"] = packet
            fields[f"{name}_dma_size_percent"] = byte
            fields[f"{name}_dma_active_time_percent"] = spent_share
        moves = self.transfers.all
        fields["dma_transfer_time"] = _s(sum(t.end_ps - t.start_ps for t in moves))
        total = sum(t.payload_bytes for t in moves)
        fields["dma_transfer_average_bytes"] = total / len(moves) if moves else 0
        if moves:
            fields["dma_transfer_count"] = len(moves)
            fields["dma_transfer_total_bytes"] = total
        fields["weight_queue_bytes"] = self._static(WEIGHT_RING)
        fields["input_queue_bytes"] = self._static(IO_RING)
        fields["dma_queue_count"] = sum(len(core.rings) for core in self.decoded.trace.header.cores)
        return fields

    # Counts and ratios ------------------------------------------------------------------------

    def counts(self) -> dict[str, Any]:
        decoded = self.decoded
        events = len(decoded.events["ps"])
        if decoded.trace.header.version < 6:  # tools of those versions count all of them
            events += sum(counts.before for counts in decoded.counts("events"))
        rows = len(decoded.instructions["slot"])
        packets = len(decoded.dma["size"])
        return {
            "event_count": events,
            "trace_count": events + rows + packets + len(self.transfers.all),
        }

    def sizes(self) -> dict[str, Any]:
        """Sizes of tensors and weights, as the runtime allocated them for the first core."""
        use = dict(self.decoded.trace.header.cores[0].memory_use)
        if "tensor" not in use or "weight" not in use:  # version 4 does not name its entries
            return {}
        fields = {"inputs_outputs_weights_size_bytes": use["tensor"] + use["weight"]}
        if use["weight"]:
            fields["weight_size_bytes"] = use["weight"]
        return fields

    def collectives(self) -> dict[str, Any]:
        """Zeros where the collectives cores recorded nothing; their records are not decoded."""
        if any(
            section.size for section in self.decoded.trace.header.sections if section.scope == 2
        ):
            return {}
        names = ("cc_op", "cc_cores_instruction")
        return {
            **{f"{name}_{what}": 0 for name in names for what in ("count", "time", "active_time")},
            **{f"{name}_active_time_percent": 0 for name in names},
        }

    def throttle(self) -> dict[str, Any]:
        spans = throttle_spans(self.decoded)
        rows = self.decoded.instructions
        fields: dict[str, Any] = {}
        for core in range(len(self.decoded.trace.header.cores)):
            mine = [span for span in spans if span.core == core]
            ends = rows["end_ps"][rows["core"] == core]
            last_ns = int(ends.max()) // 1000 if len(ends) else 0
            if not mine or not last_ns:
                continue
            limited = sum(span.duration_ns for span in mine if span.k < span.n)
            fields[f"throttle_active_nc{core}_time_ns"] = limited
            weighted = 0.0
            for cause in sorted({span.cause for span in mine}):
                chosen = [span for span in mine if span.cause == cause]
                spent = sum(span.duration_ns for span in chosen)
                limit = sum(span.duration_ns * span.k / span.n for span in chosen)
                weighted += limit
                fields[f"throttle_{cause}_active_time_nc{core}_percent"] = spent / last_ns
                if spent:
                    fields[f"throttle_{cause}_avg_util_limit_nc{core}_percent"] = limit / spent
            fields[f"throttle_avg_util_limit_nc{core}_percent"] = weighted / last_ns
        return fields

    def all(self) -> dict[str, Any]:
        header = self.decoded.trace.header
        fields: dict[str, Any] = {
            **self.engines(),
            **self.work(),
            **self.dma(),
            **self.counts(),
            **self.throttle(),
            "total_active_time": _s(self.active_ps),
            "nc_idx": sum(core.number for core in header.cores),
            **self.sizes(),
            **self.known,
        }
        told = marks_transposes(header) or "transpose_flops" in self.known
        fields.update(ratios(header, self.total_ps, fields, transposes_known=told))
        if not fields.get("transpose_flops", 1):
            del fields["transpose_flops"]  # absent where there are none, as the vendor's
        fields.update(self.collectives())
        texts = {
            "instance_type": header.instance_type,
            "runtime_version": _version(header.runtime_version),
            "driver_version": _version(header.driver_version),
            "collectives_version": _version(header.collectives_version),
        }
        fields.update({name: text for name, text in texts.items() if text})
        return dict(sorted(fields.items()))


def summarize(decoded: Decoded, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the summary fields of a trace that its rules determine, sorted by name.

    ``known`` holds fields that the compiled program determines; they replace the trace's, and
    ratios are made from them. A ``transpose_flops`` of 0 says that there are no transposes.
    """
    return _Summary(decoded, known or {}).all()

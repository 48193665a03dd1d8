"""Add what a compiled program tells to the capture of a raw trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.captures.capture import Capture, Issue, Overview
from roofline.captures.neff.capture import neff_metadata
from roofline.captures.neff.dma import ProgramDma
from roofline.captures.neff.join import Join, Match, check_pair
from roofline.captures.neff.labels import Labels
from roofline.captures.neff.operands import PSEUDO_NAMES, compiler_text, spelled
from roofline.captures.neff.program import Neff, open_neff
from roofline.captures.neff.tensors import list_tensors, sizes, tensor_table
from roofline.captures.ntff.columns import Column, array
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.derived import MEMORIES, SlotFacts
from roofline.captures.ntff.device import marks_transposes
from roofline.captures.ntff.header import ENGINES
from roofline.captures.ntff.operands import operand_text
from roofline.captures.ntff.quality import find_issues
from roofline.captures.ntff.strings import categories, optional
from roofline.captures.ntff.summary import summarize
from roofline.captures.ntff.tables import Tables
from roofline.captures.ntff.trace import open_trace
from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["attach_neff"]

_MATMUL: Final = 0x02
_DIRECT2D: Final = 0xB8
_ENGINE_SEMAPHORES: Final = {3: "GpSimd", 4: "Scalar", 5: "Tensor", 6: "Vector"}


def attach_neff(capture: Capture, neff: Neff | Path | str) -> Capture:
    """Return the capture of a raw trace with what its program adds; ``quality`` lists it.

    Raises ``CaptureError`` when the capture is no raw trace, or the NEFF is not its program.
    """
    if capture.format != "ntff":
        raise CaptureError(
            f"{capture.path}: a program is joined to a raw trace (.ntff), not to {capture.format}"
        )
    program = neff if isinstance(neff, Neff) else open_neff(Path(neff))
    trace = open_trace(capture.path, capture.compat)
    found = check_pair(program, trace.program, str(capture.path))
    decoded = Decoded(trace)
    joined = Joined(decoded=decoded, neff=program, match=found)
    tables = ProgramTables(decoded, joined)
    sources: dict[str, Callable[[Sequence[str] | None], pa.Table]] = {
        name: partial(tables.build, name) for name in capture.sources
    }
    sources["tensors"] = partial(_projected, partial(tensor_table, program))
    sources["transfers"] = partial(_projected, joined.dma.transfer_table)
    return Capture(
        path=capture.path,
        format=capture.format,
        compat=capture.compat,
        metadata=_metadata(capture.metadata, program),
        sources=sources,
        summary_source=lambda: summarize(decoded, joined.summary()),
        quality_source=joined.quality,
        overview_source=partial(_overview, capture, joined),
    )


def _overview(capture: Capture, joined: Joined) -> Overview | None:
    """Return the trace's overview; what the program adds is listed as far as its files tell."""
    given = capture.overview_source()
    if given is None:
        return None
    issues = [issue for issue in given.issues if issue.id not in ("no-program", "program-joined")]
    return dataclasses.replace(given, issues=(*issues, joined.added(joined.static_additions())))


@dataclass(frozen=True)
class Joined:
    """A decoded trace and its program."""

    decoded: Decoded
    neff: Neff
    match: Match

    @cached_property
    def join(self) -> Join:
        """Word numbers."""
        return Join(self.neff, self.decoded.trace.program)

    @cached_property
    def facts(self) -> SlotFacts:
        """What the words of the trace tell."""
        return SlotFacts(self.decoded.trace.program, self.decoded.words)

    @cached_property
    def labels(self) -> Labels:
        """Names by slot."""
        return Labels(self.join)

    @cached_property
    def dma(self) -> ProgramDma:
        """DMA with tensors and directions."""
        from roofline.captures.ntff.links import Links

        return ProgramDma(self.decoded, self.join, Links(self.decoded, self.facts))

    @cached_property
    def semaphore_names(self) -> tuple[dict[int, str], ...]:
        """Name of each semaphore of each core: its queue, or its engine."""
        found = []
        program, words = self.decoded.trace.program, self.decoded.words
        issues = words.slots_of(_DIRECT2D)
        for core, subgraph in enumerate(self.join.subgraphs):
            names = dict(_ENGINE_SEMAPHORES)
            for queue, about in (subgraph.queues if subgraph is not None else {}).items():
                held = about.get("semaphore_set")
                for number in held if isinstance(held, list) else ():
                    if isinstance(number, int):
                        names.setdefault(number, spelled(queue))
            # queues that the program does not declare are known by the words that use them
            for index, engine in enumerate(ENGINES):
                mine = (program.core[issues] == core) & (program.engine[issues] == index)
                for number, name in words.queues(issues[mine], engine).items():
                    names.setdefault(number, name)
            found.append(names)
        return tuple(found)

    @property
    def marks_transposes(self) -> bool:
        """Whether the program's debug information marks transposes where words do not."""
        return (
            not marks_transposes(self.decoded.trace.header)
            and self.labels.text("instruction_type").any
        )

    def is_transpose(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return a slot: 1 transpose, 0 product, -1 no MATMUL or not known."""
        types = self.labels.text("instruction_type")
        transpose = np.array([*(value == "TRANSPOSE" for value in types.values), False], np.int64)
        known = (types.codes >= 0) & (self.decoded.words.opcode == _MATMUL)
        return np.where(known, transpose[types.codes], -1)

    # What it adds -----------------------------------------------------------------------------

    def summary(self) -> Mapping[str, Any]:
        """Return summary fields that the program settles."""
        fields: dict[str, Any] = dict(sizes(list_tensors(self.neff)))
        if self.neff.compiler_version:
            fields["compiler_version"] = self.neff.compiler_version
        macs = self.neff.json("hlo_stats.json").get("HloMacCount")
        if isinstance(macs, int) and macs >= 0:
            fields["model_flops"] = 2 * macs
        elif self.decoded.trace.vendor:
            fields["model_flops"] = 0  # kernels have no graph; the tool warns, and prints this
        if self.dma.complete:
            fields.update(self.dma.spills())
        if self.dma.executed and self.dma.complete:
            planned = self.dma.traffic()
            if planned is not None:
                for name, size in planned.items():
                    fields[f"{name}_bytes"] = self._rows(self.facts.traffic[name]) + size
        if self.marks_transposes:
            chosen = self.is_transpose() == 1
            flops = np.where(chosen, self.facts.raw_flops(vendor=True), -1)
            fields["transpose_flops"] = self._rows(flops)
        return fields

    def _rows(self, values: Any) -> int:
        found = self.decoded.by_slot(self.decoded.instructions["slot"], values)
        return int(found[found >= 0].sum())

    def quality(self) -> Sequence[Issue]:
        """Return the trace's issues less those the program settles, and what it adds."""
        settled = {"no-program"}
        if self.dma.executed and self.dma.complete and not self.dma.unsplit:
            settled.add("static-dma-direction")
        if self.marks_transposes:
            settled.add("transposes-unmarked")
        issues = [issue for issue in find_issues(self.decoded) if issue.id not in settled]
        issues.append(self.added(self.additions()))
        if self.match.uuid is False:
            issues.append(
                Issue(
                    id="program-uuid",
                    severity="contradiction",
                    what="the uuid of the program differs, but all its instruction words agree",
                )
            )
        if self.match.words < self.match.compared:
            issues.append(
                Issue(
                    id="program-words",
                    severity="contradiction",
                    what="instruction words that differ from the program with the same uuid",
                    table="instructions",
                    count=self.match.compared - self.match.words,
                )
            )
        if self.dma.unsplit:
            issues.append(
                Issue(
                    id="unsplit-transfers",
                    severity="missing",
                    what="packets of planned queues that do not come out even with the program",
                    table="dma",
                    count=self.dma.unsplit,
                )
            )
        if not self.dma.complete:
            issues.append(
                Issue(
                    id="unknown-blocks",
                    severity="missing",
                    what="planned DMA was triggered that the program does not describe",
                    table="dma",
                )
            )
        return issues

    def added(self, what: Sequence[str]) -> Issue:
        """Return the statement of what the program adds."""
        return Issue(
            id="program-joined",
            severity="info",
            what=f"{self.neff.path.name} adds: {', '.join(what)}",
        )

    def static_additions(self) -> list[str]:
        """Return what its files tell without decoding the trace."""
        added = [f"{len(list_tensors(self.neff))} tensors", "program counters of the compiler"]
        if any(subgraph is not None and subgraph.queues for subgraph in self.join.subgraphs):
            added.append("queues of semaphores")
        if any(self.dma.blocks):
            added.append("direction and tensor of planned transfers")
        levels = {
            "kernel names or lines": self.neff.penguin,
            "HLO operations": self.neff.hlo,
            "layers": self.neff.framework,
        }
        return added + [what for what, level in levels.items() if level.entries]

    def additions(self) -> list[str]:
        """Return what the program adds, in words."""
        named = {
            "bir_instruction_name": "instruction names",
            "kernel_name": "kernel names",
            "nki_source_location": "kernel source lines",
            "hlo_name": "HLO operations",
            "hlo_source_location": "source lines",
        }
        added = [f"{len(list_tensors(self.neff))} tensors", "program counters of the compiler"]
        added += [what for name, what in named.items() if self.labels.text(name).any]
        layers = set(self.labels.text("layer").values) - {"Unknown"}
        added += ["layers"] if layers else []
        if self.dma.executed:
            added.append(f"direction and tensor of {len(self.dma.executed)} planned transfers")
        if any(code >= 0 for code in self.dma.operands["source"][1].tolist()):
            added.append("tensors of dynamic DMA")
        if any(subgraph is not None and subgraph.queues for subgraph in self.join.subgraphs):
            added.append("queues of semaphores")
        if self.marks_transposes:
            added.append("transposes")
        return added


@dataclass(frozen=True)
class ProgramTables(Tables):
    """The tables of a trace with the columns that its program adds."""

    joined: Joined

    @property
    def columns(self) -> dict[str, Callable[[], list[Column]]]:
        """What makes the columns of each table."""
        base = Tables.columns.fget(self)  # type: ignore[attr-defined]
        return {
            **base,
            "instructions": lambda: _replaced(base["instructions"](), self._instructions()),
            "dma": lambda: _replaced(base["dma"](), self._dma()),
            "semaphores": lambda: _replaced(base["semaphores"](), self._semaphores()),
        }

    def _instructions(self) -> list[Column]:
        joined, decoded = self.joined, self.decoded
        slot = decoded.instructions["slot"]

        def text(name: str) -> Any:
            found = joined.labels.text(name)
            return categories(decoded.by_slot(slot, found.codes), found.values)

        def number(values: Callable[[], Any]) -> Any:
            return optional(decoded.by_slot(slot, values()))

        meanings = {
            "bir_instruction_name": "name of the compiler's instruction",
            "bir_id": "its number, with its context",
            "penguin_id": "number of the loop nest or kernel line above it",
            "hlo_name": "HLO operation; empty for kernels written by hand",
            "layer": "layer of the framework; Unknown where the program names none",
            "kernel_name": "name of the kernel",
            "nki_source_location": "file and line of the kernel",
            "hlo_source_location": "file and line of the HLO operation",
            "instruction_type": "REGULAR or TRANSPOSE, from debug information",
        }
        columns = [
            Column(name=name, make=partial(text, name), meaning=meaning)
            for name, meaning in meanings.items()
        ]
        columns += [
            Column(
                name="compiler_pc",
                make=lambda: number(lambda: joined.join.index),
                meaning="word number in the compiled program; null for the runtime's code",
                unit="64 B",
            ),
            Column(
                name="operands",
                make=self._operands,
                meaning="operand text as the vendor prints it; null: word not held",
            ),
            Column(
                name="compiler_operands",
                make=self._compiler_operands,
                meaning="operands before the runtime resolved them; null where it did not",
            ),
            Column(
                name="compiler_opcode",
                make=self._compiler_opcode,
                meaning="opcode before the runtime resolved it; null where it did not",
            ),
        ]
        columns += [
            Column(
                name=name,
                make=partial(number, partial(joined.labels.number, name)),
                meaning=meaning,
            )
            for name, meaning in (
                ("raw_bir_id", "number of the compiler's instruction"),
                ("raw_penguin_id", "number of the loop nest or kernel line above it"),
                ("raw_hlo_id", "number of the HLO operation"),
                ("raw_framework_id", "number of the layer"),
            )
        ]
        if joined.marks_transposes:
            columns.append(
                Column(
                    name="tensor_instruction_type",
                    make=lambda: categories(
                        decoded.by_slot(slot, joined.is_transpose()), ("REGULAR", "TRANSPOSE")
                    ),
                    meaning="product or transpose, from debug information; null: no MATMUL",
                )
            )
        return columns

    def _compiler_opcode(self) -> Any:
        opcode = self.joined.join.opcode.astype(np.int64)
        opcode = np.where(np.isin(opcode, list(PSEUDO_NAMES)), opcode, -1)
        names = [PSEUDO_NAMES.get(code, "") for code in range(256)]
        slot = self.decoded.instructions["slot"]
        return categories(self.decoded.by_slot(slot, opcode), names)

    def _operands(self) -> Any:
        """Return operand texts with the names of all semaphores, also of planned queues."""
        decoded, program = self.decoded, self.decoded.trace.program
        slots = self._used_slots()
        transposes = marks_transposes(decoded.trace.header)
        names = self.joined.semaphore_names
        texts = [
            operand_text(
                program.words[slot].tobytes(),
                inserted=bool(program.inserted[slot]),
                queues=names[int(program.core[slot])],
                transposes=transposes,
            )
            for slot in slots.tolist()
        ]
        return self._of_slots(slots, texts)

    def _compiler_operands(self) -> Any:
        join, program = self.joined.join, self.decoded.trace.program
        slots = self._used_slots()
        slots = slots[np.isin(join.opcode[slots], list(PSEUDO_NAMES))]
        names = self.joined.semaphore_names
        texts = [
            compiler_text(join.word(slot), names[int(program.core[slot])])
            for slot in slots.tolist()
        ]
        return self._of_slots(slots, texts)

    def _used_slots(self) -> Any:
        used = np.unique(self.decoded.instructions["slot"])
        return used[used < self.decoded.trace.program.slots]

    def _of_slots(self, slots: Any, texts: list[str]) -> Any:
        """Return a text a row from a text for some slots; null for the others."""
        place = np.full(self.decoded.trace.program.slots, -1, np.int64)
        place[slots] = np.arange(len(slots))
        return categories(self.decoded.by_slot(self.decoded.instructions["slot"], place), texts)

    def _dma(self) -> list[Column]:
        dma = self.joined.dma
        size = self.decoded.dma["size"].astype(np.int64)

        def texts(values: list[str]) -> Any:
            import pyarrow as pa

            return pa.array([value or None for value in values], pa.string()).dictionary_encode()

        def variable() -> Any:
            hbm = MEMORIES.index("hbm")
            read, write = (dma.memory(side) == hbm for side in ("source", "dest"))
            source, dest = dma.variables("source"), dma.variables("dest")
            return texts(
                [
                    one if reads else other if writes else ""
                    for one, other, reads, writes in zip(source, dest, read, write, strict=True)
                ]
            )

        def memory(side: str) -> Any:
            found = dma.memory(side)
            return categories(np.where(found < 0, len(MEMORIES), found), (*MEMORIES, "unknown"))

        def block() -> Any:
            number = [one.block.number for one in dma.executed]
            return optional(np.array([*number, -1], np.int64)[dma.transfer])

        columns = [
            Column(name="variable", make=variable, meaning="tensor on the HBM side"),
            Column(
                name="source_variable",
                make=lambda: texts(dma.variables("source")),
                meaning="variable read",
            ),
            Column(
                name="dest_variable",
                make=lambda: texts(dma.variables("dest")),
                meaning="variable written",
            ),
            Column(
                name="source_memory", make=partial(memory, "source"), meaning="memory read from"
            ),
            Column(name="dest_memory", make=partial(memory, "dest"), meaning="memory written to"),
            Column(name="block_id", make=block, meaning="planned transfer; null: dynamic"),
            Column(
                name="transfer_row",
                make=lambda: optional(dma.transfer),
                meaning="row of the transfers table; null: none",
            ),
        ]
        if not self.decoded.trace.vendor:
            base = self.packets

            def read() -> Any:
                return array(dma.read_bytes(base.read_bytes(size)))

            columns.append(
                Column(name="read_bytes", make=read, meaning="bytes read at the source", unit="B")
            )
        return columns

    def _semaphores(self) -> list[Column]:
        events = self.decoded.events
        chosen = np.flatnonzero(events["what"] & np.uint32(0x100))
        number = (events["what"][chosen] & np.uint32(0xFF)).astype(np.int64)
        core = events["core"][chosen].astype(np.int64)

        def make() -> Any:
            names = [
                held.get(index, "") for held in self.joined.semaphore_names for index in range(256)
            ]
            code = core * 256 + number
            known = np.array([bool(name) for name in names], np.bool_)[code]
            return categories(np.where(known, code, -1), names)

        return [Column(name="name", make=make, meaning="queue or engine of the semaphore")]


def _replaced(base: list[Column], extra: list[Column]) -> list[Column]:
    """Return the base columns with those of the same name replaced, new ones behind."""
    given = {column.name: column for column in extra}
    return [*(given.pop(column.name, column) for column in base), *given.values()]


def _projected(make: Callable[[], pa.Table], wanted: Sequence[str] | None) -> pa.Table:
    table = make()
    return table if wanted is None else table.select([n for n in wanted if n in table.column_names])


def _metadata(given: Mapping[str, Any], neff: Neff) -> Mapping[str, Any]:
    """Return metadata with the program's; names that may be paths of other machines stay out."""
    versions = dict(given.get("versions", {}))
    if neff.compiler_version:
        versions["compiler"] = neff.compiler_version
    absent = {
        name: why
        for name, why in dict(given.get("summary_absent", {})).items()
        if name not in _SETTLED
    }
    return {**given, "versions": versions, "summary_absent": absent, "neff": neff_metadata(neff)}


_SETTLED: Final = frozenset(
    {
        "compiler_version",
        "inputs_and_weights_size_bytes",
        "mbu_min_read_util_percent",
        "hbm_read_bytes",
        "hbm_write_bytes",
        "sbuf_read_bytes",
        "sbuf_write_bytes",
        "mbu_estimated_percent",
        "spill_reload_bytes",
        "spill_save_bytes",
        "transpose_flops",
        "mm_arithmetic_intensity",
        "mfu_inst_estimated_percent",
        "mfu_inst_max_achievable_estimated_percent",
    }
)
"""Summary fields that a program can settle."""

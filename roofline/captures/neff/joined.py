"""A trace and its program together: names, DMA, what the program settles and what it adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from roofline.captures.capture import Issue
from roofline.captures.neff.dma import ProgramDma
from roofline.captures.neff.join import Join, Match
from roofline.captures.neff.labels import Labels
from roofline.captures.neff.operands import spelled
from roofline.captures.neff.program import Neff
from roofline.captures.neff.tensors import list_tensors, sizes
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.derived import SlotFacts
from roofline.captures.ntff.device import marks_transposes
from roofline.captures.ntff.header import ENGINES
from roofline.captures.ntff.links import Links
from roofline.captures.ntff.quality import find_issues

__all__ = ["Joined"]

_MATMUL: Final = 0x02
_DIRECT2D: Final = 0xB8
_ENGINE_SEMAPHORES: Final = {3: "GpSimd", 4: "Scalar", 5: "Tensor", 6: "Vector"}


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

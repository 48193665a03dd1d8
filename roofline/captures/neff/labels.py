"""Names of instructions: BIR, kernel, HLO operation, layer and source line, by slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

import numpy as np
import numpy.typing as npt

from roofline.captures.neff.debug import ENTRY_TYPES, DebugFile, Entry
from roofline.captures.neff.join import Join
from roofline.captures.neff.program import Neff
from roofline.captures.ntff.header import ENGINES

__all__ = ["Labels", "Texts"]

_CONTEXT: Final = "sg0000"


@dataclass
class Texts:
    """A text a slot as codes; -1 where there is none."""

    codes: npt.NDArray[np.int64]
    values: list[str] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def set(self, slot: int, text: str) -> None:
        """Give a slot its text."""
        code = self._known.get(text)
        if code is None:
            code = self._known[text] = len(self.values)
            self.values.append(text)
        self.codes[slot] = code

    @property
    def any(self) -> bool:
        """Whether any slot has a text that is not empty."""
        return any(self.values)


@dataclass(frozen=True)
class Labels:
    """What the debug levels of a NEFF say of each slot of a trace's program."""

    join: Join

    @cached_property
    def _found(self) -> tuple[dict[str, Texts], dict[str, npt.NDArray[np.int64]]]:
        slots = self.join.program.slots

        def codes() -> npt.NDArray[np.int64]:
            return np.full(slots, -1, np.int64)

        names = (
            "bir_instruction_name", "bir_id", "penguin_id", "hlo_name", "layer", "kernel_name",
            "nki_source_location", "hlo_source_location", "instruction_type",
        )  # fmt: skip
        texts = {name: Texts(codes()) for name in names}
        numbers = {
            name: codes()
            for name in ("raw_bir_id", "raw_penguin_id", "raw_hlo_id", "raw_framework_id")
        }
        chain = _Chain(self.join.neff)
        for slot, bir in self._instructions():
            numbers["raw_bir_id"][slot] = bir.id
            texts["bir_id"].set(slot, f"{_CONTEXT}:{bir.id}")
            texts["bir_instruction_name"].set(slot, bir.name)
            if bir.type in ENTRY_TYPES:
                texts["instruction_type"].set(slot, ENTRY_TYPES[bir.type])
            if bir.parents:
                numbers["raw_penguin_id"][slot] = bir.parents[0]
                texts["penguin_id"].set(slot, f"{_CONTEXT}:{bir.parents[0]}")
            for name, value in chain.of(bir).items():
                if isinstance(value, int):
                    numbers[name][slot] = value
                else:
                    texts[name].set(slot, value)
        return texts, numbers

    def _instructions(self) -> Iterator[tuple[int, Entry]]:
        """Yield slots with their BIR instruction."""
        join = self.join
        for core, subgraph in enumerate(join.subgraphs):
            if subgraph is None:
                continue
            for engine, key in enumerate(ENGINES):
                slots = join.slots(core, engine)
                assembly = subgraph.assembly(key).entries
                if not len(slots) or not assembly:
                    continue
                backend = subgraph.backend(key).by_id
                for slot, number in zip(slots.tolist(), join.index[slots].tolist(), strict=True):
                    if 0 <= number < len(assembly) and assembly[number].parents:
                        bir = backend.get(assembly[number].parents[0])
                        if bir is not None:
                            yield slot, bir

    def text(self, name: str) -> Texts:
        """Return a text a slot."""
        return self._found[0][name]

    def number(self, name: str) -> npt.NDArray[np.int64]:
        """Return a number a slot, -1 where there is none."""
        return self._found[1][name]


class _Chain:
    """The levels above an instruction, looked up once a penguin entry."""

    def __init__(self, neff: Neff) -> None:
        self._neff = neff
        self._done: dict[int, dict[str, str | int]] = {}

    def of(self, bir: Entry) -> dict[str, str | int]:
        parent = bir.parents[0] if bir.parents else -1
        if parent not in self._done:
            self._done[parent] = self._look_up(parent)
        return self._done[parent]

    def _look_up(self, parent: int) -> dict[str, str | int]:
        neff = self._neff
        found: dict[str, str | int] = {"hlo_name": "", "layer": "Unknown"}
        penguin = neff.penguin.by_id.get(parent)
        if penguin is None:
            return found
        if kernel := neff.penguin.attribute(penguin, "kernel_name"):
            found["kernel_name"] = kernel
        if line := _line(neff.penguin, penguin, "kernel"):
            found["nki_source_location"] = line
        hlo = neff.hlo.by_id.get(penguin.parents[0]) if penguin.parents else None
        if hlo is None:
            return found
        found["hlo_name"], found["raw_hlo_id"] = hlo.name, hlo.id
        if line := _line(neff.hlo, hlo, "source"):
            found["hlo_source_location"] = line
        layer = neff.framework.by_id.get(hlo.parents[0]) if hlo.parents else None
        if layer is not None and layer.name:
            found["layer"], found["raw_framework_id"] = layer.name, layer.id
        return found


def _line(level: DebugFile, entry: Entry, kind: str) -> str:
    """Return ``file:line`` of an entry; folders belong to the author's machine and are left out."""
    file = PurePosixPath(level.attribute(entry, f"{kind}_file")).name
    line = entry.attributes.get(f"{kind}_line", "")
    return f"{file}:{line}" if file and line else file

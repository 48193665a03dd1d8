"""What a NEFF says: its programs, variables, queues and debug levels, each read when asked for."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from roofline.captures.neff.container import (
    HEADER_BYTES,
    Header,
    is_neff,
    read_header,
    read_members,
)
from roofline.captures.neff.debug import DebugFile, read_debug
from roofline.captures.plainfile import open_regular
from roofline.errors import CaptureError
from roofline.hardware.load import models_of_core

__all__ = ["ENGINE_KEYS", "WORD_BYTES", "Neff", "Subgraph", "Variable", "open_neff"]

WORD_BYTES: Final = 64

ENGINE_KEYS: Final = {
    "tensor": "pe",
    "scalar": "act",
    "gpsimd": "pool",
    "vector": "dve",
    "sync": "sp",
}
"""Engine key -> prefix of its keys in ``def.json``."""

_PENGUIN: Final = "debug_info/debug_info_penguin.dbg_sg000000"
_HLO: Final = "debug_info/debug_info_hlo.dbg_sg000000"
_FRAMEWORK: Final = "debug_info/debug_info_pttf.dbg_sg000000"
_EMPTY: Final = DebugFile(entries=(), by_id={}, sources=(), kernels=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable of a subgraph: ``type`` is the compiler's (input, output, file, virtual ...)."""

    name: str
    type: str
    id: int
    size: int | None
    file_name: str
    members: tuple[int, ...]


@dataclass(frozen=True)
class Neff:
    """An open NEFF: header and members in memory; everything else is decoded on demand."""

    path: Path
    header: Header
    members: Mapping[str, bytes]

    def member(self, name: str) -> bytes:
        """Return a member; raises ``CaptureError`` when there is none of this exact name."""
        data = self.members.get(name)
        if data is None:
            raise CaptureError(f"{self.path}: no member {name!r}", section="tar")
        return data

    def json(self, name: str) -> dict[str, Any]:
        """Return a member as a JSON object; empty where there is none of this name."""
        if name not in self.members:
            return {}
        try:
            value = msgspec.json.decode(self.members[name])
        except (msgspec.DecodeError, RecursionError) as error:
            raise CaptureError(f"{self.path}: {name}: {error}", section=name) from error
        if not isinstance(value, dict):
            raise CaptureError(f"{self.path}: {name}: not a JSON object", section=name)
        return value

    def debug(self, name: str) -> DebugFile:
        """Return a debug file; empty where there is none of this name."""
        if name not in self.members:
            return _EMPTY
        return read_debug(self.members[name], f"{self.path}: {name}")

    @cached_property
    def compiler_version(self) -> str:
        """Version of the compiler, empty if it is not given."""
        return _text(self.json("info.json").get("tool_version"))

    @cached_property
    def node(self) -> tuple[int, str]:
        """Index of the compute node and the file that describes its subgraphs."""
        for nodes in self.json("neff.json").values():
            for index, node in enumerate(_list(nodes)):
                kelf = _text(_dict(_dict(node).get("attrs")).get("kelf"))
                if kelf in self.members:
                    return index, kelf
        return 0, "kelf-0.json"

    @cached_property
    def kelf(self) -> dict[str, Any]:
        """What describes the subgraphs."""
        return self.json(self.node[1])

    @property
    def hardware(self) -> tuple[str, ...]:
        """Hardware the program was compiled for; empty for a target that is not known."""
        return models_of_core(_text(self.kelf.get("target")))

    @cached_property
    def subgraphs(self) -> Mapping[str, Subgraph]:
        """Subgraphs by name (``sg00`` ...): one for each physical core."""
        found: dict[str, Subgraph] = {}
        for graph in _list(self.kelf.get("graphs")):
            name = _text(_dict(graph).get("name"))
            definition = _text(_dict(graph).get("definition")) or f"{name}/def.json"
            if name and name not in found and definition in self.members:
                found[name] = Subgraph(neff=self, name=name, definition=definition)
        if not found:
            raise CaptureError(f"{self.path}: no subgraph", section=self.node[1])
        return found

    @cached_property
    def penguin(self) -> DebugFile:
        """Loops and operations of the compiler's middle level, or kernel lines."""
        return self.debug(_PENGUIN)

    @cached_property
    def hlo(self) -> DebugFile:
        """Operations of the XLA graph; empty for kernels written by hand."""
        return self.debug(_HLO)

    @cached_property
    def framework(self) -> DebugFile:
        """Layers of the framework; empty for kernels written by hand."""
        return self.debug(_FRAMEWORK)


@dataclass(frozen=True)
class Subgraph:
    """The program of one physical core."""

    neff: Neff
    name: str
    definition: str

    @cached_property
    def keys(self) -> dict[str, Any]:
        """The definition file."""
        return self.neff.json(self.definition)

    def file(self, name: str) -> str:
        """Return the member that a name in the definition means."""
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.definition), name))

    def words(self, engine: str) -> npt.NDArray[np.uint8]:
        """Return the instruction words of an engine, uint8 of shape (words, 64)."""
        name = _text(self.keys.get(f"{ENGINE_KEYS[engine]}_instr"))
        if not name:
            return np.zeros((0, WORD_BYTES), np.uint8)
        data = self.neff.member(self.file(name))
        if len(data) % WORD_BYTES:
            raise CaptureError(
                f"{self.neff.path}: {name}: {len(data)} bytes are no whole words",
                section=self.name,
            )
        return np.frombuffer(data, np.uint8).reshape(-1, WORD_BYTES)

    def engine_json(self, engine: str) -> dict[str, Any]:
        """Return what belongs to an engine beside its words: planned DMA."""
        name = _text(self.keys.get(ENGINE_KEYS[engine]))
        return self.neff.json(self.file(name)) if name else {}

    def _levels(self, key: str) -> DebugFile:
        """Return the debug files that a key lists, as one."""
        names = self.keys.get(key)
        files = [
            self.neff.debug(self.file(_text(name)))
            for name in ([names] if isinstance(names, str) else _list(names))
        ]
        if len(files) == 1:
            return files[0]
        merged = tuple(entry for file in files for entry in file.entries)
        by_id = {entry.id: entry for entry in reversed(merged)}
        return DebugFile(entries=merged, by_id=by_id, sources=(), kernels=())

    def assembly(self, engine: str) -> DebugFile:
        """Return the level whose entries are the words of an engine, in order."""
        return self._levels(f"{ENGINE_KEYS[engine]}_asm_dbg")

    def backend(self, engine: str) -> DebugFile:
        """Return the BIR instructions of an engine."""
        return self._levels(f"{ENGINE_KEYS[engine]}_dbg")

    @cached_property
    def variables(self) -> Mapping[str, Variable]:
        """Variables by name."""
        found = {}
        for name, value in _dict(self.keys.get("var")).items():
            row = _dict(value)
            found[name] = Variable(
                name=name,
                type=_text(row.get("type")),
                id=_int(row.get("var_id"), -1),
                size=_int(row.get("size"), None),
                file_name=_text(row.get("file_name")),
                members=tuple(
                    _int(one, _int(_dict(_dict(self.keys.get("var")).get(one)).get("var_id"), -1))
                    if isinstance(one, str)
                    else _int(one, -1)
                    for one in _list(row.get("list"))
                ),
            )
        return found

    @cached_property
    def variable_of_id(self) -> Mapping[int, Variable]:
        """Variables by number."""
        return {variable.id: variable for variable in reversed(list(self.variables.values()))}

    @cached_property
    def queues(self) -> dict[str, dict[str, Any]]:
        """DMA queues by the compiler's name."""
        return {name: _dict(value) for name, value in _dict(self.keys.get("dma_queue")).items()}

    @cached_property
    def tensor_map(self) -> dict[str, Any]:
        """Shapes and element types of variables."""
        return self.neff.json(self.file("tensor_map.json"))


def open_neff(path: Path) -> Neff:
    """Open a NEFF. Raises ``CaptureError`` for anything that is not a whole, harmless one."""
    with open_regular(path) as file:
        head = file.read(HEADER_BYTES)
    header = read_header(head, path)
    return Neff(path=path, header=header, members=read_members(path, header))


def sniff(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is a NEFF."""
    return is_neff(head)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _int(value: Any, default: Any) -> Any:
    """Return an integer, also one written as text; ``default`` for anything else."""
    if isinstance(value, bool):
        return default
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return default
    return default

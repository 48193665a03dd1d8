"""NEFFs built from the documented layout: header, gzip tar, definition, words, debug levels."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from roofline.captures.ntff.header import ENGINES
from roofline.captures.ntff.program import WORD_BYTES
from roofline.captures.ntff.trace import Trace

FILES = {
    "tensor": ("PE", "pe"), "scalar": ("Activation", "act"), "gpsimd": ("Pool", "pool"),
    "vector": ("DVE", "dve"), "sync": ("SP", "sp"),
}  # fmt: skip
DROPPED_WORD = bytes([0xCC]) + bytes(63)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(key: int, value: int) -> bytes:
    return varint(key << 3) + varint(value)


def block(key: int, data: bytes) -> bytes:
    return varint(key << 3 | 2) + varint(len(data)) + data


def packed(key: int, values: list[int]) -> bytes:
    return block(key, b"".join(map(varint, values))) if values else b""


def entry(id: int, name: str = "", parents: list[int] | None = None, type: int = 0,
          attributes: dict[str, str] | None = None,
          dependencies: list[int] | None = None) -> bytes:  # fmt: skip
    """One instruction of a debug level."""
    data = number(1, id) if id else b""
    data += block(2, name.encode()) if name else b""
    data += packed(3, parents or []) + packed(4, dependencies or [])
    data += number(6, type) if type else b""
    for key, value in (attributes or {}).items():
        data += block(7, block(1, key.encode()) + block(2, value.encode()))
    return block(3, data)


def debug_file(entries: list[bytes], kind: int = 0, up: str = "",
               sources: list[str] | None = None,
               kernels: list[str] | None = None) -> bytes:  # fmt: skip
    data = block(1, b"debug information") + (block(2, up.encode()) if up else b"")
    data += b"".join(entries) + (number(4, kind) if kind else b"")
    data += b"".join(block(5, name.encode()) for name in sources or [])
    return data + b"".join(block(7, name.encode()) for name in kernels or [])


def trigger(queue: str, number: int) -> bytes:
    """A word that starts a planned transfer."""
    word = bytearray(WORD_BYTES)
    word[0], word[1] = 0xC1, 0x10
    word[12 : 12 + len(queue)] = queue.encode()
    word[48:52] = number.to_bytes(4, "little")
    return bytes(word)


def planned(queue: str, number: int, source: str, dest: str, size: int, *,
            read: int | None = None, **more: Any) -> dict[str, Any]:  # fmt: skip
    """One planned transfer of ``size`` bytes written (``read`` bytes read) in two parts."""
    read = size if read is None else read

    def part(share: int) -> dict[str, Any]:
        return {
            "from": source, "from_dtype": "float32", "from_off": 0, "from_steps": [1],
            "from_sizes": [read // 2, 1], "to": dest, "to_dtype": "float32", "to_off": 0,
            "to_steps": [1], "to_sizes": [size // 4, 2], "op": "copy", **more,
        }  # fmt: skip

    return {"id": number, "queue": queue, "semaphore": 20, "#comment": f"dma-{queue}-{number}",
            "desc": [part(0), part(1)]}  # fmt: skip


@dataclass
class Program:
    """One subgraph: words, planned transfers and BIR entries by engine, variables, queues."""

    words: dict[str, bytes] = field(default_factory=dict)
    dma: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    assembly: dict[str, list[bytes]] = field(default_factory=dict)
    backend: dict[str, list[bytes]] = field(default_factory=dict)
    variables: dict[str, dict[str, Any]] = field(default_factory=dict)
    queues: dict[str, dict[str, Any]] = field(default_factory=dict)
    tensor_map: dict[str, dict[str, Any]] = field(default_factory=dict)

    def members(self, name: str) -> dict[str, bytes]:
        keys: dict[str, Any] = {"dma_queue": self.queues, "var": self.variables, "dma_dbg": []}
        files: dict[str, bytes] = {}
        for engine, (file, key) in FILES.items():
            keys[key] = f"{file}.json"
            keys[f"{key}_instr"] = f"{file}.bin"
            keys[f"{key}_asm_dbg"] = [f"debug_info_asm_{file}.dbg"]
            keys[f"{key}_dbg"] = [f"debug_info_backend_{file}.dbg"]
            files[f"{file}.json"] = json.dumps({"dma": self.dma.get(engine, [])}).encode()
            files[f"{file}.bin"] = self.words.get(engine, b"")
            up = f"debug_info_backend_{file}.dbg"
            files[f"debug_info_asm_{file}.dbg"] = debug_file(self.assembly.get(engine, []), up=up)
            files[up] = debug_file(self.backend.get(engine, []), kind=1)
        files["def.json"] = json.dumps(keys).encode()
        files["tensor_map.json"] = json.dumps(self.tensor_map).encode()
        return {f"{name}/{file}": data for file, data in files.items()}


@dataclass
class NeffFile:
    """A whole NEFF."""

    programs: dict[str, Program] = field(default_factory=dict)
    uuid: bytes = bytes(range(1, 17))
    target: str = "cayman"
    debug: dict[str, bytes] = field(default_factory=dict)
    more: dict[str, bytes] = field(default_factory=dict)
    name: str = "/home/author/secret/file.neff"

    def members(self) -> dict[str, bytes]:
        graphs = [{"name": name, "definition": f"{name}/def.json"} for name in self.programs]
        members = {
            "info.json": json.dumps({"tool_version": "2.21.18209.0", "name": "x"}).encode(),
            "neff.json": json.dumps(
                {"nodes": [{"op": "in"}, {"attrs": {"kelf": "kelf-0.json"}}]}
            ).encode(),
            "kelf-0.json": json.dumps({"graphs": graphs, "target": self.target}).encode(),
        }
        for name, program in self.programs.items():
            members |= program.members(name)
        return members | self.debug | self.more

    def write(self, path: Path, *, plain: bool = False) -> Path:
        path.write_bytes(pack(tar(self.members()), self, plain=plain))
        return path


def tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def pack(archive: bytes, about: NeffFile, *, plain: bool = False) -> bytes:
    data = archive if plain else gzip.compress(archive, mtime=0)
    data += bytes(-len(data) % 10240)
    header = struct.pack(
        "<5Q128sI32s16s256sI64sQI", 2, 1024, len(data), 2, 0, b"", 1, bytes(range(16)),
        about.uuid, about.name.encode(), 1, b"\1", 0xC00, len(about.programs),
    )  # fmt: skip
    return header.ljust(1024, b"\0") + data


def programs_of(trace: Trace) -> dict[str, Program]:
    """The compiled programs of a trace: its words without the runtime's insertions.

    What the runtime dropped is put back as the word it always is. DMA words that the runtime
    resolved stay as they are: a test replaces those it is about.
    """
    held = trace.program
    programs: dict[str, Program] = {}
    for core, about in enumerate(trace.header.cores):
        program = programs[about.name] = Program()
        for index, engine in enumerate(ENGINES):
            slots = np.flatnonzero((held.core == core) & (held.engine == index))
            drops = {
                edit.offset_bytes // WORD_BYTES: edit.count
                for edit in about.edits
                if edit.engine == index and edit.kind == 2
            }
            words = []
            for slot in slots.tolist():
                words += [DROPPED_WORD] * drops.get(int(held.pc[slot]), 0)
                if not held.inserted[slot]:
                    words.append(held.words[slot].tobytes())
            program.words[engine] = b"".join(words)
    return programs

"""Instruction words made from named fields, for tests."""

from __future__ import annotations

import struct


def word(opcode: int, fields: dict[int, tuple[str, object]] | None = None) -> bytes:
    """A 64-byte word: ``fields`` maps a byte offset to a struct format and its value(s)."""
    out = bytearray(64)
    out[0], out[1] = opcode, 0x10
    for at, (form, value) in (fields or {}).items():
        values = value if isinstance(value, tuple) else (value,)
        struct.pack_into("<" + form, out, at, *values)
    return bytes(out)


def wait(ident: int, value: int, mode: int = 5) -> dict[int, tuple[str, object]]:
    return {4: ("BB", (mode, ident)), 8: ("i", value)}


def update(ident: int, mode: int = 0x13) -> dict[int, tuple[str, object]]:
    return {6: ("BB", (mode, ident))}


def notify(hint: int) -> bytes:
    return word(0xA6, {2: ("B", 9), 36: ("H", hint), 39: ("B", 1)})


def pattern(
    at: int, address: int, steps: tuple[int, ...], sizes: tuple[int, ...]
) -> dict[int, tuple[str, object]]:
    dims = len(steps)
    return {
        at: ("I", address),
        at + 4: (f"{dims}h", steps),
        at + 4 + 2 * dims: (f"{dims}H", sizes),
    }


def tensor(
    opcode: int, dtype: int, columns: int, *, address: int = 0, mode: int = 0, **extra: object
) -> bytes:
    """LDWEIGHTS or MATMUL over 128 rows and columns."""
    fields = pattern(16, address, (1, 0, 0), (columns, 1, 1))
    fields |= {32: ("B", dtype), 33: ("B", mode), 38: ("BB", (128, 128))}
    if opcode == 2:
        fields |= pattern(48, 0x2000000, (1, 0, 0), (columns, 1, 1)) | {43: ("B", 3)}
    if extra.get("transpose"):
        fields[34] = ("B", 1)
    return word(opcode, fields)


def unary(
    opcode: int,
    elements: int,
    *,
    dtypes: tuple[int, int] = (10, 10),
    source: int = 0,
    dest: int = 0x4000,
    out: int | None = None,
    steps: tuple[int, int, int, int] = (1, 1, 1, 1),
    **more: tuple[str, object],
) -> bytes:
    fields = pattern(12, source, steps, (elements, 1, 1, 1))
    fields |= pattern(44, dest, (1, 1, 1, 1), (elements if out is None else out, 1, 1, 1))
    fields |= {32: ("BBB", (*dtypes, 128))}
    fields |= {int(at.removeprefix("at")): value for at, value in more.items()}
    return word(opcode, fields)


def direct2d(
    source: int, dest: int, element: int, rows: int, *, sem: int = 24, out: int | None = None
) -> bytes:
    """DMA_DIRECT2D; an address of -1 stands for a tensor of the table (HBM)."""
    fields: dict[int, tuple[str, object]] = {13: ("BB", (sem, 16))}
    written = element if out is None else out
    for at, address, size in ((16, source, element), (40, dest, written)):
        fields[at] = ("Q", 0x20 << 56 if address < 0 else address)
        fields[at + 8] = ("2i", (size, 1))
        fields[at + 16] = ("2H", (rows, 1))
    fields[36] = ("I", element)
    fields[60] = ("H", written)
    fields[62] = ("BB", (10, 10) if out is None else (10, 6))
    return word(0xB8, fields)

"""Operand text of an instruction word, as the vendor prints it.

Semaphores are named by the compiler's conventions and, for dynamic DMA queues, by the
DMA_DIRECT2D instructions of the same core that count on them; other queue names are only in the
compiled program and are left out.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final

__all__ = ["DTYPE_NAMES", "FUNCTIONS", "QUEUE_OF_ISSUER", "SEMAPHORES", "operand_text"]

DTYPE_NAMES: Final = {6: "bfloat16", 7: "fp16", 8: "int32", 9: "uint32", 10: "fp32"}

SEMAPHORES: Final = {3: "GpSimd", 4: "Scalar", 5: "Tensor", 6: "Vector"}
"""Semaphores that the compiler gives to engines."""

QUEUE_OF_ISSUER: Final = {
    "gpsimd": "qGpSimdDynamic",
    "sync": "qSyncDynamicHW",
    "scalar": "qScalarDynamicHW",
}
"""Queue that the DMA_DIRECT2D instructions of an engine go to."""

_FP32_MODES: Final = {1: "LOW", 2: "HIGH", 3: "LOW_HIGH"}
_ALU: Final = {0: "BYPASS", 4: "ADD", 6: "MULTIPLY", 8: "MAX"}
FUNCTIONS: Final = {0x07: "EXP", 0x80: "COPY"}
"""Functions of ACTIVATE by code."""

_DIMS: Final = {2: "X"}
_COMPARE: Final = {0: "ALWAYS", 3: "EQ"}
_WAIT_EQ: Final = 1
_WAIT_GE: Final = 5
_WAIT_EVENT: Final = 7


def operand_text(
    word: bytes, *, inserted: bool, queues: Mapping[int, str], transposes: bool
) -> str:
    """Return the operand text of one 64-byte word.

    ``inserted``: the runtime put the word into the program, its semaphores have no names.
    ``queues``: names of semaphores beside the compiler's. ``transposes``: the generation marks
    transposes in the word. Unknown codes are printed as ``name(code)``.
    """
    names = None if inserted else {**queues, **SEMAPHORES}
    (wait_value,) = struct.unpack_from("<i", word, 8)
    head = " ".join(
        part
        for part in (
            _wait(word[4], word[5], wait_value, names),
            _update(word[6], word[7], None, names),
        )
        if part
    )
    return f"{head} {_body(word, names, transposes)}"


def _semaphore(number: int, names: Mapping[int, str] | None) -> str:
    if names is None:
        return f"$S[{number}]"
    name = names.get(number)
    return f"S[{number}] ({name})" if name else f"S[{number}]"


def _event(number: int, names: Mapping[int, str] | None) -> str:
    return f"$E[{number}]" if names is None else f"E[{number}]"


def _wait(mode: int, number: int, value: int, names: Mapping[int, str] | None) -> str:
    if mode == 0:
        return ""
    if mode == _WAIT_EQ:
        return f"{_semaphore(number, names)}=={value}"
    if mode == _WAIT_GE:
        return f"{_semaphore(number, names)}>={value}"
    if mode == _WAIT_EVENT:
        return f"{_event(number, names)}==1-"
    return f"{_semaphore(number, names)} wait({mode}) {value}"


def _update(mode: int, number: int, value: int | None, names: Mapping[int, str] | None) -> str:
    amount = "?" if value is None else str(value)
    if mode == 0:
        return ""
    if mode == 0x11:
        return f"{_event(number, names)}+@complete"
    what = {0x13: "++", 0x14: "--", 0x15: f"+={amount}", 0x19: f"={amount}"}
    return f"{_semaphore(number, names)}{what.get(mode, f' update({mode})')}@complete"


def _named(table: Mapping[int, str], code: int, what: str) -> str:
    return table.get(code, f"{what}({code})")


def _dtype(code: int) -> str:
    return _named(DTYPE_NAMES, code, "dtype")


def _list(values: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, values))}]"


def _pattern(word: bytes, address: int, steps: int, sizes: int, dims: int) -> str:
    (at,) = struct.unpack_from("<I", word, address)
    step = struct.unpack_from(f"<{dims}h", word, steps)
    size = struct.unpack_from(f"<{dims}H", word, sizes)
    return f"{at:#x}{_list(step)}{_list(size)}"


def _body(word: bytes, names: Mapping[int, str] | None, transposes: bool) -> str:
    opcode = word[0]
    if opcode == 0x01:
        return _weights(word, transposes)
    if opcode == 0xA0:
        return _event_semaphore(word, names)
    format_body = _BODIES.get(opcode)
    return format_body(word) if format_body else ""


def _weights(word: bytes, transposes: bool) -> str:
    mode = f"fp32_mode={_named(_FP32_MODES, word[33], 'mode')} " if word[33] else ""
    transpose = ("DISABLED", "ENABLED")[word[34] & 1]
    mark = f"transpose_mode={transpose} " if transposes else ""
    source = _pattern(word, 16, 20, 26, 3)
    return f"{mode}{mark}src={_dtype(word[32])}@{source} {word[38]}*{word[39]} "


def _matmul(word: bytes) -> str:
    mode = f"fp32_mode={_named(_FP32_MODES, word[33], 'mode')} " if word[33] else ""
    source, dest = _pattern(word, 16, 20, 26, 3), _pattern(word, 48, 52, 58, 3)
    return (
        f"acc_flags={word[43]} {mode}src={_dtype(word[32])}@{source} dst={dest} "
        f"{word[38]}*{word[39]} "
    )


def _activate(word: bytes) -> str:
    scale, bias, immediate = struct.unpack_from("<3f", word, 36)
    (bias_address,) = struct.unpack_from("<I", word, 40)
    (bits,) = struct.unpack_from("<I", word, 44)
    by_value = f"bias_imm={bias:f}"
    by_pointer = f"bias_ptr={_dtype(word[32] >> 4)}@{bias_address:#x}"
    return (
        f"{_named(FUNCTIONS, word[35], 'function')} {by_value if word[12] & 1 else by_pointer} "
        f"src={_dtype(word[32] & 15)}@{_pattern(word, 16, 20, 26, 3)} "
        f"dst={_dtype(word[33])}@{_pattern(word, 48, 52, 58, 3)} channels={word[34]} "
        f"scale={scale:f} imm={f'[{bits:#x}]' if word[15] & 1 else f'{immediate:f}'} "
        f"accumulator_cmd={_named({0: 'IDLE'}, word[14], 'accumulator')}"
    )


def _tensor_tensor(word: bytes) -> str:
    return (
        f"op={_named(_ALU, word[14], 'op')} "
        f"src0={_dtype(word[12] & 15)}@{_pattern(word, 16, 20, 26, 3)} "
        f"src1={_dtype(word[12] >> 4)}@{_pattern(word, 32, 36, 42, 3)} "
        f"dst={_dtype(word[13])}@{_pattern(word, 48, 52, 58, 3)} channels={word[15]} "
    )


def _unary(word: bytes) -> str:
    return (
        f"src={_dtype(word[32])}@{_pattern(word, 12, 16, 24, 4)} "
        f"dst={_dtype(word[33])}@{_pattern(word, 44, 48, 56, 4)} channels={word[34]} "
    )


def _reduce(word: bytes) -> str:
    negated = f"negated={word[35]} " if word[35] else ""
    dim = _named(_DIMS, word[37], "dim")
    return f"op={_named(_ALU, word[36], 'op')} dim={dim} {negated}{_unary(word)}"


def _tensor_scalar(word: bytes) -> str:
    operands, sources = [], []
    for index, at in enumerate((40, 44)):
        (bits,) = struct.unpack_from("<I", word, at)
        (value,) = struct.unpack_from("<f", word, at)
        pointer = word[35] >> index & 1
        operands.append(f"{bits:#x}" if pointer else f"{value:g}")
        sources.append("PTR" if pointer else "INSTRUCTION")
    ops = ",".join(_named(_ALU, word[at], "op") for at in (36, 37))
    return (
        f"ops={ops} imm={','.join(operands)} imm_src={','.join(sources)} "
        f"src={_dtype(word[32])}@{_pattern(word, 16, 20, 26, 3)} "
        f"dst={_dtype(word[33])}@{_pattern(word, 48, 52, 58, 3)} channels={word[34]} "
    )


def _event_semaphore(word: bytes, names: Mapping[int, str] | None) -> str:
    wait_value, update_value = struct.unpack_from("<2i", word, 36)
    wait = _wait(word[32], word[33], wait_value, names)
    update = _update(word[34], word[35], update_value, names)
    return f"setter=0 {wait} {update} "


def _write(word: bytes) -> str:
    count = 2 if word[13] else 1
    dest = struct.unpack_from("<2Q", word, 16)[:count]
    data = struct.unpack_from("<2Q", word, 32)[:count]
    return (
        f"data={','.join(f'{value:#x}' for value in data)} "
        f"size={','.join(map(str, word[12 : 12 + count]))} "
        f"dst={','.join(f'{value:#x}' for value in dest)} "
    )


def _notify(word: bytes) -> str:
    (hint,) = struct.unpack_from("<H", word, 36)
    kind = _named({9: "EXPLICIT"}, word[2], "notification")
    trace = f" trace={_named({1: 'START'}, word[39], 'trace')}" if word[39] else ""
    return f" hint={hint} notification={kind} {trace} "


def _branch(word: bytes) -> str:
    (constant,) = struct.unpack_from("<I", word, 20)
    (signed,) = struct.unpack_from("<i", word, 20)
    (label,) = struct.unpack_from("<I", word, 48)
    compared = ""
    if word[12]:
        value = f"{constant:#x}" if word[13] == 9 else str(signed)
        compared = f"dtype={_dtype(word[13])} cmp0=$R[{word[16]}] cmp1={value} "
    hint = f"debugHint={word[3]}" if word[3] else ""
    return f"cmp_op={_named(_COMPARE, word[12], 'cmp')} {compared}label_id={label} {hint}"


def _registers(word: bytes) -> str:
    (address,) = struct.unpack_from("<Q", word, 16)
    steps = struct.unpack_from("<2h", word, 24)
    count = min(word[14] * word[15], 32)
    registers = ",".join(f"$R[{number}]" for number in word[32 : 32 + count])
    sizes = (word[14], word[15])
    return f"addr={_dtype(word[12])}@{address:#x}{_list(steps)}{_list(sizes)} data={registers} "


def _direct2d(word: bytes) -> str:
    sides = {}
    for side, at in (("src", 16), ("dst", 40)):
        (address,) = struct.unpack_from("<Q", word, at)
        offset, index = struct.unpack_from("<IH", word, at)
        steps = struct.unpack_from("<2i", word, at + 8)
        sizes = struct.unpack_from("<2H", word, at + 16)
        table = word[at + 7] & 0x20
        sides[side] = (
            f"{side}_table_offset_imm={offset:#x} {side}_table_index={index}"
            if table
            else f"{side}_addr_imm={address:#x}"
        )
        sides[f"{side}_pattern"] = _list(steps) + _list(sizes)
    (source_bytes,) = struct.unpack_from("<I", word, 36)
    (dest_bytes,) = struct.unpack_from("<H", word, 60)
    cast = (
        f"in_dtype={_dtype(word[62])} out_dtype={_dtype(word[63])} " if word[62] != word[63] else ""
    )
    return (
        f"semaphore={word[13]} sem_increment={word[14]}  "
        f"src_elem_size={source_bytes} dst_elem_size={dest_bytes} "
        f"src_pattern={sides['src_pattern']} dst_pattern={sides['dst_pattern']} "
        f"{sides['src']} src_shape_reg=0 {sides['dst']} dst_shape_reg=0 {cast}compute_op=NONE "
    )


def _range_clear(word: bytes) -> str:
    mode = _named({1: "SEMAPHORE_ZERO"}, word[12], "mode")
    return f"mode={mode} first={word[13]} last={word[14]} "


def _ordering(word: bytes) -> str:
    return f"ordering_mode={_named({0: 'relaxed', 1: 'strict'}, word[12], 'mode')} "


_BODIES: Final[Mapping[int, Callable[[bytes], str]]] = {
    0x02: _matmul,
    0x21: _activate,
    0x23: lambda word: f"table_sel={word[12]} ",
    0x41: _tensor_tensor,
    0x42: _reduce,
    0x43: _tensor_scalar,
    0x46: _unary,
    0x47: _unary,
    0x48: _unary,
    0xA4: lambda word: f"cycle={struct.unpack_from('<I', word, 12)[0]} ",
    0xA5: _write,
    0xA6: _notify,
    0xA9: _branch,
    0xAA: _registers,
    0xAB: _registers,
    0xB0: _range_clear,
    0xB1: _ordering,
    0xB8: _direct2d,
}

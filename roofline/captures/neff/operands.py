"""Operand texts of the words that the runtime resolves, as the vendor prints them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Final

from roofline.captures.neff.blocks import trigger_of
from roofline.captures.ntff.operands import operand_text

__all__ = ["PSEUDO_NAMES", "compiler_text", "spelled"]

PSEUDO_NAMES: Final = {0xC1: "PSEUDO_DMA_TRIGGER", 0xD4: "PSEUDO_DMA_DIRECT2D"}
"""Opcodes that the runtime resolves before it runs a program."""

_TRIGGER, _NOP, _DIRECT2D = 0xC1, 0xA4, 0xB8
_BY_ID: Final = 0x10
_SIDES: Final = {"src": 16, "dst": 40}
_QUEUE_PREFIXES: Final = (
    ("qPool", "qGpSimd"), ("qAct", "qScalar"), ("qSP", "qSync"), ("qDVE", "qVector"),
    ("qPE", "qTensor"),
)  # fmt: skip


def spelled(queue: str) -> str:
    """Return the compiler's name of a queue with the engine names that the vendor prints."""
    for prefix, name in _QUEUE_PREFIXES:
        if queue.startswith(prefix):
            return name + queue.removeprefix(prefix)
    return queue


def compiler_text(word: bytes, queues: Mapping[int, str]) -> str:
    """Return the operands of a word of the compiled program with opcode 0xC1 or 0xD4."""
    if word[0] == _TRIGGER:
        queue, number = trigger_of(word)
        nop = bytes([_NOP]) + word[1:12] + bytes(52)
        head = operand_text(nop, inserted=False, queues=queues, transposes=False)
        return f"{head.removesuffix('cycle=0 ')}{spelled(queue)} block_id={number} "
    runtime = bytes([_DIRECT2D]) + word[1:]
    text = operand_text(runtime, inserted=False, queues=queues, transposes=False)
    for side, at in _SIDES.items():
        offset, index = struct.unpack_from("<IH", word, at)
        if word[at + 7] & _BY_ID:
            where = f"{side}_var_id={index} {side}_var_offset={offset}"
        else:
            where = f"{side}_table_offset_imm={offset} {side}_table_index={index}"
        text = re.sub(
            rf"{side}_(addr_imm=\S+|table_offset_imm=\S+ {side}_table_index=\S+)", where, text
        )
    return text.replace("semaphore=", "dge_op=DIRECT2D semaphore=", 1).replace(
        "compute_op=NONE ", "  "
    )

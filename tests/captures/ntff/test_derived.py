"""What words tell about each instruction, against numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from roofline.captures.registry import open_capture
from tests.captures.ntff import encoder as enc
from tests.captures.ntff.words import direct2d, notify, pattern, tensor, unary, update, wait, word

SBUF, PSUM, HBM = 0x4000, 0x200_0000, 0x8005_C000_0000
DEVICE_SBUF = 0x8020_0000_4000


def table(engine: int, instruction: bytes, duration_ns: int, **more: Any) -> pa.Table:
    """The instruction table of one instruction that took ``duration_ns`` on a trn2 core."""
    core = enc.Core(
        number=4,
        programs={engine: (0x40 * 100, instruction)},
        sections={
            0: enc.instruction_start(engine, 100, 1000, wait=more.pop("ticks", 0))
            + enc.instruction_end(engine, 100, 1000 + 1000 * duration_ns)
        },
    )
    if more.pop("inserted", False):
        core.inserted = {engine: [(0, 1)]}
    folder: Path = more.pop("folder")
    file = enc.File(version=6, cores=[core, enc.Core(number=5)], window=(0, 1 << 40), **more)
    path = folder / "trace.ntff"
    path.write_bytes(file.encode())
    return open_capture(path).instructions


def row(engine: int, instruction: bytes, duration_ns: int = 1000, **more: Any) -> dict[str, Any]:
    (found,) = table(engine, instruction, duration_ns, **more).to_pylist()
    return found


def activate(function: int, scale: int, *, pointer: bool, accumulate: int = 0) -> bytes:
    fields = pattern(16, PSUM, (1, 1, 1), (512, 1, 1)) | pattern(48, SBUF, (1, 1, 1), (512, 1, 1))
    fields |= {12: ("B", 0 if pointer else 1), 14: ("B", accumulate), 32: ("B", 0xAA)}
    fields |= {33: ("BBB", (6, 128, function)), 36: ("I", scale)}
    return word(0x21, fields | {40: ("I", 0x6010 if pointer else 0)})


def tensor_scalar(ops: tuple[int, int], dtypes: tuple[int, int], source: int = SBUF) -> bytes:
    fields = pattern(16, source, (1, 1, 1), (512, 1, 1)) | pattern(48, SBUF, (1, 1, 1), (512, 1, 1))
    return word(0x43, fields | {32: ("BBB", (*dtypes, 128)), 36: ("BB", ops)})


def tensor_tensor(dtype: int, second_step: int = 1) -> bytes:
    fields = pattern(16, SBUF, (1, 1, 1), (512, 1, 1))
    fields |= pattern(32, SBUF, (second_step, 1, 1), (512, 1, 1))
    fields |= pattern(48, SBUF, (1, 1, 1), (512, 1, 1))
    return word(0x41, fields | {12: ("BBBB", (dtype | dtype << 4, dtype, 4, 128))})


TENSOR, SCALAR, GPSIMD, VECTOR, SYNC = range(5)
PASSES = 512 * 128


@pytest.mark.parametrize(
    ("engine", "instruction", "expected"),
    [
        (
            TENSOR,
            tensor(2, 6, 512),
            {
                "kind": "compute",
                "dtype_in": "bf16",
                "timeline_track": "TensorMatrix",
                "raw_flops": 2 * 128 * 128 * 512,
                "adjusted_flops": 2 * 128 * 128 * 512,
                "elements_per_partition": 512,
                "partitions": 128,
                "tensor_columns": 128,
                "sbuf_read_bytes": 1024,
                "psum_write_bytes": 1024,
                "element_passes": None,
                "streamed_cycles": 512,
                "tensor_instruction_type": "REGULAR",
            },
        ),
        (  # one of the two passes of an fp32 product: half the FLOP, four times the price
            TENSOR,
            tensor(2, 10, 512, mode=3, transpose=True),
            {
                "raw_flops": 128 * 128 * 512,
                "adjusted_flops": 4 * 128 * 128 * 512,
                "streamed_cycles": 1024,
                "tensor_instruction_type": "TRANSPOSE",
            },
        ),
        (
            TENSOR,
            tensor(1, 6, 128),
            {"kind": "weight_load", "raw_flops": None, "sbuf_read_bytes": 256},
        ),
        (TENSOR, tensor(2, 3, 512), {"dtype_in": None, "adjusted_flops": None}),
        (
            SCALAR,
            activate(0x07, 0x3F80_0000, pointer=True),
            {
                "kind": "compute",
                "scalar_activation_fn": "EXP",
                "dtype_out": "bf16",
                "psum_read_bytes": 2048,
                "sbuf_write_bytes": 1024,
                "psum_read_sbuf_write_bytes": 1024,
                "element_passes": PASSES,
                "special_ops": PASSES,
                "elementwise_ops": PASSES,
                "reduction_ops": 0,
            },
        ),
        (
            SCALAR,
            activate(0x80, 0x4000_0000, pointer=False, accumulate=1),
            {"special_ops": 0, "elementwise_ops": PASSES, "reduction_ops": PASSES, "mode": 1},
        ),
        (
            VECTOR,
            unary(0x42, 512, out=1),
            {
                "element_passes": PASSES,
                "reduction_ops": PASSES,
                "elementwise_ops": 0,
                "sbuf_read_bytes": 2048,
                "sbuf_write_bytes": 4,
                "hbm_read_bytes": None,
            },
        ),
        (VECTOR, unary(0x46, 512), {"elementwise_ops": 0, "special_ops": 0}),
        (VECTOR, unary(0x48, 512), {"special_ops": PASSES}),
        (VECTOR, tensor_scalar((6, 0), (10, 10)), {"elementwise_ops": PASSES}),
        (VECTOR, tensor_scalar((6, 4), (10, 10)), {"elementwise_ops": 2 * PASSES}),
        (
            VECTOR,
            tensor_tensor(10),
            {"elementwise_ops": PASSES, "sbuf_read_bytes": 4096, "sbuf_write_bytes": 2048},
        ),
        (
            GPSIMD,
            direct2d(HBM, DEVICE_SBUF, 512, 128),
            {"kind": "dma_issue", "hbm_read_bytes": 65536, "sbuf_write_bytes": 65536},
        ),
        (
            SYNC,
            direct2d(DEVICE_SBUF, -1, 512, 128, out=256),
            {"sbuf_read_bytes": 65536, "hbm_write_bytes": 32768, "sbuf_write_bytes": None},
        ),
        (SCALAR, word(0x23), {"kind": "table_load"}),
        (SYNC, word(0xA0), {"kind": "control", "element_passes": None, "mode": None}),
        (SYNC, word(0xA5), {"kind": "dma_issue"}),  # the doorbell of a planned DMA
    ],
)
def test_facts(engine: int, instruction: bytes, expected: dict[str, Any], tmp_path: Path) -> None:
    found = row(engine, instruction, folder=tmp_path)
    assert {name: found[name] for name in expected} == expected


def test_write_of_the_runtime_is_control(tmp_path: Path) -> None:
    assert row(SYNC, word(0xA5), inserted=True, folder=tmp_path)["kind"] == "control"


@pytest.mark.parametrize(
    ("instruction", "cycles", "mode"),
    [
        (tensor_scalar((6, 0), (6, 6)), 200, 4),  # fewer than 512 / 2 cycles: only 4x fits
        (tensor_scalar((6, 0), (6, 6)), 400, 2),
        (tensor_scalar((6, 0), (6, 6)), 700, None),  # 1x, or a faster mode and a delay
        (tensor_scalar((6, 0), (10, 10)), 400, 2),
        (tensor_scalar((6, 0), (10, 10), PSUM), 700, 1),  # fp32 from PSUM has one mode
        (tensor_tensor(6), 400, 2),
        (tensor_tensor(6, second_step=0), 700, 1),  # a broadcast input keeps to 1x
        (unary(0x46, 512, dtypes=(6, 6)), 150, 4),
    ],
)
def test_mode(instruction: bytes, cycles: int, mode: int | None, tmp_path: Path) -> None:
    found = row(VECTOR, instruction, round(cycles / 0.96), folder=tmp_path)
    assert found["mode"] == mode
    assert found["performance_mode"] == (f"{mode}x" if mode in (2, 4) else None)
    assert found["streamed_cycles"] == (None if mode is None else 512 / mode)


def test_unknown_hardware_leaves_modes_and_clocks_open(tmp_path: Path) -> None:
    found = row(VECTOR, tensor_scalar((6, 0), (6, 6)), instance="xyz9.large", folder=tmp_path)
    assert found["mode"] is None
    assert found["element_passes"] == PASSES
    assert "evt_wait_time_ns" not in found


def test_waits_are_known_where_the_word_waits(tmp_path: Path) -> None:
    waiting = row(VECTOR, word(0xA2, wait(5, 1)), ticks=1200, folder=tmp_path)
    assert waiting["evt_wait_time_ns"] == 1000
    stale = row(VECTOR, word(0xA2), ticks=1200, folder=tmp_path)
    assert stale["evt_wait_time_ns"] is None
    assert stale["evt_wait_time_raw_ns"] == 1000


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        (word(0xA2), " "),
        (word(0xA4, wait(4, 0, 7) | {12: ("I", 1)}), "E[4]==1- cycle=1 "),
        (word(0xA2, wait(5, 3) | update(6)), "S[5] (Tensor)>=3 S[6] (Vector)++@complete "),
        (notify(3), "  hint=3 notification=EXPLICIT  trace=START "),
        (word(0x77), " "),
        (
            tensor(2, 6, 512),
            " acc_flags=3 src=bfloat16@0x0[1,0,0][512,1,1] dst=0x2000000[1,0,0][512,1,1] 128*128 ",
        ),
        (
            direct2d(-1, DEVICE_SBUF, 512, 128),
            (
                " semaphore=24 sem_increment=16  src_elem_size=512 dst_elem_size=512 "
                "src_pattern=[512,1][128,1] dst_pattern=[512,1][128,1] src_table_offset_imm=0x0 "
                "src_table_index=0 src_shape_reg=0 dst_addr_imm=0x802000004000 dst_shape_reg=0 "
                "compute_op=NONE "
            ),
        ),
    ],
)
def test_operand_text(instruction: bytes, text: str, tmp_path: Path) -> None:
    assert row(GPSIMD, instruction, folder=tmp_path)["operands"] == text


def test_columns_say_unit_and_scope(tmp_path: Path) -> None:
    schema = table(VECTOR, unary(0x46, 512), 100, folder=tmp_path).schema
    for field in schema:
        assert field.metadata[b"long_name"]
    assert schema.field("start_ps").metadata[b"units"] == b"ps"
    assert b"one partition" in schema.field("sbuf_read_bytes").metadata[b"long_name"]
    assert b"all partitions" in schema.field("element_passes").metadata[b"long_name"]


def test_only_wanted_columns_are_made(tmp_path: Path) -> None:
    core = enc.Core(programs={0: (0, word(0xA2))}, sections={0: b""})
    path = tmp_path / "trace.ntff"
    path.write_bytes(enc.File(version=6, cores=[core], window=(0, 9)).encode())
    capture = open_capture(path)
    assert capture.table("instructions", ["opcode", "pc"]).column_names == ["opcode", "pc"]
    with pytest.raises(LookupError, match="no column 'nonsense'"):
        capture.table("instructions", ["nonsense"])


def test_packets_find_their_instruction(tmp_path: Path) -> None:
    """Two DMAs of two packets and a semaphore each; the first casts fp32 to bf16 on the way."""
    words = direct2d(DEVICE_SBUF, -1, 512, 4, out=256) + direct2d(-1, DEVICE_SBUF, 512, 4)
    steps, at = b"", 10_000
    for size in (512, 512, 4, 1024, 1024, 4):
        for step in (1, 5, 6):
            at += 100
            steps += enc.packet(0, 0, step, at, size=size)
    records = b"".join(
        enc.instruction_start(2, pc, 1000 + pc) + enc.instruction_end(2, pc, 1500 + pc)
        for pc in (0, 1)
    )
    core = enc.Core(
        programs={2: (0, words)},
        rings=[enc.Ring(64, 0, "qPoolDynamic")],
        sections={0: records, 4: steps},
    )
    path = tmp_path / "trace.ntff"
    path.write_bytes(enc.File(version=6, cores=[core], window=(0, 1 << 40)).encode())
    capture = open_capture(path)
    rows = capture.dma.to_pylist()
    assert [r["instruction_id"] for r in rows] == [0, 0, 0, 1, 1, 1]
    assert [r["source_memory"] for r in rows] == ["sbuf"] * 3 + ["hbm"] * 3
    assert [r["read_bytes"] for r in rows] == [1024, 1024, 4, 1024, 1024, 4]
    assert [r["queue_name"] for r in rows] == ["qGpSimdDynamic"] * 6
    assert not [i for i in capture.quality if i.id in ("bytes-unaccounted", "unlinked-dma")]

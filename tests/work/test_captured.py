from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from roofline.captures.capture import Capture
from roofline.captures.registry import open_capture
from roofline.errors import MissingTableError, WorkError
from roofline.work import broadcast_weights, executed_work, with_measured
from roofline.work.captured import measured_bytes, minimal_bytes_of_tensors, tensor_flops
from roofline.work.closed_form import closed_form

NORM = {"rows": 4, "cols": 512, "dtype": "bf16"}


def capture(summary: dict[str, int] | None = None, **tables: dict[str, list[object]]) -> Capture:
    built = {name: pa.table(columns) for name, columns in tables.items()}
    return Capture(
        path=Path("made.ntff"),
        format="made",
        sources={name: (lambda _, t=table: t) for name, table in built.items()},
        summary_source=lambda: summary or {},
    )


DMA = {
    "source_memory": ["hbm", "hbm", "sbuf", "unknown"],
    "dest_memory": ["sbuf", "sbuf", "hbm", "unknown"],
    "read_bytes": [4096, 4096, 4096, 99],
    "write_bytes": [4096, 4096, 4096, 99],
}


def test_measured_bytes_come_from_counters_then_packets() -> None:
    assert measured_bytes(capture({"hbm_read_bytes": 10, "hbm_write_bytes": 4}, dma=DMA)) == (10, 4)
    assert measured_bytes(capture(dma=DMA)) == (8192, 4096)
    assert measured_bytes(capture()) is None
    nowhere = {**DMA, "source_memory": ["unknown"] * 4, "dest_memory": ["unknown"] * 4}
    assert measured_bytes(capture(dma=nowhere)) is None  # not zero: nobody said where they went


def test_reloads_and_excess_writes() -> None:
    work = closed_form("rmsnorm", **NORM)
    assert (work.reload_factor, work.excess_write_bytes) == (None, None)
    seen = with_measured(work, capture({"hbm_read_bytes": 10_240, "hbm_write_bytes": 5_000}))
    assert seen.measured_bytes == 15_240
    assert seen.reload_factor == pytest.approx(2.0, rel=1e-12)
    assert seen.excess_write_bytes == 5_000 - 4_096
    assert with_measured(work, capture()) == work


def test_executed_work_adds_up_by_engine_and_dtype() -> None:
    work = executed_work(
        capture(
            instructions={
                "engine": ["tensor", "tensor", "vector", "scalar", "sync"],
                "opcode": ["MATMUL", "MATMUL", "TENSOR_TENSOR", "ACTIVATE", "WAIT"],
                "dtype_in": ["bf16", "fp32", "bf16", "bf16", None],
                "raw_flops": [1000, 200, None, None, None],
                "element_passes": [None, None, 64, 32, None],
                "elementwise_ops": [None, None, 64, 32, None],
                "reduction_ops": [None, None, 0, 0, None],
                "special_ops": [None, None, 0, 32, None],
            }
        )
    )
    assert work.tensor_flops == {"bf16": 1000, "fp32": 200}
    assert work.flops == {"matmul": 1200, "elementwise": 96, "special": 32}
    assert work.element_passes == 96
    assert {op.usual_engine for op in work.ops} == {"", "vector", "scalar"}
    assert work.dtype == "bf16"
    with pytest.raises(MissingTableError):
        executed_work(capture())
    with pytest.raises(WorkError, match="do not tell"):
        executed_work(capture(instructions={"engine": ["tensor"]}))


def test_minimal_bytes_from_tensors() -> None:
    made = capture(tensors={"type": ["IN", "WEIGHT", "OUT", "VIRTUAL"], "size": [8, 4, 6, None]})
    assert minimal_bytes_of_tensors(made) == (12, 6)


def test_minimal_bytes_from_a_summary() -> None:
    sizes = {"inputs_outputs_weights_size_bytes": 18, "inputs_and_weights_size_bytes": 12}
    assert minimal_bytes_of_tensors(capture(sizes)) == (12, 6)
    assert minimal_bytes_of_tensors(capture({"inputs_outputs_weights_size_bytes": 18})) == (18, 0)
    with pytest.raises(MissingTableError):
        minimal_bytes_of_tensors(capture({"inputs_and_weights_size_bytes": 12}))


def test_products_are_told_from_transposes() -> None:
    rows = {"raw_flops": [100, 40, 7, None], "tensor_instruction_type": ["MATMUL"] * 4}
    assert tensor_flops(capture(instructions=rows)) == (147, 0)
    kinds = ["MATMUL", "TRANSPOSE", "MATMUL", None]  # what multiplies nothing has no kind
    marked = {**rows, "tensor_instruction_type": kinds}
    summary = {"hardware_flops": 999, "transpose_flops": 9}  # instructions come first
    assert tensor_flops(capture(summary, instructions=marked)) == (107, 40)
    assert tensor_flops(capture(instructions={"raw_flops": [100, 40]})) == (140, None)
    assert tensor_flops(capture(summary)) == (990, 9)
    assert tensor_flops(capture()) == (None, None)


@pytest.mark.parametrize("suffix", ["ntff", "json.gz"])
@pytest.mark.parametrize("name", ["baseline_bf16_s512", "fused_bf16_s512"])
def test_attention_is_two_products_in_every_format(shared: Path, name: str, suffix: str) -> None:
    made = open_capture(shared / "captures" / "trn2-v6-attention" / f"{name}.{suffix}")
    products, transposes = tensor_flops(made)
    assert products == 2 * (2 * 512 * 512 * 128)  # scores and their product with the values
    assert transposes is not None
    assert products + transposes == sum(executed_work(made).tensor_flops.values())


def test_executed_work_of_a_trace_agrees_with_the_vendor(shared: Path) -> None:
    work = executed_work(
        open_capture(shared / "captures" / "inf2-v5-matmul" / "matmul_128x128x1024.ntff")
    )
    assert sum(work.tensor_flops.values()) == 37_748_736  # hardware_flops of the vendor's summary
    assert (work.measured_read_bytes, work.measured_write_bytes) == (327_680, 262_144)


def test_weights_broadcast_by_dma() -> None:
    work = closed_form("rmsnorm", rows=2048, cols=512, dtype="bf16")
    spread = broadcast_weights(work, 128)
    # 128 partitions x 512 elements x 2 bytes in place of one
    assert spread.dispatched_bytes - work.dispatched_bytes == 127 * 512 * 2
    assert spread.minimal_bytes == work.minimal_bytes
    few = broadcast_weights(closed_form("rmsnorm", **NORM), 128)
    assert few.dispatched_bytes == 9_216 + 3 * 512 * 2
    assert broadcast_weights(
        closed_form("matmul", m=8, n=8, k=8, dtype="bf16"), 128
    ).dispatched_bytes == (3 * 8 * 8 * 2)
    with pytest.raises(WorkError, match="at least 1"):
        broadcast_weights(work, 0)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.captures.capture import Capture
from roofline.captures.operand_text import FACTS, operand_columns, parse_operands
from roofline.captures.registry import open_capture

ADD = (
    "S[4] (Scalar)>=37 op=ADD src0=fp16@0x2400[1,1,1][420,1,1] "
    "src1=fp16@0x35b00[0,1,1][420,1,1] dst=bfloat16@0x2400[1,1,1][210,2,1] channels=64 "
)
REDUCE = (
    "op=MAX dim=X src=fp32@0x36200[1,1,1,1][512,1,1,1] dst=fp32@0x60[1,1,1,1][1,1,1,1] "
    "channels=128 "
)
UNKNOWN_TYPE = {"kind": "compute", "elements_per_partition": 4}
MATMUL = (
    "S[5]++@complete acc_flags=3 src=fp16@0x5600[1,0,0][3,1,1] dst=0x2000000[1,0,0][3,1,1] 3*128 "
)
SPLIT = (
    "acc_flags=3 fp32_mode=LOW_HIGH src=fp32@0x33[1,0,0][128,1,1] dst=0x2[1,0,0][128,1,1] 128*64 "
)


@pytest.mark.parametrize(
    ("opcode", "text", "told"),
    [
        (
            *("TENSOR_TENSOR", ADD),
            {
                "kind": "compute",
                "dtype_in": "fp16",
                "dtype_out": "bf16",
                "partitions": 64,
                "elements_per_partition": 420,
                "element_passes": 64 * 420,
            },
        ),
        (
            *("TENSOR_REDUCE", REDUCE),
            {
                "kind": "compute",
                "dtype_in": "fp32",
                "dtype_out": "fp32",
                "partitions": 128,
                "elements_per_partition": 512,  # what is streamed, not what comes out
                "element_passes": 128 * 512,
            },
        ),
        (
            *("MATMUL", MATMUL),
            {
                "kind": "compute",
                "dtype_in": "fp16",
                "partitions": 3,
                "tensor_columns": 128,
                "elements_per_partition": 3,
                "flop_per_mac": 2,
            },
        ),
        (
            *("MATMUL", SPLIT),
            {
                "kind": "compute",
                "dtype_in": "fp32",
                "partitions": 128,
                "tensor_columns": 64,
                "elements_per_partition": 128,
                "flop_per_mac": 1,
            },
        ),
        (
            *("LDWEIGHTS", " src=fp16@0x2fffe[-1,0,-32][32,1,4] 128*64 "),
            {
                "kind": "weight_load",
                "dtype_in": "fp16",
                "partitions": 128,
                "tensor_columns": 64,
                "elements_per_partition": 128,
            },
        ),
        ("DMA_DIRECT2D", "src_pattern=[256,1][128,1]", {"kind": "dma_issue"}),
        ("ACT_TABLE_LOAD", " table_sel=0 ", {"kind": "table_load"}),
        ("EVENT_SEMAPHORE", " setter=0 ", {"kind": "control"}),
        ("WRITE", " data=0x3 size=4 ", {}),
        ("Operation(77)", "???", {}),
        ("TENSOR_TENSOR", "src=fp99@0x1[1][4] dst=fp99@0x1[1][4]", UNKNOWN_TYPE),
    ],
)
def test_what_the_text_tells(opcode: str, text: str, told: dict[str, Any]) -> None:
    facts = parse_operands(opcode, text)
    found = {name: getattr(facts, name) for name in FACTS if getattr(facts, name) is not None}
    assert found == told


def test_a_write_of_the_program_starts_a_dma() -> None:
    assert parse_operands("WRITE", " data=0x3 ", compiled=True).kind == "dma_issue"
    assert parse_operands("WRITE", " data=0x3 ", compiled=False).kind == "control"
    nothing = pa.array([None], pa.string())
    columns = operand_columns(pa.array(["WRITE"]), pa.array([" data "]), nothing)
    assert columns["kind"].to_pylist() == [None]


@given(opcode=st.text(max_size=12), text=st.text(max_size=80))
def test_text_that_is_not_understood_never_raises(opcode: str, text: str) -> None:
    assert parse_operands(opcode, text).partitions is None or "*" in text or "channels=" in text


def test_columns_with_nulls() -> None:
    opcode = pa.array(["MATMUL", None, "WRITE", "WRITE"]).dictionary_encode()
    operands = pa.array([MATMUL, None, " data ", " data "])
    columns = operand_columns(opcode, operands, pa.array([None, None, "sg00:1", None]))
    assert columns["kind"].to_pylist() == ["compute", None, "dma_issue", "control"]
    assert columns["tensor_columns"].to_pylist() == [128, None, None, None]


@pytest.mark.shared
def test_text_and_decoded_words_tell_the_same(shared: Path) -> None:
    """The decoder takes these columns from the machine words, this reader from the text."""
    names = [name for name in FACTS if name != "flop_per_mac"] + ["raw_flops", "adjusted_flops"]
    key = ("pcore_idx", "start_ts", "engine", "pc")

    def rows(capture: Capture) -> dict[tuple[Any, ...], dict[str, Any]]:
        held = [name for name in names if name in capture.instructions.column_names]
        table = capture.table("instructions", [*key, *held]).to_pylist()
        return {tuple(row.pop(name) for name in key): row for row in table}

    compared = 0
    for path in sorted((shared / "captures").glob("*/*.json.gz")):
        decoded = rows(open_capture(path.with_name(path.name.replace(".json.gz", ".ntff"))))
        for place, row in rows(open_capture(path)).items():
            assert row == {name: decoded[place][name] for name in row}
            compared += 1
    assert compared > 4900

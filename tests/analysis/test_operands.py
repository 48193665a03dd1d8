from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from roofline.analysis.operands import EVENT, read_operands

TEXTS = [
    (
        "S[5] (Tensor)>=32 S[6] (Vector)++@complete src=fp32@0x2000800[1,1,1,1][128,1,1,1] "
        "dst=bfloat16@0xc950[1,1,1,1][128,1,1,1] channels=96 "
    ),
    " setter=0 $S[2]==3 $S[2]++@complete ",
    "S[8] (qSyncSpillReload0)>=16 setter=0   ",
    "$E[4]==1- cycle=1 ",
    "S[24] (qSyncDynamicHW)>=16 src=fp16@0x40fe[-1,0,-32][32,1,4] 128*128 ",
    (
        "acc_flags=1 fp32_mode=LOW_HIGH src=fp32@0x36ff8[1,0,0][512,1,1] "
        "dst=0x2000800[1,0,0][512,1,1] 128*64 "
    ),
    (
        "S[4] (Scalar)>=1 semaphore=40 sem_increment=16  src_elem_size=4096 dst_elem_size=1024 "
        "src_pattern=[262144,1][128,1] dst_pattern=[4096,1][128,4] src_addr_imm=0x802000004000 "
        "dst_addr_imm=0x800001000000 dst_shape_reg=0 compute_op=NONE "
    ),
    (
        "op=ADD src0=fp16@0x2400[1,1,1][420,1,1] src1=fp16@0x35b00[0,1,1][420,1,1] "
        "dst=fp16@0x2400[9,1,1][420,1,1] channels=128 "
    ),
    (
        "S[5]++@complete EXP bias_ptr=fp32@0x8020 src=fp32@0x2003000[1,1,1][512,1,1] "
        "dst=fp32@0x8030[1,1,1][512,1,1] channels=128 "
    ),
    " setter=0  $S[2]+=1@complete ",
    None,
]


@pytest.fixture
def found() -> Any:
    made = read_operands(pa.table({"operands": pa.array(TEXTS).dictionary_encode()}))
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("row", "values"),
    [
        (0, {"wait": 5, "wait_value": 32, "signal": 6, "elements": 128, "partitions": 96}),
        (1, {"wait": -1, "inner_wait": 2, "inner_value": 3, "signal": 2}),
        (2, {"wait": 8, "wait_value": 16, "inner_wait": -1, "signal": -1}),
        (3, {"wait": EVENT + 4, "wait_value": 1}),
        (4, {"wait": 24, "rows": 128, "columns": 128, "elements": 128, "psum_operands": 0}),
        (5, {"wait": -1, "rows": 128, "columns": 64, "elements": 512, "psum_operands": 1}),
        (
            6,
            {
                "wait": 4,
                "dma_semaphore": 40,
                "dma_increment": 16,
                "dma_element": 1024,
                "dma_bytes": 4096 * 128,
            },
        ),
        (7, {"elements": 420, "signal": -1}),
        (8, {"wait": -1, "signal": 5, "elements": 512, "psum_operands": 1}),
        (9, {"inner_wait": -1, "signal": 2}),
        (10, {"wait": -1, "inner_wait": -1, "signal": -1, "elements": -1}),
    ],
)
def test_numbers(found: Any, row: int, values: dict[str, int]) -> None:
    assert {name: int(found.integers(name)[row]) for name in values} == values


def test_names_dtypes_and_memories(found: Any) -> None:
    assert found.names("wait_name").tolist()[:3] == ["Tensor", "", "qSyncSpillReload0"]
    assert found.names("dtype_in").tolist()[0] == "fp32"
    assert found.names("dtype_out").tolist()[0] == "bf16"
    assert found.names("dma_source").tolist()[6] == "sbuf"
    assert found.names("dma_dest").tolist()[6] == "hbm"


def test_flags(found: Any) -> None:
    assert found.flags("barrier").tolist()[:3] == [False, True, False]
    assert found.flags("broadcast").tolist()[7]
    assert not found.flags("contiguous").tolist()[7]
    assert found.flags("pointer").tolist()[8]


def test_a_table_is_read_once_and_forgotten_with_it() -> None:
    table = pa.table({"operands": TEXTS})
    assert read_operands(table) is read_operands(table)
    assert read_operands(pa.table({"opcode": ["NOP"]})) is None
    again = read_operands(pa.table({"operands": ["S[1]>=2 "]}))
    assert again is not None
    assert again.integers("wait").tolist() == [1]

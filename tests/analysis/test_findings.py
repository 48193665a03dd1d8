"""Each finding on the smallest execution that shows it, and on one that must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofline.analysis.finding import Finding, rank, rank_by_share
from roofline.analysis.findings.registry import find, finding, list_findings
from roofline.analysis.findings.scene import Counters, Scene, scene_of
from roofline.analysis.rereads import rereads
from roofline.analysis.trace_findings import TRACE_CHECKS
from roofline.captures.hardware import hardware_of
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError, RooflineError
from roofline.hardware.load import load_hardware
from roofline.study.findings import STUDY_CHECKS
from tests.analysis.synthetic import capture, instruction, packet, update

HW = load_hardware("trn2", lnc=1)

BF16 = "src=bfloat16@0x100[1,0,0][512,1,1] dst=0x2000000[1,0,0][512,1,1] 128*128 "
FP32 = "fp32_mode=LOW_HIGH src=fp32@0x100[1,0,0][512,1,1] dst=0x2000000[1,0,0][512,1,1] 128*128 "
NARROW = "src=bfloat16@0x100[1,0,0][512,1,1] dst=0x2000000[1,0,0][512,1,1] 64*64 "
SHORT = "src=bfloat16@0x100[1,0,0][14,1,1] dst=0x2000000[1,0,0][14,1,1] 128*128 "
COPY_PSUM = "src=fp32@0x2000000[1][900] dst=fp32@0x0[1][900] channels=128 "
COPY_FAST = "src=bfloat16@0x0[1][3600] dst=bfloat16@0x9000[1][3600] channels=128 "
ACTIVATE = "EXP src=fp32@0x0[1][8] dst=fp32@0x100[1][8] channels=128 "
FEW_LANES = "src=bfloat16@0x0[1][3600] dst=bfloat16@0x9000[1][3600] channels=4 "


def load(element: int, semaphore: int = 24) -> str:
    return (
        f" semaphore={semaphore} sem_increment=16  src_elem_size={element} "
        f"dst_elem_size={element} src_pattern=[{element},1][128,1] "
        "dst_pattern=[262144,1][128,1] src_table_offset_imm=0x0 src_table_index=0 "
        "src_shape_reg=0 dst_addr_imm=0x802000036600 dst_shape_reg=0 "
    )


def ids(made: Any, **more: Any) -> set[str]:
    return {one.id for one in find(scene_of(made, HW, **more))}


def one(made: Any, identity: str, **more: Any) -> Finding:
    found = [each for each in find(scene_of(made, HW, **more)) if each.id == identity]
    assert len(found) == 1, found
    return found[0]


def counters(**values: Any) -> Scene:
    defaults: dict[str, Any] = {"window_s": 1e-3, "total_s": 1e-3}
    return Scene(hardware=HW, counters=Counters(**{**defaults, **values}))


def seen(scene: Scene) -> dict[str, Finding]:
    return {each.id: each for each in find(scene)}


# --------------------------------------------------------------------------- the registry


def test_the_registry_holds_what_is_documented(root: Path) -> None:
    page = (root / "docs" / "findings.md").read_text("utf-8")
    titles = [line[4:].strip("` ") for line in page.splitlines() if line.startswith("### ")]
    every = {*list_findings(), *TRACE_CHECKS.by_id, *STUDY_CHECKS.by_id}
    assert sorted(titles) == sorted(every)


def test_every_check_has_its_own_file(root: Path) -> None:
    folder = root / "roofline" / "analysis" / "findings"
    files = {path.stem.replace("_", "-") for path in folder.glob("*.py")}
    assert files - {"--init--", "registry", "scene"} == set(list_findings())


def test_an_id_is_taken_once_and_unknown_ids_are_refused() -> None:
    list_findings()
    with pytest.raises(RooflineError, match="registered twice"):
        finding("reloads")(lambda scene: ())
    with pytest.raises(
        RooflineError, match="unknown finding 'colour' of an execution; known: dma-queue-imb"
    ):
        find(counters(), only=["colour"])


def test_two_rankings() -> None:
    """A kernel at 88 % of its roof takes most of the time; one at 18 % has most to win."""
    large = Finding(id="a", what="", evidence="", at_stake_s=0.1, share=0.9)
    small = Finding(id="b", what="", evidence="", at_stake_s=0.5, share=0.6)
    open_end = Finding(id="c", what="", evidence="")
    assert [each.id for each in rank([large, open_end, small])] == ["b", "a", "c"]
    assert [each.id for each in rank_by_share([small, open_end, large])] == ["a", "b", "c"]


def test_a_capture_of_nothing_has_no_findings() -> None:
    assert ids(capture([instruction("vector", "NOP", 0, 1)])) == set()
    with pytest.raises(CaptureError, match="total_time"):
        scene_of(capture(summary={}), HW)


# --------------------------------------------------------------------------- memory


def test_dma_small_transfers_from_events() -> None:
    made = capture(
        [instruction("sync", "DMA_DIRECT2D", 0, 1, load(64)), instruction("vector", "COPY", 9, 10)],
        [packet(1, 9, 64, engine_idx=at % 16) for at in range(128)],
    )
    found = one(made, "dma-small-transfers")
    assert "100 % in less than the recommended 2 KiB" in found.evidence
    assert found.rows == (0,)
    assert found.confidence == "high"


def test_dma_small_transfers_from_counters_is_capped_by_the_next_resource() -> None:
    busy = {"dma": 0.9e-3, "vector": 0.8e-3}
    found = seen(counters(active_s=busy, dma_bytes=0.9e-3 * 100e9))["dma-small-transfers"]
    # 0.9 ms at 100 GB/s are 0.245 ms at 368 GB/s, but Vector needs 0.8 ms
    assert found.at_stake_s == pytest.approx(0.2e-3, rel=1e-9)
    assert found.confidence == "medium"
    fast = counters(active_s=busy, dma_bytes=0.9e-3 * 300e9)
    assert "dma-small-transfers" not in seen(fast)


def test_reloads_are_not_round_trips_of_intermediates() -> None:
    twice = counters(
        hbm_read_bytes=2e6,
        hbm_write_bytes=1e6,
        input_bytes=1e6,
        necessary_bytes=2e6,
        active_s={"dma": 0.5e-3},
    )
    again = seen(twice)["reloads"]
    assert "2.0 times" in again.evidence
    # 1 MB of the 3 MB that DMA moved in 0.5 ms; what was written is not won by reading less
    assert again.at_stake_s == pytest.approx(0.5e-3 / 3, rel=1e-9)
    assert "at the pace of this run's DMA 167 µs" in again.evidence
    trip = counters(
        hbm_read_bytes=6e6,
        hbm_write_bytes=6e6,
        input_bytes=1e6,
        necessary_bytes=2e6,
        active_s={"dma": 0.5e-3},
    )
    found = seen(trip)
    assert "reloads" not in found
    assert "5 MB of intermediates go to HBM and come back" in found["spills"].what


def test_reloads_name_the_tensor_and_how_often() -> None:
    made = capture(
        [instruction("vector", "COPY", 9, 10)],
        [packet(at, at + 1, 4096, variable="w") for at in range(4)]
        + [packet(5, 6, 8192, variable="x"), packet(6, 7, 4096, variable="out")]
        + [packet(7, 8, 64, variable=None)],
        tensors=[
            {"variable_name": "w", "type": "WEIGHT", "size": 4096},
            {"variable_name": "x", "type": "IN", "size": 8192},
            {"variable_name": "out", "type": "OUT", "size": 2048},
        ],
    )
    found = rereads(made)
    assert [(one.name, one.times) for one in found] == [("w", 4.0)]
    events = scene_of(made, HW).events
    twice = Counters(
        window_s=1e-3,
        total_s=1e-3,
        hbm_read_bytes=24576.0,
        hbm_write_bytes=4096.0,
        input_bytes=12288.0,
        necessary_bytes=16384.0,
    )
    scene = Scene(hardware=HW, counters=twice, events=events)
    (said,) = (one for one in find(scene) if one.id == "reloads")
    assert "most of it w 4.0 times (4.1 kB)" in said.evidence
    assert rereads(capture([instruction("vector", "COPY", 0, 1)])) == ()


def test_reloads_with_totals_only() -> None:
    found = seen(counters(dma_bytes=12e6, necessary_bytes=1e6))["reloads"]
    assert found.at_stake_s == pytest.approx(11e6 / 435.2e9, rel=1e-9)
    assert "reloads" not in seen(counters(dma_bytes=1.05e6, necessary_bytes=1e6))


def test_spills_by_the_compilers_count() -> None:
    found = seen(counters(hbm_read_bytes=3e6, hbm_write_bytes=2e6, spill_bytes=1e6))["spills"]
    assert found.at_stake_s == pytest.approx(2e6 / 435.2e9, rel=1e-9)
    few = counters(hbm_read_bytes=300e6, hbm_write_bytes=200e6, spill_bytes=1e6)
    assert "spills" not in seen(few)


def test_exposed_dma() -> None:
    made = capture([instruction("vector", "COPY", 6, 10, COPY_FAST)], [packet(0, 8, 1 << 20)])
    found = one(made, "exposed-dma")
    assert "6 µs of 8 µs" in found.what
    assert found.share == pytest.approx(0.6, rel=1e-9)
    hidden = capture([instruction("vector", "COPY", 0, 10, COPY_FAST)], [packet(0, 8, 1 << 20)])
    assert "exposed-dma" not in ids(hidden)


def test_dma_queue_imbalance() -> None:
    rows = [instruction("vector", "COPY", 0, 10, COPY_FAST)]
    one_engine = capture(rows, [packet(0, 8, 1 << 18)])
    assert "1 of 16 DMA engines are used" in one(one_engine, "dma-queue-imbalance").what
    even = capture(rows, [packet(0, 8, 1 << 14, engine_idx=at) for at in range(16)])
    assert "dma-queue-imbalance" not in ids(even)


# --------------------------------------------------------------------------- Tensor


def test_tensor_waits_on_dma_from_events() -> None:
    made = capture(
        [
            instruction("sync", "DMA_DIRECT2D", 0, 1, load(4096)),
            instruction("tensor", "MATMUL", 6, 10, f"S[24] (qSyncDynamicHW)>=16 {BF16}"),
        ],
        [packet(2, 5, 524288, "qSyncDynamicHW", queue_type="hardware_dynamic")],
        semaphores=[update(5.5, 24, 16, "dma")],
    )
    found = one(made, "tensor-waits-on-dma")
    assert "waits 5.5 µs for data" in found.what
    assert "dma:qSyncDynamicHW" in found.evidence
    assert found.on_critical_path
    # from the end of the issue to the signal
    assert found.at_stake_s == pytest.approx(4.5e-6, rel=1e-9)
    assert found.rows == (1,)


def test_tensor_waits_on_dma_from_counters() -> None:
    likely = counters(active_s={"tensor": 0.8e-3, "dma": 0.5e-3, "vector": 0.1e-3})
    assert seen(likely)["tensor-waits-on-dma"].confidence == "medium"
    for other in (
        {"tensor": 0.99e-3, "dma": 0.5e-3},  # hardly idle
        {"tensor": 0.1e-3, "dma": 0.5e-3},  # not what the kernel is about
        {"tensor": 0.6e-3, "dma": 0.5e-3, "vector": 0.7e-3},  # Vector explains it as well
    ):
        assert "tensor-waits-on-dma" not in seen(counters(active_s=other))


def test_tensor_underfilled_rows_and_columns() -> None:
    made = capture([instruction("tensor", "MATMUL", at, at + 1, NARROW) for at in range(4)])
    found = one(made, "tensor-underfilled")
    assert "matmuls fill 25 % of the array" in found.what
    assert "64 x 64 x 512" in found.evidence
    full = capture(
        [instruction("tensor", "MATMUL", at / 4, at / 4 + 0.25, BF16) for at in range(8)]
    )
    assert "tensor-underfilled" not in ids(full)


def test_tensor_underfilled_short_matmuls() -> None:
    made = capture([instruction("tensor", "MATMUL", at, at + 0.1, SHORT) for at in range(8)])
    assert "fewer than 128 moving columns" in one(made, "tensor-underfilled").what


def test_tensor_transposes() -> None:
    kinds = ["REGULAR", "REGULAR", "TRANSPOSE"]
    made = capture(
        [
            instruction("tensor", "MATMUL", at, at + 1, BF16, tensor_instruction_type=kind)
            for at, kind in enumerate(kinds)
        ]
    )
    assert "33 %" in one(made, "tensor-transposes").what
    few = counters(flops=1e9, transpose_flops=5e7, active_s={"tensor": 0.5e-3})
    assert "tensor-transposes" not in seen(few)
    many = counters(flops=1e9, transpose_flops=5e8, active_s={"tensor": 0.5e-3})
    assert seen(many)["tensor-transposes"].at_stake_s == pytest.approx(0.25e-3, rel=1e-9)


def test_fp32_where_bf16_would_do() -> None:
    made = capture([instruction("tensor", "MATMUL", at / 2, at / 2 + 0.5, FP32) for at in range(4)])
    found = one(made, "fp32-where-bf16-would-do")
    # four passes of 2 x 512 cycles; bf16 needs a quarter
    assert found.share == pytest.approx(4 * 1024 / 2.4e9 / 2e-6, rel=1e-9)
    bf16 = capture([instruction("tensor", "MATMUL", 0, 1, BF16)])
    assert "fp32-where-bf16-would-do" not in ids(bf16)


def test_throttled_bursts() -> None:
    rows = [instruction("tensor", "MATMUL", at / 2, at / 2 + 0.5, BF16) for at in range(4)]
    limit = {"timestamp": 0, "duration": 2000, "k": 4, "n": 8, "pcore_idx": 0}
    found = one(capture(rows, throttle=[limit]), "throttled-bursts")
    assert "100 % of its instructions ran limited" in found.evidence
    assert found.at_stake_s == pytest.approx(4 * 512 / 2.4e9, rel=1e-9)
    assert "throttled-bursts" not in ids(capture(rows, throttle=[{**limit, "k": 8}]))


def test_tensor_idle_by_design() -> None:
    idle = seen(counters(active_s={"tensor": 1e-9, "vector": 0.9e-3}))["tensor-idle-by-design"]
    assert idle.at_stake_s == 0
    assert "tensor-idle-by-design" not in seen(
        counters(active_s={"tensor": 0.2e-3, "vector": 9e-4})
    )
    assert "tensor-idle-by-design" not in seen(counters(active_s={"vector": 9e-4}))  # not known


# --------------------------------------------------------------------------- other engines


def test_vector_slow_mode_says_why() -> None:
    slow = capture([instruction("vector", "COPY", at, at + 1, COPY_PSUM) for at in range(4)])
    found = one(slow, "vector-slow-mode")
    assert "4 of 4" in found.what
    assert "operands wider than 16 bit (100 %" in found.evidence
    assert "an operand in PSUM (100 %" in found.evidence
    # 900 elements at 1 a cycle against 4
    assert found.at_stake_s == pytest.approx(4 * 900 * 0.75 / 0.96e9, rel=1e-9)
    fast = capture([instruction("vector", "COPY", at, at + 1, COPY_FAST) for at in range(4)])
    assert "vector-slow-mode" not in ids(fast)


def test_scalar_table_reloads() -> None:
    rows = [instruction("vector", "COPY", 0, 20, COPY_FAST)]
    first = [instruction("scalar", "ACT_TABLE_LOAD", 1, 2.3)]
    again = [instruction("scalar", "ACT_TABLE_LOAD", at, at + 1.3) for at in (1, 5, 9)]
    assert "scalar-table-reloads" not in ids(capture(rows + first))
    found = one(capture(rows + again), "scalar-table-reloads")
    assert "3 function tables are loaded, 2.6 µs after the first" in found.what
    assert len(found.rows) == 2


def test_gpsimd_bottleneck() -> None:
    found = seen(counters(active_s={"gpsimd": 0.9e-3, "vector": 0.5e-3}))["gpsimd-bottleneck"]
    assert found.at_stake_s == pytest.approx(0.5e-3, rel=1e-9)
    assert "gpsimd-bottleneck" not in seen(counters(active_s={"gpsimd": 4e-4, "vector": 1e-4}))
    assert "gpsimd-bottleneck" not in seen(counters(active_s={"gpsimd": 8e-4, "vector": 9e-4}))


def test_short_instructions() -> None:
    made = capture([instruction("scalar", "ACTIVATE", at, at + 0.3, ACTIVATE) for at in range(9)])
    found = one(made, "short-instructions")
    assert "on Scalar elements flow for 2.2 %" in found.what
    long = capture([instruction("vector", "COPY", 0, 1, COPY_FAST)])
    assert "short-instructions" not in ids(long)


def test_unused_partitions() -> None:
    made = capture([instruction("vector", "COPY", at, at + 1, FEW_LANES) for at in range(3)])
    assert "uses 3.1 % of its 128 lanes" in one(made, "unused-partitions").what
    full = capture([instruction("vector", "COPY", 0, 1, COPY_FAST)])
    assert "unused-partitions" not in ids(full)


def test_serialization_needs_waits_both_ways() -> None:
    def turns(back: bool) -> Any:
        rows, updates = [], []
        for turn in range(4):
            at = 2.0 * turn
            wait = f"S[6] (Vector)>={turn} " if back and turn else ""
            rows.append(instruction("tensor", "MATMUL", at, at + 1, f"{wait}{BF16}"))
            rows.append(
                instruction(
                    "vector", "COPY", at + 1, at + 2, f"S[5] (Tensor)>={turn + 1} {COPY_PSUM}"
                )
            )
            updates += [
                update(at + 1, 5, turn + 1, "tensor"),
                update(at + 2, 6, turn + 1, "vector"),
            ]
        return capture(rows, semaphores=updates)

    found = one(turns(back=True), "serialization")
    assert "tensor and vector take turns" in found.what
    assert "both compute at once for 0 s" in found.evidence
    assert "serialization" not in ids(turns(back=False))


def test_semaphore_ping_pong() -> None:
    rows, updates = [], []
    for turn in range(12):
        at = 1.0 * turn
        engine, other = ("vector", "scalar") if turn % 2 else ("scalar", "vector")
        number, wanted = (6, turn // 2 + turn % 2) if engine == "scalar" else (4, turn // 2 + 1)
        wait = f"S[{number}] ({other.title()})>={wanted} " if turn else ""
        signal = f"S[{4 if engine == 'scalar' else 6}]++@complete "
        rows.append(instruction(engine, "COPY", at + 0.5, at + 0.9, f"{wait}{signal}{ACTIVATE}"))
        updates.append(update(at + 0.9, 4 if engine == "scalar" else 6, turn // 2 + 1, engine))
    found = one(capture(rows, semaphores=updates), "semaphore-ping-pong")
    assert "11 hops" in found.what
    assert found.on_critical_path


def test_unbalanced_cores() -> None:
    alone = capture(
        [
            instruction("vector", "COPY", 0, 9, COPY_FAST),
            instruction("vector", "DRAIN", 0, 1, pcore_idx=1),
        ]
    )
    assert "core 1 of 2 does no work" in one(alone, "unbalanced-cores").what
    half = capture(
        [
            instruction("vector", "COPY", 0, 10, COPY_FAST),
            instruction("vector", "COPY", 0, 4, COPY_FAST, pcore_idx=1),
        ]
    )
    assert "core 1 of 2 does 40 %" in one(half, "unbalanced-cores").what
    even = capture(
        [instruction("vector", "COPY", 0, 10, COPY_FAST, pcore_idx=core) for core in (0, 1)]
    )
    assert "unbalanced-cores" not in ids(even)


def test_start_up_dominates_total() -> None:
    short = capture(
        [instruction("vector", "COPY", 10, 12, COPY_FAST)], summary={"total_time": 20e-6}
    )
    found = one(short, "start-up-dominates-total")
    assert found.at_stake_s == pytest.approx(18e-6, rel=1e-9)
    assert "fixed cost of an execution" in found.evidence
    first = capture(
        [
            instruction("scalar", "ACT_TABLE_LOAD", 3, 4),
            instruction("scalar", "ACTIVATE", 4, 5, ACTIVATE),
            instruction("vector", "COPY", 1863, 1866, COPY_FAST),
        ]
    )
    assert "silent for 1.86 ms" in one(first, "start-up-dominates-total").evidence
    summary = counters(window_s=0.78e-3, total_s=2.64e-3)
    assert "start-up-dominates-total" in seen(summary)


# --------------------------------------------------------------------------- real captures


@pytest.mark.shared
def test_unfused_and_fused_attention(shared: Path) -> None:
    """The unfused kernel sends the score matrix through HBM; the fused one keeps it on chip."""

    def scene(name: str) -> Scene:
        made = open_capture(shared / f"captures/trn2-v6-attention/{name}.json.gz")
        return scene_of(made, hardware_of(made, working_cores=1))

    unfused, fused = scene("baseline_bf16_s512"), scene("fused_bf16_s512")
    spill = seen(unfused)["spills"]
    # scores and probabilities, 512 x 512 fp32 each
    assert "2.1 MB" in spill.what
    assert 2 * 512 * 512 * 4 == 2097152
    assert "spills" not in seen(fused)
    assert "reloads" not in seen(fused) | seen(unfused)
    for each in (unfused, fused):
        found = seen(each)
        assert "fp32-where-bf16-would-do" in found  # a bf16 kernel that multiplies fp32
        assert "tensor-transposes" in found
        assert "throttled-bursts" in found
    assert unfused.events is not None
    assert fused.events is not None
    assert unfused.events.path_s("dma") > 0.35 * unfused.window_s
    assert fused.events.path_s("dma") < 0.25 * fused.window_s


@pytest.mark.shared
def test_first_runs_and_single_tiles(shared: Path) -> None:
    for name, expected in (
        ("inf2-v5-matmul/matmul_128x128x512.ntff", {"start-up-dominates-total", "exposed-dma"}),
        (
            "trn2-v5-vector-add/vector_add_fd1000.ntff",
            {"start-up-dominates-total", "exposed-dma", "tensor-idle-by-design"},
        ),
        ("trn2-v5-conv2d/conv2d_fp16_small.ntff", {"dma-small-transfers", "tensor-waits-on-dma"}),
    ):
        made = open_capture(shared / "captures" / name)
        found = {each.id for each in find(scene_of(made, hardware_of(made, working_cores=1)))}
        assert expected <= found, name


@pytest.mark.shared
def test_no_finding_promises_more_than_there_is(shared: Path) -> None:
    for path in sorted((shared / "captures").glob("*/*.ntff")):
        made = open_capture(path)
        scene = scene_of(made, hardware_of(made, working_cores=1))
        for each in find(scene):
            limit = scene.counters.total_s if "start-up" in each.id else scene.window_s
            assert each.at_stake_s is not None
            assert each.at_stake_s <= limit * (1 + 1e-9), (path.name, each)
            assert each.what
            assert each.evidence
            assert each.remedy

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.analysis.dispatch import find_units
from roofline.analysis.launches import launches
from roofline.analysis.trace_findings import trace_findings
from roofline.captures.registry import open_capture
from roofline.cli.main import cli
from roofline.errors import QueryError
from tests.captures.trace_builder import Trace, naive_rmsnorm

SEQUENCE = (1 << 48) + 1


def read(trace: Trace, tmp_path: Path, **options: int) -> tuple:
    capture = open_capture(trace.write(tmp_path / "trace.json"))
    result = launches(capture, **options)
    return result, {finding.id: finding for finding in trace_findings(capture, result)}


def column(result, name: str) -> list:
    return result[name].values.tolist()


def test_naive_rmsnorm_has_six_launches_with_their_shapes_and_times(tmp_path: Path) -> None:
    result, findings = read(naive_rmsnorm(), tmp_path)
    assert result.attrs["basis"] == "driver"
    assert result.attrs["clock"] == "framework_window"
    assert result.attrs["launches"] == 6
    assert column(result, "op_name") == [
        "aten::mul", "aten::mean", "aten::add", "aten::rsqrt", "aten::mul", "aten::mul",
    ]  # fmt: skip
    assert column(result, "op_shapes")[3:] == ["[[4,1]]", "[[4,512],[4,1]]", "[[4,512],[512]]"]
    assert column(result, "op_window_ns") == [388_000, 416_000, 433_000, 415_000, 388_000, 388_000]
    assert column(result, "op_host_ns") == [20_800] * 6
    # two cores report each execution: 20 us from the first start to the last end
    assert column(result, "op_device_ns") == [20_000] * 6
    assert column(result, "launch_executions") == [1] * 6
    assert column(result, "launch_gap_ns") == [-1, 40_000, 40_000, 40_000, 40_000, 40_000]
    assert set(column(result, "launch_link")) == {"external id"}
    assert column(result, "step_device_ns") == [120_000]

    copy = findings["host-scalar-copy"]
    assert copy.subject == "aten::add"
    assert copy.evidence == "1 copies of 4 B in 1 calls: 4 B"
    assert copy.at_stake_s == pytest.approx(9e-6)
    assert findings["launch-bound"].at_stake_s == pytest.approx((2_428_000 - 120_000) * 1e-9)
    assert "single-step" in findings
    assert "no-device-events" not in findings


def test_a_python_epsilon_is_no_copy(tmp_path: Path) -> None:
    _, findings = read(naive_rmsnorm(cpu_epsilon=False), tmp_path)
    assert not {"host-scalar", "host-scalar-copy"} & findings.keys()


@pytest.mark.slow
@pytest.mark.parametrize("writer", ["kineto", "python"])
def test_real_recordings_on_the_cpu(tmp_path: Path, writer: str) -> None:
    pytest.importorskip("torch")
    from tests.analysis.torch_runs import record

    folder = record(tmp_path / writer, writer)
    expected = {
        "naive": ["aten::mul", "aten::mean", "aten::add", "aten::rsqrt", "aten::mul", "aten::mul"],
        "epsilon": [
            "aten::mul",
            "aten::mean",
            "aten::add",
            "aten::rsqrt",
            "aten::mul",
            "aten::mul",
        ],
        "fused": ["aten::rms_norm"],
        "compiled": ["Torch-Compiled Region: 0/0"],
    }
    for name, operators in expected.items():
        capture = open_capture(folder / f"{name}.json")
        result = launches(capture, warmup=0)
        findings = {finding.id: finding for finding in trace_findings(capture, result)}
        assert result.attrs["basis"] == "dispatch"
        assert column(result, "step") == [3, 4]
        assert column(result, "step_launches") == [len(operators)] * 2
        assert column(result, "launch_name") == operators * 2
        assert set(column(result, "launch_device_ns")) == {-1}
        assert "no-device-events" in findings
        assert ("host-scalar" in findings) == (name == "epsilon")
        if name == "naive":
            assert column(result, "op_shapes")[:2] == ["[[4,512],[4,512]]", "[[4,512],[],[],[]]"]
        host = result["op_host_ns"].values.sum()
        assert 0 < host <= result["step_duration_ns"].values.sum()


def test_times_of_a_real_recording_equal_json(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from decimal import Decimal

    from tests.analysis.torch_runs import record

    path = record(tmp_path, "kineto") / "fused.json"
    events = json.loads(path.read_text(), parse_float=Decimal)["traceEvents"]
    expected = [
        (event["name"], int(event["ts"] * 1000), int(event["dur"] * 1000),
         event["args"]["External id"], event["args"]["Input Dims"])
        for event in events if event.get("cat") == "cpu_op"
    ]  # fmt: skip
    rows = open_capture(path).table("cpu_ops").to_pylist()
    assert expected == [
        (row["name"], row["start_ts"], row["duration_ns"], row["external_id"],
         json.loads(row["input_dims"]))
        for row in rows
    ]  # fmt: skip


def test_no_device_event_is_a_finding(tmp_path: Path) -> None:
    trace = Trace()
    trace.op("aten::mul", 0, 10, 1, [[4]], ["float"])
    trace.add("aten::mul", 0, 10, "privateuse1_runtime", args={"External id": 1})
    result, findings = read(trace, tmp_path)
    assert result.attrs["basis"] == "dispatch"
    assert column(result, "op_window_ns") == [-1]
    finding = findings["no-device-events"]
    assert "1 runtime events" in finding.evidence
    assert "synchronize" in finding.remedy
    assert "PrivateUse1" in finding.remedy


def test_windows_without_executions_are_a_finding(tmp_path: Path) -> None:
    result, findings = read(naive_rmsnorm(cores=0), tmp_path)
    assert set(column(result, "op_device_ns")) == {-1}
    assert "RUNTIME" in findings["no-executions"].remedy
    assert "launch-bound" not in findings


def test_a_trace_that_is_cut_short(tmp_path: Path) -> None:
    trace = naive_rmsnorm()
    end = 4_000_000
    trace.op("aten::mul", end, 20_000, 90, [[4, 512]], ["c10::BFloat16"])
    _, findings = read(trace, tmp_path)
    assert "aten::mul x 1" in findings["trace-cut-short"].evidence


def test_launches_without_execution_are_counted(tmp_path: Path) -> None:
    trace = naive_rmsnorm()
    trace.op("aten::mul", 3_400_000, 20_000, 90, [[4, 512]], ["c10::BFloat16"])
    trace.driver("aten::mul", 3_410_000, 10_000, 90, SEQUENCE)
    _, findings = read(trace, tmp_path)
    assert findings["launches-without-execution"].evidence == "1 of 7 launches"


def test_cpu_fallbacks_by_copies_and_by_name(tmp_path: Path) -> None:
    trace = naive_rmsnorm()
    trace.op(
        "aten::cumsum", 1_500_000, 600_000, 90, [[4, 512], []], ["c10::BFloat16", "Scalar"], tid=101
    )
    trace.op("aten::_to_copy", 1_500_100, 100_000, 91, tid=101)
    trace.op("aten::foo", 2_200_000, 100_000, 92, tid=101)
    trace.op("neuron::cpu_fallback", 2_200_100, 90_000, 93, tid=101)
    trace.op("aten::to", 2_400_000, 1_000, 94, tid=101)
    trace.op("aten::_to_copy", 2_400_100, 500, 95, tid=101)
    capture = open_capture(trace.write(tmp_path / "trace.json"))
    found = {
        finding.subject: finding
        for finding in trace_findings(capture, launches(capture))
        if finding.id == "cpu-fallback"
    }
    assert found.keys() == {"aten::cumsum", "aten::foo"}
    assert found["aten::cumsum"].confidence == "medium"
    assert found["aten::cumsum"].at_stake_s == pytest.approx(600e-6)
    assert found["aten::foo"].confidence == "high"


def test_model_switches(tmp_path: Path) -> None:
    trace = naive_rmsnorm()
    for start in (1_100_000, 1_110_000, 2_000_000):
        trace.device("nc_model_switch", start, 20_000)
    _, findings = read(trace, tmp_path)
    assert findings["model-switches"].evidence == "3 switches, 0.5 a launch"
    assert findings["model-switches"].at_stake_s == pytest.approx(50e-6)  # overlap once


def test_overlapping_windows_count_once(tmp_path: Path) -> None:
    trace = Trace()
    for index in range(3):
        trace.op("aten::mul", index * 10, 5, index + 1, [[4]], ["float"])
        trace.driver("aten::mul", index * 10, 100, index + 1, SEQUENCE + index)
    result, findings = read(trace, tmp_path)
    assert result.attrs["launch_sum_ns"] == 300
    assert result.attrs["launch_union_ns"] == 120
    assert column(result, "op_window_ns") == [120]
    assert column(result, "launch_gap_ns") == [-1, 0, 0]
    assert findings["overlapping-durations"].evidence == "sum 300 ns, union 120 ns"


def test_links_by_flow_and_by_name(tmp_path: Path) -> None:
    trace = Trace()
    trace.op("aten::outer", 0, 100, 1)
    trace.op("aten::inner", 10, 50, 2)
    trace.add("ac2g", 20, None, "ac2g", "s", id=5)
    trace.add("ac2g", 40, None, "ac2g", "f", pid=0, tid=7, id=5, bp="e")
    trace.driver("graph", 40, 30)
    trace.op("aten::mul", 200, 10, 3)
    trace.driver("aten::mul", 220, 30)
    trace.driver("lonely", 300, 30)
    result, _ = read(trace, tmp_path)
    assert column(result, "launch_link") == ["flow", "name and time", "none"]
    assert column(result, "launch_op") == ["aten::outer", "aten::mul", ""]
    assert result.attrs["launches_without_operator"] == 1
    assert column(result, "op_name") == ["aten::outer", "aten::mul", "lonely"]


def test_executions_join_by_window_where_there_is_no_sequence_number(tmp_path: Path) -> None:
    trace = Trace()
    trace.op("aten::mul", 0, 10, 1)
    trace.driver("aten::mul", 5, 100, 1)
    for core, (start, length) in enumerate([(20, 30), (25, 40)]):
        trace.device("nc_exec_running", start, length, core=core)
    trace.device("nc_exec_running", 500, 10)
    result, _ = read(trace, tmp_path)
    assert column(result, "launch_device_ns") == [45]
    assert column(result, "launch_executions") == [1]
    assert result.attrs["executions_without_launch"] == 1
    assert result.attrs["device_union_ns"] == 55


def test_executions_alone_are_launches(tmp_path: Path) -> None:
    trace = Trace()
    for exec_id, start in ((1, 0), (2, 100)):
        for core in (4, 5):
            trace.device(
                "nc_exec_running", start + core, 50, core=core, exec_id=exec_id, model_id=7
            )
    result, _ = read(trace, tmp_path)
    assert result.attrs["basis"] == "device"
    assert column(result, "launch_duration_ns") == [51, 51]
    assert result.attrs["clock"] == "device_execution"


def test_kernels_of_another_device_are_launches(tmp_path: Path) -> None:
    trace = Trace()
    trace.op("aten::mul", 0, 10, 1)
    trace.add("mul_kernel", 5, 20, "kernel", pid=0, tid=3, args={"External id": 1, "device": 0})
    trace.add("Memcpy HtoD", 1, 2, "gpu_memcpy", pid=0, tid=3, args={"External id": 1})
    result, _ = read(trace, tmp_path)
    assert result.attrs["basis"] == "kernels"
    assert column(result, "op_launches") == [1]
    assert column(result, "op_device_ns") == [20]


def test_warmup_steps_are_left_out_by_rule_and_by_number(tmp_path: Path) -> None:
    trace = Trace()
    lengths = [900, 100, 110, 105]
    start = 0
    for number, length in enumerate(lengths):
        trace.step(number, start, length)
        trace.op("aten::mul", start + 1, 5, number + 1)
        trace.driver("aten::mul", start + 10, 20, number + 1, SEQUENCE + number)
        start += length + 10
    result, findings = read(trace, tmp_path)
    assert column(result, "step_warmup") == [True, False, False, False]
    assert result.attrs["launches"] == 3
    assert result.attrs["launches_not_counted"] == 1
    assert column(result, "op_calls") == [3]
    assert "1 of 4 steps" in findings["warmup-excluded"].what
    assert read(trace, tmp_path, warmup=0)[0].attrs["launches"] == 4
    assert read(trace, tmp_path, warmup=2)[0].attrs["launches"] == 2
    with pytest.raises(QueryError, match="at least one step has to remain"):
        read(trace, tmp_path, warmup=4)

    loading = Trace(events=[*trace.events])
    loading.add("nrt_load", 920, 30, "privateuse1_runtime")
    assert column(read(loading, tmp_path)[0], "step_warmup") == [True, True, False, False]


def test_a_launch_outside_the_steps_is_not_counted(tmp_path: Path) -> None:
    trace = naive_rmsnorm()
    trace.driver("aten::mul", 1, 5, None, SEQUENCE)
    result, _ = read(trace, tmp_path)
    assert result.attrs["launches"] == 6
    assert result.attrs["launches_not_counted"] == 1


def test_an_empty_trace_gives_empty_results(tmp_path: Path) -> None:
    result, findings = read(Trace(), tmp_path)
    assert dict(result.sizes) == {"op": 0, "call": 0, "launch": 0, "step": 0}
    assert set(findings) == {"no-device-events"}


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 25), st.booleans()),
        max_size=12,
    )
)
@settings(max_examples=200)
def test_units_equal_a_search_by_hand(rows: list[tuple[int, int, int, bool]]) -> None:
    """Only properly nested rows: a profiler writes no others on one thread."""
    kept: list[tuple[int, int, int, bool]] = []
    for thread, start, length, named in rows:
        spans = [(s, s + n) for t, s, n, _ in kept if t == thread]
        if all(e <= start or s >= start + length or (s < start and start + length < e)
               or (start < s and e < start + length) for s, e in spans) and length:  # fmt: skip
            kept.append((thread, start, length, named))
    names = [f"aten::op{i}" if named else f"range {i}" for i, (*_, named) in enumerate(kept)]
    table = pa.table(
        {
            "name": pa.array(names, pa.string()),
            "pid": pa.array(["1"] * len(kept), pa.string()),
            "tid": pa.array([str(t) for t, *_ in kept], pa.string()),
            "start_ts": pa.array([s for _, s, _, _ in kept], pa.int64()),
            "end_ts": pa.array([s + n for _, s, n, _ in kept], pa.int64()),
        }
    )  # fmt: skip
    host = find_units(table)

    def holds(outer: int, inner: int) -> bool:
        (t, s, n, _), (u, a, b, _) = kept[outer], kept[inner]
        return t == u and outer != inner and s <= a and a + b <= s + n

    every = range(len(kept))
    operators = [i for i in every if kept[i][3]]
    units = [i for i in operators if not any(holds(o, i) for o in operators)]
    ranges = [i for i in every if not kept[i][3]]
    units += [
        i for i in ranges
        if not any(holds(o, i) for o in every if o in ranges or o in units)
        and not any(holds(i, u) for u in units)
    ]  # fmt: skip
    assert sorted(host.units.tolist()) == sorted(units)
    for row in every:
        around = [u for u in units if u == row or holds(u, row)]
        assert host.unit_of[row] == (around[0] if around else -1)
    assert np.array_equal(host.is_operator, [i in units and kept[i][3] for i in every])


def test_command_prints_text_and_json(tmp_path: Path) -> None:
    path = naive_rmsnorm(2).write(tmp_path / "trace.json.gz")
    text = CliRunner().invoke(cli, ["launches", str(path)])
    assert text.exit_code == 0, text.output
    assert "12 launches in 2 of 2 steps" in text.output
    assert "host-scalar-copy" in text.output
    found = json.loads(CliRunner().invoke(cli, ["launches", str(path), "--json"]).output)
    assert found["summary"]["launches"] == 12
    assert found["steps"][0]["number"] == 3
    assert found["launches"][0]["gap_ns"] is None
    assert found["ops"][0]["window_ns"] == 776_000
    assert found["findings"][0]["id"] == "launch-bound"

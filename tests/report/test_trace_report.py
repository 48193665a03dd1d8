"""Reports of framework traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.cli.main import main
from roofline.report.run import Settings, result_of
from roofline.report.study_blocks import study_blocks
from roofline.report.study_report import study_figures
from roofline.study.evaluate import StudyResult
from roofline.study.traced import ALL, DEVICE
from tests.captures.trace_builder import Trace, naive_rmsnorm

BF16 = "c10::BFloat16"
OPS = ("aten::mul", "aten::add", "aten::mean", "aten::mm")
ARTICLE_NS = {  # published: windows of the six launches of a naive RMSNorm, 2.355 ms in all
    "mul": (388_200, 388_100, 388_200),
    "add": (434_600,),
    "rsqrt": (415_000,),
    "mean": (340_800,),
}


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def of(trace: Trace, tmp_path: Path, **settings: object) -> StudyResult:
    return result_of(str(trace.write(tmp_path / "trace.json")), Settings(**settings))


def article() -> Trace:
    """The skeleton of the published trace: windows and their operators, no executions."""
    trace = Trace()
    left = {name: list(windows) for name, windows in ARTICLE_NS.items()}
    shapes = {
        "mul": [[[4, 512], [4, 512]], [[4, 512], [4, 1]], [[4, 512], [512]]],
        "mean": [[[4, 512], [], []]],
        "add": [[[4, 1], []]],
        "rsqrt": [[[4, 1]]],
    }
    start = 1_000
    for number, name in enumerate(("mul", "mean", "add", "rsqrt", "mul", "mul"), 1):
        dims, window = shapes[name].pop(0), left[name].pop(0)
        types = [BF16 if shape else "Scalar" for shape in dims]
        values = ["", "[-1]", "True"] if name == "mean" else [""] * len(dims)
        if name == "mean":
            types = [BF16, "ScalarList", "Scalar"]
        trace.op(f"aten::{name}", start, 20_800, number, dims, types, values)
        trace.driver(f"aten::{name}", start + 5_000, window, number, 10 + number)
        start += window + 30_000
    return trace


def many_operators(count: int, name: str = "custom::unheard_of") -> Trace:
    """Operators of different shapes, in windows that are mostly executions or mostly are not."""
    trace, now = Trace(), 0
    for index in range(count):
        rows, columns = 8 << index % 6, 128 * (1 + index // 6)
        op = name if index % 50 == 49 else OPS[index % 4]
        dims, types, values = [[rows, columns], [rows, columns]], [BF16, BF16], ["", ""]
        if op == "aten::mm":
            dims = [[rows, columns], [columns, rows]]
        if op == "aten::mean":
            dims, types = [[rows, columns], [], []], [BF16, "ScalarList", "Scalar"]
            values = ["", "[-1]", "True"]
        trace.op(op, now, 5_000, index + 1, dims, types, values)
        trace.driver(op, now + 6_000, 60_000 + 100 * index, index + 1, index + 1)
        trace.device("nc_exec_running", now + 7_000, 50_000 if index % 2 else 9_000,
                     nrt_sequence_id=index + 1)  # fmt: skip
        now += 80_000 + 100 * index
    return trace


def test_windows_alone_are_overhead_of_the_host(tmp_path: Path) -> None:
    result = of(article(), tmp_path)
    assert result.kind == "trace"
    assert result.trace is not None
    assert result.trace.assumed
    every = result.rows[0]
    assert every.variant.name == ALL
    assert every.time_s == pytest.approx(2.355e-3, rel=1e-3)  # printed with four digits
    assert every.work.launches == 6
    assert {row.placement.clock for row in result.rows} == {"framework_window"}
    assert {row.verdict.label for row in result.rows} == {"overhead:host"}
    assert [one.key for one in result.trace.operators[:2]] == [
        "aten::add [[4,1],[]]", "aten::rsqrt [[4,1]]",
    ]  # fmt: skip
    # x * w reads x and w, and writes as much as x
    scaled = next(row for row in result.rows if row.variant.name == "aten::mul [[4,512],[512]]")
    assert scaled.work.minimal_bytes == 2 * (4 * 512 + 512 + 4 * 512)
    assert scaled.work.total_flops == 4 * 512


def test_executions_are_a_clock_of_their_own(tmp_path: Path) -> None:
    result = of(naive_rmsnorm(steps=2), tmp_path)
    window, device = result.rows[:2]
    assert (window.placement.clock, window.verdict.label) == ("framework_window", "overhead:host")
    assert window.verdict.utilization is None or window.verdict.utilization <= 1
    assert (device.placement.clock, device.measurement.label) == ("device_execution", DEVICE)
    assert device.time_s == pytest.approx(2 * 6 * 20e-6)
    # what is not device time is known here, and is no range
    assert window.evidence.fixed_s == pytest.approx((window.time_s - device.time_s,) * 2)
    assert device.verdict.resource != "overhead" or device.verdict.reason != "host"
    assert window.work.launches == 12


def test_a_device_bound_window_is_not_called_launch_bound(tmp_path: Path) -> None:
    trace = Trace()
    trace.op("aten::add", 0, 5_000, 1, [[4096, 4096], [4096, 4096]], [BF16, BF16], ["", ""])
    trace.driver("aten::add", 6_000, 160_000, 1, 1)
    trace.device("nc_exec_running", 8_000, 155_000, nrt_sequence_id=1)
    result = of(trace, tmp_path)
    assert [row.verdict.resource for row in result.rows] == ["hbm", "hbm"]
    assert result.rows[1].placement.bytes["minimal"] == 3 * 2 * 4096**2


def test_executions_of_some_launches_are_no_device_time_of_all(tmp_path: Path) -> None:
    trace = Trace()
    for number in (1, 2):
        trace.op("aten::add", number * 900_000, 5_000, number, [[64, 64], [64, 64]], [BF16, BF16])
        trace.driver("aten::add", number * 900_000 + 6_000, 400_000, number, number)
    trace.device("nc_exec_running", 910_000, 390_000, nrt_sequence_id=1)
    result = of(trace, tmp_path)
    assert {row.placement.clock for row in result.rows} == {"framework_window"}


def test_warm_up_steps_are_left_out(tmp_path: Path) -> None:
    trace, now = Trace(), 0
    for step, window in enumerate((5_000_000, 400_000, 400_000)):
        trace.op("aten::rsqrt", now, 5_000, step + 1, [[4, 1]], [BF16])
        trace.driver("aten::rsqrt", now + 6_000, window, step + 1, step + 1)
        trace.step(step, now - 10, window + 10_000)
        now += window + 20_000
    result = of(trace, tmp_path)
    (row,) = result.rows
    assert row.work.launches == 2
    assert row.time_s == pytest.approx(800e-6)


def test_dtypes_of_one_shape_are_counted_each(tmp_path: Path) -> None:
    trace = Trace()
    for number, dtype in enumerate((BF16, "float"), 1):
        trace.op("aten::add", number * 100_000, 5_000, number, [[64, 64], [64, 64]], [dtype] * 2)
        trace.driver("aten::add", number * 100_000 + 6_000, 40_000, number, number)
    (row,) = of(trace, tmp_path).rows
    assert row.work.minimal_bytes == 3 * 64 * 64 * (2 + 4)


def test_a_cache_key_counts_what_was_recorded_without_shapes(tmp_path: Path) -> None:
    trace = Trace()
    trace.op("aten::mul", 0, 5_000, 1)
    trace.driver(
        "aten::mul",
        6_000,
        40_000,
        1,
        1,
        f"mul--_[4,512]:BFloat16:S(C)_[512]:BFloat16:S(C):{'ab' * 32}",
    )
    trace.op("aten::silu", 100_000, 5_000, 2)
    trace.driver("aten::silu", 106_000, 40_000, 2, 2)
    result = of(trace, tmp_path)
    assert [row.work.minimal_bytes for row in result.rows] == [2 * (4 * 512 + 512 + 4 * 512)]
    assert result.trace is not None
    (lacking,) = result.trace.uncounted
    assert lacking.name == "aten::silu"
    assert "record_shapes" in lacking.problem


def test_every_operator_is_placed_or_named_with_a_reason(tmp_path: Path) -> None:
    result = of(many_operators(300), tmp_path)
    assert result.trace is not None
    assert len(result.trace.operators) == 300
    assert {one.name for one in result.trace.uncounted} == {"custom::unheard_of"}
    assert len({row.variant.name for row in result.rows} - {ALL}) == 294
    assert result.rows[0].work.unknown_ops == ("custom::unheard_of",)
    times = [one.time_s for one in result.trace.operators]
    assert times == sorted(times, reverse=True)
    tables = [block for block in study_blocks(result) if type(block).__name__ == "Table"]
    assert any(len(table.rows) == 300 for table in tables)  # type: ignore[union-attr]


def test_the_longest_are_named_in_the_figures_and_all_are_drawn(tmp_path: Path) -> None:
    result = of(many_operators(300), tmp_path)
    figures = {figure.key: figure for figure in study_figures(result)}
    assert len(figures["operators"].groups) == 10
    plane = figures["roofline"]
    assert len({point.group for point in plane.points}) == 294
    assert len([point for point in plane.points if point.label]) == 10


def test_a_report_is_written_and_fits_its_schema(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = many_operators(60, name="custom::" + "ünheard" * 40).write(tmp_path / "trace.json.gz")
    out = tmp_path / "out"
    assert run("report", str(path), "-o", str(out)) == 0
    text = capsys.readouterr().out
    assert "trn2 with LNC 2 is assumed" in text
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith(str(tmp_path)))
    assert {"report.md", "index.html", "points.csv", "operators.svg", "roofline.png"} <= {
        file.name for file in out.iterdir()
    }
    data = json.loads((out / "report.json").read_text("utf-8"))
    assert data["kind"] == "trace"
    assert len(data["trace"]["operators"]) == 60
    assert data["trace"]["gaps"]["count"] == 59
    assert "no formula" in (out / "report.md").read_text("utf-8")
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((root / "docs" / "schema" / "report-1.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)


def test_host_events_alone_place_nothing_and_say_what_to_do(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = Trace()
    for number in range(1, 5):
        trace.op("aten::mul", number * 50_000, 20_000, number, [[4, 512], [512]], [BF16, BF16])
    path, out = trace.write(tmp_path / "cpu.json"), tmp_path / "out"
    assert run("report", str(path), "-o", str(out)) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Nothing is placed on a roofline" in text
    assert "torch.neuron.synchronize()" in text
    assert "is assumed" not in text
    assert "roofline.svg" not in {file.name for file in out.iterdir()}
    data = json.loads((out / "report.json").read_text("utf-8"))
    assert data["rows"] == []
    page = (out / "report.md").read_text("utf-8")
    # every operator ran, none was launched: no column of zeros, none of blanks
    assert "| operator | calls | host |" in page
    assert "| 4 | 80 µs |" in page
    assert "launches |" not in page
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((root / "docs" / "schema" / "report-1.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)


def test_the_work_of_a_trace_is_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = article().write(tmp_path / "trace.json")
    assert run("report", str(path), "--time", "3us", "--clock", "device_execution") == 2
    assert "trace" in capsys.readouterr().err


@pytest.mark.slow
def test_real_recordings_on_the_cpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.analysis.torch_runs import record

    folder = record(tmp_path / "runs", "kineto")
    for name in ("naive", "fused", "compiled"):
        result = result_of(str(folder / f"{name}.json"), Settings())
        assert result.rows == ()
        assert "no-device-events" in {one.id for one in result.findings}
        assert [figure.key for figure in study_figures(result)] == ["operators"]

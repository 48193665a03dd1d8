from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.captures.chrome_trace import stream
from roofline.captures.chrome_trace.cache_key import parse_cache_key
from roofline.captures.chrome_trace.columns import nanoseconds
from roofline.captures.chrome_trace.operands import parse_operands
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError, MissingTableError
from tests.captures.trace_builder import BASE_NS, Trace, naive_rmsnorm


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_neuron_events_are_in_the_tables_of_their_kind(tmp_path: Path, name: str) -> None:
    capture = open_capture(naive_rmsnorm().write(tmp_path / name))
    assert capture.format == "chrome_trace"
    assert capture.metadata["base_time_ns"] == BASE_NS
    rows = {table: capture.table(table).num_rows for table in capture.sources}
    assert rows["cpu_ops"] == rows["driver"] == 6
    assert rows["device"] == 12
    assert rows["runtime"] == 1
    assert rows["annotations"] == 1
    assert sum(rows.values()) == 26
    driver = capture.table("driver").to_pylist()
    assert driver[0]["name"] == "aten::mul"
    assert driver[0]["tid"] == "7"
    assert driver[0]["duration_ns"] == 388_000
    assert driver[0]["nrt_sequence_id"] == 281474976710677
    assert driver[0]["end_ts"] == driver[0]["start_ts"] + 388_000
    assert capture.table("runtime")["bytes"].to_pylist() == [4]
    assert capture.quality == ()


def test_every_event_is_kept_once_whatever_its_kind(tmp_path: Path) -> None:
    trace = Trace()
    trace.op("aten::mul", 0, 5, 1)
    for phase, category in (
        ("X", "kernel"), ("X", "cuda_runtime"), ("X", "privateuse1_runtime"), ("X", "overhead"),
        ("X", "gpu_user_annotation"), ("X", "python_function"), ("i", "cpu_instant_event"),
        ("X", "cpu_instant_event"), ("X", "a category of tomorrow"), ("B", None), ("E", None),
        ("s", "ac2g"), ("f", "ac2g"), ("C", "hardware_counters"), ("M", None),
    ):  # fmt: skip
        trace.add("event", 10, 5 if phase == "X" else None, category, phase)
    capture = open_capture(trace.write(tmp_path / "trace.json"))
    rows = {table: capture.table(table).num_rows for table in capture.sources}
    assert sum(rows.values()) == len(trace.events)
    assert rows["other"] == 5
    assert rows["memory"] == 2
    assert rows["flows"] == 2
    assert "unpaired_phases" in {issue.id for issue in capture.quality}


@given(st.lists(st.integers(-(10**9), 9 * 10**18), max_size=20))
def test_times_are_exact_integers(values: list[int]) -> None:
    texts = [f"{'-' if v < 0 else ''}{abs(v) // 1000}.{abs(v) % 1000:03d}".encode() for v in values]
    assert nanoseconds(texts).to_pylist() == values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"1", 1000), (b"1.5", 1500), (b"1.2345", 1234), (b"-0.0001", -1), (b"1e3", 1_000_000),
        (b'"2.5"', 2500), (b"", None), (b"null", None), (b"1e400", None), (b"NaN", None),
        (b"5249478325987.313", 5249478325987313), (b"1.234e1", 12340), (b'"a\\nb"', None),
    ],
)  # fmt: skip
def test_times_in_other_spellings(text: bytes, expected: int | None) -> None:
    assert nanoseconds([text]).to_pylist() == [expected]
    assert nanoseconds([b"7.000", text]).to_pylist() == [7000, expected]


def test_odd_values_keep_their_row(tmp_path: Path) -> None:
    trace = Trace()
    trace.add("Span", 1, 2, "Trace", pid="Spans", tid="PyTorch Profiler")
    trace.op("aten::zero", 5, 0, 1)
    trace.op("aten::negative", 9, -3, 2, tid="7", pid=-1)
    trace.add("unsized", 4, None, "cpu_op", args=None)
    trace.add("list", 4, 1, "cpu_op", args=[1, 2])
    trace.add("text ids", 4, 1, "privateuse1_driver", args={"External id": "12", "bytes": "8"})
    trace.add("huge", 4, 1, "privateuse1_driver", args={"nrt_sequence_id": 2**64 - 1})
    trace.add("beyond", 4, 1, "privateuse1_driver", args={"nrt_sequence_id": 2**64})
    trace.events.append("null")
    capture = open_capture(trace.write(tmp_path / "trace.json"))
    ops = {row["name"]: row for row in capture.table("cpu_ops").to_pylist()}
    assert len(ops) == 4
    assert ops["aten::negative"]["duration_ns"] == -3
    assert ops["aten::negative"]["end_ts"] == 9
    assert ops["aten::negative"]["pid"] == "-1"
    assert ops["unsized"]["duration_ns"] is None
    driver = {row["name"]: row for row in capture.table("driver").to_pylist()}
    assert driver["text ids"]["external_id"] == 12
    assert driver["text ids"]["bytes"] == 8
    assert driver["huge"]["nrt_sequence_id"] == 2**64 - 1
    assert driver["beyond"]["nrt_sequence_id"] is None
    spans = capture.table("other").to_pylist()
    assert spans[0]["pid"] == "Spans"
    issues = {(issue.id, issue.table): issue.count for issue in capture.quality}
    assert issues["negative_duration", "cpu_ops"] == 1
    assert issues["zero_duration", "cpu_ops"] == 1
    assert issues["no_duration", "cpu_ops"] == 1


def test_names_with_control_characters_quotes_and_unicode(tmp_path: Path) -> None:
    names = [
        'with "quotes"',
        "new\nline",
        "nul\x00byte",
        "µ → λ",
        "a" * 5000,
        "}, {",
        "back\\slash",
    ]
    trace = Trace()
    for name in names:
        trace.op(name, 0, 1, 1)
    path = trace.write(tmp_path / "trace.json")
    assert open_capture(path).table("cpu_ops")["name"].to_pylist() == names

    raw = path.read_bytes().replace(b"back\\\\slash", b"tab\there\x07\xff")
    path.write_bytes(raw)
    capture = open_capture(path)
    assert capture.table("cpu_ops")["name"].to_pylist() == [*names[:-1], "tab here \ufffd"]
    assert "invalid_text" in {issue.id for issue in capture.quality}


@pytest.mark.parametrize("block", [1, 7, 64, 300, 100_000])
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_blocks_of_any_size_give_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, suffix: str
) -> None:
    trace = naive_rmsnorm(2)
    trace.add("nested", 5, 1, "overhead", args={"list": [{"a": 1}, {"a": 2}], "text": "}, {"})
    path = trace.write(tmp_path / f"trace{suffix}")
    whole = open_capture(path)
    monkeypatch.setattr(stream, "BLOCK_BYTES", block)
    pieces = open_capture(path)
    assert pieces.metadata == whole.metadata
    for name in whole.sources:
        assert pieces.table(name).equals(whole.table(name))


def test_columns_are_projected_and_unknown_ones_refused(tmp_path: Path) -> None:
    capture = open_capture(naive_rmsnorm().write(tmp_path / "trace.json"))
    table = capture.table("cpu_ops", ["end_ts", "name"])
    assert set(table.column_names) == {"name", "end_ts"}
    assert pa.types.is_dictionary(table.schema.field("name").type)
    with pytest.raises(MissingTableError, match="no column 'colour'"):
        capture.table("cpu_ops", ["colour"])
    with pytest.raises(MissingTableError, match="held: cpu_ops"):
        capture.table("instructions")


def test_a_base_time_behind_the_events_is_found(tmp_path: Path) -> None:
    trace = Trace(head={})
    trace.op("aten::mul", 0, 1, 1)
    path = tmp_path / "trace.json"
    path.write_text(trace.text().replace('"traceName"', f'"baseTimeNanoseconds": {BASE_NS}, "x"'))
    assert open_capture(path).metadata["base_time_ns"] == BASE_NS


def test_a_bare_array_is_a_trace_even_without_its_end(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":2,"pid":1,"tid":1},\n')
    assert open_capture(path).table("cpu_ops")["start_ts"].to_pylist() == [1000]
    path.write_text('[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]')
    assert open_capture(path).table("cpu_ops")["duration_ns"].to_pylist() == [2000]


def test_damaged_files_are_refused_in_one_line(tmp_path: Path) -> None:
    good = naive_rmsnorm().text().encode()
    path = tmp_path / "trace.json"
    for size in (len(good) // 2, len(good) - 5):
        path.write_bytes(good[:size])
        with pytest.raises(CaptureError, match="not a complete trace"):
            open_capture(path).table("cpu_ops")
    path.write_bytes(gzip.compress(good)[:-20])
    with pytest.raises(CaptureError, match=r"cut short|damaged gzip"):
        open_capture(path).table("cpu_ops")
    path.write_bytes(b'{"traceEvents": 3}')
    with pytest.raises(CaptureError, match="not a complete trace"):
        open_capture(path).table("cpu_ops")


@pytest.mark.parametrize("key", ["Input Dims", "a key that nobody reads"])
def test_deep_nesting_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "trace.json"
    deep = "[" * 200_000 + "]" * 200_000
    path.write_text(f'{{"traceEvents":[{{"ph":"X","cat":"cpu_op","args":{{"{key}":{deep}}}}}]}}')
    with pytest.raises(CaptureError, match="nests too deep"):
        open_capture(path)


def test_a_trace_without_events_opens_and_is_empty(tmp_path: Path) -> None:
    capture = open_capture(Trace().write(tmp_path / "trace.json"))
    assert {capture.table(name).num_rows for name in capture.sources} == {0}
    assert [issue.id for issue in capture.quality] == ["no_device_events"]


@given(st.integers(0, 600), st.binary(max_size=3))
def test_damage_is_refused_or_read_but_never_crashes(at: int, junk: bytes) -> None:
    import tempfile

    text = naive_rmsnorm().text().encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_bytes(text[:at] + junk + text[at + 1 :])
        try:
            capture = open_capture(path)
            rows = capture.table("cpu_ops").num_rows + capture.table("other").num_rows
        except CaptureError:
            rows = 0
    assert rows >= 0


def test_cache_key_of_the_documentation() -> None:
    digest = "0f" * 32
    text = f'"mse_loss--_[128,1024]:BFloat16:S(C)_[128,1024]:BFloat16:S(C)_i1:{digest}"'
    key = parse_cache_key(text)
    assert key is not None
    assert key.op == "mse_loss"
    assert key.inputs == (((128, 1024), "bf16"), ((128, 1024), "bf16"))
    assert key.digest == digest
    assert key.rest == "_i1"
    assert key.raw == text
    assert parse_cache_key("model_default_12") is None
    other = parse_cache_key("add--_[]:Float_[4,1]:Strange:S(X):zz")
    assert other is not None
    assert other.inputs == (((), "fp32"), ((4, 1), ""))
    assert other.rest == ":zz"


def test_operands_from_dims_and_types() -> None:
    operands = parse_operands(
        json.dumps([[4, 1], [], [], [], [[2, 3], [4]], [[], []]]),
        json.dumps(["c10::BFloat16", "float", "double", "Scalar", "TensorList", ["int", "half"]]),
    )
    assert operands is not None
    assert [(o.shape, o.dtype, o.wrapped) for o in operands] == [
        ((4, 1), "bf16", False), ((), "fp32", False), ((), "fp64", True),
        ((2, 3), "", False), ((4,), "", False), ((), "int32", False), ((), "fp16", False),
    ]  # fmt: skip
    assert parse_operands(None, None) is None
    assert parse_operands("[", "[]") is None


def test_decimal_oracle_for_the_slow_path() -> None:
    texts = ["0.1", "123456789.987654", "1E-3", "9223372036854775.807"]
    expected = [int((Decimal(text) * 1000).to_integral_value("ROUND_FLOOR")) for text in texts]
    assert nanoseconds([text.encode() for text in texts]).to_pylist() == expected

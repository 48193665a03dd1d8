from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.captures.measured.columns import measured_column, parse_cell
from roofline.captures.measured.row import Measured
from roofline.captures.measured.table import load_measured
from roofline.errors import CaptureError, RooflineError, UnitError


def load(folder: Path, text: str, name: str = "times.csv") -> tuple[Measured, ...]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load_measured(path).rows


def test_a_plain_table_with_units_in_headers_or_cells(tmp_path: Path) -> None:
    rows = load(
        tmp_path,
        "name,flops,bytes,time\nrms,4 MFLOP,24 MiB,33 us\nmm,2 GMAC,1024,0.5 ms\nx,,n/a,-\n",
    )
    assert [row.name for row in rows] == ["rms", "mm", "x"]
    assert [row.flops for row in rows] == [4e6, 4e9, None]
    assert [row.bytes_moved for row in rows] == [24 * 2**20, 1024, None]
    assert [row.time_s for row in rows[:2]] == pytest.approx([33e-6, 5e-4], rel=1e-12)
    assert rows[2].time_s is None
    assert rows[0].bytes_kind == "stated"
    assert rows[0].clock is None  # a time without a clock stays one


@pytest.mark.parametrize(
    ("header", "cell", "value"),
    [
        ("time_us", "33", 33e-6),
        ("time [ms]", "2", 2e-3),
        ("Latency (ns)", "5", 5e-9),
        ("nc_p99_us", "53.0", 53e-6),
        ("flops", "1_000", 1000),
        ("flops_by_their_formula", "7", 7),
        ("work_gflop", "2", 2e9),
        ("GFLOP", "2", 2e9),
        ("macs", "3", 6),
        ("gmacs", "3", 6e9),
        ("flops", "3 TMAC", 6e12),
        ("min_bytes", "8", 8),
        ("size_MiB", "1", 2**20),
        ("bytes", "1 GB", 1e9),
        ("bandwidth_GB_per_s", "382", 382e9),
        ("rate [TFLOP/s]", "78.6", 78.6e12),
        ("mfu_pct", "32", 0.32),
        ("mfu_fraction", "0.32", 0.32),
        ("mfu", "32 %", 0.32),
        ("vector_engine_active_time_percent", "32%", 0.32),
        ("time", "n/a", None),
    ],
)
def test_what_a_cell_means(header: str, cell: str, value: float | None) -> None:
    found = parse_cell(cell, measured_column(header))
    assert found == (None if value is None else pytest.approx(value, rel=1e-12))


@pytest.mark.parametrize(
    ("header", "cell", "allowed"),
    [
        ("bandwidth (Gb/s)", "1", "bits or bytes"),
        ("bandwidth_gbps", "1", "bits or bytes"),
        ("gbps", "1", "bits or bytes"),
        ("size_gb", "1", "bits or bytes"),
        ("bytes", "3 Mb", "bits or bytes"),
        ("gflops", "1", "count or a rate"),
        ("achieved_tflops", "1", "count or a rate"),
        ("peak (TFLOPS)", "1", "count or a rate"),
        ("flops", "78.6 TFLOPS", "count or a rate"),
        ("flops", "78.6 TFLOP/s", "not a multiple of FLOP"),
        ("ops", "1", "as one or as two"),
        ("work_gops", "1", "as one or as two"),
        ("flops", "4 GOP", "as one or as two"),
        ("mfu", "0.32", "per cent or fraction"),
        ("mfu_percent", "32", "per cent or fraction"),
        ("vector_util", "1", "per cent or fraction"),
        ("time", "33", "has no unit"),
        ("time_GB", "33", "not a unit of time"),
        ("time_us", "soon", "not a number"),
        ("time_us", "3 parsec", "not a multiple of s"),
        ("time_us", "-3", "is negative"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(header: str, cell: str, allowed: str) -> None:
    with pytest.raises(UnitError, match=allowed):
        parse_cell(cell, measured_column(header))


def test_errors_say_the_file_and_the_line(tmp_path: Path) -> None:
    with pytest.raises(UnitError, match=r"times\.csv: line 3: column 'time'.* has no unit"):
        load(tmp_path, "op,time\nmm,3 us\nmm,3\n")
    with pytest.raises(CaptureError, match=r"line 2: a time of 0 s"):
        load(tmp_path, "op,time_us\nmm,0\n")
    with pytest.raises(CaptureError, match=r"line 2: 3 cells under 2 columns"):
        load(tmp_path, "op,time_us\nmm,1,2\n")
    with pytest.raises(CaptureError, match="no column of times"):
        load(tmp_path, "op,flops\nmm,1\n")
    with pytest.raises(CaptureError, match=r"line 2: unknown dtype 'fp7'"):
        load(tmp_path, "op,dtype,time_us\nmm,fp7,1\n")
    with pytest.raises(CaptureError, match=r"line 2: unknown clock 'sundial'"):
        load(tmp_path, "op,clock,time_us\nmm,sundial,1\n")
    with pytest.raises(CaptureError, match="two columns hold time"):
        load(tmp_path, "op,time_us,time_ms\nmm,1,1\n")
    with pytest.raises(CaptureError, match="no measured times"):
        load(tmp_path, "op,time_us\n")
    with pytest.raises(CaptureError, match="No such file"):
        load_measured(tmp_path / "gone.csv")


def test_columns_of_several_kinds(tmp_path: Path) -> None:
    (row,) = load(
        tmp_path,
        "op;shape;dtype;instance;variant;M;K;p50_us;p99_us;hbm_read_bytes;hbm_write_bytes;"
        "rate (GB/s);notes;color\n"
        "matmul;x[4,8];torch.bfloat16;trn2.3xlarge;NKI;128;512;52;53;10;20;1;nki.benchmark;red\n",
    )
    assert (row.op, row.dtype, row.hardware, row.implementation) == (
        *("matmul", "bf16", "trn2.3xlarge"),
        "NKI",
    )
    assert row.params == {"M": 128, "K": 512}
    assert row.time_s == pytest.approx(52e-6, rel=1e-12)
    assert row.times_s == pytest.approx({"p50": 52e-6, "p99": 53e-6}, rel=1e-12)
    assert (row.bytes_moved, row.bytes_kind) == (30, "measured")
    assert row.quantities == {"rate (GB/s)": 1e9}
    assert row.clock is not None
    assert row.clock.key == "nki_benchmark"
    assert row.extra == {"color": "red"}


@pytest.mark.parametrize(
    "text",
    [
        "Latency percentiles (us)\np0: 50.0\np50: 52.0\np99: 53.0\n",
        "INFO run\nNC Latency: P50 = 52.0 us\n  P99 = 53.0us\n",
        "p50 52.0us p99 53.0us p100 61us",
    ],
)
def test_percentiles_that_a_benchmark_printed(tmp_path: Path, text: str) -> None:
    (row,) = load(tmp_path, text, "kernel.txt")
    assert row.name == "kernel"
    assert row.time_s == pytest.approx(52e-6, rel=1e-12)
    assert row.times_s["p99"] == pytest.approx(53e-6, rel=1e-12)
    assert row.clock is not None
    assert (row.clock.key, row.clock.profiled) == ("nki_benchmark", False)


def test_percentiles_without_a_unit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnitError, match="has no unit"):
        load(tmp_path, "p50: 52.0\np99: 53.0\n", "kernel.txt")


def test_toml_of_measurements_and_of_a_study(tmp_path: Path) -> None:
    rows = load(
        tmp_path,
        '[[measurement]]\nop = "rmsnorm"\nparams = { rows = 4, cols = 512 }\ndtype = "bf16"\n'
        'time = "16 us"\nclock = "device_body"\nprofiled = true\nbytes = 8192\n',
        "a.toml",
    )
    assert rows[0].params == {"rows": 4, "cols": 512}
    assert rows[0].bytes_moved == 8192
    assert rows[0].clock is not None
    assert (rows[0].clock.key, rows[0].clock.profiled) == ("device_body", True)
    with pytest.raises(UnitError, match="has no unit"):
        load(tmp_path, "[[measurement]]\nop = 'x'\ntime = 16\n", "a.toml")
    with pytest.raises(CaptureError, match=r"neither \[\[measurement\]\]"):
        load(tmp_path, "a = 1\n", "a.toml")
    with pytest.raises(CaptureError, match="line 1"):
        load(tmp_path, "a = = 1\n", "a.toml")


def test_the_shipped_study(root: Path) -> None:
    rows = load_measured(root / "captures/rmsnorm-4x512-bf16/study.toml").rows
    assert [row.implementation for row in rows] == ["naive", "fused", "compiled"]
    assert rows[0].time_s == pytest.approx(2354.9e-6, rel=1e-12)
    assert rows[0].params == {"rows": 4, "cols": 512}
    assert rows[0].clock is not None
    assert rows[0].clock.key == "framework_window"


@pytest.mark.parametrize(("name", "count"), [("tilebench_trn2.csv", 520), ("kernels.csv", 218)])
def test_published_tables(shared: Path, name: str, count: int) -> None:
    path = shared / "measured" / name
    table = load_measured(path)
    assert len(table.rows) == count
    with path.open(newline="", encoding="utf-8") as file:
        for row, plain in zip(table.rows, csv.DictReader(file), strict=True):
            micro = plain.get("time_us") or plain["latency_us"]
            assert row.time_s == pytest.approx(float(micro) * 1e-6, rel=1e-12)
            assert row.op == plain["op"]
            flops = plain.get("flops_by_their_formula") or plain.get("flops")
            assert row.flops == (float(flops) if flops else None)


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(max_size=300)
    | st.lists(
        st.sampled_from(
            ["time_us", "p50", "op", "\n", ",", '"', "3 us", "flops", "1e999", "\x00", "= ", "[["]
        ),
        max_size=30,
    ).map("".join),
    suffix=st.sampled_from([".csv", ".toml", ".txt"]),
)
def test_only_roofline_errors_escape(
    tmp_path_factory: pytest.TempPathFactory, text: str, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / f"t{suffix}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        count = len(load_measured(path).rows)
    except RooflineError as error:
        count = len(str(error))
    assert count > 0


@pytest.mark.parametrize(
    ("header", "cells", "params", "repeats"),
    [
        ("M,K,N", "256,512,1024", {"M": 256, "K": 512, "N": 1024}, None),
        ("m,k,n,repeats", "256,512,1024,20", {"m": 256, "k": 512, "n": 1024}, 20),
        ("n,samples", "1024,20", {"n": 1024}, 20),
        ("N", "20", {}, 20),
        ("rows,n", "4,20", {"rows": 4}, 20),
    ],
)
def test_n_is_a_size_beside_sizes_and_repeats_alone(
    tmp_path: Path, header: str, cells: str, params: dict[str, int], repeats: int | None
) -> None:
    (row,) = load(tmp_path, f"op,dtype,time_us,{header}\nmatmul,bf16,33,{cells}\n")
    assert (row.params, row.repeats) == (params, repeats)

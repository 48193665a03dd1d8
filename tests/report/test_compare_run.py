from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from roofline.analysis.observed import Observed, Run, Timing
from roofline.captures.opening import Opener
from roofline.cli.main import main
from roofline.plots.compare import describe_compare
from roofline.plots.draw import draw
from roofline.report.compare_run import compare, compare_observed, write_compared
from roofline.study.options import Options

STUDY = "rmsnorm-4x512-bf16"


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def table(path: Path, *rows: str) -> str:
    path.write_text("\n".join(["op,implementation,K,dtype,time_us,clock", *rows, ""]), "utf-8")
    return str(path)


def test_variants_of_a_study_are_compared_with_its_first():
    found = compare([STUDY]).comparison
    assert found.base.label == "naive"
    ratios = {versus.run.label: versus.pairs[0].ratio for versus in found.versus}
    # published: 2354.9, 403.3 and 375.5 us
    assert ratios == {
        "fused": pytest.approx(2354.9 / 403.3),
        "compiled": pytest.approx(2354.9 / 375.5),
    }


def test_launches_explain_the_fused_variant():
    pair = compare([f"{STUDY}::naive", f"{STUDY}::fused"]).comparison.pairs[0]
    first = pair.terms[0]
    assert first.id == "launches"
    assert first.seconds == pytest.approx(-5 / 6 * 2354.9e-6)
    bytes_term = next(term for term in pair.terms if term.id == "bytes")
    assert abs(bytes_term.seconds or 0) < 1e-4 * abs(pair.change_s or 0)


def test_two_single_runs_within_the_spread_of_launches_are_no_result():
    pair = compare([f"{STUDY}::fused", f"{STUDY}::compiled"]).comparison.pairs[0]
    assert pair.outcome in ("below-noise", "unproven")


def test_a_committed_report_and_its_study_are_the_same(root: Path):
    report = str(root / "reports" / STUDY / "report.json")
    pairs = compare([report, STUDY]).comparison.pairs
    assert {pair.outcome for pair in pairs} == {"same"}
    assert not any(pair.verdict_changed for pair in pairs)


def test_tables_of_times_are_compared_by_operator_and_shape(tmp_path: Path):
    old = table(
        tmp_path / "old.csv", "gelu,nki,512,bf16,10,nki_benchmark", "add,nki,8,fp32,5,nki_benchmark"
    )
    new = table(
        tmp_path / "new.csv", "gelu,nki,512,bf16,12,nki_benchmark", "mul,nki,8,fp32,5,nki_benchmark"
    )
    pairs = compare([old, new]).comparison.pairs
    assert sorted(pair.outcome for pair in pairs) == ["gone", "new", "unproven"]


def test_rows_of_one_kernel_in_a_table_are_repeats(tmp_path: Path):
    old = table(tmp_path / "old.csv", *(f"g,nki,1,bf16,{t},nki_benchmark" for t in (10, 10.1, 9.9)))
    new = table(
        tmp_path / "new.csv", *(f"g,nki,1,bf16,{t},nki_benchmark" for t in (12, 12.1, 11.9))
    )
    (pair,) = compare([old, new]).comparison.pairs
    assert pair.outcome == "slower"
    assert "n = 3 and 3" in pair.noise.source


@pytest.mark.parametrize(
    ("new_us", "code", "says"), [(10.1, 0, "passes"), (11, 1, "failed"), (0.001, 1, "impossible")]
)
def test_the_gate_sets_the_exit_code(tmp_path, capsys, new_us, code, says):
    head = "op,time_us,clock,min_bytes,hardware\n"
    for name, time in (("old", 10), ("new", new_us)):
        (tmp_path / f"{name}.csv").write_text(f"{head}g,{time},nki_benchmark,1000000,trn2\n")
    paths = [str(tmp_path / "old.csv"), str(tmp_path / "new.csv")]
    assert run("compare", *paths, "--fail-on", "time > 5% and > 500ns") == code
    assert says in capsys.readouterr().out


@pytest.mark.parametrize(
    "args",
    [
        ("nothing-here", STUDY),
        (f"{STUDY}::nothing", STUDY),
        (STUDY, STUDY, "--fail-on", "time > 5"),
        (STUDY, STUDY, "--noise", "much"),
        (STUDY, STUDY, "--map", "a"),
        (f"{STUDY}::naive",),
        (STUDY, "-o", "x.docx"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(args, capsys):
    assert run("compare", *args) == 2
    err = capsys.readouterr().err
    assert err.startswith("roofline: ")
    assert err.count("\n") == 1


def test_json_follows_its_published_schema(root: Path, capsys):
    assert run("compare", STUDY, "--json", "--fail-on", "time > 5%") == 0
    data = json.loads(capsys.readouterr().out)
    schema = json.loads((root / "docs/schema/compare-1.json").read_text("utf-8"))
    jsonschema.validate(data, schema)
    assert data["gate"]["passes"] is True


def test_text_fits_80_columns(capsys):
    run("compare", "rmsnorm-2048xK")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) > 40


def test_every_suffix_is_a_form(tmp_path: Path):
    compared = compare([STUDY])
    for kind in ("md", "json", "csv", "html", "svg", "png", "pdf"):
        (path,) = write_compared(compared, tmp_path / f"one.{kind}")
        assert path.stat().st_size > 100
    assert not list(tmp_path.rglob(".*"))


def test_the_figure_has_an_arrow_a_pair_and_labels_that_do_not_collide():
    comparison = compare([STUDY]).comparison
    figure = describe_compare(comparison)
    assert figure is not None
    arrows = [line for line in figure.lines if line.role == "arrow"]
    assert len(arrows) == 2
    at = {point.key: (point.x, point.y) for point in figure.points}
    naive = at["base: naive, 4x512 bf16"]
    assert all((line.x[0], line.y[0]) == naive for line in arrows)
    drawing = draw(figure)
    drawing.canvas.canvas.draw()  # settles the key's texts
    renderer = drawing.canvas.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in drawing.labels]
    assert not [1 for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]


def test_kernels_without_bytes_have_no_figure(tmp_path: Path):
    path = table(tmp_path / "t.csv", "g,a,1,bf16,10,nki_benchmark", "g,b,1,bf16,9,nki_benchmark")
    assert describe_compare(compare([path]).comparison) is None
    assert run("compare", path, "-o", str(tmp_path / "x.svg")) == 2


@pytest.fixture(scope="module")
def attention(shared: Path) -> Path:
    return shared / "captures" / "trn2-v6-attention"


@pytest.mark.shared
def test_fusing_attention_keeps_the_work_and_cuts_the_traffic(attention: Path):
    base, new = (str(attention / f"{name}_bf16_s512.ntff") for name in ("baseline", "fused"))
    (pair,) = compare([base, new]).comparison.pairs
    # totals of the vendor's own JSON: 54.276 and 36.351 us
    total = pair.delta("time:device_total")
    assert total is not None
    assert (total.base, total.new) == (
        pytest.approx(54.276e-6, abs=1e-9),
        pytest.approx(36.351e-6, abs=1e-9),
    )
    flop, moved = pair.delta("tensor-flop"), pair.delta("bytes:measured")
    assert flop is not None
    # scores, and their product with the values; transposes are counted apart, and the same
    assert flop.base == flop.new == 2 * (2 * 512 * 512 * 128)
    assert {one.label for one in pair.deltas} >= {"Tensor busy", "transpose FLOP"}
    assert moved is not None
    assert (moved.base, moved.new) == (4816896, 622592)
    parts = [term.seconds or 0 for term in pair.terms if not term.at_most]
    assert sum(parts) == pytest.approx(pair.change_s, abs=1e-12)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["fused_bf16_s512", "baseline_bf16_s512"])
def test_a_trace_and_the_vendors_output_of_it_do_not_differ(attention: Path, name: str):
    paths = [str(attention / f"{name}.{kind}") for kind in ("ntff", "json.gz")]
    (ours,) = compare(paths).comparison.pairs
    assert ours.outcome == "same"
    assert ours.base is not None
    assert ours.new is not None
    assert ours.base.verdict == ours.new.verdict
    (pair,) = compare(paths, options=Options(opener=Opener(compat="vendor"))).comparison.pairs
    assert pair.outcome == "same"
    known = [delta for delta in pair.deltas if delta.change is not None]
    assert {"time", "bytes:measured", "tensor-flop", "dma", "count:DMA packets"} <= {
        delta.id for delta in known
    }
    for delta in known:
        # the vendor prints whole ns; an engine's time is a sum over its instructions
        slack = 1e-9 * 400 if delta.unit == "s" else 0
        assert delta.change == pytest.approx(0, abs=slack), delta.label


def test_long_and_foreign_names_are_neither_lost_nor_cut_in_the_figure():
    def kernel(number: int, seconds: float) -> Observed:
        return Observed(
            kernel=f"kernel_{'y' * 300}_{number}_核",
            timings=(Timing(seconds=seconds, clock="device_body"),),
            tensor_flops=1e9 * number,
            bytes={"measured": 1e6},
            hardware="trn2",
        )

    runs = [
        Run(
            label=f"{name}_{'x' * 100}",
            source=name,
            format="test",
            observed=tuple(kernel(i, i * scale) for i in range(1, 21)),
        )
        for name, scale in (("früher", 1e-4), ("später", 5e-5))
    ]
    compared = compare_observed(runs)
    text = compared.to_text(80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("2x faster") >= 20
    assert compared.to_json().count("y" * 300) >= 20
    figure = describe_compare(compared.comparison)
    assert figure is not None
    drawing = draw(figure)
    drawing.canvas.canvas.draw()
    width, _ = drawing.canvas.canvas.get_width_height()
    renderer = drawing.canvas.canvas.get_renderer()
    for words in drawing.canvas.texts:
        assert words.get_window_extent(renderer).x1 <= width

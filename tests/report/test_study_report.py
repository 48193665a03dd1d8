from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from roofline.cli.main import main
from roofline.report.alike import skeleton
from roofline.report.blocks import Heading, Table
from roofline.report.hardware_card import hardware_card
from roofline.report.run import study_result
from roofline.report.study_blocks import study_blocks, summary_blocks
from roofline.report.study_report import study_figures, write_study_report
from roofline.report.study_verdicts import sentences
from roofline.report.terminal import to_text
from roofline.study.evaluate import StudyResult
from roofline.study.load import list_studies
from roofline.units import format_time

FILES = {
    "report.md",
    "report.json",
    "points.csv",
    "figures.json",
    "index.html",
    *(
        f"{stem}.{kind}"
        for stem in ("ladder", "roofline", "engines")
        for kind in ("svg", "png", "pdf", "csv")
    ),
}
# a figure more: a series over sizes, or engines with counters
EXTRA = {
    "rmsnorm-2048xK": "sizes",
    "softmax-2048xN": "sizes",
    "matmul-4096xKx4096": "sizes",
    "rmsnorm-512x3072-bf16": "utilization",
    "attention-Sx128": "utilization",
    "swiglu-4096x1024x3072-fp32": "utilization",
}


@pytest.fixture(scope="module")
def article() -> StudyResult:
    return study_result("rmsnorm-4x512-bf16")


@pytest.fixture(scope="module", params=list_studies())
def fresh(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports") / request.param
    write_study_report(study_result(request.param), folder)
    return folder


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def test_every_file_is_written_and_nothing_else(fresh: Path) -> None:
    extra = EXTRA.get(fresh.name)
    more = {f"{extra}.{kind}" for kind in ("svg", "png", "pdf", "csv")} if extra else set()
    assert {path.name for path in fresh.iterdir()} == FILES | more
    assert [path.name for path in fresh.parent.iterdir()] == [fresh.name]


def test_committed_reports_have_not_drifted(fresh: Path, root: Path) -> None:
    """Text exactly; figures by their drawn data. `make reports` brings them up to date."""
    committed = root / "reports" / fresh.name
    for name in ("report.md", "points.csv", "report.json"):
        same = (committed / name).read_text("utf-8") == (fresh / name).read_text("utf-8")
        assert same, f"{committed / name} is not what this tree writes: run `make reports`"
    held, drawn = (
        json.loads((folder / "figures.json").read_text("utf-8")) for folder in (committed, fresh)
    )
    assert held == drawn
    for stem in ("ladder", "roofline", "engines"):
        assert (committed / f"{stem}.svg").stat().st_size > 1000
        assert (committed / f"{stem}.png").read_bytes()[:4] == b"\x89PNG"


def test_json_follows_its_published_schema(fresh: Path, root: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((root / "docs" / "schema" / "report-1.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    data = json.loads((fresh / "report.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)


def test_points_hold_every_time(fresh: Path) -> None:
    with (fresh / "points.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    data = json.loads((fresh / "report.json").read_text("utf-8"))
    assert len(rows) == len(data["rows"]) + sum(map(len, data["others"].values()))
    assert all(float(row["time_s"]) > 0 and row["verdict"] for row in rows)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        for name in ("src", "href", "xlink:href"):
            if values.get(name):
                self.links.append(str(values[name]))
        if values.get("id"):
            self.ids.append(str(values["id"]))


def test_the_page_stands_alone(fresh: Path) -> None:
    text = (fresh / "index.html").read_text("utf-8")
    page = _Page()
    page.feed(text)
    assert all(link.startswith("#") for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert text.count('data-panel="') == len(list(fresh.glob("*.svg")))
    assert len(text) < 2_000_000


def verdicts(result: StudyResult) -> dict[str, str]:
    return {row.variant.name: row.verdict.label for row in result.rows}


def test_the_article_is_launch_bound(article: StudyResult) -> None:
    assert verdicts(article) == dict.fromkeys(("naive", "fused", "compiled"), "overhead:host")
    for row in article.rows:
        assert row.verdict.stable
        assert "cannot be classified from this clock" in row.verdict.explanation
        # below 0.03 % of any roof
        assert all(pair.fraction < 3e-4 for pair in row.placement.pairs)
    for rows in article.others.values():
        assert {row.verdict.label for row in rows} == {"overhead:host"}


def test_launches_explain_the_sixfold_and_bytes_do_not(article: StudyResult) -> None:
    found = {one.id: one for one in article.findings}
    launches = found["launches"]
    assert launches.what.startswith("6 launches to one explain the 5.84x to 6.27x")
    share = re.search(r"([\d.]+) % of the 1.98 ms saved", launches.evidence)
    assert share is not None
    assert float(share[1]) < 0.01
    assert launches.at_stake_s == pytest.approx(2354.9e-6 - 375.5e-6)


def test_seven_percent_of_single_runs_is_no_result(article: StudyResult) -> None:
    (noise,) = [one for one in article.findings if one.id == "below-noise"]
    assert noise.what == "7.4 % between compiled and fused is not a result"
    # launches of the naive trace run from 340.8 to 434.6 us around 392.5
    assert "24 %" in noise.evidence
    assert pytest.approx(0.239, abs=5e-4) == (434.6 - 340.8) / (2354.9 / 6)


def test_the_copy_of_epsilon_is_a_finding_apart_from_bytes(article: StudyResult) -> None:
    (copy,) = [one for one in article.findings if one.id == "host-scalar"]
    assert copy.subject == "naive"
    assert copy.at_stake_s == pytest.approx(93.8e-6)
    naive = article.rows[0].work
    assert naive.host_copy_bytes == 4
    assert naive.dispatched_bytes == 33_840
    assert naive.dispatched_aliased_bytes == 29_744


def test_the_onset_is_a_range_on_each_chip(article: StudyResult) -> None:
    onset = {one.hardware: one for one in article.onset if one.what == "device start"}
    assert set(onset) == {"trn1", "inf2", "trn2", "trn3"}
    trn2 = onset["trn2"]
    assert trn2.fixed_s == (9e-6, 22e-6)
    # 22 us at 2 x 2 B an element over 716.8 GB/s
    assert trn2.elements[1] == pytest.approx(22e-6 * 716.8e9 / 4, rel=1e-3)
    # 9 us at the measured pace of the eager curve, 13.3 ps an element
    assert trn2.elements[0] == pytest.approx(9e-6 / 13.3e-12, rel=5e-3)
    # 21.8 us and 13.2 ps, the published fit, lie inside
    assert trn2.elements[0] < 21.8e-6 / 13.2e-12 < trn2.elements[1]


def test_counters_tell_what_the_kernels_move() -> None:
    result = study_result("rmsnorm-512x3072-bf16")
    rows = {row.measurement.key: row for row in result.rows}
    assert {row.verdict.label for row in rows.values()} == {"serialization"}
    assert rows["torch, 28 chained calls"].verdict.busiest == "scalar"
    excess = {one.subject: one.what for one in result.findings if one.id == "excess-bytes"}
    assert excess["nki"] == "3.0 times the minimal bytes are moved"
    assert excess["torch"] == "1.3 times the minimal bytes are moved"
    assert "torch, 28 chained calls" not in excess


def test_the_curve_is_fitted_and_excludes_the_memory() -> None:
    result = study_result("rmsnorm-2048xK")
    eager = [
        row
        for row in result.rows
        if row.variant.name == "eager" and row.measurement.config.dtype == "bf16"
    ]
    assert len(eager) == 10
    assert {row.verdict.label for row in eager} == {"unknown"}
    assert all("hbm" in row.verdict.excluded for row in eager)
    for row in result.rows:
        assert row.placement.headroom is not None
        assert row.placement.headroom > 1


def test_figures_are_described_without_drawing(article: StudyResult) -> None:
    ladder, roofline, engines = study_figures(article)
    assert [len(figure.points) for figure in (roofline, engines)] == [4, 4]
    assert {span.label for span in ladder.spans} >= {"byte floor", "device start", "host window"}
    kinds = {line.kind for line in roofline.lines if line.role == "memory"}
    assert kinds == {"theoretical", "sustained", "measured"}
    assert any(line.role == "context" for line in roofline.lines)
    joins = [line for line in roofline.lines if line.role == "join"]
    assert [line.x for line in joins] == [pytest.approx((0.2423, 0.8898), rel=1e-3)]


def test_the_command_says_once_what_holds_for_all_variants(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("report", "rmsnorm-4x512-bf16") == 0
    out = capsys.readouterr().out
    assert out.count("Launch-bound:") == 1
    assert "of the 2.35 ms, 403 µs and 376 µs (" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("name", list_studies())
def test_the_text_fits_its_width_and_loses_nothing(name: str, width: int) -> None:
    result = study_result(name)
    text = to_text(summary_blocks(result), width=width)
    assert max(map(len, text.splitlines())) <= width
    letters = re.sub(r"[^A-Za-z0-9]", "", text)
    for sentence in sentences(result):
        assert re.sub(r"[^A-Za-z0-9]", "", sentence) in letters
    for row in result.rows:
        assert re.sub(r"[^A-Za-z0-9]", "", format_time(row.time_s)) in letters


@pytest.mark.parametrize("name", list_studies())
def test_every_verdict_has_a_sentence_and_no_sentence_is_said_twice(name: str) -> None:
    result = study_result(name)
    said = list(sentences(result))
    kinds = {skeleton(row.verdict.explanation) for row in result.rows}
    assert len(said) == len(kinds) <= 4
    for kind in kinds:  # its words up to the first figure
        assert any(kind.split("#")[0] in sentence for sentence in said)


def test_a_study_over_sizes_has_a_table_of_configs_by_variants() -> None:
    result = study_result("rmsnorm-2048xK")
    grid, *_ = [  # before those of variants without a time
        block
        for block in summary_blocks(result)
        if isinstance(block, Table) and block.columns[0] == "config"
    ]
    assert grid.columns == ("config", "eager", "nki")
    assert len(grid.rows) == 30
    cells = {row[0]: row[1:] for row in grid.rows}
    assert cells["2048x9728 bf16"] == ("286 µs, 39 %, ?", "222 µs, 50 %, ?")
    assert cells["2048x9728 fp32"] == ("414 µs, 54 %, ?", "335 µs, 66 %, hbm~")
    assert "?: the evidence does not say" in grid.note
    assert "device execution" in grid.note
    lines = to_text([grid], width=80).splitlines()
    assert len(lines) < len(grid.rows) + 7  # a line a row


def test_the_order_of_a_report(article: StudyResult) -> None:
    titles = [
        block.text
        for block in study_blocks(article)
        if isinstance(block, Heading) and block.level < 3
    ]
    order = ["Verdicts", "Figures", "Findings", "Where the time goes", "Data quality"]
    order.append("Hardware: trn2")
    assert [title for title in titles if title in order] == order
    assert titles[-1] == "Sources and assumptions"


def test_the_hardware_card_is_that_of_the_command(
    article: StudyResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("hw", "show", "trn2") == 0
    shown = " ".join(capsys.readouterr().out.split())
    tables = [one for one in hardware_card(article.hardware) if isinstance(one, Table)]
    assert [one.columns[0] for one in tables] == [
        "Engines of a core",
        "Engine roofs",
        "Memories",
        "DMA",
        "Memory roofs",
        "Fixed times",
    ]
    for table in tables:
        # sources are numbered in the order in which each of them is cited
        for row in table.rows:
            assert " ".join(" ".join(row[:-1]).split()) in shown
    engines = {row[0]: row[1:4] for row in tables[0].rows}
    assert engines["Tensor"] == ("2.4 GHz", "128 x 128 array", "documented")
    assert {row[0]: row[1] for row in tables[2].rows}["SBUF"] == "28 MiB"


def test_a_narrow_table_breaks_between_words_and_not_in_figures() -> None:
    table = Table(
        columns=("variant", "time", "verdict"),
        rows=(("gather_mean.json", "1.73 ms", "dma:small-transfers (weak)"),),
        numeric=frozenset({1}),
    )
    lines = to_text([table], width=48).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["gather_mean.json", "1.73", "ms", "dma:small-transfers"],
        ["(weak)"],
    ]
    assert max(map(len, to_text([table], width=30).splitlines())) <= 30


def test_json_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", "rmsnorm-4x512-bf16", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert [row["verdict"]["label"] for row in data["rows"]] == ["overhead:host"] * 3
    assert run("report", "rmsnorm-4x512-bf16", "rmsnorm-512x3072-bf16", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["reports"]) == 2


def test_another_hardware_and_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", "rmsnorm-4x512-bf16", "--json", "--hw", "trn2", "--lnc", "1") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["hardware"]["lnc"] == 1
    assert data["hardware"]["memory_ceiling"] == "DMA link"
    assert data["others"] == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= nonsense", "not a TOML file"),
        ("schema_version = 1", "missing required field"),
        ('time = "-1 us"', "more than 0"),
        ('dtype = "bf61"', "bf61"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], root: Path, text: str, message: str
) -> None:
    folder, out = tmp_path / "bad", tmp_path / "out"
    folder.mkdir()
    good = (root / "captures" / "rmsnorm-4x512-bf16" / "study.toml").read_text("utf-8")
    key = text.split(" = ")[0]
    bad = re.sub(rf"(?m)^{key} = .*$", text, good, count=1) if f"\n{key} = " in good else text
    if key == "schema_version":
        bad = text
    (folder / "study.toml").write_text(bad, "utf-8")
    assert run("report", str(folder), "-o", str(out)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad"]


def test_missing_paths_and_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    for args in (
        ["nowhere"],
        ["rmsnorm-4x512-bf16", "--hw", "trn9"],
        ["rmsnorm-4x512-bf16", "--lnc", "3"],
        ["rmsnorm-4x512-bf16", "--preset", "lax"],
        [],
    ):
        assert run("report", *args) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1


def test_a_failed_write_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, article: StudyResult
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "report.md").write_text("old", "utf-8")

    def fail(*_: Any) -> str:
        raise RuntimeError("disk")

    monkeypatch.setattr("roofline.report.study_report.points_csv", fail)
    with pytest.raises(RuntimeError, match="disk"):
        write_study_report(article, folder)
    assert (folder / "report.md").read_text("utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_in_the_place_of_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("mine", "utf-8")
    assert run("report", "rmsnorm-4x512-bf16", "-o", str(tmp_path / "out")) == 2
    assert "is a file" in capsys.readouterr().err
    assert (tmp_path / "out").read_text("utf-8") == "mine"

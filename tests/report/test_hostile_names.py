"""Names that come from files of others: shown as text wherever they stand, and obeyed nowhere."""

from __future__ import annotations

import csv
import itertools
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from roofline.cli.main import main
from roofline.model.sweep import dataset, plan
from roofline.textfile import show_controls
from tests.captures.vendor_json import profile, write_json
from tests.report.browser import chromium, open_page, problems

NAMES = {
    "script": "</script><script>window.foreign=1</script>",
    "image": "<img src=x onerror=window.foreign=1>",
    "table": "a|b\\|c\nd\r\n| --- |\n# e",
    "markup": "`*_[x](javascript:window.foreign=1)_*` ![y](z) &lt;b&gt; <http://x.y>",
    "terminal": "\x1b[31mred\x1b[0m\x07\x9b2J\u202egnp.exe\u2066",
    "formula": '=cmd|"/c calc"!A0',
    "unicode": "é漢字🙂\u200d🙂 \u0301",
    "template": "{{7*7}} ${7*7} {% raw %} %s %n \\u003c",
    "null": "a\0b",
    "long": "y" * 10_000,
}

CLEAN = [name.replace("\0", "0")[:300] for name in NAMES.values()]
"""The names as a netCDF file can hold them."""

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys instead of showing."""


def _run(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return int(stop.value.code or 0)


def _captures(folder: Path) -> dict[str, Path]:
    """Write captures in which every free text is one of ``NAMES``, in turn."""
    names = list(NAMES.values())
    document = profile(rows=60)
    for row, name in zip(document["instruction"], itertools.cycle(names)):
        row |= {"opcode": name, "hlo_name": name, "nki_source_location": name, "operands": name}
    for row, name in zip(document["dma"], itertools.cycle(names)):
        row |= {"queue_name": name, "variable": name, "dma_type": name, "hlo_name": name}
    summary = {"total_time": 1e-4, "total_active_time": 8e-5, "vector_engine_active_time": 5e-5,
               "hbm_read_bytes": 4096, "hbm_write_bytes": 4096}  # fmt: skip
    sweep = dataset(plan("rmsnorm", rows="1:64:x4", cols="512,1024"))
    sweep = sweep.isel(variant=[0] * len(CLEAN)).assign_coords(variant=CLEAN)
    sweep = sweep.assign_attrs(op=" ".join(CLEAN), problems=" ".join(CLEAN))
    sweep.to_netcdf(folder / "sweep.nc", engine="h5netcdf")
    trace = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 100 * at, "dur": 50,
         "args": {"External id": at}}
        for at, name in enumerate(names)
    ]  # fmt: skip
    (folder / "trace.json").write_text(json.dumps({"traceEvents": trace, "schemaVersion": 1}))
    programs = {name: {**summary, "neff_name": name} for name in names}
    return {
        "profile": write_json(folder, document),
        "summary": write_json(folder, programs, "summary.json"),
        "sweep": folder / "sweep.nc",
        "trace": folder / "trace.json",
    }


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of reports of hostile captures, by command and capture."""
    folder = tmp_path_factory.mktemp("hostile")
    made = {}
    for what, path in _captures(folder).items():
        for command, words in (("report", [path]), ("compare", [path, path])):
            out = folder / f"{command}-{what}"
            if what == "summary":
                words += ["--program=1", "--hw=trn2"]
            code = _run(command, *words, "-o", out)
            assert code in (0, 2)
            if code == 0:
                made[out.name] = out
    return made


def test_every_written_file_stays_what_it_is(reports: dict[str, Path]) -> None:
    assert set(reports) >= {"report-profile", "compare-profile", "report-summary", "report-sweep"}
    seen = set()
    for path in [file for folder in reports.values() for file in folder.rglob("*")]:
        seen.add(path.suffix)
        match path.suffix:
            case ".svg":
                ElementTree.parse(path)
            case ".json":
                json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))
            case ".md":
                _check_markdown(path)
            case ".csv":
                _check_csv(path)
    assert seen >= {".svg", ".json", ".md", ".csv", ".html"}


def test_names_reach_a_terminal_as_text(
    reports: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = next(iter(reports.values())).parent
    for command in ("report", "engines", "info", "compare"):
        for name in ("profile.json", "sweep.nc", "trace.json"):
            _run(command, *[folder / name] * (1 + (command == "compare")))
            said = "".join(capsys.readouterr())
            assert not (wrong := OBEYED.findall(said)), (command, name, wrong)


def _check_markdown(path: Path) -> None:
    text = path.read_text()
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    kinds = {one.type for one in _flat(tokens)}
    assert not kinds & {"html_block", "html_inline", "code_inline", "fence"}, kinds
    links = [one for one in _flat(tokens) if one.type in ("link_open", "image")]
    assert all(one.type == "image" and one.attrs["src"].endswith(".svg") for one in links), links
    width = cells = 0
    for token in tokens:
        if token.type == "tr_open":
            cells = 0
        elif token.type in ("th_open", "td_open"):
            cells += 1
        elif token.type == "tr_close":
            assert cells == (width or cells)
            width = cells
        elif token.type == "table_close":
            width = 0
    rows = [line for line in text.splitlines() if line.lstrip().startswith("|")]
    assert sum(token.type == "tr_open" for token in tokens) == len(rows) - sum(
        token.type == "table_open" for token in tokens
    )
    assert not OBEYED.search(text), path


def _flat(tokens: list[Any]) -> list[Any]:
    return [inner for token in tokens for inner in (token, *_flat(token.children or []))]


def _check_csv(path: Path) -> None:
    """A table parses back to the names, controls written out as JSON does; formulas stay."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, strict=True)
    assert {len(row) for row in rows} <= {len(header)}, path
    if path.match("report-sweep/points.csv"):
        assert {row[header.index("variant")] for row in rows} == {
            show_controls(name.replace("\r\n", "\n")) for name in CLEAN
        }


def test_the_page_runs_nothing_and_shows_the_names(
    reports: dict[str, Path], tmp_path: Path
) -> None:
    pages = [page for folder in reports.values() for page in folder.glob("*.html")]
    assert len(pages) >= 4
    with chromium(tmp_path / "profile") as driver:
        for page in pages:
            open_page(driver, page)
            assert not driver.execute_script("return window.foreign === 1"), page
            assert not problems(driver), page
            if "report-sweep" in str(page):
                text = driver.execute_script("return document.body.textContent")
                shown = {what for what, name in NAMES.items() if name in text}
                assert shown >= {"script", "image", "markup", "template", "formula"}

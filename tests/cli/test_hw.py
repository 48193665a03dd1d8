from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.cli.main import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["hw", *args])
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return call


def test_list_names_every_chip_and_instance(run):
    code, out, err = run("list")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == [
        *("name", "chip", "core", "cores", "LNC", "bf16/core", "HBM", "stack", "DMA/core")
    ]
    for word in ("trn1", "inf2", "trn2", "trn3", "78.6 TFLOP/s", "717 GB/s", "trn2.3xlarge"):
        assert word in out
    assert run() == (0, out, "")


def test_list_as_json(run):
    code, out, _ = run("list", "--json")
    records = {record["name"]: record for record in json.loads(out)}
    assert code == 0
    assert set(records) == {"trn1", "inf2", "trn2", "trn3"}
    assert records["trn2"]["tensor_bf16_flop_per_s"] == pytest.approx(78.6432e12)
    assert records["trn2"]["dma_link_bytes_per_s"] == pytest.approx(435.2e9)
    assert records["trn1"]["lnc_choices"] == [1]


@pytest.mark.parametrize("name", ["trn1", "inf2", "trn2", "trn3"])
@pytest.mark.parametrize("lnc", ["1", "2"])
def test_card_fits_a_terminal_and_cites_every_source(run, name, lnc):
    code, out, err = run("show", name, "--lnc", lnc)
    if name in ("trn1", "inf2") and lnc == "2":
        assert (code, out) == (2, "")
        assert err == f"roofline: {name}: no LNC 2; known: 1\n"
        return
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    for heading in (
        "Engines of a core",
        "Engine roofs",
        "Memories",
        "DMA",
        "Memory roofs",
        "Ridge, FLOP/B",
        "Elements per lane",
        "Fixed times",
        "Notes",
        "Sources",
    ):
        assert f"\n{heading}" in out
    cited = [line for line in out.split("\nSources\n")[1].splitlines() if line[:4].strip()]
    assert [int(line[:4]) for line in cited] == list(range(1, len(cited) + 1))


def test_card_shows_the_figures_of_the_view(run):
    one, two = run("show", "trn2", "--lnc", "1")[1], run("show", "trn2")[1]
    assert "78.64 TFLOP/s" in one
    assert "157.3 TFLOP/s" in two
    assert "180.7" in one
    assert "213.7" in one
    assert "219.4" in two
    for card in (one, two):
        assert "109.84" in card
        assert "716.8 GB/s" in card
    assert "358.4 GB/s" in run("show", "trn2", "--lnc", "1", "--neighbours-busy")[1]
    assert "LNC 2, 1 working" in run("show", "trn2", "--working-cores", "1")[1]
    assert "unknown" in run("show", "trn3")[1]


def test_card_as_json(run):
    code, out, _ = run("show", "trn2.48xlarge", "--lnc", "1", "--json")
    card = json.loads(out)
    assert code == 0
    assert (card["schema_version"], card["name"], card["lnc"]) == (1, "trn2", 1)
    assert card["ridges_flop_per_byte"]["bf16"]["theoretical"] == pytest.approx(180.7, abs=0.05)
    assert card["vendor_ridge_flop_per_byte"] == pytest.approx(109.84, abs=0.005)
    assert card["memory_ceilings"]["theoretical"]["name"] == "DMA link"
    for roof in card["roofs"]:
        assert roof["source"]
        assert roof["kind"] in ("theoretical", "sustained", "measured", "vendor")
    number = card["values"]["dma.link_bytes_per_s"]
    assert (number["value"], number["unit"], number["quality"]) == (27.2e9, "B/s", "documented")
    trn3 = json.loads(run("show", "trn3", "--json")[1])
    assert "measured" not in trn3["ridges_flop_per_byte"]["bf16"]


def test_values_lists_every_number(run):
    code, out, _ = run("show", "trn2", "--values")
    assert code == 0
    assert len(out.splitlines()) > 150
    line = next(line for line in out.splitlines() if line.startswith("dma.link_bytes_per_s"))
    assert line.split() == ["dma.link_bytes_per_s", "2.72e+10", "B/s", "documented"]


def test_unknown_hardware_is_bad_input(run):
    code, out, err = run("show", "h100")
    assert (code, out) == (2, "")
    assert err.startswith("roofline: unknown hardware 'h100'; known: inf2")
    assert err.count("\n") == 1


def test_check_says_ok_or_what_is_wrong(run, tmp_path: Path, root: Path):
    mine = tmp_path / "mine.toml"
    text = (root / "hw_models" / "trn3.toml").read_text(encoding="utf-8")
    mine.write_text(text.replace('name = "trn3"', 'name = "mine"'), encoding="utf-8")
    code, out, err = run("check", str(mine))
    assert (code, err) == (0, "")
    assert out.startswith(f"ok: {mine}: mine, ")
    assert json.loads(run("check", str(mine), "--json")[1]) == {"path": str(mine), "ok": True}
    assert run("show", str(mine))[0] == 0

    mine.write_text(text.replace("clock_hz = 2.4e9", "clock_hz = 0"), encoding="utf-8")
    code, out, err = run("check", str(mine))
    assert (code, out) == (2, "")
    assert err == (
        "roofline: mine.toml: engines.tensor.clock_hz: expected a positive finite number, found 0\n"
    )
    assert run("check", str(tmp_path / "none.toml"))[0] == 2

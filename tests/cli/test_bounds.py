from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roofline.cli.commands import bounds
from roofline.cli.main import main
from tests.analysis.synthetic import capture, instruction, packet
from tests.captures.trace_builder import naive_rmsnorm


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = capture(
        [
            instruction("tensor", "MATMUL", 2, 6, ""),
            instruction("vector", "COPY", 6, 8, "src=fp32@0x0[1][96] dst=fp32@0x0[1][96] "),
        ],
        [packet(0, 3, 65536)],
        summary={"total_time": 12e-6},
        metadata={"hardware": "trn2", "lnc": 1},
    )
    monkeypatch.setattr(bounds, "open_path", lambda path, **opening: made)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(bounds.command, ["x.ntff", *arguments], catch_exceptions=False)

    return invoke


def test_waterfall_in_80_columns(run: Any) -> None:
    text = run().stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "bottleneck tensor 4 µs" in text
    total = next(line for line in text.splitlines() if line.startswith("total"))
    assert total.endswith("12 µs")
    assert "█" * 30 in total
    assert "A gap is not a saving" in text
    assert "\x1b" not in text


def test_json_has_dims_family_and_level(run: Any) -> None:
    record = json.loads(run("--json").stdout)
    assert record["variables"]["bound_s"]["dims"] == ["family", "level"]
    assert record["variables"]["bound_s"]["units"] == "s"
    at = record["coords"]["family"].index("tensor")
    assert record["variables"]["bound_s"]["values"][at][:2] == [pytest.approx(4e-6), None]
    assert sum(record["variables"]["step_s"]["values"]) == pytest.approx(12e-6)


def test_vendor_roofs_and_a_window(run: Any) -> None:
    plain, vendor = (
        json.loads(run("--json", *more).stdout)["variables"]["bound_s"]["values"][0][3]
        for more in ((), ("--vendor",))
    )
    # the vendor divides by 435, the link rate is 435.2 GB/s
    assert vendor / plain == pytest.approx(435.2 / 435, rel=1e-9)
    assert "window 0us..4us 4 µs" in run("--window", "0us..4us").stdout


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["bounds", str(tmp_path / "absent.ntff")])
    assert stop.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("name", ["bounds", "engines"])
def test_a_framework_trace_is_sent_to_its_command(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    naive_rmsnorm().write(path)
    with pytest.raises(SystemExit) as stop:
        main([name, str(path), "--hw", "trn2"])
    assert stop.value.code == 2
    assert "roofline launches" in capsys.readouterr().err

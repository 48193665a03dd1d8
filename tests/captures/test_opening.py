from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.captures.ntff.trace import open_trace
from roofline.captures.opening import Opener
from roofline.cli.main import main
from roofline.errors import CaptureError
from tests.captures.neff_builder import NeffFile, programs_of

NAMES = ("baseline_bf16_s512", "fused_bf16_s512")


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def traces(shared: Path) -> tuple[Path, Path]:
    first, second = (shared / "captures" / "trn2-v6-attention" / f"{name}.ntff" for name in NAMES)
    return first, second


@pytest.fixture(scope="module")
def neffs(traces: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("programs")
    found = []
    for number, path in enumerate(traces):
        trace = open_trace(path, None)
        about = NeffFile(programs=programs_of(trace), uuid=trace.header.uuid.ljust(16, b"\0"))
        found.append(about.write(folder / f"{number}.neff"))
    return found


@pytest.fixture
def summary(tmp_path: Path) -> Path:
    path = tmp_path / "two.json"
    one = {"total_time": 1e-3, "total_active_time": 9e-4, "hardware_flops": 1e9}
    path.write_text(json.dumps({"first": one, "second": {**one, "total_time": 2e-3}}))
    return path


@pytest.mark.shared
def test_each_program_is_joined_to_the_trace_it_belongs_to(
    traces: tuple[Path, Path], neffs: list[Path]
) -> None:
    opener = Opener(neffs=neffs[::-1])
    joined = [opener(path).metadata["neff"]["file"] for path in traces]
    assert joined == ["0.neff", "1.neff"]
    opener.check()


@pytest.mark.shared
def test_a_program_of_no_trace_is_refused_with_the_reason(
    traces: tuple[Path, Path], neffs: list[Path]
) -> None:
    opener = Opener(neffs=neffs)
    opener(traces[0])
    with pytest.raises(CaptureError, match=r"1\.neff is not the program of .*baseline"):
        opener.check()


@pytest.mark.shared
def test_compare_and_report_take_programs_by_trace(
    traces: tuple[Path, Path], neffs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(path) for path in traces]
    assert run("compare", *paths, "--neff", str(neffs[1]), "--json") == 0
    data = json.loads(capsys.readouterr().out)
    runs = [data["base"], data["versus"][0]["run"]]
    told = [{issue["id"] for issue in one["issues"]} for one in runs]
    assert ["program-joined" in ids for ids in told] == [False, True]
    assert run("report", paths[0], "--neff", str(neffs[0])) == 0
    capsys.readouterr()
    assert run("report", paths[0], "--neff", str(neffs[1])) == 2
    assert "is not the program of" in capsys.readouterr().err
    assert run("compare", *paths, "--neff", "nothing.neff") == 2
    assert "nothing.neff" in capsys.readouterr().err


def test_a_summary_of_several_programs_gives_the_one_asked_for(
    summary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opener = Opener(program="second")
    assert opener(summary).summary["total_time"] == 2e-3
    opener.check()
    wrong = Opener(program="third")
    wrong(summary)
    with pytest.raises(CaptureError, match="1: first, 2: second"):
        wrong.check()
    assert run("report", str(summary), "--program", "second", "--hw", "trn2") == 0
    assert "2 ms" in capsys.readouterr().out


@pytest.mark.parametrize(
    "option", [("--neff", "k.neff"), ("--via", "explorer"), ("--program", "x")]
)
@pytest.mark.parametrize("command", ["report", "compare"])
def test_an_option_about_nothing_is_refused(
    command: str, option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, "rmsnorm-4x512-bf16", *option) == 2
    err = capsys.readouterr().err
    assert "nothing was opened that it can be about" in err
    assert err.count("\n") == 1


def test_a_program_is_not_joined_to_a_summary(summary: Path) -> None:
    opener = Opener(neffs=[Path("k.neff")])
    opener(summary)
    with pytest.raises(CaptureError, match="joined to a raw trace"):
        opener.check()

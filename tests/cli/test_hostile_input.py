"""What a user may point the command line at: refused in one line, shown without effect."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from roofline.analysis.grouping import MAX_BINS, MAX_CELLS, Groups
from roofline.analysis.window import Phases, resolve_window, window_ns
from roofline.cli.main import main
from roofline.cli.terminal import echo, echo_json
from roofline.errors import QueryError
from roofline.model.cases import read_cases
from tests.captures.ntff.test_hostile import sample


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def call(*args: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(arg) for arg in args])
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.parametrize(
    "command",
    [["validate"], ["hw", "check"], ["hw", "show"], ["study", "check"], ["info"], ["report"]],
)
def test_a_pipe_a_device_and_another_encoding_are_refused_in_one_line(
    run, tmp_path: Path, command: list[str]
) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "utf16.toml").write_bytes('name = "x"'.encode("utf-16"))
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)) * 100)
    for path in (tmp_path / "pipe.toml", "/dev/zero", *tmp_path.glob("[ub]*.toml")):
        code, out, err = run(*command, path)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert "internal" not in err


def test_an_error_that_quotes_what_it_was_given_stays_one_short_line(run, tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"column{number}" for number in range(20_000)))
    code, _, err = run("validate", wide)
    assert code == 2
    assert len(err) < 1400
    assert err.startswith(f"roofline: {wide}: no column")


def test_a_terminal_is_shown_control_characters_and_never_obeys_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_: False)
    echo("a\x1b[31mb\x07c\x9bd\u202ee\tf\ng\r")
    assert capsys.readouterr().out == "a\\u001b[31mb\\u0007c\\u009bd\\u202ee\tf\ng\\u000d\n"
    data = {"name": "\x1b\x7f\x9b\u202e"}
    echo(json.dumps(data, ensure_ascii=False))
    assert json.loads(capsys.readouterr().out) == data


def test_a_name_with_escapes_reaches_no_stream(run) -> None:
    code, _, err = run("info", "no\x1b]0;title\x07such")
    assert code == 2
    assert err.startswith("roofline: no\\u001b]0;title\\u0007such: no such file")


def test_a_capture_without_a_column_is_refused_by_name(run, tmp_path: Path) -> None:
    path = tmp_path / "bare.json"
    path.write_text('{"instruction": [{}]}')
    code, _, err = run("convert", "--format", "perfetto", "-o", tmp_path / "out.json", path)
    assert code == 2
    assert "no column 'engine'" in err
    assert not (tmp_path / "out.json").exists()
    code, _, err = run("engines", path)
    assert code == 2
    assert "no column 'engine'" in err
    assert run("convert", "-o", tmp_path / "tables", path)[0] == 2


def test_a_number_beyond_every_counter_is_kept_as_a_float(run, tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    path.write_text('{"total_time": 1e-3, "hbm_read_bytes": 123456789012345678901234567890}')
    code, out, _ = run("info", "--full", "--json", path)
    assert code == 0
    assert json.loads(out)
    assert run("convert", "-o", tmp_path / "tables", path)[0] == 0


@pytest.mark.parametrize("window", ["0s..1e30s", "-1e30s..1e30s", "0us..1e305Es", "0us..1e400s"])
def test_a_window_beyond_64_bits_is_refused(window: str) -> None:
    phases = Phases(first_ps=0, body_start_ps=0, body_end_ps=10, last_ps=10)
    with pytest.raises(QueryError, match=r"reaches beyond 4611686 s|not a finite number"):
        resolve_window(window, phases)
    with pytest.raises(QueryError, match=r"reaches beyond 4611686 s|not a finite number"):
        window_ns(window)


def test_bins_and_groups_have_a_bound_before_any_memory_is_taken() -> None:
    rows = np.zeros(1, np.int64)
    edges = np.arange(3, dtype=np.int64)
    with pytest.raises(QueryError, match="1000000000000 groups in 2 bins are 2000000000000 cells"):
        Groups(group=rows, start=rows, end=rows + 1, count=10**12, edges=edges)
    assert MAX_BINS < MAX_CELLS


@pytest.mark.parametrize(
    ("calls", "notes", "read", "code", "what"),
    [
        ("9" * 400, "", "", 2, "line 2: more than 1000000000 calls in one time"),
        ("", "total_time total_active_us=1.2.3", "", 0, ""),
        ("", "total_time total_active_us=0", "", 0, ""),
        ("²", "", "", 0, ""),
        ("", "", "nan", 0, ""),
        ("", "", "-1", 0, ""),
    ],
)
def test_a_number_beside_a_time_that_is_none_is_unknown_or_refused(
    run, tmp_path: Path, calls: str, notes: str, read: str, code: int, what: str
) -> None:
    path = tmp_path / "times.csv"
    path.write_text(
        "op,shape,dtype,time_us,calls,notes,hbm_read_bytes,hbm_write_bytes\n"
        f'rmsnorm,"x[2048,512] w[512]",bf16,33,{calls},{notes},{read},4\n'
    )
    found, out, err = run("validate", "--json", path)
    assert (found, what in err) == (code, True)
    assert code or json.loads(out)
    if not code:
        (case,) = read_cases(path, hardware="trn2")
        assert (case.time_s, case.calls) == (pytest.approx(33e-6), 1)
        assert case.measured_bytes is None


def test_combinations_of_a_study_have_a_bound(run, tmp_path: Path) -> None:
    sizes = list(range(1, 3000))
    (tmp_path / "study.toml").write_text(
        'schema_version = 1\nname = "x"\ntitle = "x"\nop = "rmsnorm"\nhardware = ["trn2"]\n'
        f"[[config]]\nparams = {{ rows = {sizes}, cols = {sizes}, more = {sizes} }}\n"
        'dtype = "bf16"\n[sources.a]\ntitle = "a"\n'
        '[[variant]]\nname = "a"\n'
    )
    code, _, err = run("study", "check", tmp_path)
    assert code == 2
    assert "study.toml:7: 26973008999 combinations; at most 10000 are allowed" in err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_printed_json_is_json_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "µ漢🙂.json"
    path.write_text(json.dumps({"total_time": 1e-3, "total_active_time": 1e-3}))
    for command in (["info", path], ["report", "rmsnorm-4x512-bf16"], ["hw", "list"]):
        done = subprocess.run(
            [sys.executable, "-m", "roofline", *command, "--json"],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        # where ASCII is said, click writes UTF-8
        assert json.loads(done.stdout.decode(encoding if encoding == "latin-1" else "utf-8"))


def test_no_number_is_printed_that_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json({"a": [float("nan"), float("inf"), 1.5], "b": np.float64("nan"), 3: np.int64(2**60)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, None, 1.5], "b": None, "3": 2**60}


def test_too_little_memory_and_a_signal_to_end_are_no_internal_errors(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise MemoryError("malloc of size 8 failed")

    monkeypatch.setattr("roofline.captures.opening.open_capture", full)
    code, _, err = run("info", "x.ntff")
    assert (code, err) == (
        2,
        "roofline: not enough memory for this input: malloc of size 8 failed\n",
    )
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(
        "roofline.captures.opening.open_capture",
        lambda *_: os.kill(os.getpid(), signal.SIGTERM),
    )
    assert run("info", "x.ntff")[0] == 143
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_empty_argument_and_a_number_of_any_length_are_refused(run) -> None:
    for words in (["compare", "a.ntff", ""], ["report", ""], ["engines", "x", "--where", ""]):
        code, _, err = run(*words)
        assert (code, "is empty" in err) == (2, True)
    code, _, err = run("sweep", "rmsnorm", "--rows", "9" * 5000, "--cols", "4")
    assert (code, "thousands of digits" in err) == (2, True)


def test_a_program_that_is_a_pipe_is_not_waited_for(run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.neff")
    (tmp_path / "k.ntff").write_bytes(sample(6))
    code, _, err = run("engines", tmp_path / "k.ntff", "--neff", tmp_path / "pipe.neff")
    assert (code, "not a regular file" in err) == (2, True)


@pytest.mark.parametrize("where", [["engines", "--sql"], ["engines", "--where"], ["sweep"]])
def test_an_argument_that_is_no_text_is_refused_in_one_line(
    run, tmp_path: Path, where: list[str]
) -> None:
    (tmp_path / "k.ntff").write_bytes(sample(6))
    words: list[str | Path] = [where[0], tmp_path / "k.ntff", *where[1:], "\udc80"]
    if where == ["sweep"]:
        words = ["sweep", "rmsnorm", "--rows", "4", "--cols", "4", "--where", "\udc80"]
    code, _, err = run(*words)
    assert (code, err.count("\n"), "internal" in err) == (2, 1, False), err


def test_an_operand_beyond_every_float_is_named_and_gives_no_figure(run, tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    wide = ",".join(["2"] * 2000)
    path.write_text(f'op,shape,dtype,time_us\nrmsnorm,"x[{wide}] w[2]",bf16,33\n')
    code, out, _ = run("validate", "--json", path)
    assert (code, "more than 2^128 elements" in out) == (0, True)

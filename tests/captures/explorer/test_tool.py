from __future__ import annotations

import fcntl
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from roofline.captures.explorer import tool as explorer_tool
from roofline.captures.explorer.tool import explorer_command, open_via_explorer
from roofline.errors import CaptureError
from tests.captures.explorer_folder import tables, write_folder


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the whole PATH; ``install`` puts a fake tool into it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(explorer_tool, "_INSTALLED", folder)
    return folder


def install(folder: Path, body: str) -> None:
    path = folder / "neuron-explorer"
    path.write_text(f"#!{sys.executable}\nimport sys, os, pathlib\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "my trace;rm.ntff"
    path.write_bytes(b"\x06")
    path.with_suffix(".neff").write_bytes(b"\x02")
    return path


def test_without_the_tool_the_message_says_what_to_run_where(tool: Path, trace: Path) -> None:
    with pytest.raises(CaptureError) as caught:
        open_via_explorer(trace)
    text = str(caught.value)
    assert "aws-neuronx-tools" in text
    assert "neuron-explorer view -n NEFF -s" in text
    assert "--ingest-only --display-name my_trace_rm --data-path converted --disable-ui" in text
    assert "converted/profiles/global/my_trace_rm@latest" in text
    assert "\n" not in text


def test_only_documented_flags_and_no_shell(tool: Path, trace: Path, tmp_path: Path) -> None:
    record = tmp_path / "argv.txt"
    install(tool, f"pathlib.Path({str(record)!r}).write_text('\\n'.join(sys.argv[1:]))")
    with pytest.raises(CaptureError, match="wrote no Parquet file"):
        open_via_explorer(trace)
    argv = record.read_text().split("\n")
    folder = Path(argv[argv.index("--data-path") + 1])
    assert argv == explorer_command(trace, trace.with_suffix(".neff"), folder)[1:]
    assert not folder.exists()


def test_its_stderr_is_in_the_error(tool: Path, trace: Path) -> None:
    install(tool, "sys.stderr.write('UUID mismatch:\\n  neff does not match'); sys.exit(7)")
    with pytest.raises(CaptureError, match="exit code 7: UUID mismatch: neff does not match"):
        open_via_explorer(trace)


def test_a_tool_that_hangs_is_stopped_with_its_children(tool: Path, trace: Path) -> None:
    held = tool / "held"
    install(
        tool,
        f"import fcntl, time\nheld = open({str(held)!r}, 'w')\nfcntl.flock(held, fcntl.LOCK_EX)\n"
        "if os.fork() == 0: os.closerange(0, 3)\ntime.sleep(600)",
    )
    with pytest.raises(CaptureError, match=r"did not finish within 2 s"):
        open_via_explorer(trace, timeout_s=2)
    with held.open() as file:  # free once neither the tool nor its child lives
        for _ in range(100):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.1)
        else:
            pytest.fail("a child of the tool still runs")


@pytest.mark.parametrize(
    ("ntff", "neffs", "found"),
    [
        ("k.ntff", ["k.neff", "other.neff"], "k.neff"),
        ("k_exec_2.ntff", ["k.neff", "other.neff"], "k.neff"),
        ("k_rank_0_exec_2.ntff", ["k.neff", "other.neff"], "k.neff"),
        ("12_instid_0_vnc_3.ntff", ["neff_12.neff", "neff_13.neff"], "neff_12.neff"),
        ("12_vnc_3.ntff", ["neff_12_vnc_3.neff", "neff_12_vnc_4.neff"], "neff_12_vnc_3.neff"),
        ("profile.ntff", ["graph.neff"], "graph.neff"),
    ],
)
def test_the_neff_beside_a_trace(tmp_path: Path, ntff: str, neffs: list[str], found: str) -> None:
    for name in (ntff, *neffs):
        (tmp_path / name).write_bytes(b"x")
    assert explorer_tool._neff_beside(tmp_path / ntff).name == found


def test_two_neffs_that_fit_need_a_choice(tool: Path, tmp_path: Path) -> None:
    install(tool, "sys.exit(9)")
    for name in ("profile_nc_0_session_0.ntff", "a.neff", "b.neff"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(CaptureError, match=r"a\.neff, b\.neff; say which \(--neff FILE\)"):
        open_via_explorer(tmp_path / "profile_nc_0_session_0.ntff")


def test_a_missing_path(tool: Path, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such file"):
        open_via_explorer(tmp_path / "gone.ntff")


def test_a_converted_trace_opens_and_its_folder_goes_with_it(
    tool: Path, trace: Path, tmp_path: Path
) -> None:
    import gc

    ready = write_folder(tmp_path / "ready", tables())
    install(
        tool,
        "import shutil\nargs = sys.argv\n"
        "data = pathlib.Path(args[args.index('--data-path') + 1])\n"
        "name = args[args.index('--display-name') + 1]\n"
        f"shutil.copytree({str(ready)!r}, data / 'profiles/global' / (name + '@latest'))\n"
        f"pathlib.Path({str(tmp_path / 'data.txt')!r}).write_text(str(data))",
    )
    capture = open_via_explorer(trace)
    assert capture.path == trace
    assert capture.format == "explorer-parquet"
    assert capture.metadata["via"].endswith("neuron-explorer")
    assert capture.metadata["hardware"] == "trn2"
    assert capture.instructions.num_rows == 40
    folder = Path((tmp_path / "data.txt").read_text())
    assert folder.is_dir()
    del capture
    gc.collect()
    assert not folder.exists()


def test_the_option_of_commands(tool: Path, trace: Path) -> None:
    import click
    from click.testing import CliRunner

    from roofline.cli.opening import capture_options, open_path

    @click.command()
    @click.argument("path")
    @capture_options
    def command(path: str, **options: Any) -> None:
        click.echo(open_path(path, **options).format)

    result = CliRunner().invoke(command, [str(trace), "--via", "explorer"])
    assert isinstance(result.exception, CaptureError)
    assert "is not on PATH" in str(result.exception)

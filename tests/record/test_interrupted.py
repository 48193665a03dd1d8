"""A recording that is stopped leaves a folder that can be read."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roofline.cli.main import main
from roofline.record.manifest import load_manifest
from tests.record.process import ROOT, roofline

STUDY = "rmsnorm-4x512-bf16"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "code", "after"),
    [(signal.SIGINT, 130, "naive"), (signal.SIGTERM, 143, "naive"), (signal.SIGTERM, 143, "fused")],
)
def test_a_signal_ends_it_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sent: signal.Signals, code: int, after: str
) -> None:
    pytest.importorskip("torch")
    folder = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "roofline", "record", STUDY, "-o", str(folder),
         "--repeats", "2000", "--active", "2000"],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (folder / after).exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(sent)
    _, said = process.communicate()
    assert process.returncode == code, said
    assert "Traceback" not in said
    manifest = load_manifest(folder)
    assert not manifest.complete
    assert [run.variant for run in manifest.run] == (["naive"] if after == "fused" else [])
    assert [problem for run in manifest.run for problem in run.problems
            if problem.id == "variant-failed"] == []  # fmt: skip
    with pytest.raises(SystemExit) as stop:
        main(["report", str(folder)])
    assert not stop.value.code
    assert "incomplete: the recording was interrupted" in capsys.readouterr().out


@pytest.mark.slow
def test_a_folder_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    held = tmp_path / "held"
    held.mkdir()
    (held / "notes.txt").write_text("mine")
    file = tmp_path / "file"
    file.write_text("mine")
    for place, words in (
        (held, "not a new or empty folder"),
        (file, "not a new or empty folder"),
        (file / "out", "Not a directory"),
        (Path("/proc/recorded"), "/proc/recorded"),
    ):
        done = roofline("record", STUDY, "-o", str(place), "--repeats", "1", "--active", "1")
        assert done.returncode == 2
        line = [one for one in done.stderr.splitlines() if one.startswith("roofline:")]
        assert len(line) == 1
        assert words in line[0]
        assert "Traceback" not in done.stderr
    assert [path.name for path in held.iterdir()] == ["notes.txt"]


def test_without_torch_it_says_what_to_install(tmp_path: Path) -> None:
    # a module that cannot be imported stands for one that is not there
    (tmp_path / "torch.py").write_text("raise ImportError('no torch', name='torch')")
    paths = f"{tmp_path}:{ROOT}"
    done = roofline("record", STUDY, "-o", str(tmp_path / "out"), PYTHONPATH=paths)
    assert done.returncode == 2
    assert done.stderr == 'roofline: recording needs torch: pip install "roofline[torch]"\n'
    assert not (tmp_path / "out").exists()

"""What is written is there whole or not at all, and never takes the place of something else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roofline.cli.main import main
from roofline.errors import QueryError
from roofline.wholefile import refuse_inputs, replace_file, replace_folder
from tests.captures.ntff.test_hostile import sample


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")

    def interrupted() -> None:
        with replace_file(path) as aside:
            aside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("out.json", "old")]


def test_a_link_stays_a_link_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with replace_file(tmp_path / "link") as aside:
        aside.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_and_a_folder_are_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, said in ((tmp_path / "pipe", "a device or a pipe"), (tmp_path, "is a folder")):
        with pytest.raises(QueryError, match=said), replace_file(path):
            pytest.fail("nothing is to be written")
    assert (tmp_path / "pipe").is_fifo()


def test_an_input_is_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k.json"
    path.write_bytes(sample(6))
    (tmp_path / "link.json").symlink_to("k.json")
    monkeypatch.chdir(tmp_path)
    for output in ("k.json", "./k.json", "link.json"):
        with pytest.raises(QueryError, match="would be overwritten"):
            refuse_inputs([None, Path(output)], [path])
        for words in (
            ["convert", "--format", "perfetto", "k.json", "-o", output],
            ["compare", "k.json", "k.json", "-o", output],
            ["baseline", "save", "k.json", "-o", output],
            ["validate", "k.json", "-o", output],
        ):
            with pytest.raises(SystemExit) as stop:
                main(words)
            assert stop.value.code == 2
    assert path.read_bytes() == sample(6)
    refuse_inputs([tmp_path], [tmp_path])  # a folder holds both


def test_files_of_a_folder_come_together_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other").write_text("stays")

    def stopped() -> None:
        with replace_folder(tmp_path / "out") as scratch:
            (scratch / "one").write_text("half")
            raise SystemExit(143)

    with pytest.raises(SystemExit):
        stopped()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "other"]
    with replace_folder(tmp_path / "out") as scratch:
        (scratch / "one").write_text("whole")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["one", "other", "out"]
    with pytest.raises(QueryError, match="is a file"), replace_folder(tmp_path / "out" / "one"):
        raise AssertionError("not reached")

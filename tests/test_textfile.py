from __future__ import annotations

import os
from pathlib import Path

import pytest

from roofline.errors import StudyError
from roofline.report.write import write_folder
from roofline.textfile import LARGEST_BYTES, read_csv, read_text


def test_text_with_and_without_a_byte_order_mark_is_the_same(tmp_path: Path) -> None:
    plain, marked = tmp_path / "a", tmp_path / "b"
    plain.write_bytes("µ\r\n".encode())
    marked.write_bytes(b"\xef\xbb\xbf" + "µ\r\n".encode())
    assert read_text(plain, StudyError) == read_text(marked, StudyError) == "µ\r\n"


def test_what_is_no_text_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    (tmp_path / "utf16").write_bytes("op,dtype".encode("utf-16"))
    (tmp_path / "long").touch()
    os.truncate(tmp_path / "long", LARGEST_BYTES + 1)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, what in (
        ("utf16", r"utf16: not UTF-8 text \(byte 0\)"),
        ("long", "long: larger than 64 MiB"),
        ("pipe", "pipe: not a regular file"),
        ("", "not a regular file"),
        ("absent", "absent: No such file"),
        ("loop", "loop: Too many levels of symbolic links"),
        ("a" * 300, "File name too long"),
    ):
        with pytest.raises(StudyError, match=what):
            read_text(tmp_path / name, StudyError)
    with pytest.raises(StudyError, match="/dev/zero: not a regular file"):
        read_text("/dev/zero", StudyError)


def test_rows_of_csv_and_what_is_wrong_with_one(tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    file.write_bytes(b'\xef\xbb\xbf op ,note\r\na,"x\r\ny"\r\n\r\nb\r\n')
    columns, rows = read_csv(file, StudyError)
    assert columns == ["op", "note"]
    assert list(rows) == [{"op": "a", "note": "x\r\ny"}, {"op": "b"}]
    for text, what in (
        ("op,op\n", "column 'op' is given twice"),
        ("op\na,b\n", "line 2: 2 cells under 1 columns"),
        (f"op\n{'a' * 200_000}\n", "line 2: field larger than field limit"),
    ):
        file.write_text(text)
        with pytest.raises(StudyError, match=what):
            list(read_csv(file, StudyError)[1])


def test_written_texts_hold_no_control_character(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "report.md").write_text("a\x1b[31mb\tc\n", encoding="utf-8")
        (folder / "figure.svg").write_text("<text>\x07é</text>\n", encoding="utf-8")
        (folder / "rows.csv").write_bytes(b"name\r\nplain\r\n")
        (folder / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n")

    write_folder(tmp_path / "out", fill)
    assert (tmp_path / "out/report.md").read_text(encoding="utf-8") == "a\\u001b[31mb\tc\n"
    assert (tmp_path / "out/figure.svg").read_text(encoding="utf-8") == "<text>\\u0007é</text>\n"
    assert (tmp_path / "out/rows.csv").read_bytes() == b"name\r\nplain\r\n"
    assert (tmp_path / "out/image.png").read_bytes() == b"\x89PNG\r\n\x1a\n"

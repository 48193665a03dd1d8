from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")


def on_terminal(columns: int, *args: str, **more: str) -> str:
    """Return what a command writes to a terminal of so many columns."""
    import fcntl
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "roofline", *args],
        stdout=theirs,
        stderr=theirs,
        env={**kept, **more, "TERM": "xterm"},
        cwd=Path(__file__).parents[2],
    )
    os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        out += part
    process.wait()
    os.close(ours)
    return out.decode("utf-8").replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 200])
def test_a_terminal_gets_colour_and_its_own_width(columns: int) -> None:
    text = on_terminal(columns, "report", "attention-Sx128")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert text != plain
    assert "\x1b" not in plain
    widest = max(map(len, plain.splitlines()))
    # prose stops at a measure that can be read
    assert widest <= min(columns, 100)
    assert widest > 55


def test_verdicts_are_coloured_and_only_where_it_is_wanted() -> None:
    text = on_terminal(100, "report", "rmsnorm-4x512-bf16")
    assert "\x1b[33moverhead:host\x1b[0m" in text
    assert "\x1b[1mVerdicts\x1b[0m" in text
    assert "\x1b" not in on_terminal(100, "report", "rmsnorm-4x512-bf16", NO_COLOR="1")
    assert "\x1b" not in on_terminal(100, "report", "rmsnorm-4x512-bf16", "--json")

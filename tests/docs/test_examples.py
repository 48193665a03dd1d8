"""Every example of the documentation runs and prints what the page says.

A ``console`` block is a session: a line ``$ roofline ...`` runs in this process, and what follows
it must be its output, where ``...`` stands for anything. A ``python`` block with ``>>>`` is a
doctest; without, it only has to run. Blocks of a page share one directory, which sees the
project's ``hw_models``, ``captures`` and ``docs``, and blocks of Python share their names.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

import pytest

from roofline.cli.main import main

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted((ROOT / "docs").glob("*.md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Return language, text and line of each example of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        (match[1], match[2], text[: match.start()].count("\n") + 1)
        for match in BLOCK.finditer(text)
    ]


def run(command: str) -> str:
    """Return what a command line prints on both streams, in this process."""
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        contextlib.suppress(SystemExit),
    ):
        main(shlex.split(command)[1:])
    return printed.getvalue()


def check_session(text: str, where: str) -> None:
    checker = doctest.OutputChecker()
    for session in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = session.partition("\n")
        if not command.startswith("roofline"):
            continue
        found = run(command)
        assert checker.check_output(expected, found, FLAGS), (
            f"{where}: $ {command}\nprints\n{found}\nthe page says\n{expected}"
        )


def check_python(text: str, names: dict[str, object], where: str) -> None:
    if ">>>" not in text:
        exec(compile(text, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, where, where, 0)
    report = io.StringIO()
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    assert not result.failed, report.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for folder in ("hw_models", "captures", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    examples = blocks(page)
    for language, text, line in examples:
        where = f"{page.name}:{line}"
        if language == "console":
            check_session(text, where)
        else:
            check_python(text, names, where)
    assert page.read_text(encoding="utf-8").count("```console") == sum(
        language == "console" for language, _, _ in examples
    )

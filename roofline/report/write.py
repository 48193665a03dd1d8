"""Write files whole or not at all, and the files of a report all together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roofline.textfile import show_controls
from roofline.wholefile import replace_file, replace_folder

if TYPE_CHECKING:
    from roofline.plots.figure import Figure

__all__ = ["fill_report", "write_file", "write_folder"]

_TEXTS: Final = (".csv", ".html", ".md", ".svg")
"""Files of names that others gave; JSON writes control characters out by itself."""


def _show_controls_of(path: Path) -> None:
    text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    shown = show_controls(text)
    if shown != text:
        path.write_text(shown, "utf-8", "backslashreplace", "")


def write_folder(folder: Path, fill: Callable[[Path], None]) -> tuple[Path, ...]:
    """Call ``fill`` with an empty temporary folder, then move its files to ``folder``.

    Other files of ``folder`` are left alone. When ``fill`` fails nothing is left behind. Returns
    the files written. Raises ``QueryError`` when ``folder`` is a file.
    """
    with replace_folder(folder) as scratch:
        fill(scratch)
        for path in scratch.iterdir():
            if path.suffix in _TEXTS:
                _show_controls_of(path)
        names = sorted(path.name for path in scratch.iterdir())
    return tuple(folder / name for name in names)


def fill_report(scratch: Path, figures: Sequence[Figure], texts: Mapping[str, str]) -> None:
    """Write texts by name, and every figure in all formats with the data that rebuilds it."""
    from roofline.plots.canvas import FORMATS
    from roofline.plots.draw import save
    from roofline.plots.table import figure_csv
    from roofline.report.data import figures_json

    for figure in figures:
        save(figure, *(scratch / f"{figure.key}.{kind}" for kind in FORMATS))
    data = {f"{figure.key}.csv": figure_csv(figure) for figure in figures}
    for name, text in {**texts, **data, "figures.json": figures_json(figures)}.items():
        (scratch / name).write_text(text, "utf-8", "backslashreplace", "\n")


def write_file(path: Path, fill: Callable[[Path], object]) -> Path:
    """Call ``fill`` with a temporary path of the same suffix, then rename it to ``path``.

    When ``fill`` fails nothing is left behind. Raises ``QueryError``; see ``replace_file``.
    """
    with replace_file(path) as scratch:
        fill(scratch)
    return path

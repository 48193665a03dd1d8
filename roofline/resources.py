"""Find the data that ships with the project: hardware models and studies.

In a checkout (and an editable install) the top-level folders are used; in a wheel, the copies
inside the package.
"""

from __future__ import annotations

from pathlib import Path

from roofline.errors import RooflineError

__all__ = ["shipped", "shipped_names"]

_PACKAGE = Path(__file__).resolve().parent


def shipped(folder: str) -> Path:
    """Return the directory of shipped data ``folder`` (``hw_models`` or ``captures``)."""
    checkout = _PACKAGE.parent
    for base in (checkout / folder, _PACKAGE / "_data" / folder):
        # a stray folder of the same name beside site-packages is not a checkout
        inside = base.parent == _PACKAGE / "_data"
        if base.is_dir() and (inside or (checkout / "pyproject.toml").is_file()):
            return base
    raise RooflineError(
        f"shipped data {folder!r} not found beside or inside {_PACKAGE.name}; "
        "reinstall the package, or give a path"
    )


def shipped_names(folder: str, pattern: str) -> list[str]:
    """Return the sorted relative paths under a shipped folder that match a glob ``pattern``."""
    base = shipped(folder)
    return sorted(str(path.relative_to(base)) for path in base.glob(pattern))

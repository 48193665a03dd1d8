"""Put pages that ``nav`` of mkdocs.yml does not name behind it, so that none is out of reach."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Append every other Markdown page of the docs folder under "More", by its own title."""
    folder = Path(config.docs_dir)
    named = set(_pages(config.nav))
    rest = [page for page in sorted(folder.glob("*.md")) if page.name not in named]
    if rest:
        config.nav.append({"More": [{_title(page): page.name} for page in rest]})
    return config


def _pages(entries: list[Any]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            found += _pages(value) if isinstance(value, list) else [value]
    return found


def _title(page: Path) -> str:
    match = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else page.stem

"""Bokeh models as JSON that a page embeds, the same for the same models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["document_json", "library_script"]


def document_json(plots: Sequence[Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the document of ``plots``, and the id of each plot in it by the plot's name.

    Ids are numbered from the document's first model on, so that the same plots give the same
    text however many models were made before.
    """
    from bokeh.document import Document

    document = Document()
    with document.models.freeze():  # else all models are searched again for every plot
        for plot in plots:
            document.add_root(plot)
    names: dict[str, str] = {}
    data = _renamed(document.to_json(deferred=False), names)
    return data, {plot.name: names[plot.id] for plot in plots}


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: names.setdefault(entry, f"m{len(names)}")
            if key == "id" and isinstance(entry, str)
            else _renamed(entry, names)
            for key, entry in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_renamed(entry, names) for entry in value]
    return value


def library_script() -> str:
    """Return BokehJS itself, without the parts for widgets and tables, to be put in a page."""
    from bokeh.resources import Resources

    resources = Resources(mode="inline", components=["bokeh"])
    return "\n".join(resources.js_raw)

"""Record captures: framework traces anywhere, device traces on a Trainium host.

``record`` runs the variants of a study; ``Recording`` is the same for code of one's own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roofline.record.recording import Recording, Session
    from roofline.record.run import record

__all__ = ["Recording", "Session", "record"]

_HOMES = {
    "Recording": "roofline.record.recording",
    "Session": "roofline.record.recording",
    "record": "roofline.record.run",
}


def __getattr__(name: str) -> Any:
    # imported on first use: a report looks here only for the name of a file
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

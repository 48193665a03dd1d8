"""Record captures: framework traces anywhere, device traces on a Trainium host.

``record`` runs the variants of a study; ``Recording`` is the same for code of one's own.
"""

from __future__ import annotations

from roofline.record.recording import Recording, Session
from roofline.record.run import record

__all__ = ["Recording", "Session", "record"]

"""How an input is observed as a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from roofline.captures.opening import Opener

__all__ = ["Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How inputs are observed.

    ``hardware`` and ``lnc`` override what an input says; ``window`` (``body``, ``total``) is the
    time shown first; ``opener`` opens captures; ``repeats`` takes the captures of a folder as
    repeats of one kernel; ``trust`` runs the code of studies that are not shipped.
    """

    hardware: str | None = None
    lnc: int | None = None
    window: str = "body"
    opener: Opener = field(default_factory=Opener)
    preset: str = "vendor"
    repeats: bool = False
    trust: bool = False

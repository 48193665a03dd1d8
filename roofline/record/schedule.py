"""How often a variant runs: unprofiled first, then under the profiler."""

from __future__ import annotations

from dataclasses import dataclass

from roofline.errors import QueryError

__all__ = ["Schedule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Counts of calls.

    ``before`` calls compile and warm up, ``repeats`` calls are timed without the profiler; then
    the profiler sees ``wait`` steps that it ignores, ``warmup`` steps that it throws away, and
    ``active`` steps that it keeps.
    """

    before: int = 3
    repeats: int = 20
    wait: int = 1
    warmup: int = 1
    active: int = 5

    def __post_init__(self) -> None:
        for name in ("before", "repeats", "wait", "warmup"):
            if getattr(self, name) < 0:
                raise QueryError(f"{name} = {getattr(self, name)}: a count is 0 or more")
        if self.active < 1:
            raise QueryError(f"active = {self.active}: at least one step has to be kept")

    @property
    def steps(self) -> int:
        """Steps under the profiler."""
        return self.wait + self.warmup + self.active

"""Checks that make findings: one registry for each kind of thing that is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from roofline.analysis.finding import Finding, rank
from roofline.errors import RooflineError

__all__ = ["Check", "Checks"]

Subject = TypeVar("Subject")
Check = Callable[[Subject], Iterable[Finding]]
Registered = TypeVar("Registered", bound=Callable[..., Iterable[Finding]])


class Checks(Generic[Subject]):
    """Checks of one kind of subject, under the ids their findings carry.

    ``about`` names the subject in messages. An id is taken once.
    """

    def __init__(self, about: str) -> None:
        self.about = about
        self._checks: dict[str, Check[Subject]] = {}

    def finding(self, *identities: str) -> Callable[[Registered], Registered]:
        """Register a function of a subject that yields findings of these ids."""

        def register(check: Registered) -> Registered:
            for identity in identities:
                if identity in self._checks:
                    raise RooflineError(f"finding {identity!r} is registered twice")
                self._checks[identity] = check
            return check

        return register

    @property
    def by_id(self) -> dict[str, Check[Subject]]:
        """Every check by its id, in alphabetical order."""
        return dict(sorted(self._checks.items()))

    def run(self, subject: Subject, only: Iterable[str] | None = None) -> tuple[Finding, ...]:
        """Return the findings of a subject, those with the most time to win first.

        ``only`` names ids to look for; an unknown one raises ``RooflineError``.
        """
        wanted = list(self._checks) if only is None else list(only)
        unknown = [name for name in wanted if name not in self._checks]
        if unknown:
            known = ", ".join(self.by_id)
            raise RooflineError(f"unknown finding {unknown[0]!r} of {self.about}; known: {known}")
        checks = dict.fromkeys(self._checks[name] for name in wanted)
        found = [one for check in checks for one in check(subject)]
        return rank(found if only is None else [one for one in found if one.id in wanted])

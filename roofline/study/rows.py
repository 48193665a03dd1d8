"""Row: one measured time of a study with everything that was derived from it."""

from __future__ import annotations

from dataclasses import dataclass

from roofline.analysis.evidence import Evidence
from roofline.analysis.ladder import Rung
from roofline.analysis.placement import Placement
from roofline.analysis.verdict import Verdict
from roofline.study.study import Measurement, Variant
from roofline.work.work import Work

__all__ = ["Row"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One time of a variant in a config, placed and judged on one hardware."""

    variant: Variant
    measurement: Measurement
    work: Work
    placement: Placement
    rungs: tuple[Rung, ...]
    evidence: Evidence
    verdict: Verdict

    @property
    def key(self) -> str:
        """Variant, label and config: unique in a study."""
        return ", ".join(filter(None, (self.measurement.key, self.measurement.config.key)))

    @property
    def time_s(self) -> float:
        """The measured time in s."""
        return self.measurement.time_s

    def rung(self, key: str) -> Rung | None:
        """Return a step of the ladder, ``None`` where it is not known."""
        return next((rung for rung in self.rungs if rung.key == key), None)

"""Variants of a study without any time: their work, the lower bound, and what the model says."""

from __future__ import annotations

from dataclasses import dataclass

from roofline.analysis.placement import Placement, place
from roofline.errors import RooflineError
from roofline.hardware.model import Hardware
from roofline.model.estimate import Estimate, estimate
from roofline.model.kernel import KernelSchedule
from roofline.model.schedule import VARIANTS
from roofline.study.declared import declared_schedule
from roofline.study.study import Config, Study, Variant
from roofline.work.work import Work

__all__ = ["Untimed", "estimated", "untimed_variants", "without_time"]


@dataclass(frozen=True, kw_only=True)
class Untimed:
    """A variant in a config that nobody has published a time of.

    ``placement`` has no time. ``estimate`` is modelled and no measurement; it is ``None`` where
    the model has no constants for this hardware or dtype, or a declared schedule could not be
    read, and ``problem`` then says why. ``schedule`` is what the variant's kernel declares.
    """

    variant: Variant
    config: Config
    work: Work
    placement: Placement
    estimate: Estimate | None
    schedule: KernelSchedule | None = None
    problem: str = ""

    @property
    def key(self) -> str:
        """Variant and config, as rows with a time spell it."""
        return ", ".join(filter(None, (self.variant.name, self.config.key)))


def estimated(work: Work, hardware: Hardware, clock: str) -> Estimate | None:
    """Return the modelled time of a work on a clock, ``None`` where the model has none for it."""
    name = work.mode if work.mode in VARIANTS else "fused"
    try:
        return estimate(work, hardware, variant=name, clock=clock)
    except RooflineError:
        return None


def untimed_variants(study: Study) -> tuple[Variant, ...]:
    """Return the variants with neither a time nor a capture in any config."""
    used = {one.variant for one in study.measurements} | {one.variant for one in study.captures}
    return tuple(variant for variant in study.variants if variant.name not in used)


def without_time(
    study: Study,
    variant: Variant,
    config: Config,
    work: Work,
    hardware: Hardware,
    *,
    trust: bool = False,
) -> Untimed:
    """Return a work placed without a time, with the estimate of the time model beside it.

    A declared schedule takes the place of the usual one of the operator.
    """
    modelled, problem, declared = None, "", None
    try:
        declared = declared_schedule(study, variant, config, trust=trust)
        name = variant.mode if variant.mode in VARIANTS else "fused"
        name = name if declared is None else "nki"
        modelled = estimate(work, hardware, variant=name, kernel=declared)
    except RooflineError as error:
        problem = str(error)
    return Untimed(
        variant=variant,
        config=config,
        work=work,
        placement=place(work, hardware),
        estimate=modelled,
        schedule=declared,
        problem=problem,
    )

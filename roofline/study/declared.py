"""The schedule that a variant declares of its kernel."""

from __future__ import annotations

from typing import Any

from roofline.analysis.ladder import Rung
from roofline.engines import resource_title
from roofline.errors import RooflineError, StudyError
from roofline.hardware.model import Hardware
from roofline.model.estimate import Estimate, estimate
from roofline.model.kernel import KernelSchedule
from roofline.study.callables import load_callable
from roofline.study.study import Config, Study, Variant
from roofline.work.work import Work

__all__ = ["declared_rung", "declared_schedule"]

_SOURCE = "schedule declared by the kernel"


def declared_schedule(
    study: Study, variant: Variant, config: Config, *, trust: bool = False
) -> KernelSchedule | None:
    """Return what a variant's ``schedule`` declares for a config, ``None`` where it has none.

    This runs the callable with the parameters and the dtype. Raises ``StudyError`` for a study
    that is neither shipped nor trusted, and for a callable that fails or returns no schedule.
    """
    if not variant.schedule:
        return None
    function = load_callable(study, variant.schedule, trust=trust)
    try:
        given: Any = function(**config.shape, dtype=config.dtype)
    except Exception as error:  # code of a study may raise anything
        raise StudyError(
            f"{study.path}: {variant.schedule} of {config.key}: {type(error).__name__}: {error}"
        ) from error
    try:
        return KernelSchedule.of(given)
    except (RooflineError, TypeError) as error:
        raise StudyError(f"{study.path}: {variant.schedule} of {config.key}: {error}") from error


def declared_rung(work: Work, hardware: Hardware, schedule: KernelSchedule) -> Rung:
    """Return the schedule bound of a declared schedule as a step of the time ladder."""
    found: Estimate = estimate(work, hardware, variant="nki", kernel=schedule)
    passes = ", ".join(
        f"{count:,} on {resource_title(name)}" for name, count in schedule.element_passes.items()
    )
    return Rung(
        key="schedule",
        label="schedule bound",
        what=f"as declared: element-passes {passes}; {schedule.hbm_bytes:,} B on "
        f"{schedule.on(hardware).working_cores} of {hardware.lnc} physical cores",
        low_s=found.schedule_bound_s,
        value_s=found.schedule_bound_s,
        high_s=found.schedule_bound_s,
        source=_SOURCE,
        quality="derived",
    )

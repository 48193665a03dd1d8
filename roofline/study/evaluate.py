"""Evaluate a study: the work, placement, ladder and verdict of every time it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from roofline.analysis.evidence import Evidence
from roofline.analysis.finding import Finding
from roofline.analysis.from_summary import evidence_from_summary
from roofline.analysis.from_time import evidence_from_time
from roofline.analysis.ladder import Rung, ladder, measured_rung
from roofline.analysis.placement import Placement, place
from roofline.analysis.verdict import decide
from roofline.engines import resource_title
from roofline.errors import RooflineError, StudyError, WorkError
from roofline.hardware.load import load_hardware
from roofline.hardware.model import Hardware
from roofline.study.callables import count_variant
from roofline.study.declared import declared_rung, declared_schedule
from roofline.study.findings import study_findings
from roofline.study.notebook import rows_html
from roofline.study.onset import Onset, fixed_time_onset
from roofline.study.rows import Row
from roofline.study.study import Config, Measurement, Study, Variant
from roofline.study.untimed import Untimed, untimed_variants, without_time
from roofline.work.closed_form import closed_form, families
from roofline.work.work import CONVENTIONS, Work

if TYPE_CHECKING:
    import xarray as xr

    from roofline.captures.capture import Capture
    from roofline.model.estimate import Estimate
    from roofline.study.traced import TraceView

__all__ = ["StudyResult", "evaluate", "rungs_of", "study_hardware", "work_of"]


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """Every time of a study placed and judged on one hardware, and what follows from comparing.

    ``others`` maps the remaining hardware candidates to the same rows on them; ``onset`` says
    from which size on the operator is no longer limited by fixed time; ``context`` holds rows of
    another study, drawn behind; ``untimed`` are variants without a time, whose times are modelled
    and take part in no verdict. ``kind`` is ``study``, or ``capture`` or ``trace`` without a study
    file; ``trace`` then holds the trace's operators, steps and launches. ``captures``
    are those a report was made of; ``same_execution`` maps names of them to those of other files
    of the same execution, which were left out.
    ``estimates`` maps rows by their key to the modelled time of the same work on the same clock.
    """

    study: Study
    hardware: Hardware
    preset: str
    rows: tuple[Row, ...]
    others: Mapping[str, tuple[Row, ...]]
    findings: tuple[Finding, ...]
    onset: tuple[Onset, ...]
    context: tuple[Row, ...] = ()
    untimed: tuple[Untimed, ...] = ()
    kind: str = "study"
    trace: TraceView | None = None
    captures: tuple[Capture, ...] = ()
    same_execution: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    estimates: Mapping[str, Estimate] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        """Return the rows as a table for a notebook."""
        return rows_html(self.study.title, self.hardware.name, self.rows)

    def to_dataset(self) -> xr.Dataset:
        """Return the rows as a Dataset along dim ``row``, with units and conventions."""
        from roofline.study.dataset import rows_dataset

        return rows_dataset(
            self.rows,
            {
                "study": self.study.name,
                "hardware": self.hardware.name,
                "lnc": self.hardware.lnc,
                "preset": self.preset,
                "conventions": "; ".join(CONVENTIONS),
            },
        )


def evaluate(
    study: Study,
    *,
    hardware: str | None = None,
    lnc: int | None = None,
    preset: str = "vendor",
    window: str = "body",
    trust: bool = False,
    context: Study | None = None,
) -> StudyResult:
    """Return the result of ``study`` on its first hardware, or on the one named.

    Code of the study is run only where an operator has no closed form, and then only for shipped
    studies or with ``trust``. ``window`` (``body``, ``total``) is what times with counters are
    judged on.
    """
    names = [hardware] if hardware else list(study.hardware)
    machines = [study_hardware(study, name, lnc=lnc) for name in names]
    rows = [_rows(study, machine, preset, window, trust=trust) for machine in machines]
    behind: tuple[Row, ...] = ()
    if context is not None and context.name != study.name:
        behind = _rows(context, machines[0], preset, window, trust=False)
    return StudyResult(
        study=study,
        hardware=machines[0],
        preset=preset,
        rows=rows[0],
        others={machine.name: found for machine, found in zip(machines[1:], rows[1:], strict=True)},
        findings=study_findings(rows[0], machines[0]),
        onset=fixed_time_onset(study, rows[0], _same_op(study, context, behind) or rows[0]),
        context=behind,
        untimed=_untimed(study, machines[0], trust=trust),
    )


def _same_op(study: Study, context: Study | None, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return rows if context is not None and context.op == study.op else ()


def study_hardware(study: Study, name: str, *, lnc: int | None = None) -> Hardware:
    """Return one of a study's hardware candidates with the study's logical-core setting."""
    wanted = study.lnc if lnc is None else lnc
    cores = study.working_cores if lnc is None else None
    return load_hardware(name, lnc=wanted, working_cores=cores)


def work_of(
    study: Study,
    variant: Variant,
    config: Config,
    measurement: Measurement | None = None,
    *,
    trust: bool = False,
) -> Work:
    """Return the work of a variant in a config, from its closed form or else by running it.

    Counters and chained calls of a measurement are put in: calls multiply what is computed, and
    read the first input and write the last output once.
    """
    if _has_closed_form(study.op):
        work = closed_form(study.op, dtype=config.dtype, variant=variant.mode, **config.shape)
    elif variant.callable:
        work = count_variant(study, variant, config, trust=trust)
    else:
        raise StudyError(
            f"{study.name}: variant {variant.name!r} cannot be counted: no closed form for "
            f"{study.op!r} and no callable; closed forms: {', '.join(families())}"
        )
    work = replace(work, name=variant.name, host_copy_bytes=variant.host_copy_bytes)
    if measurement is None:
        return work
    if measurement.calls > 1:
        work = replace(
            work,
            ops=work.ops * measurement.calls,
            element_passes_minimal=work.element_passes_minimal * measurement.calls,
        )
    read, write = (measurement.counters.get(key) for key in ("hbm_read_bytes", "hbm_write_bytes"))
    if read is not None and write is not None:
        work = replace(work, measured_read_bytes=int(read), measured_write_bytes=int(write))
    return work


def _has_closed_form(op: str) -> bool:
    return op.replace("-", "_") in families()


def _rows(
    study: Study, hardware: Hardware, preset: str, window: str, *, trust: bool
) -> tuple[Row, ...]:
    found = []
    for measurement in study.measurements:
        variant = study.variant(measurement.variant)
        try:
            work = work_of(study, variant, measurement.config, measurement, trust=trust)
        except WorkError as error:
            raise StudyError(f"{study.name}: variant {variant.name!r}: {error}") from error
        placement = place(work, hardware, time_s=measurement.time_s, clock=measurement.clock.key)
        evidence = _evidence(measurement, placement, window)
        placement, declared = _declared(study, measurement, placement, trust=trust)
        found.append(
            Row(
                variant=variant,
                measurement=measurement,
                work=work,
                placement=placement,
                rungs=rungs_of(placement, evidence, declared),
                evidence=evidence,
                verdict=decide(evidence, preset),
            )
        )
    found += _captured(study, hardware, preset, window, trust=trust)
    return tuple(found)


def _declared(
    study: Study, measurement: Measurement, placement: Placement, *, trust: bool
) -> tuple[Placement, tuple[Rung, ...]]:
    """Return the schedule bound of a kernel that declares its schedule; a fault becomes a note."""
    variant = study.variant(measurement.variant)
    if not variant.schedule or measurement.calls > 1:
        return placement, ()
    try:
        schedule = declared_schedule(study, variant, measurement.config, trust=trust)
        assert schedule is not None
        return placement, (declared_rung(placement.work, placement.hardware, schedule),)
    except RooflineError as error:
        return replace(placement, notes=(*placement.notes, f"no schedule bound: {error}")), ()


def _untimed(study: Study, hardware: Hardware, *, trust: bool) -> tuple[Untimed, ...]:
    """Return each variant without a time, in every config; what cannot be counted is left out."""
    return tuple(
        without_time(
            study,
            variant,
            config,
            work_of(study, variant, config, trust=trust),
            hardware,
            trust=trust,
        )
        for variant in untimed_variants(study)
        if _has_closed_form(study.op) or variant.callable
        for config in study.configs
    )


def _captured(
    study: Study, hardware: Hardware, preset: str, window: str, *, trust: bool
) -> list[Row]:
    """Return a row for each capture of the study, joined with the work of its variant."""
    if not study.captures:
        return []
    from roofline.captures.registry import open_capture
    from roofline.study.captured import capture_hardware, capture_row

    rows = []
    for ref in study.captures:
        capture, variant = open_capture(ref.path), study.variant(ref.variant)
        rows.append(
            capture_row(
                capture,
                capture_hardware(capture, hardware.name, lnc=hardware.lnc),
                variant=variant,
                config=ref.config,
                source=ref.source,
                label=ref.label or ref.path.name,
                window=window,
                preset=preset,
                work=work_of(study, variant, ref.config, trust=trust),
            )
        )
    return rows


def _evidence(measurement: Measurement, placement: Placement, window: str) -> Evidence:
    if any("active_time" in name for name in measurement.counters):
        evidence = evidence_from_summary(measurement.counters, placement.hardware, window=window)
        return _with_tensor_rate(evidence, placement)
    return evidence_from_time(placement)


def _with_tensor_rate(evidence: Evidence, placement: Placement) -> Evidence:
    """Return evidence with the rate of the counted Tensor FLOP where the counters give none."""
    known = evidence.resource("tensor")
    seconds = placement.term_s("tensor")
    if seconds <= 0 or known.rate is not None:
        return evidence
    tensor = replace(known, rate=seconds / evidence.time_s)
    others = tuple(one for one in evidence.resources if one.resource != "tensor")
    return replace(evidence, resources=(tensor, *others))


def rungs_of(
    placement: Placement, evidence: Evidence, declared: tuple[Rung, ...] = ()
) -> tuple[Rung, ...]:
    """Return the ladder with what a kernel declares, and what counters or the clock add.

    The measured time stays last.
    """
    *steps, measured = ladder(placement)
    steps += declared
    if evidence.basis == "summary":
        busy = [(one.busy, one.resource) for one in evidence.resources if one.busy is not None]
        if busy:
            share, name = max(busy)
            steps.append(
                _measured(
                    "busiest",
                    f"{resource_title(name)} active",
                    share * evidence.time_s,
                    "the busiest resource",
                )
            )
        if evidence.clock == "device_body":
            steps.append(
                _measured("body", "active time", evidence.time_s, "any engine or DMA active")
            )
    if evidence.on_host and evidence.fixed_s is not None and evidence.fixed_s[0] > 0:
        low, high = evidence.fixed_s
        steps.append(
            Rung(
                key="host",
                label="outside the device",
                what="the window less all that the device can have used",
                low_s=low,
                value_s=(low + high) / 2,
                high_s=high,
                source=evidence.fixed_source,
                quality="derived",
            )
        )
    return (*steps, measured)


def _measured(key: str, label: str, seconds: float, what: str) -> Rung:
    return measured_rung(key, label, what, seconds, "counters of the profile")

"""What holds an execution back: one decision table from Evidence to a Verdict.

The order is: data quality, window, fixed time, the busiest resource, its reason, serialization.
docs/verdicts.md tells it in words with the source of every threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from roofline.analysis.evidence import MEMORY, Evidence, ResourceEvidence
from roofline.analysis.marks import PRESETS, Thresholds, reaches
from roofline.analysis.reasons import element_reason, memory_reason, tensor_reason
from roofline.engines import COMPUTE_ENGINES, resource_title
from roofline.errors import QueryError
from roofline.units import format_percent, format_time

__all__ = ["LABELS", "PRESETS", "Evidence", "ResourceEvidence", "Thresholds", "Verdict", "decide"]

LABELS: Final = (
    "overhead:host",
    "overhead:device-start",
    "hbm:bandwidth",
    "dma:bandwidth",
    "dma:small-transfers",
    "dma:issue",
    "tensor:throughput",
    "tensor:underfilled",
    "tensor:throttled",
    *(
        f"{engine}:{reason}"
        for engine in ("vector", "scalar", "gpsimd")
        for reason in ("throughput", "instruction-overhead")
    ),
    *(f"{resource}:unknown" for resource in (*COMPUTE_ENGINES, *MEMORY)),
    "serialization",
    "unknown",
)
"""Every label a verdict can have; ``x:unknown`` is a known resource with an unknown reason."""

_ABOVE_ROOF: Final = 1.02  # clocks and byte counts of captures agree to about this


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What holds the execution back.

    ``label`` is ``resource:reason`` (``LABELS``), or ``serialization`` or ``unknown``.
    ``utilization`` is the figure that decided, ``mark`` the threshold it was held against and
    ``margin`` the difference; ``busiest`` the most used resource whatever the label.
    ``excluded`` are resources that are known not to be the limit. ``alternatives`` are the labels
    that appear when one roof is moved across its documented spread, with what was moved; empty
    means stable. ``weak`` marks a verdict on evidence that is thinner than the table asks for,
    ``caveats`` say why, ``missing`` what would settle it.
    """

    resource: str
    reason: str = ""
    preset: str = "vendor"
    busiest: str = ""
    utilization: float | None = None
    mark: float | None = None
    excluded: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, str], ...] = ()
    weak: bool = False
    caveats: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    explanation: str = ""

    @property
    def label(self) -> str:
        """``resource:reason``, or the resource alone where there is no reason."""
        return f"{self.resource}:{self.reason}" if self.reason else self.resource

    @property
    def margin(self) -> float | None:
        """Utilization less the mark."""
        if self.utilization is None or self.mark is None:
            return None
        return self.utilization - self.mark

    @property
    def margin_words(self) -> str:
        """The margin in words, for example ``0.02 under the vendor's mark``."""
        if self.margin is None or self.mark is None:
            return ""
        owner = "the vendor's" if self.preset == "vendor" else f"the {self.preset}"
        if self.resource == "overhead":
            owner = "this tool's"
        side = "over" if reaches(self.margin, 0.0) else "under"
        return f"{abs(self.margin):.2f} {side} {owner} mark of {self.mark:.2f}"

    @property
    def stable(self) -> bool:
        """Whether the label survives each roof moved across its documented spread."""
        return not self.alternatives


def decide(evidence: Evidence, preset: str | Thresholds = "vendor") -> Verdict:
    """Return the verdict on ``evidence`` with the marks of ``preset``.

    Raises ``QueryError`` for an unknown preset.
    """
    if isinstance(preset, str):
        if preset not in PRESETS:
            raise QueryError(f"unknown preset {preset!r}; known: {', '.join(PRESETS)}")
        preset = PRESETS[preset]
    verdict = _decide(evidence, preset)
    return replace(
        verdict,
        preset=preset.name,
        excluded=_excluded(evidence, preset, verdict),
        alternatives=_alternatives(evidence, preset, verdict.label),
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A resource with the figure it is judged by and the mark for that kind of figure."""

    entry: ResourceEvidence
    value: float
    mark: float
    by_rate: bool

    @property
    def margin(self) -> float:
        return self.value - self.mark


def _candidates(evidence: Evidence, marks: Thresholds) -> list[_Candidate]:
    """Every way in which a resource can be the busiest one: by time, and memory also by rate."""
    found = []
    for entry in (*evidence.engines, *evidence.memory):
        if entry.busy is not None:
            found.append(_Candidate(entry, entry.busy, marks.engine_busy, by_rate=False))
        if entry.rate is not None and (entry.is_memory or entry.busy is None):
            mark = marks.memory_rate if entry.is_memory else marks.engine_busy
            found.append(_Candidate(entry, entry.rate, mark, by_rate=True))
    return found


def _decide(evidence: Evidence, marks: Thresholds) -> Verdict:
    candidates = _candidates(evidence, marks)
    busiest = max(candidates, key=lambda one: one.value, default=None)
    name = busiest.entry.resource if busiest else ""
    caveats = list(_caveats(evidence))

    # 1. data quality
    spoiled = list(evidence.contradictions)
    if evidence.lost_fraction is not None and evidence.lost_fraction > marks.lost:
        spoiled.append(f"{format_percent(evidence.lost_fraction)} of the records are lost")
    spoiled += [
        f"{resource_title(one.entry.resource)} is busy for {one.value:.2f} of the window, "
        "more than all of it"
        for one in candidates
        if not one.by_rate and one.value > _ABOVE_ROOF
    ]
    launches = evidence.launches or 1
    if evidence.fixed_s is not None and evidence.time_s < evidence.fixed_s[0] and launches > 1:
        spoiled.append(
            f"{launches} launches are counted, whose published fixed time is "
            f"{format_time(evidence.fixed_s[0])} or more, and all of it took "
            f"{format_time(evidence.time_s)}: count it as fewer launches, or check the clock"
        )
    if spoiled:
        return Verdict(
            resource="unknown",
            busiest=name,
            weak=True,
            caveats=tuple(caveats),
            missing=("a capture that is complete and does not contradict itself",),
            explanation=f"The data cannot carry a verdict: {'; '.join(spoiled)}.",
        )

    # 2. is the window (the caller chose it); 3. fixed time
    share = evidence.fixed_share
    if share is not None and reaches(share[0], marks.fixed_share):
        return _overhead(evidence, marks, share, name, caveats)
    if share is not None and share[1] >= marks.fixed_share:
        caveats.append(
            f"fixed time is {format_percent(share[0])} to {format_percent(share[1])} of this "
            "window: it may be most of it"
        )

    # 4. the busiest resource: of those at their mark the most used one, else those near it
    at_mark = [one for one in candidates if reaches(one.margin, 0.0)]
    near = [one for one in candidates if reaches(one.margin, -marks.near)]
    if evidence.basis == "time":  # nothing but a rate at its mark says which resource it was
        near = at_mark
    chosen = max(at_mark or near, key=lambda one: one.value, default=None)
    if chosen is not None:
        return _resource(evidence, marks, chosen, candidates, caveats)
    return _nothing_busy(evidence, marks, busiest, caveats)


def _overhead(
    evidence: Evidence,
    marks: Thresholds,
    share: tuple[float, float],
    busiest: str,
    caveats: list[str],
) -> Verdict:
    reason = "host" if evidence.on_host else "device-start"
    window = f"{format_time(evidence.time_s)} ({evidence.clock_words})"
    fixed = evidence.fixed_s or (0.0, 0.0)
    if reason == "host":
        words = (
            f"Launch-bound: {_percent_range(share)} of the {window} is not device time, so the "
            "kernel itself cannot be classified from this clock."
        )
    else:
        words = (
            f"{_percent_range(share)} of the {window} is fixed time of {format_time(fixed[0])} to "
            f"{format_time(fixed[1])}, whatever the kernel does."
        )
    return Verdict(
        resource="overhead",
        reason=reason,
        busiest=busiest,
        utilization=share[0],
        mark=marks.fixed_share,
        weak=False,
        caveats=tuple(caveats),
        missing=("a device clock (nc_exec_running or a device capture)",)
        if reason == "host"
        else (),
        explanation=words,
    )


def _resource(
    evidence: Evidence,
    marks: Thresholds,
    chosen: _Candidate,
    candidates: list[_Candidate],
    caveats: list[str],
) -> Verdict:
    entry = chosen.entry
    resource = entry.resource
    if entry.is_memory:
        resource, reason = memory_reason(evidence, marks, entry, by_rate=chosen.by_rate)
    elif resource == "tensor":
        reason = tensor_reason(marks, entry)
    else:
        reason = element_reason(marks, entry)
    if entry.rate is not None and entry.rate > _ABOVE_ROOF:
        caveats.append(
            f"{resource_title(entry.resource)} runs at {entry.rate:.2f} of its roof: check the "
            "core count, the dtype, data kept on chip, and that the time waits for completion"
        )
    rivals = sorted(
        {one.entry.resource for one in candidates if reaches(one.margin, 0.0)}
        - {resource}
        - ({"dma", "hbm"} if entry.is_memory else set())
    )
    if rivals:
        caveats.append(
            f"{' and '.join(map(resource_title, rivals))} reach their mark too: the next limit"
        )
    how = "of its reachable rate" if chosen.by_rate else "of the window busy"
    verdict = Verdict(
        resource=resource,
        reason=reason.word,
        preset=marks.name,
        busiest=entry.resource,
        utilization=chosen.value,
        mark=chosen.mark,
        weak=bool(caveats) or bool(reason.missing) or not reaches(chosen.margin, 0.0),
        caveats=tuple(caveats),
        missing=reason.missing,
    )
    return replace(
        verdict,
        explanation=(
            f"{resource_title(resource)} is the limit: {chosen.value:.2f} {how}, "
            f"{verdict.margin_words}; {reason.why}."
        ),
    )


def _nothing_busy(
    evidence: Evidence, marks: Thresholds, busiest: _Candidate | None, caveats: list[str]
) -> Verdict:
    """Return ``serialization`` if enough is known to call nothing busy, else ``unknown``."""
    name = busiest.entry.resource if busiest else ""
    unknown = [key for key in COMPUTE_ENGINES if not evidence.resource(key).known]
    incomplete = evidence.basis == "time" or not evidence.engines or not evidence.memory
    if incomplete or busiest is None:
        missing = []
        if evidence.basis == "time" or not evidence.engines:
            missing.append("activity of the engines (a device capture)")
        if not evidence.memory:
            missing.append("bytes moved or activity of DMA")
        return Verdict(
            resource="unknown",
            busiest=name,
            utilization=busiest.value if busiest else None,
            mark=busiest.mark if busiest else None,
            weak=True,
            caveats=tuple(caveats),
            missing=tuple(missing),
            explanation=_unknown_words(evidence, marks),
        )
    if unknown:
        caveats.append(f"nothing is known of {', '.join(unknown)}")
    how = "of its reachable rate" if busiest.by_rate else "of the window"
    verdict = Verdict(
        resource="serialization",
        busiest=name,
        utilization=busiest.value,
        mark=busiest.mark,
        weak=bool(caveats),
        caveats=tuple(caveats),
        missing=tuple(f"activity of {key}" for key in unknown),
    )
    return replace(
        verdict,
        explanation=(
            f"Nothing is near busy: {resource_title(name)} is the busiest with "
            f"{busiest.value:.2f} {how}, {verdict.margin_words}; "
            "engines and DMA wait for each other."
        ),
    )


def _unknown_words(evidence: Evidence, marks: Thresholds) -> str:
    rates = {one.resource: one.rate for one in evidence.memory if one.rate is not None}
    if evidence.basis == "time" and rates:
        name = max(rates, key=lambda key: rates[key])
        rate = rates[name]
        more = f"{marks.memory_rate / rate:.1f} times" if rate > 0 else "many times"
        peak = evidence.resource("tensor").rate
        product = "" if peak is None else f"the Tensor engine reaches {peak:.2f} of its peak; "
        return (
            f"Not {resource_title(name)}-bound at {rate:.2f} of the reachable rate (it would have "
            f"to move {more} the counted bytes); {product}which engine holds it back cannot be "
            "told from a time."
        )
    return "What is known does not say what holds it back."


def _caveats(evidence: Evidence) -> tuple[str, ...]:
    found = []
    if evidence.union:
        cores = f"{evidence.cores} " if evidence.cores else "several "
        found.append(f"activity is the union over {cores}cores: each may be less busy")
    if evidence.basis == "time":
        found.append("from a time and counted work alone, without counters")
    if evidence.lost_fraction:
        found.append(f"{format_percent(evidence.lost_fraction)} of the records are lost")
    return (*found, *evidence.missing)


def _excluded(evidence: Evidence, marks: Thresholds, verdict: Verdict) -> tuple[str, ...]:
    """Resources whose every known figure is well under its mark, by time where time is known."""
    if verdict.resource == "overhead" or evidence.contradictions:
        return ()
    worst: dict[str, float] = {}
    for one in _candidates(evidence, marks):
        name = one.entry.resource
        # an engine's rate from counted work says nothing of how long it was busy
        if one.by_rate and not one.entry.is_memory:
            continue
        worst[name] = max(worst.get(name, -1.0), one.margin)
    return tuple(
        name for name, margin in worst.items() if margin < -marks.near and name != verdict.resource
    )


def _alternatives(evidence: Evidence, marks: Thresholds, label: str) -> tuple[tuple[str, str], ...]:
    """Return the other labels that appear when one roof, or the fixed time, is moved."""
    found = []
    for entry in evidence.resources:
        for value, edge in ((entry.rate_low, "highest"), (entry.rate_high, "lowest")):
            if value is None or value == entry.rate:
                continue
            moved = tuple(
                replace(one, rate=value) if one is entry else one for one in evidence.resources
            )
            other = _decide(replace(evidence, resources=moved), marks).label
            if other != label:
                found.append((f"{entry.resource} roof at its {edge} documented value", other))
    if evidence.fixed_s is not None and evidence.fixed_s[0] != evidence.fixed_s[1]:
        high = evidence.fixed_s[1]
        other = _decide(replace(evidence, fixed_s=(high, high)), marks).label
        if other != label:
            found.append((f"fixed time at the upper end, {format_time(high)}", other))
    return tuple(found)


def _percent_range(share: tuple[float, float]) -> str:
    low, high = format_percent(share[0]), format_percent(share[1])
    return low if low == high else f"{low} to {high}"

"""Compare runs: kernels matched by key, every difference with its noise and its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from roofline.analysis.explain import Term, explain
from roofline.analysis.noise import NOT_KNOWN, Noise, Tolerance, noise_between
from roofline.analysis.observed import Observed, Run
from roofline.clocks import CLOCK_LABELS
from roofline.engines import VENDOR_NAMES
from roofline.errors import QueryError
from roofline.units import format_number, format_time

__all__ = ["OUTCOMES", "PART_LABELS", "Comparison", "Delta", "Pair", "Versus", "compare_runs"]

PART_LABELS = {
    "lower_bound": "part: lower bound of useful work",
    "work_beyond_minimum": "part: work beyond minimum",
    "inefficiency": "part: inefficiency",
    "waiting_inside": "part: waiting inside",
    "serialization": "part: serialization",
    "start_up": "part: start-up",
    "tail": "part: tail",
}
"""Names of the parts of a whole time, from the lower bound of its useful work up."""

_SAME_WORK = 1.5  # times the Tensor FLOP of the other: more is no other way to the same result

_BOUND_LABELS = {"tensor": "Tensor", "elements": "element engines", "memory": "memory"}

OUTCOMES = (
    "slower",
    "faster",
    "unproven",
    "below-noise",
    "same",
    "refused",
    "unknown",
    "gone",
    "new",
)
"""What a pair comes to. ``unproven``: a difference whose noise nobody knows; ``refused``: two
times that must not be compared; ``unknown``: a time is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One quantity on both sides in the SI base ``unit``; ``None`` is not known."""

    id: str
    label: str
    unit: str
    base: float | None
    new: float | None

    @property
    def change(self) -> float | None:
        """New less base."""
        return None if self.base is None or self.new is None else self.new - self.base

    @property
    def relative(self) -> float | None:
        """Change over base; ``None`` where base is zero or unknown."""
        return None if self.change is None or not self.base else self.change / self.base


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One kernel on both sides, or on one where it appeared or vanished.

    ``refused`` says why the times must not be compared. ``impossible`` lists times that are
    faster than their bound, as (``base`` or ``new``, what). ``findings_gone`` and
    ``findings_new`` hold (id, what); ``None`` where one side was not searched.
    """

    key: str
    base: Observed | None
    new: Observed | None
    clock: str = ""
    base_s: float | None = None
    new_s: float | None = None
    refused: str = ""
    noise: Noise = NOT_KNOWN
    deltas: tuple[Delta, ...] = ()
    terms: tuple[Term, ...] = ()
    findings_gone: tuple[tuple[str, str], ...] | None = None
    findings_new: tuple[tuple[str, str], ...] | None = None
    impossible: tuple[tuple[str, str], ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def change_s(self) -> float | None:
        """New less base in s; ``None`` where they cannot be compared."""
        if self.refused or self.base_s is None or self.new_s is None:
            return None
        return self.new_s - self.base_s

    @property
    def ratio(self) -> float | None:
        """Base over new: above 1 the new one is faster."""
        return None if self.change_s is None or not self.new_s else (self.base_s or 0) / self.new_s

    @property
    def outcome(self) -> str:
        """One of ``OUTCOMES``."""
        if self.base is None or self.new is None:
            return "new" if self.base is None else "gone"
        if self.refused:
            return "refused"
        change = self.change_s
        if change is None:
            return "unknown"
        if abs(change) <= self.noise.resolution_s:
            return "same"
        if self.noise.seconds is None:
            return "unproven"
        if abs(change) <= self.noise.seconds:
            return "below-noise"
        return "faster" if change < 0 else "slower"

    @property
    def findings_kept(self) -> tuple[tuple[str, str, str], ...] | None:
        """Findings of both sides as (id, what in the base, what in the other)."""
        if self.base is None or self.new is None:
            return None
        left, right = self.base.findings, self.new.findings
        if left is None or right is None:
            return None
        return tuple((k, what, right[k]) for k, what in left.items() if k in right)

    @property
    def verdict_changed(self) -> bool:
        """Whether both sides have a verdict and they differ; ``unknown`` is none."""
        if self.base is None or self.new is None:
            return False
        verdicts = self.base.verdict, self.new.verdict
        return not {"", "unknown"} & {*verdicts} and verdicts[0] != verdicts[1]

    def delta(self, id: str) -> Delta | None:
        """Return the delta of a quantity, ``None`` where neither side knows it."""
        return next((one for one in self.deltas if one.id == id), None)

    @property
    def size(self) -> str:
        """How much faster or slower the new one is, empty where that is not known."""
        if self.change_s is None or not self.ratio:
            return ""
        if self.change_s < 0:
            return f"{format_number(self.ratio)}x faster"
        return f"{format_number(1 / self.ratio)}x slower"

    @property
    def words(self) -> str:
        """The outcome in words, with the direction named."""
        if self.outcome in ("gone", "new"):
            return "gone: only in the base" if self.outcome == "gone" else "new: not in the base"
        if self.refused:
            return f"not compared: {self.refused}"
        if self.change_s is None or self.ratio is None:
            return "a time is missing"
        if self.change_s == 0 or self.outcome == "same":
            return "the same"
        size = self.size
        if self.outcome == "below-noise":
            return f"{size}, which is below the noise of {format_time(self.noise.seconds)}"
        if self.outcome == "unproven":
            return f"{size}; {self.noise.source}"
        return size


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """All pairs of one run against the base."""

    run: Run
    pairs: tuple[Pair, ...]

    def of(self, *outcomes: str) -> tuple[Pair, ...]:
        """Return the pairs with one of some outcomes."""
        return tuple(pair for pair in self.pairs if pair.outcome in outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A base run and what changed in each of the others."""

    base: Run
    versus: tuple[Versus, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every pair of every run."""
        return tuple(pair for one in self.versus for pair in one.pairs)


def compare_runs(
    runs: Sequence[Run],
    *,
    keys: Mapping[str, str] | None = None,
    tolerance: Tolerance | None = None,
) -> Comparison:
    """Return the differences of every run to the first one.

    Kernels match by name and shape. ``keys`` maps a name of the base to that of the others. A
    run with a single kernel matches a single kernel whatever its name, in each shape. Nothing is
    dropped: what stands on one side only is a pair too. ``tolerance`` is a floor under the noise.
    Raises ``QueryError`` for fewer
    than two runs, or a name in ``keys`` that no run has.
    """
    if len(runs) < 2:
        raise QueryError("a comparison needs a base and at least one other run")
    base, *others = runs
    keys = dict(keys or {})
    for old, fresh in keys.items():
        if not any(fresh in run.kernels for run in others) or old not in base.kernels:
            known = ", ".join(base.kernels), ", ".join(k for run in others for k in run.kernels)
            raise QueryError(
                f"map {old}={fresh}: no such kernels; base: {known[0]}; others: {known[1]}"
            )
    return Comparison(
        base=base,
        versus=tuple(
            Versus(
                run=run,
                pairs=tuple(
                    _pair(key, left, right, tolerance)
                    for key, left, right in _matched(base, run, keys)
                ),
            )
            for run in others
        ),
    )


def _matched(
    base: Run, new: Run, keys: Mapping[str, str]
) -> Iterator[tuple[str, Observed | None, Observed | None]]:
    """Yield (key, base, new) in the order of the base, then what only the new run has."""
    if len(base.observed) == 1 and len(new.observed) == 1:
        left, right = base.observed[0], new.observed[0]
        yield _joint_key(left, right), left, right
        return
    alone = len(base.kernels) == 1 and len(new.kernels) == 1
    names = dict(zip(base.kernels, new.kernels, strict=False)) if alone else dict(keys)
    pool = {(one.kernel, one.config): one for one in new.observed}
    for left in base.observed:
        found = pool.pop((names.get(left.kernel, left.kernel), left.config), None)
        key = left.key if found is None else _joint_key(left, found)
        yield (left.config if alone and left.config else key), left, found
    for right in pool.values():
        yield (right.config if alone and right.config else right.key), None, right


def _joint_key(left: Observed, right: Observed) -> str:
    kernel = left.kernel if left.kernel == right.kernel else f"{left.kernel} -> {right.kernel}"
    config = left.config
    if left.config != right.config:
        config = f"{left.config or '?'} -> {right.config or '?'}"
    return f"{kernel}, {config}" if config else kernel


def _pair(
    key: str,
    base: Observed | None,
    new: Observed | None,
    tolerance: Tolerance | None,
) -> Pair:
    impossible = tuple(
        (side, line)
        for side, one in (("base", base), ("new", new))
        if one is not None
        for line in _impossible(one)
    )
    if base is None or new is None:
        return Pair(key=key, base=base, new=new, impossible=impossible)
    clock, refused = _common_clock(base, new)
    times = [one.timing(clock) for one in (base, new)] if not refused else [None, None]
    left, right = times
    noise = NOT_KNOWN
    terms: tuple[Term, ...] = ()
    if left is not None and right is not None:
        noise = noise_between(left, right, tolerance)
        terms = explain(base, new, clock, left.seconds, right.seconds)
    gone, fresh = _findings(base, new)
    return Pair(
        key=key,
        base=base,
        new=new,
        clock=clock,
        base_s=left.seconds if left else None,
        new_s=right.seconds if right else None,
        refused=refused,
        noise=noise,
        deltas=tuple(_deltas(base, new, clock, comparable=not refused)),
        terms=terms,
        findings_gone=gone,
        findings_new=fresh,
        impossible=impossible,
        caveats=tuple(_caveats(base, new, clock)),
    )


def _common_clock(base: Observed, new: Observed) -> tuple[str, str]:
    """Return the first clock both sides have, and why the times must not be compared if so."""
    if base.calls != new.calls:
        return "", f"{base.calls} chained calls against {new.calls}"
    if not base.timings or not new.timings:
        return "", ""
    held = {one.clock for one in new.timings}
    common = next((one.clock for one in base.timings if one.clock in held), None)
    if common is None:
        sides = [
            " and ".join(f"{clock_words(t.clock)} {format_time(t.seconds)}" for t in one.timings)
            for one in (base, new)
        ]
        return "", f"the clocks differ: {sides[0]} against {sides[1]}"
    return common, ""


def clock_words(clock: str) -> str:
    """Return the short name of a clock; an empty key is a clock that nobody states."""
    return CLOCK_LABELS.get(clock, clock) or "clock not stated"


def _deltas(base: Observed, new: Observed, clock: str, *, comparable: bool) -> Iterator[Delta]:
    sides = (base, new)

    def delta(id: str, label: str, unit: str, values: Sequence[float | None]) -> Iterator[Delta]:
        if any(value is not None for value in values):
            yield Delta(id=id, label=label, unit=unit, base=values[0], new=values[1])

    if comparable:
        for timing in base.timings:
            other = new.timing(timing.clock)
            if other is None:
                continue
            name = "time" if timing.clock == clock else f"time:{timing.clock}"
            yield from delta(
                name, f"time ({clock_words(timing.clock)})", "s", (timing.seconds, other.seconds)
            )
    yield from delta("launches", "launches", "1", [one.launches for one in sides])
    for kind in dict.fromkeys((*base.bytes, *new.bytes)):
        yield from delta(
            f"bytes:{kind}", f"bytes, {kind}", "B", [one.bytes.get(kind) for one in sides]
        )
    yield from delta("flop", "FLOP, all classes", "FLOP", [one.flops for one in sides])
    yield from delta("tensor-flop", "Tensor FLOP", "FLOP", [one.tensor_flops for one in sides])
    yield from delta("passes", "element-passes", "1", [one.passes for one in sides])
    uses = [one.use(clock) for one in sides]
    if comparable and any(use is not None for use in uses):
        names = dict.fromkeys(name for use in uses if use is not None for name in use.active_s)
        for name in names:
            label = "DMA in flight" if name == "dma" else f"{VENDOR_NAMES.get(name, name)} active"
            yield from delta(
                name, label, "s", [None if use is None else use.active_s.get(name) for use in uses]
            )
        for id_, label, values in (
            (
                "exposed-dma",
                "exposed DMA",
                [None if use is None else use.exposed_dma_s for use in uses],
            ),
            (
                "waiting",
                "nothing busy",
                [None if u is None or u.any_s is None else u.window_s - u.any_s for u in uses],
            ),
            (
                "throttled",
                "Tensor throttled",
                [None if use is None else use.throttled_s for use in uses],
            ),
        ):
            yield from delta(id_, label, "s", values)
    for name in dict.fromkeys((*base.counts, *new.counts)):
        yield from delta(f"count:{name}", name, "1", [one.counts.get(name) for one in sides])
    if base.bound_what == new.bound_what:
        label = base.bound_what or "lower bound"
        yield from delta("bound", label, "s", [one.bound_s for one in sides])
    for name in dict.fromkeys((*base.bounds, *new.bounds)):
        label = f"bound of {_BOUND_LABELS.get(name, name)}"
        yield from delta(f"bound:{name}", label, "s", [one.bounds.get(name) for one in sides])
    parts = [{part.name: part.seconds for part in one.parts} for one in sides]
    for name in dict.fromkeys((*parts[0], *parts[1])):
        # a part that one side has and the other has not is nothing there
        known = [found.get(name, 0.0) if found else None for found in parts]
        yield from delta(f"part:{name}", PART_LABELS.get(name, name), "s", known)


def _impossible(one: Observed) -> Iterator[str]:
    if one.bound_s is None:
        return
    for timing in one.timings:
        fastest = min((timing.seconds, *timing.samples))
        if fastest < one.bound_s:
            yield (
                f"{one.key}: {format_time(fastest)} ({clock_words(timing.clock)}) is faster than "
                f"the {one.bound_what or 'lower bound'} of {format_time(one.bound_s)}"
            )


def _findings(
    base: Observed, new: Observed
) -> tuple[tuple[tuple[str, str], ...] | None, tuple[tuple[str, str], ...] | None]:
    if base.findings is None or new.findings is None:
        return None, None
    gone = tuple((k, what) for k, what in base.findings.items() if k not in new.findings)
    fresh = tuple((k, what) for k, what in new.findings.items() if k not in base.findings)
    return gone, fresh


def _caveats(base: Observed, new: Observed, clock: str) -> Iterator[str]:
    if base.config and new.config and base.config != new.config:
        yield f"the shapes differ: {base.config} against {new.config}"
    if base.hardware and new.hardware and base.hardware != new.hardware:
        yield f"the hardware differs: {base.hardware} against {new.hardware}"
    elif base.lnc and new.lnc and base.lnc != new.lnc:
        yield f"the logical cores differ: LNC {base.lnc} against LNC {new.lnc}"
    if base.tensor_flops and new.tensor_flops:
        low, high = sorted((base.tensor_flops, new.tensor_flops))
        if high > _SAME_WORK * low:
            yield f"Tensor FLOP differ {high / low:.3g}x: another shape, or another computation"
    left, right = base.timing(clock), new.timing(clock)
    if left is None or right is None:
        return
    if None not in (left.profiled, right.profiled) and left.profiled != right.profiled:
        yield "one side was profiled and the other was not"
    if not clock:
        yield "no source says what clock the times are on"
    if "inferred" in (left.clock_quality, right.clock_quality):
        yield f"that the times are on the clock {clock_words(clock)} is inferred"
    kinds = base.byte_kind, new.byte_kind
    if kinds[0] and kinds[1] and kinds[0] != kinds[1]:
        yield f"bytes are {kinds[0]} in the base and {kinds[1]} in the other"

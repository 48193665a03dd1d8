"""Compare runs: kernels matched by key, every difference with its noise and its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from roofline.analysis.comparison import Comparison, Pair, Versus
from roofline.analysis.deltas import deltas
from roofline.analysis.explain import Term, explain
from roofline.analysis.noise import NOT_KNOWN, Tolerance, noise_between
from roofline.analysis.observed import Observed, Run
from roofline.clocks import clock_label
from roofline.errors import QueryError
from roofline.units import format_time

__all__ = ["compare_runs"]

_SAME_WORK: Final = (
    1.5  # times the Tensor FLOP of the other: more is no other way to the same result
)


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
        deltas=tuple(deltas(base, new, clock, comparable=not refused)),
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
            " and ".join(f"{clock_label(t.clock)} {format_time(t.seconds)}" for t in one.timings)
            for one in (base, new)
        ]
        return "", f"the clocks differ: {sides[0]} against {sides[1]}"
    return common, ""


def _impossible(one: Observed) -> Iterator[str]:
    if one.bound_s is None:
        return
    for timing in one.timings:
        fastest = min((timing.seconds, *timing.samples))
        if fastest < one.bound_s:
            yield (
                f"{one.key}: {format_time(fastest)} ({clock_label(timing.clock)}) is faster than "
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
        yield f"that the times are on the clock {clock_label(clock)} is inferred"
    kinds = base.byte_kind, new.byte_kind
    if kinds[0] and kinds[1] and kinds[0] != kinds[1]:
        yield f"bytes are {kinds[0]} in the base and {kinds[1]} in the other"

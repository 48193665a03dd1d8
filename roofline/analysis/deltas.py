"""Every quantity that two observations of a kernel both or either know, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from roofline.analysis.comparison import Delta
from roofline.analysis.observed import Observed, Use
from roofline.clocks import clock_label
from roofline.engines import VENDOR_NAMES

__all__ = ["deltas"]

_PART_LABELS: Final = {
    "lower_bound": "part: lower bound of useful work",
    "work_beyond_minimum": "part: work beyond minimum",
    "inefficiency": "part: inefficiency",
    "waiting_inside": "part: waiting inside",
    "serialization": "part: serialization",
    "start_up": "part: start-up",
    "tail": "part: tail",
}
"""Names of the parts of a whole time, from the lower bound of its useful work up."""

_BOUND_LABELS: Final = {"tensor": "Tensor", "elements": "element engines", "memory": "memory"}


def deltas(base: Observed, new: Observed, clock: str, *, comparable: bool) -> Iterator[Delta]:
    """Yield the quantities of two observations, without those that neither side knows.

    ``clock`` is the one both times are on; times and use of engines only where the two are
    ``comparable``.
    """
    for found in _every(base, new, clock, comparable=comparable):
        if found.base is not None or found.new is not None:
            yield found


def _every(base: Observed, new: Observed, clock: str, *, comparable: bool) -> Iterator[Delta]:
    if comparable:
        yield from _times(base, new, clock)
    yield from _work(base, new)
    if comparable:
        yield from _use(base.use(clock), new.use(clock))
    yield from _of_keys(base.counts, new.counts, lambda name: (f"count:{name}", name, "1"))
    if base.bound_what == new.bound_what:
        yield _delta("bound", base.bound_what or "lower bound", "s", base.bound_s, new.bound_s)
    yield from _of_keys(
        base.bounds,
        new.bounds,
        lambda name: (f"bound:{name}", f"bound of {_BOUND_LABELS.get(name, name)}", "s"),
    )
    yield from _parts(base, new)


def _delta(id: str, label: str, unit: str, base: float | None, new: float | None) -> Delta:
    return Delta(id=id, label=label, unit=unit, base=base, new=new)


def _of_keys(
    base: Mapping[str, float],
    new: Mapping[str, float],
    names: Callable[[str], tuple[str, str, str]],
) -> Iterator[Delta]:
    """Yield a delta for each key of either side; ``names`` gives its id, label and unit."""
    for key in dict.fromkeys((*base, *new)):
        yield _delta(*names(key), base.get(key), new.get(key))


def _times(base: Observed, new: Observed, clock: str) -> Iterator[Delta]:
    for timing in base.timings:
        other = new.timing(timing.clock)
        if other is not None:
            name = "time" if timing.clock == clock else f"time:{timing.clock}"
            label = f"time ({clock_label(timing.clock)})"
            yield _delta(name, label, "s", timing.seconds, other.seconds)


def _work(base: Observed, new: Observed) -> Iterator[Delta]:
    yield _delta("launches", "launches", "1", base.launches, new.launches)
    yield from _of_keys(
        base.bytes, new.bytes, lambda kind: (f"bytes:{kind}", f"bytes, {kind}", "B")
    )
    yield _delta("flop", "FLOP, all classes", "FLOP", base.flops, new.flops)
    yield _delta("tensor-flop", "Tensor FLOP", "FLOP", base.tensor_flops, new.tensor_flops)
    yield _delta("passes", "element-passes", "1", base.passes, new.passes)


def _use(base: Use | None, new: Use | None) -> Iterator[Delta]:
    yield from _of_keys(
        {} if base is None else base.active_s,
        {} if new is None else new.active_s,
        lambda name: (
            name,
            "DMA in flight" if name == "dma" else f"{VENDOR_NAMES.get(name, name)} busy",
            "s",
        ),
    )
    quantities: tuple[tuple[str, str, Callable[[Use], float | None]], ...] = (
        ("exposed-dma", "exposed DMA", lambda use: use.exposed_dma_s),
        ("waiting", "nothing busy", _waiting_s),
        ("throttled", "Tensor throttled", lambda use: use.throttled_s),
    )
    for id_, label, value in quantities:
        sides = [None if use is None else value(use) for use in (base, new)]
        yield _delta(id_, label, "s", *sides)


def _waiting_s(use: Use) -> float | None:
    return None if use.any_s is None else use.window_s - use.any_s


def _parts(base: Observed, new: Observed) -> Iterator[Delta]:
    left, right = ({part.name: part.seconds for part in one.parts} for one in (base, new))
    for name in dict.fromkeys((*left, *right)):
        # a part that one side has and the other has not is nothing there
        known = [found.get(name, 0.0) if found else None for found in (left, right)]
        yield _delta(f"part:{name}", _PART_LABELS.get(name, name), "s", *known)

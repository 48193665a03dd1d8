"""Why one run takes another time than the other: terms in seconds, each with its evidence.

Where the use of engines is known, a window T is the busy times of all resources added up (S),
less what of them is hidden because several are busy at once (H), plus the time in which nothing
is busy (W): ``T = S - H + W``. So the difference of two windows is exactly the change of work,
less that of overlap, plus that of waiting. On a host clock a time is launches times the time of
one: ``dT = (n2 - n1) t1 + n2 (t2 - t1)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roofline.analysis.observed import Observed, Use
from roofline.engines import VENDOR_NAMES
from roofline.units import format_count, format_percent, format_si, format_time

__all__ = ["Term", "explain", "signed_time", "split_use"]

_NAMED = 3  # resources that a sentence about work names
_SMALL = 0.02  # of the difference: not worth a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One reason for a difference.

    ``seconds`` is its part of the difference, negative where it saves time. Terms with
    ``at_most`` are limits of what the reason can be worth, and stand beside the others instead of
    adding up with them; ``None``: its worth is not known.
    """

    id: str
    what: str
    evidence: str
    seconds: float | None
    at_most: bool = False


def explain(
    base: Observed,
    new: Observed,
    clock: str,
    base_s: float,
    new_s: float,
) -> tuple[Term, ...]:
    """Return the reasons for ``new_s - base_s`` on ``clock``, the largest first.

    Those that add up to the difference come before those that only limit what a reason is worth.
    """
    terms: list[Term] = []
    uses = base.use(clock), new.use(clock)
    if uses[0] is not None and uses[1] is not None:
        terms += split_use(uses[0], uses[1])
    elif clock in ("host_wall", "framework_window"):
        terms += _launches(base, new, base_s, new_s)
    terms += _limits(base, new, uses, new_s - base_s)
    return tuple(sorted(terms, key=lambda term: (term.at_most, -abs(term.seconds or 0.0))))


def split_use(base: Use, new: Use) -> tuple[Term, ...]:
    """Return work, overlap and waiting: parts in s that add up to the difference of windows."""
    if base.any_s is None or new.any_s is None:
        return ()
    busy = [sum(use.active_s.values()) for use in (base, new)]
    hidden = [busy[0] - base.any_s, busy[1] - new.any_s]
    idle = [base.window_s - base.any_s, new.window_s - new.any_s]
    terms = [
        Term(
            id="work",
            what=_more(busy[1] - busy[0], "less work", "more work"),
            evidence=(
                f"busy times add up to {format_time(busy[1])}, {format_time(busy[0])} before"
                f"{_by_resource(base, new)}"
            ),
            seconds=busy[1] - busy[0],
        ),
        Term(
            id="overlap",
            what=_more(hidden[0] - hidden[1], "more hidden by overlap", "less hidden by overlap"),
            evidence=(
                f"{format_time(hidden[1])} hidden, {format_time(hidden[0])} before"
                f"{_at_once(busy, (base.any_s, new.any_s), more=hidden[1] > hidden[0])}"
            ),
            seconds=hidden[0] - hidden[1],
        ),
        Term(
            id="waiting",
            what=_more(idle[1] - idle[0], "less waiting", "more waiting"),
            evidence=(
                f"nothing computes or moves for {format_time(idle[1])} "
                f"({format_percent(idle[1] / new.window_s)} of the window), {format_time(idle[0])} "
                f"({format_percent(idle[0] / base.window_s)}) before"
            ),
            seconds=idle[1] - idle[0],
        ),
    ]
    return tuple(term for term in terms if term.seconds)


def _at_once(busy: Sequence[float], unions: Sequence[float], *, more: bool) -> str:
    """Say how many resources are busy at once while any is, and whether that is why."""
    if min(unions) <= 0:
        return ""
    before, after = busy[0] / unions[0], busy[1] / unions[1]
    better = after > before
    words = "better overlap" if better else "worse overlap"
    if better != more:
        words += f", of {'more' if busy[1] > busy[0] else 'less'} work"
    return f"; {after:.2f} busy at once while any is, {before:.2f} before: {words}"


def _by_resource(base: Use, new: Use) -> str:
    names = dict.fromkeys((*base.active_s, *new.active_s))
    changes = {name: new.active_s.get(name, 0.0) - base.active_s.get(name, 0.0) for name in names}
    largest = sorted(changes, key=lambda name: -abs(changes[name]))
    limit = _SMALL * sum(abs(change) for change in changes.values())
    named = [name for name in largest[:_NAMED] if abs(changes[name]) > limit]
    if not named:
        return ""
    words = ", ".join(f"{VENDOR_NAMES.get(n, n)} {signed_time(changes[n])}" for n in named)
    return f" ({words})"


def _launches(base: Observed, new: Observed, base_s: float, new_s: float) -> Iterator[Term]:
    """Split a host clock into the number of launches and the time of one."""
    if not base.launches or not new.launches or base.launches == new.launches:
        return
    each = [base_s / base.launches, new_s / new.launches]
    number = (new.launches - base.launches) * each[0]
    yield Term(
        id="launches",
        what=_more(number, "fewer launches", "more launches"),
        evidence=f"{new.launches:g} instead of {base.launches:g}, at {format_time(each[0])} each",
        seconds=number,
    )
    per_launch = new.launches * (each[1] - each[0])
    yield Term(
        id="per-launch",
        what=_more(per_launch, "shorter launches", "longer launches"),
        evidence=f"{format_time(each[1])} a launch, {format_time(each[0])} before",
        seconds=per_launch,
    )


def _limits(
    base: Observed,
    new: Observed,
    uses: tuple[Use | None, Use | None],
    difference: float,
) -> Iterator[Term]:
    kind = next((k for k in ("measured", "dispatched", "minimal") if k in base.bytes), "")
    if kind and kind in new.bytes and base.bytes[kind] != new.bytes[kind]:
        change = new.bytes[kind] - base.bytes[kind]
        rate = base.bytes_per_s
        worth = None if rate is None else change / rate
        against = "" if rate is None else f", at {format_si(rate, 'B/s')}"
        share = ""
        if worth is not None and difference and worth * difference > 0:
            share = f", {format_percent(worth / difference)} of the difference"
        yield Term(
            id="bytes",
            what=_more(change, "fewer bytes", "more bytes"),
            evidence=(
                f"{format_count(new.bytes[kind])} B {kind}, {format_count(base.bytes[kind])} B "
                f"before{against}{share}"
            ),
            seconds=worth,
            at_most=True,
        )
    for id_, name, left, right in (
        ("tensor-flops", "Tensor FLOP", base.tensor_flops, new.tensor_flops),
        ("flops", "FLOP", base.flops, new.flops),
    ):
        if left is not None and right is not None and left != right:
            yield Term(
                id=id_,
                what=_more(right - left, f"fewer {name}", f"more {name}"),
                evidence=f"{format_si(right, 'FLOP')}, {format_si(left, 'FLOP')} before",
                seconds=None,
                at_most=True,
            )
            break
    if uses[0] is None or uses[1] is None:
        return
    for id_, name, less, more in (
        ("exposed-dma", "exposed_dma_s", "less exposed DMA", "more exposed DMA"),
        ("throttling", "throttled_s", "less throttling", "more throttling"),
    ):
        values = [getattr(use, name) for use in uses]
        if None in values or abs(values[1] - values[0]) <= _SMALL * abs(difference):
            continue
        meaning = "while no engine computes" if id_ == "exposed-dma" else "lost to a limit"
        yield Term(
            id=id_,
            what=_more(values[1] - values[0], less, more),
            evidence=f"{format_time(values[1])} {meaning}, {format_time(values[0])} before",
            seconds=values[1] - values[0],
            at_most=True,
        )


def _more(change: float, less: str, more: str) -> str:
    return more if change > 0 else less


def signed_time(seconds: float) -> str:
    """Return a difference of times with its sign, for example ``-10.9 µs``."""
    sign = "+" if seconds > 0 else "-" if seconds < 0 else ""
    return f"{sign}{format_time(abs(seconds))}"

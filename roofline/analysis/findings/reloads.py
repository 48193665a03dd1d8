"""``reloads``: inputs or weights are read from HBM more than once."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import finding
from roofline.analysis.findings.scene import Scene
from roofline.analysis.rereads import rereads
from roofline.units import format_si, format_time

__all__: list[str] = []

_MORE = 1.1
"""Reads over necessary reads above which it is worth a line: a tenth can be padding."""


@finding("reloads")
def check(scene: Scene) -> Iterator[Finding]:
    """Bytes read beyond one read of each input and weight, round trips of intermediates apart."""
    counters = scene.counters
    extra = _extra(scene)
    if extra is None:
        return
    surplus, needed, text = extra
    if surplus <= (_MORE - 1) * needed:
        return
    cost = surplus / scene.dma_rate
    busy = counters.active_s.get("dma")
    at_stake, pace = cost, ""
    if busy is not None:
        again = busy * surplus / max(needed + surplus, counters.moved_bytes or 0.0)
        at_stake = scene.gain_s("dma", busy - again)
        pace = f", at the pace of this run's DMA {format_time(again)}"
    yield Finding(
        id="reloads",
        what=f"{format_si(surplus, 'B')} are moved again that were moved before",
        evidence=f"{text}{_named(scene)}; at the full rate that is {format_time(cost)}{pace}",
        remedy=(
            "keep the tile that is used again in SBUF: block the loops so that the operand with "
            "the most reuse stays, or enlarge the block"
        ),
        at_stake_s=at_stake,
        confidence="high" if counters.input_bytes is not None else "medium",
        share=scene.share(cost),
    )


def _named(scene: Scene) -> str:
    """Name the tensors that are read again, where packets say what they carry."""
    found = rereads(scene.events.capture) if scene.events is not None else ()
    worst = [one for one in found if one.times >= _MORE][:3]
    said = ", ".join(
        f"{one.name} {one.times:.1f} times ({format_si(one.size_bytes, 'B')})" for one in worst
    )
    return f"; most of it {said}" if said else ""


def _extra(scene: Scene) -> tuple[float, float, str] | None:
    """Return surplus bytes, necessary bytes, and the sentence with the figures."""
    counters = scene.counters
    read, written = counters.hbm_read_bytes, counters.hbm_write_bytes
    if read is not None and written is not None and counters.input_bytes:
        outputs = (counters.necessary_bytes or counters.input_bytes) - counters.input_bytes
        # what is written beyond the outputs is an intermediate: reading it is no reload
        round_trip = max(0.0, written - outputs)
        surplus = read - counters.input_bytes - round_trip
        times = surplus / counters.input_bytes + 1
        text = (
            f"{format_si(read, 'B')} read, inputs and weights are "
            f"{format_si(counters.input_bytes, 'B')}, {times:.1f} times"
        )
        return max(0.0, surplus), counters.input_bytes, text
    moved = counters.moved_bytes
    if moved is None or not counters.necessary_bytes:
        return None
    if read is not None and written is not None and written > counters.necessary_bytes:
        return None  # intermediates go through HBM: the two cannot be told apart
    surplus = moved - counters.necessary_bytes
    times = moved / counters.necessary_bytes
    text = (
        f"{format_si(moved, 'B')} moved for {format_si(counters.necessary_bytes, 'B')} of inputs, "
        f"weights and outputs, {times:.1f} times"
    )
    return max(0.0, surplus), counters.necessary_bytes, text

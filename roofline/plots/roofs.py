"""Lines of roofs: what is drawn of a hardware, from edge to edge of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from roofline.hardware.model import Hardware, Roof
from roofline.plots.figure import Axis, Line
from roofline.units import format_si

__all__ = ["every_roof", "limits", "memory_label", "roof_lines"]

_MOST_NAMES = 2  # of roofs that share a line
_KIND_ORDER = ("theoretical", "sustained", "measured", "vendor")


def limits(
    values: Sequence[float], *, below: float = 3.0, above: float = 3.0
) -> tuple[float, float]:
    """Return axis limits that leave room around positive values."""
    return min(values) / below, max(values) * above


def roof_lines(
    compute: Sequence[Roof], memory: Sequence[Roof], x: Axis, binding: Roof
) -> tuple[Line, ...]:
    """Return lines for memory roofs (slopes) and compute roofs (level), across the whole axis.

    Slopes end where they meet the highest compute roof; level lines begin where they meet the
    steepest slope. Compute roofs of one value share a line and a label.
    """
    lines = []
    top = max(roof.value for roof in compute)
    steepest = max(roof.value for roof in memory)
    for roof in sorted(memory, key=lambda one: (_KIND_ORDER.index(one.kind), -one.value)):
        end = min(x.high, top / roof.value)
        lines.append(
            Line(
                key=f"memory:{roof.name}",
                label=memory_label(roof),
                role="memory",
                x=(x.low, end),
                y=(x.low * roof.value, end * roof.value),
                kind=roof.kind,
                resource=roof.resource,
                binding=roof == binding,
                source=roof.source,
                quality=roof.quality,
            )
        )
    for value, roofs in _by_value(compute).items():
        start = max(x.low, value / steepest)
        if start >= x.high:
            continue
        unit = "FLOP/s" if roofs[0].unit == "FLOP/s" else "/s"
        lines.append(
            Line(
                key="compute:" + ",".join(roof.name for roof in roofs),
                label=f"{_names(roofs)}  {format_si(value, unit)}",
                role="compute",
                x=(start, x.high),
                y=(value, value),
                kind=roofs[0].kind,
                resource=roofs[0].resource,
                dtype=roofs[0].dtype,
                source=roofs[0].source,
                quality=roofs[0].quality,
            )
        )
    return tuple(lines)


def every_roof(hardware: Hardware, unit: str, x: Axis) -> tuple[Line, ...]:
    """Return a line for every roof of a hardware that has a place on a plane of ``unit`` a second.

    For a page, where a reader chooses among them: nothing is left out and none share a line.
    ``unit`` is ``FLOP`` or ``pass``.
    """
    wanted = "FLOP/s" if unit == "FLOP" else "element/s"
    compute = [roof for roof in hardware.roofs() if roof.unit == wanted]
    memory = hardware.memory_roofs()
    binding = hardware.memory_ceiling("theoretical")
    lines = roof_lines([compute[0]], memory, x, binding)[: len(memory)]
    top = max(roof.value for roof in compute)
    stretched = [
        replace(line, x=(line.x[0], end), y=(line.y[0], line.y[0] / line.x[0] * end))
        for line in lines
        if (end := min(x.high, top * line.x[0] / line.y[0]))
    ]
    for roof in compute:
        level = roof_lines([roof], memory, x, binding)[len(memory) :]
        stretched += level
    return tuple(stretched)


def memory_label(roof: Roof) -> str:
    """Return name, kind and rate of a memory roof."""
    kind = "" if roof.kind in roof.name else f", {roof.kind}"
    return f"{roof.name}{kind} {format_si(roof.value, roof.unit)}"


def _by_value(roofs: Sequence[Roof]) -> dict[float, list[Roof]]:
    found: dict[float, list[Roof]] = {}
    for roof in sorted(roofs, key=lambda one: -one.value):
        found.setdefault(roof.value, []).append(roof)
    return found


def _names(roofs: Sequence[Roof]) -> str:
    """Join names that begin alike: ``Tensor bf16, fp16``."""
    first, *others = (roof.name for roof in roofs)
    head = first.split(" ")[0]
    shown = [name.removeprefix(f"{head} ") for name in others[: _MOST_NAMES - 1]]
    more = ["…"] if len(others) >= _MOST_NAMES else []
    return ", ".join((first, *shown, *more))

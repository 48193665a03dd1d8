"""Describe how the achieved bandwidth of a study grows with size."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.hardware.model import Hardware
from roofline.plots.describe import detail_of, memory_roofs, series_of, subtitle_of
from roofline.plots.figure import Axis, Figure, Line, Point
from roofline.plots.roofs import memory_label
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row

__all__ = ["describe_sizes"]


def describe_sizes(result: StudyResult) -> Figure | None:
    """Return achieved B/s over minimal bytes of each series, or ``None`` where there is none."""
    series = [members for members in series_of(result.rows) if len(members) > 2]
    if not series:
        return None
    shapes = {one.name: index for index, one in enumerate(result.study.variants)}
    points = [
        _point(row, shapes[row.variant.name], named=row is members[-1])
        for members in series
        for row in members
    ]
    sizes, rates = [point.x for point in points], [point.y for point in points]
    x = Axis(
        label="minimal bytes, each moved once",
        unit="B",
        low=min(sizes) / 1.5,
        high=max(sizes) * 4,
    )
    roofs = _roofs(result.hardware, x)
    return Figure(
        key="sizes",
        title="Achieved bandwidth over size",
        subtitle=subtitle_of(result),
        x=x,
        y=Axis(
            label="minimal bytes over time",
            unit="B/s",
            low=min(rates) / 2,
            high=max(roof.y[0] for roof in roofs) * 2,
        ),
        lines=(*roofs, *(_curve(members) for members in series)),
        points=tuple(points),
        notes=("a curve that levels off below the roofs is held back by an engine or moves more",),
    )


def _point(row: Row, shape: int, *, named: bool) -> Point:
    return Point(
        key=row.key,
        label=f"{row.measurement.key} {row.measurement.config.dtype}" if named else "",
        x=float(row.work.minimal_bytes),
        y=row.placement.bytes_per_s("minimal") or 0.0,
        shape=shape,
        tone=row.verdict.resource,
        group=row.key,
        basis="minimal",
        time_s=row.time_s,
        detail=detail_of(row),
    )


def _curve(rows: Sequence[Row]) -> Line:
    return Line(
        key=f"join:{rows[0].key}",
        label="",
        role="join",
        x=tuple(float(row.work.minimal_bytes) for row in rows),
        y=tuple(row.placement.bytes_per_s("minimal") or 0.0 for row in rows),
    )


def _roofs(hardware: Hardware, x: Axis) -> list[Line]:
    ceiling = hardware.memory_ceiling("theoretical")
    return [
        Line(
            key=f"memory:{roof.name}",
            label=memory_label(roof),
            role="memory",
            x=(x.low, x.high),
            y=(roof.value, roof.value),
            kind=roof.kind,
            resource=roof.resource,
            binding=roof == ceiling,
            source=roof.source,
        )
        for roof in memory_roofs(hardware)
    ]

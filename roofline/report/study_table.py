"""Tables about studies: variants by configs, the list of shipped ones, remarks of a check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from roofline.clocks import CLOCK_LABELS
from roofline.report.blocks import Block, Heading, Paragraph, Table
from roofline.study.check import Remark
from roofline.study.evaluate import StudyResult
from roofline.study.rows import Row
from roofline.study.study import Study
from roofline.units import format_counted, format_percent, format_si, format_time

__all__ = ["VALUES", "check_text", "list_blocks", "table_blocks", "table_record", "verdict_grid"]

_SHORT: Final = {"overhead": "fixed", "serialization": "serial", "unknown": "?"}
"""How a resource is named in a cell."""

VALUES: Final[dict[str, str]] = {
    "time": "time",
    "speedup": "times faster than the first variant",
    "bound": "lower bound over time",
    "bandwidth": "bytes per second, measured where known, else minimal",
    "verdict": "what holds it back",
}
"""What a table of variants by configs can show."""


def table_blocks(result: StudyResult, value: str = "time") -> list[Block]:
    """Return a table of variants by configs; ``-`` where a variant was not measured."""
    columns, rows = _grid(result)
    clocks = dict.fromkeys(CLOCK_LABELS[row.placement.clock] for row in result.rows)
    blocks: list[Block] = [
        Heading(text=result.study.title, level=1),
        Paragraph(text=f"{VALUES[value]}, on {result.hardware.name}. Clock: {', '.join(clocks)}."),
        Table(
            columns=("config", *columns),
            rows=tuple((config, *(_cells(cells, value))) for config, cells in rows),
            numeric=frozenset(range(1, len(columns) + 1)) if value != "verdict" else frozenset(),
            note="* the fastest of its config." if value == "time" and len(columns) > 1 else "",
        ),
    ]
    return blocks


def verdict_grid(result: StudyResult) -> Table:
    """Return time, share of the lower bound and what binds, configs down and variants across."""
    columns, rows = _grid(result)
    clocks: dict[str, list[str]] = {}
    for row in result.rows:
        names = clocks.setdefault(CLOCK_LABELS[row.placement.clock], [])
        if row.measurement.key not in names:
            names.append(row.measurement.key)
    clock = "; ".join(
        name if len(clocks) == 1 else f"{name} ({', '.join(keys)})" for name, keys in clocks.items()
    )
    found = {row.verdict.resource for row in result.rows}
    words = {
        "overhead": "fixed: fixed time rules",
        "serialization": "serial: nothing is near busy, engines and DMA wait for each other",
        "unknown": "?: the evidence does not say what holds it back",
    }
    legend = "; ".join(text for key, text in words.items() if key in found)
    return Table(
        columns=("config", *columns),
        rows=tuple((config, *map(_judged, cells)) for config, cells in rows),
        numeric=frozenset(range(1, len(columns) + 1)),
        note=(
            "In a cell: time, lower bound over time, and what binds"
            f"{f' ({legend})' if legend else ''}; ~ weak evidence, - not measured. Clock: {clock}."
        ),
    )


def _judged(row: Row | None) -> str:
    if row is None:
        return "-"
    verdict = row.verdict
    name = _SHORT.get(verdict.resource, verdict.resource)
    weak = "~" if verdict.weak and verdict.resource != "unknown" else ""
    return (
        f"{format_time(row.time_s)}, {format_percent(row.placement.bound_fraction)}, {name}{weak}"
    )


def table_record(result: StudyResult) -> dict[str, Any]:
    """Return the table for programs: one entry a config and variant, in SI base units."""
    columns, rows = _grid(result)
    return {
        "study": result.study.name,
        "hardware": result.hardware.name,
        "variants": list(columns),
        "cells": [
            {
                "config": config,
                "variant": name,
                "time_s": row.time_s,
                "clock": row.placement.clock,
                "base_over_time": _speedup(row, cells),
                "bound_fraction": row.placement.bound_fraction,
                "bytes_per_s": row.placement.bytes_per_s(row.placement.byte_kind),
                "verdict": row.verdict.label,
            }
            for config, cells in rows
            for name, row in zip(columns, cells, strict=True)
            if row is not None
        ],
    }


def _grid(
    result: StudyResult,
) -> tuple[tuple[str, ...], list[tuple[str, tuple[Row | None, ...]]]]:
    columns = tuple(dict.fromkeys(row.measurement.key for row in result.rows))
    configs = tuple(dict.fromkeys(row.measurement.config.key for row in result.rows))
    at = {(row.measurement.config.key, row.measurement.key): row for row in result.rows}
    return columns, [
        (config, tuple(at.get((config, name)) for name in columns)) for config in configs
    ]


def _cells(cells: Sequence[Row | None], value: str) -> list[str]:
    show: dict[str, Callable[[Row], str]] = {
        "time": lambda row: format_time(row.time_s) + ("*" if row is _fastest(cells) else " "),
        "speedup": lambda row: _times(_speedup(row, cells)),
        "bound": lambda row: format_percent(row.placement.bound_fraction),
        "bandwidth": lambda row: format_si(
            row.placement.bytes_per_s(row.placement.byte_kind), "B/s"
        ),
        "verdict": lambda row: row.verdict.label,
    }
    return ["-" if row is None else show[value](row) for row in cells]


def _fastest(cells: Sequence[Row | None]) -> Row | None:
    """Return the fastest of those that share the first one's clock, if there are several."""
    held = [row for row in cells if row is not None]
    alike = [row for row in held if _comparable(row, held[0])]
    return min(alike, key=lambda row: row.time_s) if len(alike) > 1 else None


def _speedup(row: Row, cells: Sequence[Row | None]) -> float | None:
    base = cells[0]
    return base.time_s / row.time_s if base is not None and _comparable(row, base) else None


def _comparable(a: Row, b: Row) -> bool:
    return a.placement.clock == b.placement.clock and a.measurement.calls == b.measurement.calls


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def list_blocks(studies: Sequence[Study]) -> list[Block]:
    """Return the table of shipped studies."""
    return [
        Table(
            columns=("study", "op", "configs", "variants", "times", "captures"),
            rows=tuple(
                (
                    study.name,
                    study.op,
                    str(len(study.configs)),
                    str(len(study.variants)),  # by name the table would break those of studies
                    str(len(study.measurements)),
                    str(len(study.captures)),
                )
                for study in studies
            ),
            numeric=frozenset({2, 3, 4, 5}),
        )
    ]


def check_text(file: Path, study: Study, remarks: Sequence[Remark]) -> str:
    """Return one line a remark, as compilers write them, and what the study holds."""
    lines = [f"{file}:{one.line}: {one.severity}: {one.what}" for one in remarks]
    wrong = sum(one.severity == "error" for one in remarks)
    lines.append(
        f"{study.name}: "
        f"{format_counted(len(study.variants), 'variant')}, "
        f"{format_counted(len(study.configs), 'config')}, "
        f"{format_counted(len(study.measurements), 'time')}, "
        f"{format_counted(len(study.captures), 'capture')}; "
        f"{format_counted(wrong, 'error') if wrong else 'no errors'}"
    )
    return "\n".join(lines)

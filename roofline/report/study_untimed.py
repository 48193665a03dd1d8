"""The section on variants without a time: work, lower bound, and a time that is modelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from roofline.engines import ELEMENT_ENGINES, resource_title
from roofline.model.estimate import Estimate
from roofline.model.kernel import KernelSchedule, sbuf_partition_bytes
from roofline.report.alike import merged
from roofline.report.blocks import Block, Heading, Paragraph, Table
from roofline.report.study_rows import row_name
from roofline.study.evaluate import StudyResult
from roofline.study.untimed import Untimed
from roofline.units import format_percent, format_si, format_time

__all__ = ["estimate_json", "estimated_blocks", "untimed_blocks", "untimed_json"]

_MOST = 9  # of a table; report.json holds every one


def untimed_blocks(result: StudyResult) -> Iterator[Block]:
    """Yield what is known of variants that nobody timed; nothing where all were."""
    if not result.untimed:
        return
    shown = _shown(result.untimed)
    yield Heading(text="Not timed")
    columns = {
        "config": [one.config.key for one in shown],
        "variant": [one.variant.name for one in shown],
        "launches": [str(one.work.launches) for one in shown],
        "FLOP": [format_si(one.placement.flops, "", digits=3) for one in shown],
        "dispatched": list(map(_dispatched, shown)),
        "lower bound": list(map(_bound, shown)),
        "modelled": [_modelled(one)[0] for one in shown],
        "range": [_modelled(one)[1] for one in shown],
    }
    if len(result.study.configs) == 1:
        del columns["config"]
    else:
        del columns["launches"]  # the section on work has them
    names = tuple(columns)
    yield Table(
        columns=names,
        rows=tuple(zip(*columns.values(), strict=True)),
        numeric=frozenset(range(names.index("variant") + 1, len(names) - 1)),
        note=_note(shown, result.untimed),
    )
    yield from _declared(shown, single=len(result.study.configs) == 1)
    problems = dict.fromkeys(one.problem for one in shown if one.problem)
    for problem in problems:
        yield Paragraph(text=f"Not modelled: {problem}")


def _declared(shown: Sequence[Untimed], *, single: bool) -> Iterator[Block]:
    """Yield passes, bytes and the schedule bound of kernels that declare them."""
    known = [(one, one.schedule) for one in shown if one.schedule is not None]
    if not known:
        return
    engines = [key for key in ELEMENT_ENGINES if any(key in one.element_passes for _, one in known)]
    columns = {
        "config": [one.config.key for one, _ in known],
        "variant": [one.variant.name for one, _ in known],
        **{
            f"{resource_title(key)} passes": [
                format_si(schedule.element_passes.get(key, 0), "", digits=3)
                for _, schedule in known
            ]
            for key in engines
        },
        "read": [format_si(schedule.hbm_read_bytes, "B", digits=3) for _, schedule in known],
        "written": [format_si(schedule.hbm_write_bytes, "B", digits=3) for _, schedule in known],
        "cores": [
            str(schedule.on(one.placement.hardware).working_cores) for one, schedule in known
        ],
        "SBUF": [_of_sbuf(one, schedule) for one, schedule in known],
        "schedule bound": [
            "unknown" if one.estimate is None else format_time(one.estimate.schedule_bound_s)
            for one, _ in known
        ],
    }
    if single:
        del columns["config"]
    yield Table(
        columns=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        numeric=frozenset(range(len(columns) - len(engines) - 5, len(columns))),
        note="As the kernels declare their schedules: element-passes by engine, HBM bytes, the "
        "physical cores they run on, and the part of an SBUF partition they fill.",
    )


def _of_sbuf(one: Untimed, schedule: KernelSchedule) -> str:
    needed = schedule.sbuf_partition_bytes
    held = sbuf_partition_bytes(one.placement.hardware)
    return "unknown" if needed is None else format_percent(needed / held)


def untimed_json(one: Untimed) -> dict[str, Any]:
    """Return a variant without a time: counts, the lower bound, and the modelled time."""
    placement, found = one.placement, one.estimate
    return {
        "key": one.key,
        "variant": one.variant.name,
        "config": {"params": one.config.shape, "dtype": one.config.dtype},
        "launches": one.work.launches,
        "flop": placement.flops,
        "tensor_flop": placement.tensor_flops,
        "element_passes": placement.passes,
        "bytes": dict(placement.bytes),
        "lower_bound_s": placement.bound_s,
        "modelled": None if found is None else estimate_json(found),
        "declared_schedule": None
        if one.schedule is None
        else {
            "element_passes": dict(one.schedule.element_passes),
            "hbm_read_bytes": one.schedule.hbm_read_bytes,
            "hbm_write_bytes": one.schedule.hbm_write_bytes,
            "cores": one.schedule.cores,
            "sbuf_partition_bytes": one.schedule.sbuf_partition_bytes,
            "schedule_bound_s": None if found is None else found.schedule_bound_s,
        },
        "problem": one.problem,
    }


def estimate_json(found: Estimate) -> dict[str, Any]:
    """Return a modelled time with its range; times in s."""
    return {
        "time_s": found.time_s,
        "range_s": [found.low_s, found.high_s],
        "clock": found.clock,
        "bound": found.bound,
        "quality": found.quality,
        "notes": list(found.notes),
    }


def estimated_blocks(result: StudyResult) -> Iterator[Block]:
    """Yield the modelled time of the same work beside each time that has one; else nothing."""
    rows = [row for row in result.rows if row.key in result.estimates]
    if not rows:
        return
    found = [result.estimates[row.key] for row in rows]
    yield Heading(text="Modelled beside the time", short="Modelled")
    yield Table(
        columns=("of", "time", "modelled", "range", "time over modelled"),
        rows=tuple(
            (
                row_name(row, result),
                format_time(row.time_s),
                format_time(one.time_s),
                merged([format_time(one.low_s), format_time(one.high_s)]),
                f"{row.time_s / one.time_s:.3g}x",
            )
            for row, one in zip(rows, found, strict=True)
        ),
        numeric=frozenset({1, 2, 4}),
        note=_modelled_on(found),
    )


def _modelled_on(found: Sequence[Estimate]) -> str:
    clocks = ", ".join(dict.fromkeys(one.clock for one in found))
    notes = dict.fromkeys(note for one in found for note in one.notes)
    said = [f"Modelled on the clock {clocks}, and not measured", *notes]
    return "; ".join(said) + "."


def _dispatched(one: Untimed) -> str:
    moved = one.placement.bytes.get("dispatched")
    return "unknown" if moved is None else format_si(moved, "B", digits=3)


def _bound(one: Untimed) -> str:
    return "unknown" if one.placement.bound_s is None else format_time(one.placement.bound_s)


def _modelled(one: Untimed) -> tuple[str, str]:
    if one.estimate is None:
        return "unknown", "unknown"
    found = one.estimate
    return format_time(found.time_s), merged([format_time(found.low_s), format_time(found.high_s)])


def _shown(untimed: Sequence[Untimed]) -> Sequence[Untimed]:
    """Return all, or the last config of each variant and dtype."""
    if len(untimed) <= _MOST:
        return untimed
    return tuple({(one.variant.name, one.config.dtype): one for one in untimed}.values())


def _note(shown: Sequence[Untimed], untimed: Sequence[Untimed]) -> str:
    found = [one.estimate for one in shown if one.estimate is not None]
    clocks = ", ".join(dict.fromkeys(one.clock for one in found))
    said = ["No time of these was published"]
    if found:
        said.append(f"what stands here is modelled on the clock {clocks}, and not measured")
    if any(one.quality == "inferred" for one in found):
        said.append("no measured time of this chip stands behind the model's constants")
    if any(one.extrapolated for one in found):
        said.append("some sizes are outside the calibrated ones")
    cut = "" if len(shown) == len(untimed) else f" Shown: {len(shown)} of {len(untimed)}."
    return f"{'; '.join(said)}.{cut}"

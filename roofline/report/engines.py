"""Utilization and idle causes as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from roofline.analysis.timeline import KINDS
from roofline.report.bars import bar, spark, table
from roofline.units import format_percent, format_si, format_time

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["busy_text", "engines_text", "totals_text"]

_PS: Final = 1e12
_GROUPS_SHOWN: Final = 30

_SHORT: Final = {
    "compute": "compute",
    "weight_load": "weights",
    "dma_issue": "issue",
    "table_load": "tables",
    "control": "control",
}


def engines_text(use: xr.Dataset, idle: xr.Dataset | None, by: Sequence[str] = ()) -> str:
    """Return what ``roofline engines`` prints: at most 80 columns where names allow.

    ``use`` is a utilization, ``idle`` the idle causes of the same window (``None`` where the
    capture cannot tell), ``by`` the extra dimensions that were asked for.
    """
    lines = _head(use)
    if by:
        return "\n".join([*lines, *_groups(use, by)])
    cores = _working(use)
    for core in cores:
        if len(use.core) > 1:
            lines.append(f"core {core}")
        if "active_ps" in use:
            lines += ["", *_split(use.sel(core=core))]
        if idle is not None:
            lines += ["", *_waits(idle.sel(core=core))]
        if "dma_active_ps" in use:
            lines += ["", *_dma(use.sel(core=core))]
        if "bin" in use.dims:
            lines += ["", *_bins(use.sel(core=core))]
    quiet = [str(core) for core in use.core.values.tolist() if core not in cores]
    if quiet:
        lines += ["", f"without useful work in this window: core {', '.join(quiet)}"]
    if len(cores) > 1 and "active_any_core_ps" in use:
        lines += ["", "figures are per core; a summary that merges cores reads higher"]
    if "active_ps" in use and "ideal_ps" not in use:
        lines += ["", "percent of ideal: not known, no chip is named (--hardware NAME)"]
    if idle is None and "active_ps" in use:
        lines += ["", "causes of idle time: not known, this capture has no operands"]
    return "\n".join(lines)


def busy_text(busy: xr.Dataset) -> str:
    """Return counts and busy times of a capture too large to be looked into at once."""
    rows = []
    for core in busy.core.values.tolist():
        one = busy.sel(core=core)
        for at, engine in enumerate(one.engine.values.tolist()):
            if int(one.instructions[at]):
                rows.append(
                    [
                        engine,
                        str(core),
                        f"{int(one.instructions[at]):,}",
                        format_time(int(one.active_ps[at]) / _PS, digits=4),
                        format_si(int(one.hbm_bytes[at]), "B") if "hbm_bytes" in one else "",
                    ]
                )
    head = ["engine", "core", "instructions", "active", "HBM bytes"]
    return "\n".join(
        [
            f"{busy.attrs['capture']}  {busy.attrs['format']}",
            "a large capture: counted and merged as a whole; --window FROM..TO looks inside",
            "",
            *table(head, rows, left=2),
        ]
    )


def totals_text(use: xr.Dataset) -> str:
    """Return what a summary says of each engine, of DMA and of bytes; unknown is ``?``."""
    at = use.attrs
    what = [str(at["capture"]), str(at["format"])]
    if "hardware" in at:
        what.append(str(at["hardware"]))
    lines = [
        "  ".join(what),
        f"window {at['window']} {format_time(at['window_s'])} of {format_time(at['total_s'])}",
    ]
    if at["window_note"]:
        lines += wrap(str(at["window_note"]), 80)
    cores = at.get("cores")
    scope = "cores not known" if cores is None else "one core" if cores == 1 else f"{cores} cores"
    note = f"totals of a summary, {scope}"
    if cores != 1:
        note += ": times are a union over cores, which reads higher than each core"
    lines += wrap(note, 80)
    rows = []
    for index, engine in enumerate(use.engine.values.tolist()):
        share, time_s = float(use.active_share[index]), float(use.active_s[index])
        count = float(use.instructions[index])
        rows.append(
            [
                engine,
                bar(share, 8),
                _or_unknown(format_percent(share), share),
                _or_unknown(f"{time_s * 1e6:.2f}", time_s),
                _or_unknown(f"{count:.0f}", count),
            ]
        )
    lines += ["", *table(["µs", "active", "", "", "instructions"], rows, left=2)]
    share, time_s = float(use.dma_active_share), float(use.dma_active_s)
    active = _or_unknown(format_percent(share), share)
    size = float(use.bytes.sel(memory="dma"))
    rate = f" at {format_si(size / time_s, 'B/s')}" if size == size and time_s > 0 else ""
    lines += [
        "",
        f"dma     {bar(share, 8)}  {active}  {_time(time_s)}, {_size(size)}{rate}",
    ]
    classes = [
        f"{name} {_size(float(use.dma_class_bytes.sel(dma_class=name)))}"
        for name in use.dma_class.values.tolist()
        if float(use.dma_class_bytes.sel(dma_class=name)) > 0
    ]
    if classes:
        lines.append(f"        {', '.join(classes)}")
    for memory in ("hbm", "sbuf", "psum"):
        read, write = (float(use.bytes.sel(memory=f"{memory}_{way}")) for way in ("read", "write"))
        if read == read or write == write:
            lines.append(f"{memory:<7} read {_size(read)}, written {_size(write)}")
    lines += ["", "what engines did and waited for: not known, a summary has no events"]
    return "\n".join(lines)


def _or_unknown(text: str, value: float) -> str:
    return text if value == value else "?"


def _time(time_s: float) -> str:
    return format_time(time_s) if time_s == time_s else "? s"


def _size(size: float) -> str:
    return format_si(size, "B") if size == size else "? B"


def _head(use: xr.Dataset) -> list[str]:
    at = use.attrs
    what = [f"{at['capture']}", f"{at['format']}"]
    if "hardware" in at:
        what.append(str(at["hardware"]))
    length = format_time(at["window_ps"] / _PS)
    total = at.get("total_ps", at["start_up_ps"] + at["body_ps"] + at["tail_ps"])
    phases = ", ".join(
        f"{word} {format_time(at[name] / _PS)}"
        for word, name in (("start-up", "start_up_ps"), ("body", "body_ps"), ("tail", "tail_ps"))
    )
    lines = [
        "  ".join(what),
        f"window {at['window']} {length} of {format_time(total / _PS)} ({phases})",
    ]
    if at["window_note"]:
        lines += wrap(str(at["window_note"]), 80)
    if at["where"]:
        lines += wrap(f"where {at['where']}", 80)
    return lines


def _working(use: xr.Dataset) -> list[int]:
    """Return cores with more than control instructions or instruction fetches in the window."""
    found = []
    for core in use.core.values.tolist():
        one = use.sel(core=core)
        useful = 0
        if "active_ps" in use:
            useful += int(one.active_ps.sum()) - int(one.control_ps.sum())
        if "dma_class_bytes" in use:
            fetch = one.dma_class != "instruction"
            useful += int(one.dma_class_bytes.sum()) if fetch.all() else 0
            useful += int(one.dma_class_bytes[fetch.values].sum())
        elif "dma_bytes" in use:
            useful += int(one.dma_bytes.sum())
        if useful:
            found.append(core)
    return found or use.core.values.tolist()[:1]


def _whole(one: xr.Dataset, name: str) -> Any:
    """Return a variable of one core with its bins summed."""
    value = one[name]
    return value.sum("bin") if "bin" in value.dims else value


def _split(one: xr.Dataset) -> list[str]:
    window = one.attrs["window_ps"]
    active = _whole(one, "active_ps")
    covered = _whole(one, "ideal_covered_ps") if "ideal_covered_ps" in one else None
    ideal = _whole(one, "ideal_ps") if covered is not None else None
    head = ["µs", "active", "", "", *(_SHORT[kind] for kind in KINDS), "ideal"]
    rows = []
    for at, engine in enumerate(one.engine.values.tolist()):
        length = int(active[at])
        best = float("nan")
        if covered is not None and ideal is not None and int(covered[at]):
            best = int(ideal[at]) / int(covered[at])
        rows.append(
            [
                engine,
                bar(length / window, 8),
                format_percent(length / window),
                _us(length),
                *(_us(int(_whole(one, f"{kind}_ps")[at])) for kind in KINDS),
                format_percent(best) if best == best else "",
            ]
        )
    return table(head, rows, left=2)


def _us(ps: int) -> str:
    return f"{ps / 1e6:.2f}" if ps else "-"


def _waits(idle: xr.Dataset) -> list[str]:
    lines = ["idle, and the two causes that took most of it"]
    for at, engine in enumerate(idle.engine.values.tolist()):
        values = idle.idle_ps.values[at]
        whole = int(values.sum())
        if not whole:
            continue
        order = np.argsort(-values, kind="stable")[:2]
        causes = [
            f"{idle.cause.values[each]} {format_time(int(values[each]) / _PS)}"
            for each in order.tolist()
            if values[each]
        ]
        lines.append(f"{engine:<7} {_us(whole):>9}  {', '.join(causes)}")
    return lines


def _dma(one: xr.Dataset) -> list[str]:
    window = one.attrs["window_ps"]
    active, size = int(_whole(one, "dma_active_ps")), int(_whole(one, "dma_bytes"))
    rate = format_si(size / active * _PS, "B/s") if active else "unknown rate"
    moved = f"{format_time(active / _PS)}, {format_si(size, 'B')} at {rate}"
    lines = [f"dma     {bar(active / window, 8)}  {format_percent(active / window)}  {moved}"]
    if "exposed_dma_ps" in one:
        exposed = int(_whole(one, "exposed_dma_ps"))
        lines.append(
            f"        exposed (no engine computes): {format_time(exposed / _PS)}, "
            f"hidden: {format_time(int(_whole(one, 'hidden_dma_ps')) / _PS)}"
        )
    if "dma_class" in one.dims:
        parts = []
        for at, name in enumerate(one.dma_class.values.tolist()):
            size = int(_whole(one, "dma_class_bytes")[at])
            if size:
                parts.append(f"{name} {format_si(size, 'B')}")
        lines.append(f"        {', '.join(parts)}")
    if "dma_packet_size" in one:
        middle = float(one.dma_packet_size.sel(percentile=50))
        if middle == middle:
            lines.append(
                f"        median packet {format_si(middle, 'B')}, "
                f"up to {int(one.dma_greatest_depth)} packets in flight"
            )
    return lines


def _bins(one: xr.Dataset, width: int = 68) -> list[str]:
    length = format_time(float(one.bin_ps.mean()) / _PS)
    lines = [f"active share in {one.sizes['bin']} bins of about {length}"]
    rows = []
    if "active_share" in one:
        rows += [
            (str(engine), one.active_share.values[at])
            for at, engine in enumerate(one.engine.values.tolist())
        ]
    if "dma_active_share" in one:
        rows.append(("dma", one.dma_active_share.values))
    for begin in range(0, one.sizes["bin"], width):
        lines += [f"{name:<7} {spark(values[begin : begin + width])}" for name, values in rows]
        if begin + width < one.sizes["bin"]:
            lines.append("")
    return lines


def _groups(use: xr.Dataset, by: Sequence[str]) -> list[str]:
    """Return the largest groups, by active time."""
    lines: list[str] = []
    for name, prefix in (("active_ps", ""), ("dma_active_ps", "dma_")):
        if name not in use or not set(by) <= set(use[name].dims):
            continue
        value = _whole(use, name)
        dims = [dim for dim in value.dims if dim != "core" or use.sizes["core"] > 1]
        value = value if "core" in dims else value.isel(core=0)
        count = _whole(use, "instructions" if not prefix else "dma_packets")
        count = count if "core" in dims else count.isel(core=0)
        flat = value.values.reshape(-1)
        order = [at for at in np.argsort(-flat, kind="stable").tolist() if flat[at]]
        rows = []
        for at in order[:_GROUPS_SHOWN]:
            place = np.unravel_index(at, value.shape)
            labels = [str(use[dim].values[i]) for dim, i in zip(value.dims, place, strict=True)]
            share = int(flat[at]) / use.attrs["window_ps"]
            rows.append(
                [
                    *labels,
                    _us(int(flat[at])),
                    format_percent(share),
                    bar(share, 12),
                    str(int(count.values[place])),
                ]
            )
        unit = "packets" if prefix else "count"
        lines += [
            "",
            *table([*map(str, value.dims), "active µs", "", "", unit], rows, left=len(value.dims)),
        ]
        if len(order) > _GROUPS_SHOWN:
            lines.append(f"and {len(order) - _GROUPS_SHOWN} more; --csv or --json print all")
    return lines

"""``roofline count``: FLOP, bytes and element-passes of a torch function."""

from __future__ import annotations

from typing import Any

import click

from roofline.cli.once import Command
from roofline.cli.terminal import echo, echo_json
from roofline.units import format_count, format_si
from roofline.work.summary import GROUPINGS, rows_of, work_to_dict
from roofline.work.work import MODES, Work


@click.command(
    "count", cls=Command, short_help="Count FLOPs, passes and bytes of a torch function."
)
@click.argument("target", metavar="MODULE:FUNCTION")
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="An operand (x=4x512:bf16, eps=scalar:fp32@cpu) or a value (eps=1e-6). Repeatable.",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="eager",
    show_default=True,
    help="How operators become launches.",
)
@click.option(
    "--by",
    type=click.Choice(GROUPINGS),
    default="op",
    show_default=True,
    help="What one line of the table is.",
)
@click.option(
    "--causal",
    type=click.Choice(["full", "half"]),
    default="full",
    show_default=True,
    help="Count causal attention in full, or the half that is needed.",
)
@click.option("--strict", is_flag=True, help="Fail on an operator without a formula.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    target: str,
    arguments: tuple[str, ...],
    mode: str,
    by: str,
    causal: str,
    strict: bool,
    as_json: bool,
) -> None:
    """Count what MODULE:FUNCTION (or FILE.py:FUNCTION) does, without data or memory.

    The module is imported, so its code runs. Operands live on torch's meta device.

    \b
    Example:
      roofline count model.py:rmsnorm --arg x=4x512:bf16 --arg w=512:bf16
    """
    from roofline.work.callables import count_callable

    work = count_callable(target, arguments, mode=mode, strict=strict, causal=causal)
    if as_json:
        echo_json(work_to_dict(work, by))
    else:
        echo("\n".join(_lines(work, by)))


def _lines(work: Work, by: str) -> list[str]:
    flops = ", ".join(f"{key} {value:,}" for key, value in work.flops.items())
    read, written = work.minimal_read_bytes, work.minimal_write_bytes
    minimal = f"{work.minimal_bytes:,}  (read {read:,}, written {written:,})"
    once = f"an operand given twice read once: {work.dispatched_aliased_bytes:,}"
    dispatched = f"{work.dispatched_bytes:,}  ({once})"
    lines = [
        f"{work.name}  mode {work.mode}, {work.dtype}, launches {work.launches}",
        f"  FLOP             {work.total_flops:,}" + (f"  ({flops})" if flops else ""),
        f"  bytes minimal    {minimal}  {_intensity(work, work.minimal_bytes)}",
        f"  bytes dispatched {dispatched}  {_intensity(work, work.dispatched_bytes)}",
        f"  element-passes   {work.element_passes:,}  (least: {work.element_passes_minimal:,})",
    ]
    if work.host_copy_bytes:
        lines.append(f"  host copies      {work.host_copy_bytes:,} B of scalars on the CPU")
    if work.partial:
        lines.append(f"  PARTIAL: no formula for {', '.join(work.unknown_ops)}")
    lines += ["", *_table(rows_of(work, by), by)]
    lines += ["", "conventions: " + "; ".join(work.conventions)]
    return lines


def _intensity(work: Work, size: int) -> str:
    return f"{work.total_flops / size:.3f} FLOP/B" if size else "no bytes"


def _table(rows: list[dict[str, Any]], by: str) -> list[str]:
    heads = [by, "calls", "FLOP", *([] if by == "class" else ["passes", "read", "written"])]
    body = [
        [
            (row["name"] or "(all)") + ("" if row.get("known", True) else "  no formula"),
            str(row["calls"]),
            format_count(row["flops"]) if row.get("known", True) else "unknown",
            *(
                []
                if by == "class"
                else [
                    format_count(row["element_passes"]),
                    format_si(row["read_bytes"], "B"),
                    format_si(row["write_bytes"], "B"),
                ]
            ),
        ]
        for row in rows
    ]
    widths = [max(len(line[i]) for line in [heads, *body]) for i in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [heads, *body]
    ]

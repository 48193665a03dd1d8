"""A result as a small HTML table, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from roofline.study.rows import Row
from roofline.units import format_number, format_percent, format_time

__all__ = ["rows_html"]

_MOST = 50
_HEAD = ("variant", "time", "clock", "verdict", "of bound", "headroom")


def rows_html(title: str, hardware: str, rows: Sequence[Row]) -> str:
    """Return a table of at most ``_MOST`` rows with everything in it escaped."""
    lines = [f"<p><strong>{escape(title)}</strong> on {escape(hardware)}</p>", "<table><thead><tr>"]
    lines += [f"<th>{name}</th>" for name in (*_HEAD, "0 to 100 % of bound")]
    lines.append("</tr></thead><tbody>")
    for row in rows[:_MOST]:
        share, headroom = row.placement.bound_fraction, row.placement.headroom
        cells = (
            row.key,
            format_time(row.time_s),
            row.placement.clock,
            row.verdict.label + (" (weak)" if row.verdict.weak else ""),
            format_percent(share, digits=3),
            f"{format_number(headroom)}{'' if headroom is None else 'x'}",
        )
        body = "".join(f"<td>{escape(cell)}</td>" for cell in cells) + f"<td>{_bar(share)}</td>"
        lines.append(f'<tr title="{escape(row.verdict.explanation)}">{body}</tr>')
    lines.append("</tbody></table>")
    if len(rows) > _MOST:
        lines.append(f"<p>and {len(rows) - _MOST:,} more</p>")
    return "".join(lines)


def _bar(share: float | None) -> str:
    """Return a bar of a share of 1, the whole of it outlined; nothing where it is not known."""
    if share is None:
        return ""
    return (
        '<div style="width:10em;height:.7em;border:1px solid currentColor">'
        f'<div style="width:{min(share, 1.0) * 100:.1f}%;height:100%;background:currentColor">'
        "</div></div>"
    )

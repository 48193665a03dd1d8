"""One question, one answer: utilization and idle causes of the same window, for a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.analysis.busy import engine_busy
from roofline.analysis.idle import idle_causes
from roofline.analysis.narrow import LARGE_ROWS, narrow, rows_of
from roofline.analysis.summary_use import summary_use
from roofline.analysis.utilization import utilization
from roofline.analysis.window import WINDOWS, window_ns
from roofline.captures.capture import Capture
from roofline.errors import MissingTableError, QueryError
from roofline.hardware.model import Hardware

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["EngineView", "engine_view"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineView:
    """A utilization and, where the whole of the window was asked for, its idle causes.

    ``by`` are the dimensions beside engine and core, ``dims`` those of the main variables.
    ``brief`` marks counts and busy times alone, of a capture too large for more in one go;
    ``totals`` what a summary says, where a capture has no events.
    """

    use: xr.Dataset
    idle: xr.Dataset | None
    by: tuple[str, ...] = ()
    brief: bool = False
    totals: bool = False

    @property
    def dims(self) -> tuple[str, ...]:
        """Dims of active time, or of DMA's where only packets were asked for."""
        name = next(n for n in ("active_ps", "active_s", "dma_active_ps") if n in self.use)
        return tuple(map(str, self.use[name].dims))


def engine_view(
    capture: Capture,
    *,
    window: str = "body",
    by: Sequence[str] = (),
    where: str | None = None,
    bins: int | None = None,
    hardware: Hardware | None = None,
) -> EngineView:
    """Return utilization and idle causes of a capture; see ``utilization`` and ``idle_causes``.

    Idle causes are left out where a filter, a grouping or missing operands leave nothing to say.
    A capture without events gives the totals of its summary (``summary_use``). One of more than
    ``LARGE_ROWS`` instructions is counted and merged in one pass over its file (``engine_busy``);
    a window of it is looked into like any other capture.
    """
    if not (capture.has("instructions") or capture.has("dma")) and capture.summary:
        if by or where is not None or bins is not None:
            raise QueryError(
                f"{capture.path}: totals only; --by, --where and --bins need a capture with events"
            )
        return EngineView(use=summary_use(capture, window), idle=None, totals=True)
    if capture.has("instructions") and rows_of(capture, "instructions") > LARGE_ROWS:
        if window in WINDOWS and not by and where is None and bins is None:
            return EngineView(use=engine_busy(capture), idle=None, brief=True)
        if window not in WINDOWS:
            begin, end = window_ns(window)
            capture = narrow(capture, begin, end)
    extra = tuple(name for name in by if name not in ("engine", "core"))
    use = utilization(
        capture, window=window, by=("engine", *extra), where=where, bins=bins, hardware=hardware
    )
    idle: Any = None
    if not extra and where is None:
        try:
            idle = idle_causes(capture, window)
        except MissingTableError:
            idle = None
    return EngineView(use=use, idle=idle, by=extra)

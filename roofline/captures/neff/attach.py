"""Add what a compiled program tells to the capture of a raw trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.capture import Capture, Overview
from roofline.captures.neff.capture import neff_metadata
from roofline.captures.neff.join import check_pair
from roofline.captures.neff.joined import Joined
from roofline.captures.neff.program import Neff, open_neff
from roofline.captures.neff.tables import ProgramTables
from roofline.captures.neff.tensors import tensor_table
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.summary import summarize
from roofline.captures.ntff.trace import open_trace
from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["attach_neff"]


def attach_neff(capture: Capture, neff: Neff | Path | str) -> Capture:
    """Return the capture of a raw trace with what its program adds; ``quality`` lists it.

    Raises ``CaptureError`` when the capture is no raw trace, or the NEFF is not its program.
    """
    if capture.format != "ntff":
        raise CaptureError(
            f"{capture.path}: a program is joined to a raw trace (.ntff), not to {capture.format}"
        )
    program = neff if isinstance(neff, Neff) else open_neff(Path(neff))
    trace = open_trace(capture.path, capture.compat)
    found = check_pair(program, trace.program, str(capture.path))
    decoded = Decoded(trace)
    joined = Joined(decoded=decoded, neff=program, match=found)
    tables = ProgramTables(decoded, joined)
    sources: dict[str, Callable[[Sequence[str] | None], pa.Table]] = {
        name: partial(tables.build, name) for name in capture.sources
    }
    sources["tensors"] = partial(_projected, partial(tensor_table, program))
    sources["transfers"] = partial(_projected, joined.dma.transfer_table)
    return Capture(
        path=capture.path,
        format=capture.format,
        compat=capture.compat,
        metadata=_metadata(capture.metadata, program),
        sources=sources,
        summary_source=lambda: summarize(decoded, joined.summary()),
        quality_source=joined.quality,
        overview_source=partial(_overview, capture, joined),
    )


def _overview(capture: Capture, joined: Joined) -> Overview | None:
    """Return the trace's overview; what the program adds is listed as far as its files tell."""
    given = capture.overview_source()
    if given is None:
        return None
    issues = [issue for issue in given.issues if issue.id not in ("no-program", "program-joined")]
    return dataclasses.replace(given, issues=(*issues, joined.added(joined.static_additions())))


def _projected(make: Callable[[], pa.Table], wanted: Sequence[str] | None) -> pa.Table:
    table = make()
    return table if wanted is None else table.select([n for n in wanted if n in table.column_names])


def _metadata(given: Mapping[str, Any], neff: Neff) -> Mapping[str, Any]:
    """Return metadata with the program's; names that may be paths of other machines stay out."""
    versions = dict(given.get("versions", {}))
    if neff.compiler_version:
        versions["compiler"] = neff.compiler_version
    absent = {
        name: why
        for name, why in dict(given.get("summary_absent", {})).items()
        if name not in _SETTLED
    }
    return {**given, "versions": versions, "summary_absent": absent, "neff": neff_metadata(neff)}


_SETTLED: Final = frozenset(
    {
        "compiler_version",
        "inputs_and_weights_size_bytes",
        "mbu_min_read_util_percent",
        "hbm_read_bytes",
        "hbm_write_bytes",
        "sbuf_read_bytes",
        "sbuf_write_bytes",
        "mbu_estimated_percent",
        "spill_reload_bytes",
        "spill_save_bytes",
        "transpose_flops",
        "mm_arithmetic_intensity",
        "mfu_inst_estimated_percent",
        "mfu_inst_max_achievable_estimated_percent",
    }
)
"""Summary fields that a program can settle."""

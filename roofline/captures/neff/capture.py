"""A NEFF on its own as a ``Capture``: what was compiled, not what happened."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.captures.capture import Capture, Issue
from roofline.captures.neff.program import Neff, open_neff
from roofline.captures.neff.tensors import list_tensors, sizes, tensor_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["neff_metadata", "open_program"]


def open_program(path: Path, compat: str | None = None) -> Capture:
    """Open a NEFF; raises ``CaptureError`` if it is damaged or hostile."""
    neff = open_neff(path)
    hardware = neff.hardware
    known = {
        "uuid": neff.header.uuid.hex(),
        "lnc": neff.header.cores_per_lnc or None,
        "cores": len(neff.subgraphs),
        "hardware": hardware[0] if len(hardware) == 1 else None,
        "versions": {"compiler": neff.compiler_version} if neff.compiler_version else None,
        "neff": neff_metadata(neff),
    }
    return Capture(
        path=path,
        format="neff",
        compat=compat,
        metadata={key: value for key, value in known.items() if value is not None},
        sources={"tensors": partial(_tensors, neff)},
        summary_source=lambda: sizes(list_tensors(neff)),
        quality_source=lambda: (_NO_TIMES,),
    )


def neff_metadata(neff: Neff) -> dict[str, object]:
    """Return what a header tells; names that may be paths of other machines stay out."""
    header = neff.header
    return {
        "file": neff.path.name,
        "uuid": header.uuid.hex(),
        "hash": header.hash,
        "version": f"{header.version[0]}.{header.version[1]}",
        "features": header.features,
        "cores_per_lnc": header.cores_per_lnc,
        "target": str(neff.kelf.get("target") or ""),
    }


_NO_TIMES = Issue(
    id="no-trace",
    severity="missing",
    what="a program without a trace: record one with "
    "neuron-explorer capture -n FILE.neff -s FILE.ntff --num-exec 2 --profile-nth-exec 2",
)


def _tensors(neff: Neff, wanted: Sequence[str] | None) -> pa.Table:
    table = tensor_table(neff)
    return table if wanted is None else table.select([n for n in wanted if n in table.column_names])

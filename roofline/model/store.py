"""Run a sweep larger than memory: block by block into a Zarr store, and on after a stop."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.decoding import decoding
from roofline.errors import OptionalDependencyError, QueryError
from roofline.model.stored_check import fault_of_files
from roofline.model.sweep import Plan, dataset

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["fingerprint", "store"]

_DONE: Final = "roofline-blocks-done"
_AXES: Final = ("hardware", "dtype", "variant")

Block = tuple[slice, ...]


def store(
    ready: Plan,
    path: str | Path,
    *,
    chunks: Mapping[str, int] | str = "auto",
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Compute a sweep into the Zarr store ``path``, and return it opened (lazy).

    Blocks of ``chunks`` are computed and written one by one; a store of the same sweep that was
    interrupted goes on where it stopped. ``scheduler`` is the address of a dask cluster whose
    workers see the same path. ``progress(done, total)`` is called after every block. Raises
    ``QueryError`` when the path holds anything else.
    """
    try:
        import zarr  # noqa: F401
    except ImportError as error:
        raise OptionalDependencyError(
            'a Zarr store needs zarr and dask: pip install "roofline[distributed]"'
        ) from error
    import xarray as xr

    path = Path(path)
    lazy = dataset(ready, chunks=chunks)
    mark = fingerprint(ready, lazy)
    if path.is_file() or (path.exists() and any(path.iterdir())):
        _same_sweep(path, mark)
    else:
        lazy.attrs["fingerprint"] = mark
        lazy.to_zarr(path, mode="w", compute=False, zarr_format=2, consolidated=True)
        (path / _DONE).write_text(f"{mark}\n")
    blocks = list(_blocks(lazy))
    done = _done(path, len(blocks))
    left = [number for number in range(len(blocks)) if number not in done]
    finished = len(done)
    with (path / _DONE).open("a") as log:
        for number in _written(ready, path, blocks, left, scheduler):
            log.write(f"{number}\n")
            log.flush()
            finished += 1
            if progress is not None:
                progress(finished, len(blocks))
    with decoding(path, "the store"):
        opened: xr.Dataset = xr.open_zarr(path, chunks={}, zarr_format=2)
    return opened


def fingerprint(ready: Plan, lazy: xr.Dataset) -> str:
    """Return a digest of everything that decides the values of a sweep and its blocks."""
    digest = hashlib.sha256()
    for piece in (
        *(ready.source.name, ready.hardware, ready.dtype, ready.variant, ready.variables),
        *(condition.text for condition in ready.conditions),
        *sorted((key, repr(found)) for key, found in ready.combinations.items()),
        *((name, sizes.tobytes()) for name, sizes in ready.sizes.items()),
        *sorted((str(dim), sizes) for dim, sizes in lazy.chunksizes.items()),
    ):
        digest.update(repr(piece).encode())
    return digest.hexdigest()[:16]


def _done(path: Path, blocks: int) -> set[int]:
    """Return the numbers of the blocks that the log says are written."""
    lines = [line for line in (path / _DONE).read_text().split("\n")[1:] if line.strip()]
    wrong = next(
        (one for one in lines if not (one.isascii() and one.isdigit() and int(one) < blocks)), None
    )
    if wrong is not None:
        raise QueryError(
            f"{path / _DONE}: {wrong[:40]!r} is none of {blocks} blocks; delete {path}"
        )
    return set(map(int, lines))


def _same_sweep(path: Path, mark: str) -> None:
    if fault := fault_of_files(path, store=True):
        raise QueryError(f"{path}: the result of a sweep {fault}")
    log = path / _DONE
    if not log.is_file():
        raise QueryError(f"{path} exists and is no store of a sweep; give another path")
    found = log.read_text().partition("\n")[0]
    if found != mark:
        raise QueryError(f"{path} holds another sweep ({found}, not {mark}); give another path")


def _blocks(lazy: xr.Dataset) -> Iterator[Block]:
    first = next(iter(lazy.data_vars.values()))
    edges = []
    for sizes in first.data.chunks:
        starts = [0, *itertools.accumulate(sizes)]
        edges.append([slice(a, b) for a, b in itertools.pairwise(starts)])
    yield from itertools.product(*edges)


def _written(
    ready: Plan, path: Path, blocks: list[Block], left: list[int], scheduler: str | None
) -> Iterator[int]:
    """Yield the number of each block once it is on disk."""
    if scheduler is None:
        for number in left:
            _write(ready, str(path), blocks[number])
            yield number
        return
    try:
        import distributed
    except ImportError as error:
        raise OptionalDependencyError(
            'a cluster needs distributed: pip install "roofline[distributed]"'
        ) from error
    gathered: Any = distributed.as_completed
    connect: Any = distributed.Client
    try:
        joined = connect(scheduler)
    except (ValueError, TypeError, OSError) as error:
        said = " ".join(str(error).split())
        raise QueryError(
            f"scheduler {scheduler!r}: {said}; allowed: an address as tcp://host:8786"
        ) from error
    with joined as client:
        plan_there = client.scatter(ready, broadcast=True)
        waiting = {
            client.submit(_write, plan_there, str(path), blocks[number], pure=False): number
            for number in left
        }
        for future in gathered(list(waiting)):
            future.result()
            yield waiting[future]


def _write(ready: Plan, path: str, block: Block) -> None:
    import numpy as np
    import zarr

    axes = [
        np.arange(length)[window] for length, window in zip(ready.shape[:3], block, strict=False)
    ]
    sizes = [array[window] for array, window in zip(ready.sizes.values(), block[3:], strict=True)]
    arrays = ready.run(*axes, *sizes)
    with decoding(Path(path), "the store"):
        group: Any = zarr.open_group(path, mode="r+")
        for name, array in zip(ready.variables, arrays, strict=True):
            group[name][block] = array

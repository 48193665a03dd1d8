"""Work out of captures: bytes that counters saw, and what the instructions executed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from roofline.engines import ELEMENT_ENGINES
from roofline.errors import MissingTableError, WorkError
from roofline.work.work import OpCount, Work

if TYPE_CHECKING:
    from roofline.captures.capture import Capture

__all__ = [
    "executed_work",
    "measured_bytes",
    "minimal_bytes_of_tensors",
    "tensor_flops",
    "with_measured",
]


def measured_bytes(capture: Capture) -> tuple[int, int] | None:
    """Return bytes read from and written to HBM, from the summary or else from the DMA packets.

    ``None`` where neither is known: packets between unknown memories do not count as HBM.
    """
    summary = capture.summary
    read, write = summary.get("hbm_read_bytes"), summary.get("hbm_write_bytes")
    if read is not None and write is not None:
        return int(read), int(write)
    if not capture.has("dma"):
        return None
    import pyarrow.compute as pc

    try:
        dma = capture.table("dma", ["source_memory", "dest_memory", "read_bytes", "write_bytes"])
    except MissingTableError:
        return None
    totals = []
    for memory, size in (("source_memory", "read_bytes"), ("dest_memory", "write_bytes")):
        rows = dma.filter(pc.equal(dma[memory].cast("string"), "hbm"))
        totals.append(pc.sum(rows[size]).as_py() or 0)
    return (int(totals[0]), int(totals[1])) if any(totals) else None


def with_measured(work: Work, capture: Capture) -> Work:
    """Return ``work`` with the bytes the capture measured; unchanged where it measured none.

    ``work.reload_factor`` then says how often the minimum was read, ``excess_write_bytes`` what
    was written beyond the results.
    """
    found = measured_bytes(capture)
    if found is None:
        return work
    return replace(work, measured_read_bytes=found[0], measured_write_bytes=found[1])


def executed_work(capture: Capture) -> Work:
    """Return what the instructions of a capture executed, by engine and dtype.

    Executed is not algorithmic: padding and transposes count, and a product that the compiler
    left out does not. Raises ``MissingTableError`` without an instruction table and ``WorkError``
    without the columns that tell work.
    """
    table = capture.table("instructions")
    wanted = ("raw_flops", "element_passes", "elementwise_ops", "reduction_ops", "special_ops")
    held = [name for name in wanted if name in table.column_names]
    if not held or "engine" not in table.column_names:
        raise WorkError(f"{capture.path}: its instructions do not tell FLOP or element-passes")
    keys = [name for name in ("engine", "opcode", "dtype_in") if name in table.column_names]
    text = table.select([*keys, *held])
    for index, key in enumerate(keys):
        text = text.set_column(index, key, text[key].cast("string"))
    groups = text.group_by(keys).aggregate([(name, "sum") for name in held] + [(held[0], "count")])
    ops = [op for row in groups.to_pylist() if (op := _executed(row)) is not None]
    measured = measured_bytes(capture) or (None, None)
    dtypes: dict[str, int] = {}
    for op in ops:
        for dtype, flops in op.tensor_flops.items():
            dtypes[dtype] = dtypes.get(dtype, 0) + flops
    main = max(dtypes, key=dtypes.__getitem__, default="unknown")
    return Work(
        name=capture.path.stem,
        mode="executed",
        dtype=main,
        ops=tuple(ops),
        element_passes_minimal=sum(op.element_passes for op in ops),
        measured_read_bytes=measured[0],
        measured_write_bytes=measured[1],
        conventions=(
            "FLOP and element-passes of the executed instructions, padding and transposes included",
        ),
    )


def _executed(row: dict[str, Any]) -> OpCount | None:
    flops = {
        name: int(row[column])
        for name, column in (
            ("matmul", "raw_flops_sum"),
            ("elementwise", "elementwise_ops_sum"),
            ("reduction", "reduction_ops_sum"),
            ("special", "special_ops_sum"),
        )
        if row.get(column)
    }
    passes = int(row.get("element_passes_sum") or 0)
    if not flops and not passes:
        return None
    engine = str(row["engine"])
    dtype = str(row.get("dtype_in") or "unknown")
    return OpCount(
        name=str(row.get("opcode") or engine),
        flops=flops,
        tensor_flops={dtype: flops["matmul"]} if "matmul" in flops else {},
        element_passes=passes,
        engines=(engine,) if engine in ELEMENT_ENGINES else (),
        usual_engine=engine if engine in ELEMENT_ENGINES else "",
        family="executed",
    )


def tensor_flops(capture: Capture) -> tuple[int | None, int | None]:
    """Return the Tensor FLOP of products and those of transposes; ``None`` where not known.

    From the instructions where there are any, as ``executed_work`` counts them: an fp32 product
    that takes two instructions counts once, which summaries of the vendor count twice. A trace
    that does not mark transposes has them among the products.
    """
    names = ["raw_flops", "tensor_instruction_type"]
    held = capture.table("instructions").column_names if capture.has("instructions") else ()
    if "raw_flops" not in held:
        whole, turned = (
            _count(capture.summary.get(name)) for name in ("hardware_flops", "transpose_flops")
        )
        return None if whole is None else whole - (turned or 0), turned
    import pyarrow.compute as pc

    table = capture.table("instructions", [name for name in names if name in held])
    multiplies = table.filter(pc.greater(table["raw_flops"], 0))
    whole = int(pc.sum(multiplies["raw_flops"]).as_py() or 0)
    if names[1] not in held or multiplies[names[1]].null_count:
        return whole, None
    kinds = multiplies[names[1]].cast("string")
    turned = int(pc.sum(multiplies.filter(pc.equal(kinds, "TRANSPOSE"))["raw_flops"]).as_py() or 0)
    return whole - turned, turned


def _count(value: Any) -> int | None:
    return None if value is None or value != value else int(value)


def minimal_bytes_of_tensors(capture: Capture) -> tuple[int, int]:
    """Return bytes of inputs and weights, and of outputs, each once.

    From the tensor table, else from the sizes in the summary; where it tells them only together,
    all of them stand as read. Raises ``MissingTableError`` where neither is there, ``WorkError``
    for a tensor without a size.
    """
    if not capture.has("tensors"):
        whole, inputs = (
            _count(capture.summary.get(f"{name}_weights_size_bytes"))
            for name in ("inputs_outputs", "inputs_and")
        )
        if whole:
            read = whole if inputs is None else min(inputs, whole)
            return read, whole - read
    rows = capture.table("tensors", ["type", "size"]).to_pylist()
    read = write = 0
    for row in rows:
        kind, size = str(row["type"] or "").lower(), row["size"]
        if not any(word in kind for word in ("in", "weight", "out")):
            continue
        if size is None:
            raise WorkError(f"{capture.path}: a tensor of type {row['type']!r} has no size")
        if kind.startswith("out"):
            write += int(size)
        else:
            read += int(size)
    return read, write

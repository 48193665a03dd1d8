"""Read the shapes people write beside a measured time, and turn them into a work.

Three spellings are understood: operands (``x[2048,512] w[512] -> y[2048,512]:fp32``), plain
shapes (``2048x512``, ``4096x8192 @ 8192x8192``) and named sizes (``M=4096 K=512 N=2048``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from roofline.dtypes import dtype_key
from roofline.errors import WorkError
from roofline.model.arguments import call_arguments
from roofline.model.names import resolve_op
from roofline.model.streams import at_most, moved, streamed, windowed
from roofline.work.closed_form import Builder, Value, closed_form, family
from roofline.work.formulas.attention import causal_convention
from roofline.work.specs import TensorSpec
from roofline.work.work import Work

__all__ = ["Said", "Shapes", "parse_shapes", "work_from"]

_OPERAND: Final = re.compile(r"(?:[A-Za-z_]\w*)?\[([\d,*x×\s]*)\](?:\s*[:@]\s*([A-Za-z]\w*))?")
_BYTES: Final = re.compile(r"\d\s*([KMGT]i?)?B\b")
_NAMED: Final = re.compile(r"\b([A-Za-z]\w*?)\s*=?\s*(\d+)(?![\w.]*[x×\d])")
_SHAPE: Final = r"\d+(?:\s*[x×*]\s*\d+)*"
_TWO: Final = r"\d+(?:\s*[x×*]\s*\d+)+"  # numbers between commas are not said to be sizes
_PLAIN: Final = re.compile(rf"{_SHAPE}|{_TWO}(?:\s*(?:@|;|,|and)\s*{_TWO})+")
_TUPLE: Final = re.compile(r"\(\s*\d+(?:\s*,\s*\d+)*\s*,?\s*\)")
_ARROW: Final = re.compile(r"→|=>|⇒")
_LIMIT: Final = 2**62

_SYNONYMS: Final = {
    "rows": ("rows", "m", "batch", "tokens", "r"),
    "cols": ("cols", "n_cols", "n", "columns", "hidden", "d", "k"),
    "n": ("n", "size", "numel"),
    "m": ("m", "rows"),
    "k": ("k",),
    "seq": ("seq", "s", "seqlen", "seq_len"),
    "head_dim": ("head_dim", "d_head", "d", "dim"),
    "heads": ("heads", "h"),
    "batch": ("batch", "b"),
    "keys": ("keys", "seq_k", "s_k"),
}
"""Size of a closed form -> names people use for it."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """What a shape text says: operands (inputs, outputs) and named sizes."""

    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    sizes: Mapping[str, int] | None = None


def parse_shapes(text: str, dtype: str) -> Shapes:
    """Return the operands and named sizes of a shape text; ``dtype`` is theirs unless they say.

    Raises ``WorkError`` for a text in none of the spellings, and for sizes under 1 or absurd ones.
    """
    before, arrow, after = _ARROW.sub("->", text).partition("->")
    if _OPERAND.search(text):
        found = Shapes(_specs(before, dtype), _specs(after, dtype) if arrow else ())
        amounts = _BYTES.search(_OPERAND.sub(" ", text))
    else:
        sizes = {name.lower(): int(value) for name, value in _NAMED.findall(text)}
        # "1 head" names a count after its number
        plain = [] if sizes else _plain(text.strip())
        found = Shapes(tuple(TensorSpec(shape, dtype) for shape in plain), (), sizes)
        amounts = _BYTES.search(text)
    if not (found.inputs or found.outputs or found.sizes) or amounts:
        raise WorkError(
            f"no shape in {text!r}; write x[2048,512] -> y[2048,512], 2048x512 or M=4096 K=512"
        )
    for size in (
        *(size for spec in (*found.inputs, *found.outputs) for size in spec.shape),
        *(found.sizes or {}).values(),
    ):
        if not 1 <= size < _LIMIT:
            raise WorkError(f"a size must be at least 1 and below 2^62, not {size} ({text!r})")
    return found


def _plain(text: str) -> list[tuple[int, ...]]:
    """Return the shapes of a text that is nothing but shapes."""
    if _TUPLE.fullmatch(text):
        return [_dims(text)]
    if _PLAIN.fullmatch(text):
        return [_dims(match) for match in re.findall(_SHAPE, text)]
    return []


def _specs(text: str, dtype: str) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(
            tuple(math.prod(_dims(size)) for size in sizes.split(",") if sizes.strip()),
            dtype_key(own) if own else dtype,
        )
        for sizes, own in _OPERAND.findall(text)
    )


def _dims(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\d+", text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a row says beside its shape: FLOP, minimal bytes (B), words such as ``causal``."""

    flops: float | None = None
    bytes: float | None = None
    words: str = ""

    @property
    def causal(self) -> bool:
        """Whether scores above the diagonal are masked."""
        return bool(re.search(r"causal(?!\s*=\s*(false|0|no))", self.words.lower()))


def work_from(op: str, shapes: Shapes, dtype: str, *, said: Said | None = None) -> Work:
    """Return the work of a named operator on shapes.

    Named chains (``matmul+gelu``, ``add_rmsnorm_matmul``) are one fused region. A name that means
    no operator counts as a stream of its operands and is marked partial. ``said`` fills in what
    the shapes leave open; its bytes bring the minimal ones down, never up.
    """
    said = said or Said()
    said = replace(said, words=f"{op} {said.words}")
    with causal_convention("half"):
        work = _work(op, shapes, dtype, said)
    if shapes.outputs:  # nothing needs an operand more than once
        work = at_most(work, sum(spec.bytes for spec in (*shapes.inputs, *shapes.outputs)))
    return at_most(work, said.bytes)


def _work(op: str, shapes: Shapes, dtype: str, said: Said) -> Work:
    chain = _chain(op)
    if len(chain) > 1 and shapes.sizes:
        return _chained(op, chain, dict(shapes.sizes), dtype)
    if shapes.outputs or len(shapes.inputs) > 1:
        return _from_operands(op, shapes, dtype, said)
    entry = _closed(op)
    if entry is None:
        return _from_operands(op, shapes, dtype, said)
    return closed_form(entry, dtype=dtype, variant="fused", **_sizes(entry, shapes))


def _closed(op: str) -> str | None:
    name = op.strip().lower()
    for word in (name, *re.split(r"[_\W]+", name)):
        try:
            return family(word).name
        except WorkError:
            continue
    return None


def _sizes(entry: str, shapes: Shapes) -> dict[str, int]:
    given = dict(shapes.sizes or {})
    wanted = family(entry).sizes
    if shapes.inputs:
        shape = shapes.inputs[0].shape
        given = {"rows": math.prod(shape[:-1]), "cols": shape[-1], "n": math.prod(shape)}
    found: dict[str, int] = {}
    for name in wanted:
        for synonym in _SYNONYMS.get(name, (name,)):
            if synonym in given:
                found[name] = given[synonym]
                break
    if wanted == ("n",) and not {"n", "size", "numel"} & set(given):
        found = {"n": math.prod(given.values())}
    elif wanted == ("n",) and {"m", "n"} <= set(given):
        found = {"n": given["m"] * given["n"]}
    return found


def _from_operands(op: str, shapes: Shapes, dtype: str, said: Said) -> Work:
    key = resolve_op(op)
    inputs, outputs = shapes.inputs, shapes.outputs
    if not inputs and not outputs:
        raise WorkError(f"{op!r}: sizes {dict(shapes.sizes or {})} do not say its operands")
    if key is not None:
        try:
            return _known(op, key, shapes, dtype, said)
        except (WorkError, IndexError, ValueError, TypeError, ZeroDivisionError):
            pass  # the operator takes other operands than were written: count it as a stream
    return streamed(op, inputs, outputs, dtype, flops=said.flops)


def _known(op: str, key: str, shapes: Shapes, dtype: str, said: Said) -> Work:
    """Return the work of a registered operator; raises where the operands are not its own."""
    inputs, outputs = shapes.inputs, shapes.outputs
    if not inputs or (key in _MOVES and (outputs or len(inputs) == 1)):
        return moved(op, inputs, outputs or inputs[:1], dtype)
    if "conv" in key and outputs and (taps := _taps(inputs, outputs[0])):
        return windowed(op, inputs, outputs[0], taps, dtype)
    builder = Builder("fused", dtype)
    values = [builder.input(*spec.shape, dtype=spec.dtype) for spec in inputs]
    name, arguments = call_arguments(key, values, outputs)
    half = said.flops is not None and 1.5 * said.flops < _products(name, arguments)
    named = {"is_causal": True} if "attention" in name and (said.causal or half) else {}
    builder.result(*builder.ops(name, *arguments, outs=outputs, **named))
    work = builder.trace.work(op, "fused", results=builder.results)
    if not work.dispatched_bytes:
        raise WorkError(f"{op}: moves nothing as written")
    if "scatter" in key or key.startswith("index_"):
        work = at_most(work, _in_place(inputs, outputs))
    taken = {argument.number for argument in arguments if isinstance(argument, Value)}
    return _with_operands(work, [v.spec for v in values if v.number not in taken])


_MOVES: Final = frozenset(
    str.split(
        "clone slice_copy permute_copy transpose_copy expand_copy flip cat concat stack pad roll "
        "repeat repeat_interleave constant_pad_nd t_copy hstack vstack permute transpose slice "
        "narrow select split chunk unbind squeeze view reshape flatten expand movedim as_strided "
        "tile im2col pixel_shuffle pixel_unshuffle channel_shuffle fill zeros ones full"
    )
)
"""Operators that only move elements, or write them."""


def _taps(inputs: Sequence[TensorSpec], out: TensorSpec) -> int:
    """Return the taps of a filter that mixes no channels; 0 if the filter mixes them."""
    if len(inputs) < 2:
        return _NEIGHBOURS
    source, weight = inputs[0].shape, inputs[1].shape
    if len(weight) >= 3 and len(weight) == len(source) and weight[1] > 1:
        return 0
    channels = (*source[:2], *out.shape[:2]) if len(source) > 2 else ()
    return math.prod(weight) // (weight[0] if weight[0] in channels else 1)


def _products(name: str, arguments: Sequence[object]) -> int:
    """Return the FLOP of an attention over the full square; 0 for anything else."""
    if "attention" not in name:
        return 0
    query, key, value = (v.spec.shape for v in arguments[:3] if isinstance(v, Value))
    return 2 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def _in_place(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int | None:
    """Return the bytes of a scatter whose target is its result: values and indices, once each.

    The values are written as they are read; adding them up reads the target there as well.
    """
    moving = list(inputs)
    targets = [spec for spec in inputs if any(spec.shape == out.shape for out in outputs)]
    if len(inputs) > 2 and targets:
        moving.remove(targets[0])
    values = max((spec.bytes for spec in moving), default=0)
    return sum(spec.bytes for spec in moving) + values if values else None


_NEIGHBOURS: Final = 9  # of a stencil without a filter among its operands: 3 x 3


def _with_operands(work: Work, specs: Sequence[TensorSpec]) -> Work:
    """Return the work with operands read that its formula does not know (masks, residuals)."""
    if not specs:
        return work
    size = sum(spec.bytes for spec in specs)
    (count,) = work.ops
    return replace(
        work,
        ops=(
            replace(
                count,
                read_bytes=count.read_bytes + size,
                aliased_read_bytes=count.aliased_read_bytes + size,
            ),
        ),
        minimal_read_bytes=work.minimal_read_bytes + size,
    )


def _chain(op: str) -> list[str]:
    """Return the operators of a fused name in order; one element if it is not a chain."""
    parts = [part for part in re.split(r"[+]|\band\b", op.lower()) if part.strip()]
    if len(parts) == 1:
        words = op.lower().split("_")
        parts = words if len(words) > 1 and all(word in _STEPS for word in words) else [op]
    keys = [re.sub(r"\W.*", "", part.strip()) for part in parts]
    return keys if len(keys) > 1 and all(key in _STEPS for key in keys) else [op]


_STEPS: Final = frozenset({"matmul", "add", "rmsnorm", "gelu", "silu", "relu", "softmax", "mul"})


def _chained(op: str, chain: Sequence[str], sizes: dict[str, int], dtype: str) -> Work:
    missing = {"m", "k", "n"} - set(sizes)
    if missing:
        raise WorkError(f"{op!r}: a chain with matmul needs M, K and N, not {sizes}")
    builder = Builder("compiled", dtype)
    value = builder.input(sizes["m"], sizes["k"])
    for step in chain:
        rows, cols = value.spec.shape
        if step == "matmul":
            value = builder.op("mm", value, builder.input(cols, sizes["n"]))
        elif step in ("add", "mul"):
            value = builder.op(step, value, builder.input(rows, cols))
        elif step == "rmsnorm":
            value = builder.op("rms_norm", value, [cols])
        elif step == "softmax":
            value = builder.op("softmax", value, -1)
        else:
            value = builder.op(step, value)
    builder.result(value)
    return builder.trace.work(op, "compiled", results=builder.results)

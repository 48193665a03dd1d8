"""Read the shapes people write beside a measured time, and turn them into a work.

Three spellings are understood: operands (``x[2048,512] w[512] -> y[2048,512]:fp32``), plain
shapes (``2048x512``, ``4096x8192 @ 8192x8192``) and named sizes (``M=4096 K=512 N=2048``).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from roofline.dtypes import dtype_key, dtype_of
from roofline.errors import WorkError
from roofline.work.closed_form import Builder, Value, closed_form, family
from roofline.work.registry import find_formula, op_key
from roofline.work.specs import TensorSpec
from roofline.work.work import OpCount, Work

__all__ = ["Shapes", "call_arguments", "parse_shapes", "resolve_op", "work_from"]

_OPERAND: Final = re.compile(r"(?:[A-Za-z_]\w*)?\[([\d,*\s]+)\](?::([A-Za-z]\w*))?")
_BYTES: Final = re.compile(r"\d\s*([KMGT]i?)?B\b")
_NAMED: Final = re.compile(r"\b([A-Za-z]\w*?)\s*=?\s*(\d+)(?![\w.]*[x×\d])")
_SHAPE: Final = r"\d+(?:\s*[x×*]\s*\d+)*"
_TWO: Final = r"\d+(?:\s*[x×*]\s*\d+)+"  # numbers between commas are not said to be sizes
_PLAIN: Final = re.compile(rf"{_SHAPE}|{_TWO}(?:\s*(?:@|;|,|and)\s*{_TWO})+")
_TUPLE: Final = re.compile(r"\(\s*\d+(?:\s*,\s*\d+)*\s*,?\s*\)")
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

_WORDS: Final = {
    "copy": "clone",
    "rmsnorm": "rms_norm",
    "layernorm": "layer_norm",
    "groupnorm": "group_norm",
    "leakyrelu": "leaky_relu",
    "logsoftmax": "log_softmax",
    "mul2": "mul",
    "scale": "mul",
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "swish": "silu",
    "max": "amax",
    "min": "amin",
    "reduction": "sum",
    "attention": "scaled_dot_product_attention",
    "gemm": "mm",
    "gemv": "mv",
    "matmul": "matmul",
    "transpose": "transpose_copy",
}
_ALONG_ROWS: Final = frozenset(
    (
        *("sum", "mean", "amax", "amin", "prod", "var", "std", "argmax", "argmin", "any", "all"),
        *("logsumexp", "cumsum", "cumprod", "softmax", "log_softmax"),
    )
)


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
    before, arrow, after = text.partition("->")
    if _OPERAND.search(text):
        found = Shapes(_specs(before, dtype), _specs(after, dtype) if arrow else ())
    else:
        sizes = {name.lower(): int(value) for name, value in _NAMED.findall(text)}
        # "1 head" names a count after its number
        plain = [] if sizes else _plain(text.strip())
        found = Shapes(tuple(TensorSpec(shape, dtype) for shape in plain), (), sizes)
    if (not found.inputs and not found.sizes) or _BYTES.search(text):
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
            tuple(math.prod(_dims(size)) for size in sizes.split(",")),
            dtype_key(own) if own else dtype,
        )
        for sizes, own in _OPERAND.findall(text)
    )


def _dims(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\d+", text))


def resolve_op(name: str) -> str | None:
    """Return the registered operator a name means, or ``None`` if no part of it is known.

    ``vector_add`` is ``add``, ``matmul_fp32_fp16_fp8`` is ``matmul``: the whole name first, then
    its words from left to right.
    """
    whole = op_key(name.strip().lower().replace("-", "_").replace(" ", "_"))
    for word in (whole, whole.replace("_", "")):
        word = _WORDS.get(word, word)
        if find_formula(word) is not None:
            return word
    words = [word for word in re.split(r"[_\W]+", whole) if word]
    # two words together (rms_norm, log_softmax) count like one
    words += [f"{first}_{second}" for first, second in itertools.pairwise(words)]
    known = [_WORDS.get(word, word) for word in words]
    found = [word for word in known if find_formula(word) is not None]
    # of add_rmsnorm it is the normalisation that says how it runs
    return max(found, key=lambda word: (_weight(word), len(word)), default=None)


def _weight(word: str) -> int:
    heavy = ("mm", "matmul", "linear", "conv", "attention", "norm", "softmax", "entropy")
    ranks = [rank for rank, part in enumerate(reversed(heavy), 1) if part in word]
    return max(ranks, default=0)


def work_from(op: str, shapes: Shapes, dtype: str) -> Work:
    """Return the work of a named operator on shapes.

    Named chains (``matmul+gelu``, ``add_rmsnorm_matmul``) are one fused region. A name that means
    no operator counts as elementwise over its largest operand and is marked partial.
    """
    chain = _chain(op)
    if len(chain) > 1 and shapes.sizes:
        return _chained(op, chain, dict(shapes.sizes), dtype)
    if shapes.inputs and (shapes.outputs or len(shapes.inputs) > 1):
        return _from_operands(op, shapes, dtype)
    entry = _closed(op)
    if entry is None:
        return _from_operands(op, shapes, dtype)
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


def _from_operands(op: str, shapes: Shapes, dtype: str) -> Work:
    key = resolve_op(op)
    inputs = shapes.inputs
    if not inputs:
        raise WorkError(f"{op!r}: sizes {dict(shapes.sizes or {})} do not say its operands")
    builder = Builder("fused", dtype)
    values = [builder.input(*spec.shape, dtype=spec.dtype) for spec in inputs]
    out = shapes.outputs[0] if shapes.outputs else None
    if key is not None:
        try:
            builder.result(builder.op(key, *call_arguments(key, values), out=out))
            work = builder.trace.work(op, "fused", results=builder.results)
        except (WorkError, IndexError, ValueError, TypeError):
            pass  # the operator takes other operands than were written: count it as a stream
        else:
            return work
    return _streamed(op, shapes, dtype)


def call_arguments(key: str, values: Sequence[Value]) -> list[object]:
    """Return the arguments of a registered operator for its tensor operands."""
    first, rest = values[0], list(values[1:])
    if key in _TABLES and rest and not dtype_of(first.spec.dtype).is_float:
        return [*rest, first]  # the table first, as torch has it
    if key in ("rms_norm", "layer_norm"):
        return [first, [first.spec.shape[-1]], *rest]
    if key in _ALONG_ROWS:
        return [first, -1 if "softmax" in key or key.startswith("cum") else [-1]]
    if not rest and key in ("mul", "add", "sub", "div", "pow"):
        return [first, 2]
    return list(values)


_TABLES: Final = frozenset({"embedding", "index_select", "gather", "take", "index"})


def _streamed(op: str, shapes: Shapes, dtype: str) -> Work:
    """Return the work of an unknown operator: every operand once, one pass over the largest.

    What it must read at least is less: of an operand larger than the result it may need a part.
    """
    outputs = shapes.outputs or shapes.inputs[:1]
    largest = max((*shapes.inputs, *outputs), key=lambda spec: spec.numel)
    read = sum(spec.bytes for spec in shapes.inputs)
    write = sum(spec.bytes for spec in outputs)
    most = max(spec.numel for spec in outputs)
    least = sum(TensorSpec((min(spec.numel, most),), spec.dtype).bytes for spec in shapes.inputs)
    count = OpCount(
        name=op,
        inputs=tuple((spec.shape, spec.dtype) for spec in shapes.inputs),
        outputs=((largest.shape, largest.dtype),),
        element_passes=largest.numel,
        read_bytes=read,
        aliased_read_bytes=read,
        write_bytes=write,
        family="elementwise",
        known=False,
        note="no formula: operands once, one pass over the largest",
    )
    return Work(
        name=op,
        mode="fused",
        dtype=dtype,
        ops=(count,),
        minimal_read_bytes=least,
        minimal_write_bytes=write,
        unknown_ops=(op,),
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

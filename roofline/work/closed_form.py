"""Work of well-known computations from their sizes alone: no torch, and arrays of sizes.

Each family says how its variants are built from registered operators, so a closed form and a
count of the same computation in torch agree by construction of their rules, and tests compare
the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roofline.dtypes import dtype_key
from roofline.errors import WorkError
from roofline.work.registry import Call, count_of
from roofline.work.specs import TensorSpec
from roofline.work.trace import Trace, Use, evaluate
from roofline.work.work import CLASSES, Work

__all__ = [
    "Builder",
    "Family",
    "closed_form",
    "closed_form_arrays",
    "families",
    "family",
    "register_family",
]

VARIANTS: Final = ("eager", "fused", "compiled", "two_pass")


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of a computation in closed form."""

    number: int
    spec: TensorSpec


@dataclass(slots=True)
class Builder:
    """Writes a computation down as registered operators on values."""

    variant: str
    dtype: str
    trace: Trace = field(default_factory=Trace)
    results: list[int] = field(default_factory=list)
    count: int = 0

    def input(self, *shape: int, dtype: str = "") -> Value:
        """Return a tensor that is in HBM before the computation starts."""
        return self._value(TensorSpec(shape, dtype_key(dtype) if dtype else self.dtype))

    def op(self, name: str, *args: Any, out: TensorSpec | None = None, **kwargs: Any) -> Value:
        """Apply a registered operator; ``out`` is needed where its result cannot be inferred."""
        return self.ops(name, *args, outs=(out,) if out is not None else (), **kwargs)[0]

    def ops(
        self, name: str, *args: Any, outs: tuple[TensorSpec, ...] = (), **kwargs: Any
    ) -> tuple[Value, ...]:
        """Apply a registered operator and return its result, or each of ``outs``."""
        values = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, Value)]
        call = Call(
            name,
            tuple(arg.spec if isinstance(arg, Value) else arg for arg in args),
            {k: v.spec if isinstance(v, Value) else v for k, v in kwargs.items()},
            outs,
        )
        cost = evaluate(call, strict=True)
        results = tuple(self._value(spec) for spec in (outs or cost.outputs[:1]))
        self.trace.add(
            count_of(call, cost),
            cost,
            [Use(value.number, value.spec, value.spec.bytes) for value in values],
            [Use(result.number, result.spec, result.spec.bytes) for result in results],
        )
        return results

    def result(self, *values: Value) -> None:
        """Mark values that the computation hands back."""
        self.results.extend(value.number for value in values)

    def _value(self, spec: TensorSpec) -> Value:
        self.count += 1
        return Value(self.count, spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A computation with a closed form.

    ``build`` writes it down; ``aliases`` are other names it answers to; ``sizes`` are its size
    parameters; ``defaults`` give a number or the name of another size.
    """

    name: str
    sizes: tuple[str, ...]
    build: Callable[..., None]
    aliases: tuple[str, ...] = ()
    defaults: Mapping[str, int | str] = field(default_factory=dict)
    variants: tuple[str, ...] = ("eager", "fused", "compiled")

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every size parameter; raises ``WorkError`` for missing or unknown ones."""
        unknown = set(given) - set(self.sizes)
        missing = [name for name in self.sizes if name not in given and name not in self.defaults]
        if unknown or missing:
            what = f"unknown {', '.join(sorted(unknown))}" if unknown else ""
            lacks = f"missing {', '.join(missing)}" if missing else ""
            raise WorkError(
                f"{self.name}: {' and '.join(filter(None, (what, lacks)))}; "
                f"its sizes are {', '.join(self.sizes)}"
            )
        values = {name: given.get(name, self.defaults.get(name)) for name in self.sizes}
        return {name: values.get(v, v) if isinstance(v, str) else v for name, v in values.items()}


_FAMILIES: Final[dict[str, Family]] = {}


def register_family(entry: Family) -> None:
    """Add a family; a name or alias that exists is refused."""
    for taken in _FAMILIES.values():
        if {taken.name, *taken.aliases} & {entry.name, *entry.aliases}:
            raise WorkError(f"closed form {entry.name!r} exists already")
    _FAMILIES[entry.name] = entry


def families() -> tuple[str, ...]:
    """Return the names of every closed form, sorted."""
    _load()
    return tuple(sorted(_FAMILIES))


def family(name: str) -> Family:
    """Return a family by name (``-`` and ``_`` alike); raises ``WorkError`` listing the known."""
    _load()
    key = name.strip().lower().replace("-", "_")
    found = _FAMILIES.get(key) or next(
        (entry for entry in _FAMILIES.values() if key in entry.aliases), None
    )
    if found is None:
        raise WorkError(f"no closed form for {name!r}; known: {', '.join(sorted(_FAMILIES))}")
    return found


def _load() -> None:
    import roofline.work.families  # noqa: F401  (registers on import)


def closed_form(op: str, *, dtype: str, variant: str = "fused", **sizes: int) -> Work:
    """Return the ``Work`` of a computation from its sizes.

    ``variant`` is ``eager`` (each operator through HBM), ``fused`` (the native operator, or one
    region), ``compiled`` (one region) and, for normalisations, ``two_pass`` (fused, the input
    read twice). Raises ``WorkError`` for unknown names, sizes below 0 and unknown dtypes.

    >>> work = closed_form("rmsnorm", rows=4, cols=512, dtype="bf16", variant="eager")
    >>> work.total_flops, work.dispatched_bytes, work.minimal_bytes, work.launches
    (8200, 33840, 9216, 6)
    """
    entry = family(op)
    parameters = entry.parameters(sizes)
    for name, size in parameters.items():
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
            raise WorkError(f"{entry.name}: {name} must be a whole number from 0, not {size!r}")
    parameters = {name: int(size) for name, size in parameters.items()}
    return _build(entry, dtype, variant, parameters)


def closed_form_arrays(
    op: str, *, dtype: str, variant: str = "fused", **sizes: ArrayLike
) -> dict[str, NDArray[np.int64]]:
    """Return the figures of ``closed_form`` for arrays of sizes, broadcast against each other.

    Keys: ``flops_<class>``, ``total_flops``, ``tensor_flops``, ``element_passes``,
    ``element_passes_minimal``, ``dispatched_bytes``, ``dispatched_aliased_bytes``,
    ``minimal_read_bytes``, ``minimal_write_bytes``, ``minimal_bytes``, ``launches`` (int64).
    """
    entry = family(op)
    names = list(entry.parameters(sizes))
    arrays = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.int64) for value in entry.parameters(sizes).values())
    )
    shape = arrays[0].shape if arrays else ()
    work = _build(entry, dtype, variant, dict(zip(names, arrays, strict=True)))
    flops = {key: sum(op.flops.get(key, 0) for op in work.ops) for key in CLASSES}
    figures: dict[str, Any] = {
        **{f"flops_{key}": value for key, value in flops.items()},
        "total_flops": sum(flops.values()),
        "tensor_flops": sum(work.tensor_flops.values()),
        "element_passes": work.element_passes,
        "element_passes_minimal": work.element_passes_minimal,
        "dispatched_bytes": work.dispatched_bytes,
        "dispatched_aliased_bytes": work.dispatched_aliased_bytes,
        "minimal_read_bytes": work.minimal_read_bytes,
        "minimal_write_bytes": work.minimal_write_bytes,
        "minimal_bytes": work.minimal_bytes,
        "launches": work.launches,
    }
    return {
        key: np.broadcast_to(np.asarray(value, dtype=np.int64), shape)
        for key, value in figures.items()
    }


def _build(entry: Family, dtype: str, variant: str, parameters: dict[str, Any]) -> Work:
    if variant not in entry.variants:
        raise WorkError(
            f"{entry.name}: unknown variant {variant!r}; known: {', '.join(entry.variants)}"
        )
    key = dtype_key(dtype)
    builder = Builder(variant, key)
    entry.build(builder, **parameters)
    mode = "eager" if variant == "eager" else "compiled" if variant == "compiled" else "fused"
    work = builder.trace.work(entry.name, mode, results=builder.results, params=parameters)
    work = replace(work, mode=variant, dtype=key)
    return _read_twice(work) if variant == "two_pass" else work


def _read_twice(work: Work) -> Work:
    (region,) = work.ops
    first = TensorSpec(*region.inputs[0]).bytes
    return replace(
        work,
        ops=(
            replace(
                region,
                read_bytes=region.read_bytes + first,
                aliased_read_bytes=region.aliased_read_bytes + first,
                note="the input is read twice",
            ),
        ),
    )

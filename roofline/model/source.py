"""Where the work of a sweep comes from: a closed form, a registered operator, or a torch function.

Whatever it is, its counts become polynomials of the dimensions, so that the sweep itself runs on
arrays and knows no operator by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from roofline.dtypes import dtype_key
from roofline.errors import QueryError, WorkError
from roofline.model.demand import Demand, demand_of, figures, with_figures
from roofline.model.polynomial import Polynomial, fit_counts
from roofline.model.schedule import VARIANTS
from roofline.work.closed_form import Builder, closed_form, families, family
from roofline.work.registry import find_formula, formula_names, op_key
from roofline.work.specs import TensorSpec
from roofline.work.work import Work

__all__ = ["Counts", "Source", "find_source", "fit_source"]

_NAMED: Final = re.compile(r"([A-Za-z_]\w*)\[([A-Za-z0-9_*,\s]+)\](?::([A-Za-z]\w*))?")
_MODES: Final = {"eager": "eager", "fused": "fused", "compiled": "compiled", "nki": "fused"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A computation with named dimensions; ``build(variant, dtype, sizes)`` gives its work."""

    name: str
    dims: tuple[str, ...]
    build: Callable[[str, str, Mapping[str, int]], Work] = field(repr=False)
    defaults: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The demand of one dtype and variant as a function of the sizes."""

    template: Demand
    polynomials: Mapping[str, Polynomial]

    def __call__(self, sizes: Mapping[str, Any], *, without: Collection[str] = ()) -> Demand:
        """Return the demand at ``sizes``: numbers or arrays that broadcast.

        Figures in ``without`` are left at 0: nobody will look at them.
        """
        return with_figures(
            self.template,
            {
                name: 0.0 if name in without else found(sizes)
                for name, found in self.polynomials.items()
            },
        )


def find_source(
    op: str | Callable[..., Any],
    *,
    shape: str = "",
    arguments: Mapping[str, Any] | None = None,
    dims: Sequence[str] = (),
) -> Source:
    """Return the computation that ``op`` means.

    ``op`` is the name of a closed form (``rmsnorm``), of a registered operator (``layer_norm``,
    ``hardswish``) or a torch function or module. The last two take ``shape``, operands with their
    dimensions by name: ``x[rows,cols] w[cols]``; an operator without one is taken as unary over
    ``dims``. A function is called with these operands and ``arguments`` by name.
    """
    if callable(op):
        return _torch_source(op, shape, dict(arguments or {}))
    if not shape:
        try:
            entry = family(op)
        except WorkError:
            pass
        else:
            return Source(
                name=entry.name,
                dims=entry.sizes,
                build=_closed(entry.name),
                defaults=entry.defaults,
            )
    if find_formula(op) is None:
        close = [name for name in (*families(), *formula_names()) if op_key(op)[:4] in name][:8]
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise QueryError(
            f"unknown operator {op!r}{hint} Closed forms: {', '.join(families())}; or any "
            "registered operator, or MODULE:FUNCTION with --shape"
        )
    text = shape or f"x[{','.join(dims)}]"
    operands = _operands(text)
    return Source(name=op_key(op), dims=_dims(operands), build=_registered(op_key(op), operands))


def fit_source(source: Source, variant: str, dtype: str, sizes: Mapping[str, Any]) -> Counts:
    """Return the counts of a source as polynomials of the dimensions that vary.

    ``sizes`` maps each dimension to its sizes; one with a single size is held there.
    """
    wanted = [name for name in source.dims if name not in source.defaults]
    unknown, missing = set(sizes) - set(source.dims), [n for n in wanted if n not in sizes]
    if unknown or missing:
        what = f"no dimension {', '.join(sorted(unknown))}" if unknown else ""
        lacks = f"give {', '.join(missing)}" if missing else ""
        raise QueryError(
            f"{source.name}: {' and '.join(filter(None, (what, lacks)))}; "
            f"its dimensions are {', '.join(source.dims)}"
        )
    varying = [name for name in source.dims if name in sizes and len(sizes[name]) > 1]
    fixed = {name: int(sizes[name][0]) for name in sizes if name not in varying}
    template: list[Demand] = []

    def count(**at: int) -> Mapping[str, float]:
        work = source.build(variant, dtype, {**fixed, **at})
        demand = demand_of(work, separate=variant == "eager")
        found = figures(demand)
        if template and found.keys() != figures(template[0]).keys():
            raise QueryError(f"{source.name}: what it does changes with its sizes: not a sweep")
        template.append(demand)
        return found

    polynomials = fit_counts(count, varying)
    return Counts(template=template[0], polynomials=polynomials)


def _closed(name: str) -> Callable[[str, str, Mapping[str, int]], Work]:
    def build(variant: str, dtype: str, sizes: Mapping[str, int]) -> Work:
        return closed_form(name, dtype=dtype, variant=VARIANTS[variant][0], **dict(sizes))

    return build


@dataclass(frozen=True, slots=True)
class _Operand:
    name: str
    shape: tuple[str, ...]
    dtype: str

    def spec(self, sizes: Mapping[str, int], dtype: str) -> TensorSpec:
        shape = tuple(int(size) if size.isdecimal() else sizes[size] for size in self.shape)
        return TensorSpec(shape, self.dtype or dtype)


def _operands(text: str) -> list[_Operand]:
    before = text.partition("->")[0]
    found = [
        _Operand(
            name, tuple(size.strip() for size in sizes.split(",")), dtype_key(own) if own else ""
        )
        for name, sizes, own in _NAMED.findall(before)
    ]
    if not found or any(not size for operand in found for size in operand.shape):
        raise QueryError(f"no operands in {text!r}; write for example x[rows,cols] w[cols]")
    return found


def _dims(operands: Sequence[_Operand]) -> tuple[str, ...]:
    names = [size for operand in operands for size in operand.shape if not size.isdecimal()]
    return tuple(dict.fromkeys(names))


def _registered(
    key: str, operands: Sequence[_Operand]
) -> Callable[[str, str, Mapping[str, int]], Work]:
    from roofline.model.arguments import call_arguments

    def build(variant: str, dtype: str, sizes: Mapping[str, int]) -> Work:
        builder = Builder(_MODES[variant], dtype)
        specs = [operand.spec(sizes, dtype) for operand in operands]
        values = [builder.input(*spec.shape, dtype=spec.dtype) for spec in specs]
        try:
            name, arguments = call_arguments(key, values)
            result = builder.op(name, *arguments)
        except (WorkError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise QueryError(
                f"{key} does not take the operands {' '.join(map(str, specs))}: {error}; "
                "give all of them, by --shape 'x[rows,cols] w[cols]'"
            ) from error
        builder.result(result)
        return builder.trace.work(key, _MODES[variant], results=builder.results)

    return build


def _torch_source(fn: Callable[..., Any], shape: str, arguments: dict[str, Any]) -> Source:
    operands = _operands(shape)
    name = getattr(fn, "__name__", type(fn).__name__)

    def build(variant: str, dtype: str, sizes: Mapping[str, int]) -> Work:
        from roofline.work.counting import count

        named: dict[str, Any] = {o.name: o.spec(sizes, dtype) for o in operands}
        return count(fn, mode=_MODES[variant], name=name, **named, **arguments)

    return Source(name=name, dims=_dims(operands), build=build)

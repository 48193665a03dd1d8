"""Record what torch runs: operators with shapes and dtypes, and the storages between them.

Importing this module imports torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from roofline.dtypes import DTYPES, dtype_key
from roofline.errors import MissingFormulaError
from roofline.work.formulas.norms import batch_norm
from roofline.work.formulas.pointwise import elementwise_cost
from roofline.work.formulas.reductions import reduction_cost
from roofline.work.registry import Call, Cost, Formula, count_of, find_formula, op_key
from roofline.work.specs import TensorSpec
from roofline.work.trace import UNKNOWN, Trace, Use
from roofline.work.work import OpCount

__all__ = ["Recorder", "is_composite", "operator_name", "tensors_in"]

_POINTWISE = getattr(torch.Tag, "pointwise", None)
_REDUCTION = getattr(torch.Tag, "reduction", None)  # newer than the oldest torch supported


_UPDATES_UNSAID: Final = dict.fromkeys(("native_batch_norm", "cudnn_batch_norm"), (3, 4))
"""Positions of arguments that operators update although their schema does not say so."""


class _Operator(NamedTuple):
    name: str
    formula: Formula | None
    free: bool
    may_copy: bool
    out_names: frozenset[str]
    copies: bool
    updates: tuple[int, ...] = ()


class _Kept(NamedTuple):
    """A spec with its bytes, shared by all operands of one shape and dtype."""

    spec: TensorSpec
    bytes: int


class Recorder:
    """Fills a ``Trace`` from calls of torch operators; ``strict`` raises on unknown operators."""

    def __init__(self, *, strict: bool = False, host_scalars: frozenset[str] = frozenset()) -> None:
        self.trace = Trace()
        self.strict = strict
        self.module = ""
        self.paused = 0
        self.host_scalars = host_scalars
        self._values: dict[int, int] = {}
        # a weak reference keeps the address of a freed storage from being used again
        self._references: list[StorageWeakRef | torch.Tensor] = []
        self._operators: dict[Any, _Operator] = {}
        self._specs: dict[tuple[Any, ...], _Kept] = {}
        self._count = 0
        self._hidden: list[Use] = []
        self._operands: Iterable[Any] = ()
        self._counts: dict[tuple[Any, ...], tuple[Cost, OpCount]] = {}

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Record nothing inside: the parts of an operator that counts as a whole."""
        self.paused += 1
        try:
            yield
        finally:
            self.paused -= 1

    def value_of(self, tensor: torch.Tensor) -> int:
        """Return the number of the storage behind a tensor."""
        return self._use(tensor)[0].value

    def values_in(self, found: Any) -> set[int]:
        """Return the numbers of all storages in nested results."""
        numbers: set[int] = set()
        tensors_in(found, lambda tensor: numbers.add(self.value_of(tensor)))
        return numbers

    def identify(self, tensor: torch.Tensor, number: int) -> None:
        """Say that a tensor is another name of the value ``number``."""
        storage = tensor.untyped_storage()
        self._values[storage._cdata] = number
        self._references.append(StorageWeakRef(storage))  # type: ignore[no-untyped-call]

    def hide(self, out: Any) -> None:
        """Note tensors that the parts of a whole operator make: they cost nothing of their own."""
        for tensor in _flat(out):
            use, _ = self._use(tensor)
            self._hidden.append(use._replace(bytes=0, part="hidden"))

    def record(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
        """Add one call. ``func`` is a torch operator, or the name of one."""
        operator = self._operators.get(func) or self._describe(func)
        if operator.free:
            return
        self._operands = args
        reads: list[Use] = []
        marks: list[Any] = []
        plain = [self._plain(arg, reads, marks) for arg in args]
        named = {}
        for key, value in kwargs.items():
            if key not in operator.out_names:
                marks.append(key)
                named[key] = self._plain(value, reads, marks)
        writes: list[Use] = []
        results: list[Any] = []
        outputs = tuple(self._plain(item, writes, results) for item in _flat(out))
        for position in operator.updates:
            if position < len(args) and not (operator.formula is batch_norm and not args[5]):
                for tensor in _flat(args[position]):
                    use, _ = self._use(tensor)
                    if all(use.value != other.value for other in writes):
                        writes.append(use)
        if self._hidden and not self.paused:
            writes += self._hidden
            self._hidden = []
        if not reads and not writes:  # markers for profilers, checks: nothing a device does
            return
        if operator.may_copy and not {use.value for use in writes}.isdisjoint(
            use.value for use in reads
        ):
            return
        if operator.copies:
            reads = reads[1:]  # the target of a copy is not read
        reads = [use for use in reads if not use.spec.on_host]
        mark = (func, self.module, *marks, None, *results)
        known = self._counts.get(mark)
        if known is None:
            call = Call(operator.name, tuple(plain), named, outputs)
            known = self._counts[mark] = self._measure(operator, call, reads)
        self.trace.add(known[1], known[0], reads, writes)

    def _measure(self, operator: _Operator, call: Call, reads: list[Use]) -> tuple[Cost, OpCount]:
        if operator.formula is None:
            if self.strict:
                raise MissingFormulaError(
                    f"no formula for operator {call.key!r}; add one with roofline.work.register"
                )
            cost = UNKNOWN
        else:
            cost = operator.formula(call)
        count = count_of(call, cost, known=operator.formula is not None, module=self.module)
        # an expanded operand is no larger than its storage
        excess = sum(use.spec.bytes - use.bytes for use in reads)
        if excess and cost.read_bytes is None:
            count = count_of(
                call, _with_read(cost, count.read_bytes - excess), known=count.known,
                module=self.module,
            )  # fmt: skip
        return cost, count

    def _plain(self, value: Any, uses: list[Use], marks: list[Any]) -> Any:
        if isinstance(value, torch.Tensor):
            use, mark = self._use(value)
            uses.append(use)
            marks.append(mark)
            return use.spec
        if isinstance(value, (list, tuple)):
            return [self._plain(item, uses, marks) for item in value]
        if isinstance(value, torch.dtype):
            value = str(value)
        try:
            hash(value)
            marks.append(value)
        except TypeError:
            marks.append(repr(value))
        return value

    def _use(self, tensor: torch.Tensor) -> tuple[Use, Any]:
        shape, dtype = tensor.shape, tensor.dtype
        host = not shape and self._is_host(tensor)
        mark = (shape, dtype, host)
        kept = self._specs.get(mark)
        if kept is None:
            kept = self._specs[mark] = _kept(shape, dtype, host)
        try:
            storage = tensor.untyped_storage()
            address = storage._cdata
            size = storage.nbytes()
        except (NotImplementedError, RuntimeError):  # sparse and wrapper tensors have none
            number = self._values.setdefault(-id(tensor), self._next())
            self._references.append(tensor)
            return Use(number, kept.spec, kept.bytes), mark
        number = self._values.get(address, -1)
        if number < 0:
            number = self._values[address] = self._next()
            self._references.append(StorageWeakRef(storage))  # type: ignore[no-untyped-call]
        if size == kept.bytes and tensor.is_contiguous():
            return Use(number, kept.spec, kept.bytes), mark
        strides = tensor.stride()
        part = (tensor.storage_offset(), shape, strides)
        self.trace.sizes[number] = size
        used = min(kept.bytes, size)
        if 0 in strides:  # expanded: each element is there once
            once = [n for n, stride in zip(kept.spec.shape, strides, strict=True) if stride]
            used = min(used, DTYPES[kept.spec.dtype].bytes_for(math.prod(once)))
        return Use(number, kept.spec, used, part), (*mark, used)

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _is_host(self, tensor: torch.Tensor) -> bool:
        # beside device tensors, a scalar tensor on the CPU has to be copied to the device
        if self.host_scalars:
            return dtype_key(str(tensor.dtype)) in self.host_scalars
        return tensor.device.type == "cpu" and any(
            other.device.type != "cpu" for other in _flat(self._operands)
        )

    def _describe(self, func: Any) -> _Operator:
        name = func if isinstance(func, str) else operator_name(func)
        if name.startswith("prim::"):  # questions about a tensor
            operator = self._operators[func] = _Operator(
                name, None, True, False, frozenset(), False
            )
            return operator
        schema = getattr(func, "_schema", None)
        view = may_copy = False
        outs: frozenset[str] = frozenset()
        updates: tuple[int, ...] = ()
        if schema is not None:
            aliases = [r.alias_info for r in schema.returns]
            view = any(a is not None and not a.is_write for a in aliases)
            # reshape, to, contiguous ...: a view where it can be, else a copy
            may_copy = view and is_composite(func)
            outs = frozenset(a.name for a in schema.arguments if getattr(a, "is_out", False))
            updates = tuple(
                index
                for index, argument in enumerate(schema.arguments)
                if argument.alias_info is not None
                and argument.alias_info.is_write
                and argument.name not in outs
            )
            if op_key(name) in _UPDATES_UNSAID:
                updates = _UPDATES_UNSAID[op_key(name)]
        formula = (
            find_formula("clone" if may_copy else name)
            or _formula_of_torch(func)
            or _formula_by_tag(getattr(func, "tags", ()))
        )
        operator = _Operator(
            name, formula, view and not may_copy, may_copy, outs, op_key(name) == "copy", updates
        )
        self._operators[func] = operator
        return operator


def is_composite(func: Any) -> bool:
    """Return whether torch takes the operator apart before it reaches a device."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return (
        isinstance(func, torch._ops.OpOverload)
        and func.namespace != "prim"
        and bool(has_kernel(operator_name(func), "CompositeImplicitAutograd"))
    )


def operator_name(func: Any) -> str:
    """Return ``namespace::name`` of a torch operator, or the name of any other callable."""
    overload = getattr(func, "default", func) if hasattr(func, "overloads") else func
    name = getattr(overload, "name", None)
    return str(name() if callable(name) else getattr(func, "__name__", func))


def _kept(shape: Any, dtype: torch.dtype, host: bool) -> _Kept:
    key = dtype_key(str(dtype))
    sizes = tuple(int(size) for size in shape)
    if key == "fp4_e2m1" and sizes:  # torch packs two elements in one
        sizes = (*sizes[:-1], 2 * sizes[-1])
    spec = TensorSpec(sizes, key, host)
    return _Kept(spec, DTYPES[key].bytes_for(spec.numel))


def _with_read(cost: Cost, read: int) -> Cost:
    return replace(cost, read_bytes=read)


def _formula_by_tag(tags: Iterable[Any]) -> Formula | None:
    """Return the rule of an operator's tag: 1 FLOP per output, or per input element and output."""
    if _POINTWISE is not None and _POINTWISE in tags:
        return _pointwise_by_tag
    if _REDUCTION is not None and _REDUCTION in tags:
        return _reduction_by_tag
    return None


def _formula_of_torch(func: Any) -> Formula | None:
    """Return a rule made of torch's own FLOP formula for an operator that has only that."""
    from torch.utils.flop_counter import flop_registry

    flops_of = flop_registry.get(getattr(func, "overloadpacket", None))
    if flops_of is None:
        return None

    def products(call: Call) -> Cost:
        from roofline.work.stand_in import made

        args, kwargs, out = made(call.args), made(call.kwargs), made(call.outputs)
        flops = int(flops_of(*args, **kwargs, out_val=out[0] if len(out) == 1 else out))
        return Cost(
            flops={"matmul": flops},
            tensor_flops={call.tensor(0).dtype: flops},
            passes=sum(spec.numel for spec in call.outputs),
            engines=("vector", "scalar"),
            usual_engine="scalar",
            family="matmul",
            note="FLOP by torch.utils.flop_counter",
        )

    return products


def _pointwise_by_tag(call: Call) -> Cost:
    return elementwise_cost(call, 1)


def _reduction_by_tag(call: Call) -> Cost:
    return reduction_cost(call, call.out, call.tensor(0).numel - call.out.numel)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, torch.Tensor):
        yield value


def tensors_in(value: Any, visit: Callable[[torch.Tensor], None]) -> None:
    """Call ``visit`` on every tensor in nested lists, tuples, mappings and dataclasses."""
    if isinstance(value, torch.Tensor):
        visit(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            tensors_in(item, visit)
    elif isinstance(value, (list, tuple)):
        for item in value:
            tensors_in(item, visit)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            tensors_in(getattr(value, name), visit)

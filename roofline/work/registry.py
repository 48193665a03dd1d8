"""The registry of operator formulas: one pure function of shapes and dtypes per family.

A formula receives a ``Call`` and returns a ``Cost``; it needs no torch. ``count_of`` turns both
into an ``OpCount``. Names are normalised by ``op_key``, so that ``aten::mul_.Tensor``,
``torch.mul`` and ``mul`` are one entry.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from roofline.errors import WorkError
from roofline.work import formulas
from roofline.work.specs import TensorSpec
from roofline.work.work import OpCount

__all__ = [
    "Call",
    "Cost",
    "Formula",
    "count_of",
    "find_formula",
    "formula",
    "formula_names",
    "op_key",
    "register",
    "unregister",
    "user_registered",
]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator: ``args`` and ``kwargs`` hold ``TensorSpec`` for each tensor.

    ``outputs`` is empty where only a signature is known; formulas that can infer it do.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[TensorSpec, ...] = ()

    @property
    def key(self) -> str:
        """The registry key of the operator."""
        return op_key(self.name)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Every tensor operand in order, lists flattened."""
        found: list[TensorSpec] = []
        _collect(self.args, found)
        _collect(tuple(self.kwargs.values()), found)
        return tuple(found)

    @property
    def out(self) -> TensorSpec:
        """The first output."""
        if not self.outputs:
            raise WorkError(
                f"{self.name}: its result does not follow from its inputs; give outputs"
            )
        return self.outputs[0]

    def tensor(self, index: int) -> TensorSpec:
        """Return the ``index``-th tensor operand."""
        inputs = self.inputs
        if index >= len(inputs):
            raise WorkError(f"{self.name}: needs tensor operand {index}, has {len(inputs)}")
        return inputs[index]

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """Return an argument by position or name."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if position < len(self.args) else default


def _collect(values: tuple[Any, ...] | list[Any], found: list[TensorSpec]) -> None:
    for value in values:
        if isinstance(value, TensorSpec):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            _collect(value, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one call costs.

    ``flops`` by class; ``tensor_flops`` by multiply dtype; ``passes`` in elements (one instruction
    stream over one element each). ``stages``, ``functions`` and ``reduces`` describe an
    elementwise operator to the pass-merging rule: arithmetic stages, table functions, and whether
    it ends in a running reduction; ``fixed`` keeps ``passes`` out of that rule. ``read_bytes`` and
    ``write_bytes`` default to every operand once. ``outputs`` are inferred when the call has none.
    """

    flops: Mapping[str, int] = field(default_factory=dict)
    tensor_flops: Mapping[str, int] = field(default_factory=dict)
    passes: int = 0
    engines: tuple[str, ...] = ("vector", "scalar", "gpsimd")
    usual_engine: str = "vector"
    family: str = "elementwise"
    stages: int = 0
    functions: int = 0
    reduces: bool = False
    fixed: bool = False
    read_bytes: int | None = None
    write_bytes: int | None = None
    accumulate_dtype: str = ""
    outputs: tuple[TensorSpec, ...] = ()
    note: str = ""


Formula = Callable[[Call], Cost]
_FORMULAS: Final[dict[str, Formula]] = {}
_OWN: Final[set[str]] = set()


@lru_cache(maxsize=4096)
def op_key(name: str) -> str:
    """Return the registry key of an operator name in any spelling.

    ATen and torch prefixes, overload names and the in-place underscore are dropped; another
    namespace stays, because ``mine::mul`` need not be a multiplication.

    >>> op_key("aten::mul_.Tensor"), op_key("torch.rms_norm"), op_key("mine::scale")
    ('mul', 'rms_norm', 'mine::scale')
    """
    word = name.strip()
    namespace, _, rest = word.rpartition("::")
    if namespace not in ("", "aten", "prims"):
        return re.sub(r"\.[A-Za-z_]\w*$", "", word)
    word = re.sub(
        r"^(torch\.(nn\.functional\.|_C\._nn\.|_C\._VariableFunctions\.)?|aten\.)", "", rest
    )
    word = word.split(".", 1)[0]
    if word.endswith("_") and not word.endswith("__"):
        word = word[:-1]
    return word


def formula(*names: str) -> Callable[[Formula], Formula]:
    """Register the decorated function as the formula of ``names``; duplicates are refused."""

    def decorate(function: Formula) -> Formula:
        for name in names:
            _add(name, function)
            _OWN.add(op_key(name))
        return function

    return decorate


def register(name: str, function: Formula, *, replace: bool = False) -> None:
    """Register a formula of your own for an operator, torch custom op or NKI kernel by name.

    A name that has a formula is refused unless ``replace`` is true.
    """
    _load()
    if replace:
        _FORMULAS.pop(op_key(name), None)
        _OWN.discard(op_key(name))
    _add(name, function)


def unregister(name: str) -> None:
    """Remove a formula that ``register`` added; raises ``WorkError`` for any other name."""
    key = op_key(name)
    if key in _OWN or key not in _FORMULAS:
        raise WorkError(f"{name!r} has no formula of yours to remove")
    del _FORMULAS[key]


def _add(name: str, function: Formula) -> None:
    key = op_key(name)
    if key in _FORMULAS:
        raise WorkError(
            f"operator {key!r} already has a formula ({_FORMULAS[key].__qualname__}); "
            "pass replace=True to take its place"
        )
    _FORMULAS[key] = function


@lru_cache(maxsize=1)
def _load() -> None:
    for module in pkgutil.iter_modules(formulas.__path__):
        import_module(f"{formulas.__name__}.{module.name}")


def user_registered(name: str) -> bool:
    """Return whether ``register`` gave this operator its formula."""
    key = op_key(name)
    return key in _FORMULAS and key not in _OWN


def find_formula(name: str) -> Formula | None:
    """Return the formula of an operator, or ``None``: an unknown operator is not a free one."""
    _load()
    return _FORMULAS.get(op_key(name))


def formula_names() -> tuple[str, ...]:
    """Return every registered operator, sorted."""
    _load()
    return tuple(sorted(_FORMULAS))


def count_of(call: Call, cost: Cost, *, known: bool = True, module: str = "") -> OpCount:
    """Return the ``OpCount`` of a call and its cost."""
    inputs = call.inputs
    outputs = call.outputs or cost.outputs
    device = [spec for spec in inputs if not spec.on_host]
    read = sum(spec.bytes for spec in device) if cost.read_bytes is None else cost.read_bytes
    write = sum(spec.bytes for spec in outputs) if cost.write_bytes is None else cost.write_bytes
    return OpCount(
        name=call.name,
        inputs=tuple((spec.shape, spec.dtype) for spec in inputs),
        outputs=tuple((spec.shape, spec.dtype) for spec in outputs),
        flops=cost.flops,
        tensor_flops=cost.tensor_flops,
        element_passes=cost.passes,
        engines=cost.engines,
        usual_engine=cost.usual_engine,
        read_bytes=read,
        aliased_read_bytes=read,
        write_bytes=write,
        host_copy_bytes=sum(spec.bytes for spec in inputs if spec.on_host),
        accumulate_dtype=cost.accumulate_dtype,
        module=module,
        family=cost.family,
        known=known,
        note=cost.note,
    )

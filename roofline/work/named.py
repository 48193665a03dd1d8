"""Work of a computation named by its closed form, with sizes written as text: no torch."""

from __future__ import annotations

from collections.abc import Iterable

from roofline.errors import WorkError
from roofline.work.closed_form import closed_form, families, family
from roofline.work.specs import parse_argument
from roofline.work.work import Work

__all__ = ["is_named", "named_work"]


def is_named(target: str) -> bool:
    """Whether ``target`` is ``NAME`` or ``NAME:VARIANT`` of a closed form.

    >>> is_named("rmsnorm"), is_named("rmsnorm:fused"), is_named("kernels:rmsnorm")
    (True, True, False)
    """
    name, separator, variant = target.partition(":")
    return name in families() and (not separator or variant in family(name).variants)


def named_work(target: str, arguments: Iterable[str], *, variant: str = "fused") -> Work:
    """Return the work of a closed form from ``rows=512`` and ``dtype=bf16``, one text each.

    ``variant`` holds where ``target`` names none. Raises ``WorkError`` for what is not a size.
    """
    name, _, wanted = target.partition(":")
    sizes: dict[str, int] = {}
    dtype = ""
    for text in arguments:
        key, separator, value = (part.strip() for part in text.partition("="))
        if not separator or not key:
            raise WorkError(f"not NAME=VALUE: {text!r} (for example rows=512 or dtype=bf16)")
        if key in sizes or (key == "dtype" and dtype):
            raise WorkError(f"argument {key!r} is given twice")
        if key == "dtype":
            dtype = value
            continue
        size = parse_argument(value)
        if isinstance(size, bool) or not isinstance(size, int):
            raise WorkError(f"{name}: {key} must be a whole number, not {value!r}")
        sizes[key] = size
    if not dtype:
        raise WorkError(f"{name}: no dtype: give --arg dtype=bf16")
    return closed_form(name, dtype=dtype, variant=wanted or variant, **sizes)

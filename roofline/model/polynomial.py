"""Counts of a computation as exact polynomials of its dimensions.

FLOP, bytes and element-passes of an operator are polynomials of low degree in each dimension.
Counting a few small sizes gives the coefficients exactly (rational arithmetic on integers), and a
polynomial evaluates on arrays of any size: so every operator that can be counted once, in closed
form or from torch, can be swept over millions of sizes. More sizes are counted to check that the
counts really are such a polynomial.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roofline.errors import QueryError

__all__ = ["DEGREE", "Polynomial", "fit_counts"]

DEGREE: Final = 2
"""Highest power of one dimension: attention is quadratic in the sequence."""

_NODES: Final = (256, 384, 512)  # whole tiles, so that no padding enters the counts
_CHECKS: Final = (640, 1152)
_MOST_DIMS: Final = 5


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of ``coefficient * product(dim ** power)``.

    ``terms`` maps a tuple of powers, in the order of ``dims``, to its coefficient.
    """

    dims: tuple[str, ...]
    terms: Mapping[tuple[int, ...], float]

    @property
    def constant(self) -> float | None:
        """The value if no dimension enters, else ``None``."""
        if not self.terms:
            return 0.0
        if set(self.terms) == {(0,) * len(self.dims)}:
            return next(iter(self.terms.values()))
        return None

    def __call__(self, sizes: Mapping[str, npt.ArrayLike]) -> Any:
        """Return the value at ``sizes`` (arrays that broadcast), in float64."""
        constant = self.constant
        if constant is not None:
            return constant
        total: Any = None
        for powers, coefficient in self.terms.items():
            # the small factors first: a product over one dimension is not yet a full grid
            value: Any = coefficient
            for dim, power in sorted(
                zip(self.dims, powers, strict=True), key=lambda pair: np.size(sizes[pair[0]])
            ):
                for _ in range(power):
                    value = value * np.asarray(sizes[dim], dtype=np.float64)
            total = value if total is None else total + value
        return total


def fit_counts(
    count: Callable[..., Mapping[str, float]], dims: Sequence[str]
) -> dict[str, Polynomial]:
    """Return the counts of ``count(**sizes)`` as polynomials of ``dims``.

    ``count`` returns whole numbers by name, the same names at every size. Raises ``QueryError``
    when there are too many dimensions or when the counts are not polynomials of degree 2.
    """
    if len(dims) > _MOST_DIMS:
        raise QueryError(f"at most {_MOST_DIMS} dimensions can vary, not {len(dims)}: {dims}")
    grid = {
        index: _whole(count(**{d: _NODES[i] for d, i in zip(dims, index, strict=True)}))
        for index in itertools.product(range(DEGREE + 1), repeat=len(dims))
    }
    names = list(next(iter(grid.values())))
    fitted = {
        name: Polynomial(
            tuple(dims), _coefficients({index: row[name] for index, row in grid.items()}, len(dims))
        )
        for name in names
    }
    for shift in range(2):
        sizes = {d: _CHECKS[(position + shift) % 2] for position, d in enumerate(dims)}
        _check(fitted, _whole(count(**sizes)), sizes)
    return fitted


def _whole(counts: Mapping[str, float]) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in counts.items()}


def _check(
    fitted: Mapping[str, Polynomial], counted: Mapping[str, Fraction], sizes: Mapping[str, int]
) -> None:
    for name, polynomial in fitted.items():
        expected = float(counted[name])
        got = float(polynomial(sizes))
        if not math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-6):
            raise QueryError(
                f"{name} is no polynomial of degree {DEGREE} in {', '.join(polynomial.dims)}: "
                f"{expected:g} at {sizes}, not {got:g}; it cannot be swept over these dimensions"
            )


def _coefficients(
    values: Mapping[tuple[int, ...], Fraction], rank: int
) -> dict[tuple[int, ...], float]:
    """Return monomial coefficients of the tensor-product interpolation of ``values``."""
    current = dict(values)
    for axis in range(rank):
        current = {
            (*index[:axis], power, *index[axis + 1 :]): sum(
                (
                    _LAGRANGE[node][power] * current[(*index[:axis], node, *index[axis + 1 :])]
                    for node in range(DEGREE + 1)
                ),
                start=Fraction(0),
            )
            for index in current
            for power in (index[axis],)
        }
    return {powers: float(value) for powers, value in sorted(current.items()) if value}


def _lagrange() -> list[list[Fraction]]:
    """Return, for each node, the monomial coefficients of its Lagrange basis polynomial."""
    basis = []
    for node in range(DEGREE + 1):
        coefficients = [Fraction(1)]
        for other in range(DEGREE + 1):
            if other == node:
                continue
            span = Fraction(_NODES[node] - _NODES[other])
            lower = [-_NODES[other] * c / span for c in coefficients] + [Fraction(0)]
            upper = [Fraction(0)] + [c / span for c in coefficients]
            coefficients = [a + b for a, b in zip(lower, upper, strict=True)]
        basis.append(coefficients)
    return basis


_LAGRANGE: Final = _lagrange()

"""Forward mode over mpmath numbers: a value together with its slope.

The rules of sums, products and quotients are those of every textbook; the derivatives of functions
are SymPy's. Whatever is computed of arrays of such numbers has its slopes computed with it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import mpmath
import numpy as np

from gradcalc.graph import Array
from gradcalc.verify import matrices
from gradcalc.verify.arithmetic import Digits
from gradcalc.verify.derivative import NoFormulaError
from gradcalc.verify.local import named
from gradcalc.verify.precision import Range

FUNCTIONS = ("exp", "log", "sqrt", "power", "maximum", "minimum")  # of rows that mix elements
CHOOSING = FUNCTIONS[-2:]  # what they leave out adds nothing, even where its slope is nan


class Dual:
    """x + slope*e with e*e = 0; the slope of what does not depend on the moved element is 0."""

    __slots__ = ("slope", "value")

    def __init__(self, value: Any, slope: Any = 0) -> None:
        self.value = value
        self.slope = slope

    def __add__(self, other: Any) -> Dual:
        value, slope = _parts(other)
        return Dual(_sum(self.value, value), _sum(self.slope, slope))

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> Dual:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Dual:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Dual:
        value, slope = _parts(other)
        return Dual(self.value * value, _sum(times(self.slope, value), times(slope, self.value)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        value, slope = _parts(other)
        quotient = self.value / value if value else mpmath.nan
        return Dual(quotient, _over(_sum(self.slope, times(-slope, quotient)), value))

    def __rtruediv__(self, other: Any) -> Dual:
        return Dual(*_parts(other)) / self

    def __pow__(self, exponent: int) -> Dual:
        assert exponent == 2  # the matrices square; other powers are a function
        return self * self

    def __abs__(self) -> Dual:
        return Dual(abs(self.value), times(self.slope, mpmath.sign(self.value)))


def _parts(number: Any) -> tuple[Any, Any]:
    return (number.value, number.slope) if isinstance(number, Dual) else (number, 0)


def _sum(a: Any, b: Any) -> Any:
    total = a + b
    Range.note((a, b, total))
    return total


def _is_fixed(slope: Any) -> bool:
    """Does nothing here depend on the moved element? Then the slope is the integer 0."""
    return type(slope) is int


def times(slope: Any, factor: Any) -> Any:
    """``slope*factor``; 0 where nothing flows, even if the factor is infinite."""
    return 0 if _is_fixed(slope) else slope * factor


def _over(slope: Any, value: Any) -> Any:
    if _is_fixed(slope):
        return 0
    return slope / value if value else mpmath.nan


def slope_of(number: Any) -> Any:
    """The slope of a result: 0 of a truth value or a constant, nan of what has no value."""
    if isinstance(number, Dual):
        return 0 if isinstance(number.value, bool) else number.slope
    return mpmath.nan if mpmath.isnan(number) else 0


class Duals(Digits):
    """The arithmetic of these numbers: each function brings SymPy's derivative."""

    def __init__(self) -> None:
        super().__init__()
        functions = {name: partial(_applied, name) for name in FUNCTIONS}
        vars(self).update(functions, solve=_solve, cholesky=_cholesky)
        vars(self).update(eigenvalues=_eigenvalues, eigenvectors=_eigenvectors)


def _applied(name: str, *elements: Any) -> Dual:
    """A named function of duals."""
    parts = [_parts(element) for element in elements]
    symbols, value, slopes = named(name, len(elements))
    point = {symbol: number for symbol, (number, _) in zip(symbols, parts, strict=True)}
    total: Any = 0
    for (_, tangent), slope in zip(parts, slopes, strict=True):
        if slope is None or _is_fixed(tangent):
            continue
        factor = slope.formula(point)
        total = _sum(total, 0 if name in CHOOSING and factor == 0 else factor * tangent)
    return Dual(value(point), total)


def _split(a: Array) -> tuple[Array, Array]:
    parts = np.frompyfunc(_parts, 1, 2)(a)
    return parts[0], parts[1]


def _joined(values: Array, slopes: Array) -> Array:
    return np.frompyfunc(Dual, 2, 1)(values, slopes)


def _solve(a: Array, b: Array) -> Array:
    """x = A^-1 b has the slope A^-1 (db - dA x)."""
    (a, da), (b, db) = _split(a), _split(b)
    x = matrices.solve_digits(a, b)
    return _joined(x, matrices.solve_digits(a, db - da @ x + mpmath.mpf(0)))


def _cholesky(a: Array) -> Array:
    return matrices.cholesky(partial(_applied, "sqrt"), a)


def _eigenvalues(a: Array) -> Array:
    """The slope of an eigenvalue is v^T dA v (Rellich; Magnus 1985)."""
    a, da = _split(a)
    values, vectors = matrices.eigh_digits(a)
    return _joined(values, np.array([v @ da @ v for v in vectors.T], dtype=object))


def _eigenvectors(a: Array) -> Array:
    a, da = _split(a)
    if not all(map(_is_fixed, da.flat)):
        raise NoFormulaError("there is no formula for eigenvectors")
    return matrices.eigh_digits(a)[1]


DUALS = Duals()

"""Matrices of SymPy expressions and of mpmath numbers: what NumPy's linear algebra means there."""

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import sympy

from gradcalc.graph import Array
from gradcalc.verify.derivative import NoFormulaError

LARGEST = 5  # rows of a matrix whose determinant is written out: 120 products


def determinant(a: Array) -> Any:
    """The determinant by its minors: a polynomial, right at singular matrices too."""
    if len(a) > LARGEST:
        raise NoFormulaError(f"a formula for a matrix of {len(a)} rows would be too long")
    minors: dict[tuple[int, ...], Any] = {(): sympy.S.One}  # of the last rows, by columns
    for row in reversed(a):
        wider: dict[tuple[int, ...], Any] = {}
        for columns in minors:
            for j in set(range(len(a))) - set(columns):
                joined = tuple(sorted((*columns, j)))
                sign = (-1) ** joined.index(j)
                wider[joined] = wider.get(joined, 0) + sign * row[j] * minors[columns]
        minors = wider
    return minors[tuple(range(len(a)))]


def cramer(a: Array, b: Array) -> Array:
    """The solution of a x = b as quotients of determinants: no pivot has to be chosen."""
    below = determinant(a)
    result = np.empty(b.shape, dtype=object)
    for i, j in np.ndindex(b.shape):
        changed = a.copy()
        changed[:, i] = b[:, j]
        result[i, j] = determinant(changed) / below
    return result


def cholesky(sqrt: Callable[[Any], Any], a: Array) -> Array:
    """The lower factor, column by column."""
    lower = np.zeros(a.shape, dtype=object)
    for j in range(len(a)):
        lower[j, j] = sqrt(a[j, j] - sum(lower[j, :j] ** 2))
        for i in range(j + 1, len(a)):
            lower[i, j] = (a[i, j] - sum(lower[i, :j] * lower[j, :j])) / lower[j, j]
    return lower


class eigenvalue(sympy.Function):
    """Eigenvalue k (ascending) of the n x n matrix whose elements follow: ``(k, n, *elements)``.

    SymPy differentiates the characteristic polynomial p, which defines it implicitly.
    """

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        slopes, symbols, unknown = _characteristic(int(self.args[1]))
        known = {**dict(zip(symbols, self.args[2:], strict=True)), unknown: self}
        return slopes[argindex - 3].xreplace(known)


@cache
def _characteristic(n: int) -> tuple[list[Any], list[Any], Any]:
    """-(dp/da)/(dp/dl) for each element a of a matrix; its symbols, and that of the eigenvalue."""
    symbols = [sympy.Dummy("a", real=True) for _ in range(n * n)]
    unknown = sympy.Dummy("l", real=True)
    matrix = np.array(symbols, dtype=object).reshape(n, n) - np.diag([unknown] * n)
    p = determinant(matrix)
    by_unknown = sympy.diff(p, unknown)
    return [-sympy.diff(p, symbol) / by_unknown for symbol in symbols], symbols, unknown


def eigenvalues(a: Array) -> Array:
    """The eigenvalues of a symmetric matrix of expressions."""
    determinant(a)  # raises where their derivatives would be too long
    return np.array([eigenvalue(k, len(a), *a.flat) for k in range(len(a))], dtype=object)


def eigenvectors(a: Array) -> Array:
    """Not written out: their signs are LAPACK's choice."""
    raise NoFormulaError("there is no formula for eigenvectors")


def solve_digits(a: Array, b: Array) -> Array:
    """The solution of a x = b; raises ValueError or ZeroDivisionError where there is none."""
    _check_finite(a, b)
    try:
        lower_upper, order = mpmath.mp.LU_decomp(mpmath.matrix(a.tolist()))
    except TypeError as error:  # what mpmath makes of a column of zeros
        raise ValueError("singular") from error
    columns = []
    for column in b.T:
        first = mpmath.mp.L_solve(lower_upper, mpmath.matrix(column.tolist()), order)
        columns.append(list(mpmath.mp.U_solve(lower_upper, first)))
    return np.array(columns, dtype=object).reshape(b.shape[::-1]).T


def eigh_digits(a: Array) -> tuple[Array, Array]:
    """The eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix.

    Raises ValueError where they cannot be found.
    """
    _check_finite(a)
    try:
        values, vectors = mpmath.eigsy(mpmath.matrix(a.tolist()))
    except RuntimeError as error:
        raise ValueError("no convergence") from error
    return (
        np.array(list(values), dtype=object),
        np.array(vectors.tolist(), dtype=object),
    )


def _check_finite(*matrices: Array) -> None:
    if not all(mpmath.isfinite(element) for a in matrices for element in a.flat):
        raise ValueError("not finite")


def eigenvalue_digits(k: Any, n: Any, *elements: Any) -> Any:
    """``eigenvalue`` of numbers."""
    return eigh_digits(np.array(elements, dtype=object).reshape(int(n), int(n)))[0][int(k)]

"""Products, and linear algebra of square matrices (numpy.linalg), over leading axes too."""

from typing import NamedTuple

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Array, Node, as_number, ops, size_of
from gradcalc.language.functions.reductions import prod, sum_
from gradcalc.language.functions.registry import Known, function
from gradcalc.language.functions.selections import diagonal
from gradcalc.language.functions.shapes import Positions, along, axis_of, expand_dims, picked, stack
from gradcalc.primitives import linalg, products, shapes

# Products


@function("a @ b", "a=[[1,2],[3,4]]; b=[[5,6],[7,8]]", {"a": "w @ b.T", "b": "a.T @ w"})
def matmul(a: Node, b: Node) -> Node:
    """a @ b: the matrix product, over leading axes too; a vector is a row, or a column."""
    if not a.ndim or not b.ndim:
        raise GradcalcError(
            "shape-mismatch", f"shapes {a.shape} and {b.shape} do not fit together in '@'",
            "a product with a scalar is written *",
        )  # fmt: skip
    left = shapes.reshape(a, params=((1, *a.shape),)) if a.ndim == 1 else a
    right = shapes.reshape(b, params=((*b.shape, 1),)) if b.ndim == 1 else b
    try:
        result = products.matmul(as_number(left), as_number(right))
    except GradcalcError as error:
        error.message = error.message.replace(
            f"{left.shape} and {right.shape}", f"{a.shape} and {b.shape}"
        )
        raise
    drop = ((-2,) if a.ndim == 1 else ()) + ((-1,) if b.ndim == 1 else ())
    kept = tuple(n for i, n in enumerate(result.shape) if i - result.ndim not in drop)
    return shapes.reshape(result, params=(kept,)) if drop else result


@function("dot(a, b)", "a=1,2; b=3,4", {"a": "w*b", "b": "w*a"})
def dot(a: Node, b: Node) -> Node:
    """sum(a*b) of vectors; else over the last axis of ``a`` and the last but one of ``b``."""
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim <= 2:
        return matmul(a, b)
    # Sum over a's last axis and b's last but one; all other axes stay, a's before b's.
    axes = (b.ndim - 2, *range(b.ndim - 2), b.ndim - 1)
    columns = shapes.transpose(b, params=(axes,))
    rest = columns.shape[1:]
    product = matmul(a, shapes.reshape(columns, params=((columns.shape[0], size_of(rest)),)))
    return shapes.reshape(product, params=((*product.shape[:-1], *rest),))


@function("outer(a, b)", "a=1,2; b=3,4", {"a": "w @ b", "b": "a @ w"})
def outer(a: Node, b: Node) -> Node:
    """a[i]*b[j] of all elements"""
    return shapes.reshape(a, params=((a.size, 1),)) * shapes.reshape(b, params=((1, b.size),))


@function("cross(a, b)", "a=1,2,3; b=4,5,6", {"a": "cross(b, w)", "b": "cross(w, a)"})
def cross(a: Node, b: Node, axis: int = -1) -> Node:
    """The cross product of vectors of 3 (of 2: its one component) along ``axis``."""
    at = axis_of(a, axis), axis_of(b, axis)
    lengths = {a.shape[at[0]], b.shape[at[1]]}
    if lengths not in ({2}, {3}):
        raise GradcalcError(
            "shape-mismatch",
            f"shapes {a.shape} and {b.shape} do not fit together in 'cross'",
            "both have 3 elements along the axis, or both 2",
        )
    x = [picked(a, at[0], i) for i in range(max(lengths))]
    y = [picked(b, at[1], i) for i in range(max(lengths))]
    if lengths == {2}:
        return x[0] * y[1] - x[1] * y[0]
    parts = [x[i - 2] * y[i - 1] - x[i - 1] * y[i - 2] for i in range(3)]
    return stack(*parts, axis=axis)


@function("kron(a, b)", "a=1,2; b=3,4", {"a": "reshape(w, 2, 2) @ b", "b": "a @ reshape(w, 2, 2)"})
def kron(a: Node, b: Node) -> Node:
    """The Kronecker product: each element of ``a`` times all of ``b``."""
    ndim = max(a.ndim, b.ndim)
    blocks, inner = ((1,) * (ndim - one.ndim) + one.shape for one in (a, b))
    spread = tuple(length for n in blocks for length in (n, 1))
    repeated = tuple(length for n in inner for length in (1, n))
    product = shapes.reshape(a, params=(spread,)) * shapes.reshape(b, params=(repeated,))
    lengths = tuple(n * m for n, m in zip(blocks, inner, strict=True))
    return shapes.reshape(product, params=(lengths,))


@function("trace(x)", "x=[[1,2],[3,4]]", "w*eye(2)")
def trace(x: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """The sum of a diagonal."""
    return sum_(diagonal(x, offset, axis1, axis2), (-1,))


# Square matrices


class SignAndLog(NamedTuple):
    """What numpy.linalg.slogdet returns."""

    sign: Node
    logabsdet: Node


class Eigen(NamedTuple):
    """What numpy.linalg.eigh returns."""

    eigenvalues: Node
    eigenvectors: Node


@function("det(x)", "x=[[1,2],[2,4]]", "w*[[x[1,1], -x[1,0]], [-x[0,1], x[0,0]]]")
def det(known: Known, x: Node) -> Node:
    """The determinant; its gradient, the cofactors, is right at singular matrices too."""
    sign, pivots, rest = _eliminated(known, x)
    return sign * prod(pivots, (-1,)) * rest


@function("logdet(x)", "x=[[2,1],[1,3]]", "w*inv(x).T")
def logdet(known: Known, x: Node) -> Node:
    """log(det(x)); nan where the determinant is negative."""
    sign, size = slogdet(known, x)
    return size * ops.where(sign < 0.0, float("nan"), 1.0)  # the gradient is nan too


@function("slogdet(x)[1]", "x=[[1,2],[3,4]]", "w*inv(x).T")
def slogdet(known: Known, x: Node) -> SignAndLog:
    """The sign of the determinant and log(abs(det(x))), which does not overflow."""
    sign, pivots, rest = _eliminated(known, x)
    size = sum_(ops.log(ops.abs(pivots)), (-1,)) + ops.log(ops.abs(rest))
    return SignAndLog(sign * prod(ops.sign(pivots), (-1,)) * ops.sign(rest), size)


def _eliminated(known: Known, x: Node) -> tuple[Node, Node, Node]:
    """The sign of a reordering, pivots, and the determinant of what elimination leaves.

    Complete pivoting; it ends before a pivot of 0, so that nothing is ever divided by 0. What is
    left has rank 0 or one row, and a determinant that is a polynomial.
    """
    _check_square("det", x)
    x = as_number(x)
    values, n = known(x), x.shape[-1]
    rows, columns, sign, rank = _pivoting(values)
    for axis, order in ((x.ndim - 2, rows), (x.ndim - 1, columns)):
        spread = order[..., :, None] if axis == x.ndim - 2 else order[..., None, :]
        x = along(x, axis, np.broadcast_to(spread, x.shape))
    pivots = []
    for _ in range(min(rank, n - 1)):
        pivot, row = _block(x, 0, 0), _block(x, 0, slice(1, None))
        column, rest = _block(x, slice(1, None), 0), _block(x, slice(1, None), slice(1, None))
        pivots.append(pivot)
        factor = column / expand_dims(pivot, -1)
        x = rest - expand_dims(factor, -1) * expand_dims(row, -2)
    batch = x.shape[:-2]
    none = x.graph.constant(np.ones((*batch, 0)))
    return x.graph.constant(sign), stack(*pivots, axis=-1) if pivots else none, _polynomial(x)


def _check_square(name: str, x: Node) -> None:
    linalg.square(name)(x.shape)


def _block(x: Node, rows: int | slice, columns: int | slice) -> Node:
    return shapes.index(x, params=(shapes.Index((..., rows, columns)),))


def _pivoting(a: Array) -> tuple[Positions, Positions, Array, int]:
    """The orders of rows and columns with the largest pivots first, their sign, and the rank.

    The rank is the smallest of all matrices: how many pivots are not 0.
    """
    *batch, n, _ = a.shape
    rows, columns = (np.zeros((*batch, n), dtype=np.intp) for _ in range(2))
    sign, rank = np.ones(tuple(batch)), n
    for i in np.ndindex(*batch):
        left, row, column = a[i].copy(), np.arange(n), np.arange(n)
        for k in range(n):
            size = np.abs(left[k:, k:])
            p, q = np.unravel_index(np.argmax(size), size.shape)
            if not size[p, q] > 0.0:
                rank = min(rank, k)
                break
            for order, other in ((row, k + int(p)), (column, k + int(q))):
                if other != k:
                    order[[k, other]] = order[[other, k]]
                    sign[i] = -sign[i]
            left[[k, k + int(p)]] = left[[k + int(p), k]]
            left[:, [k, k + int(q)]] = left[:, [k + int(q), k]]
            left[k + 1 :, k + 1 :] -= np.outer(left[k + 1 :, k] / left[k, k], left[k, k + 1 :])
        rows[i], columns[i] = row, column
    return rows, columns, sign, rank


def _polynomial(x: Node) -> Node:
    """The determinant without a division by elements (Faddeev and LeVerrier)."""
    n = x.shape[-1]
    if not n:
        return ops.broadcast_to(x.graph.constant(1.0), params=(x.shape[:-2],))
    one, power = x.graph.constant(np.eye(n)), x
    for k in range(1, n):
        coefficient = -trace(power, 0, -2, -1) / float(k)
        shifted = power + expand_dims(expand_dims(coefficient, -1), -1) * one
        power = products.matmul(x, shifted)
    return trace(power, 0, -2, -1) * ((-1.0) ** (n + 1) / n)


@function("inv(x)", "x=[[2,1],[1,3]]", "-y.T @ w @ y.T")
def inv(x: Node) -> Node:
    """The inverse matrix; a singular matrix is an error."""
    _check_square("inv", x)
    return linalg.solve(x, x.graph.constant(np.eye(x.shape[-1])))


@function(
    "solve(a, b)",
    "a=[[2,1],[1,3]]; b=1,2",
    {"a": "-outer(solve(a.T, w), y)", "b": "solve(a.T, w)"},
)
def solve(a: Node, b: Node) -> Node:
    """The x with a @ x = b; a singular matrix is an error. ``b`` is a vector, or has columns."""
    _check_square("solve", a)
    if not b.ndim:
        raise GradcalcError("shape-mismatch", "the right-hand side of 'solve' is a number")
    if b.ndim > 1:
        return linalg.solve(a, b)
    columns = linalg.solve(a, shapes.reshape(b, params=((b.size, 1),)))
    return shapes.reshape(columns, params=(columns.shape[:-1],))


@function(
    "cholesky(x)",
    "x=[[4,2],[2,3]]",
    "p = inv(y).T @ (tril(y.T @ w) - diag(diag(y.T @ w))/2) @ inv(y); (p + p.T)/2",
    convention="the gradient is symmetric, as PyTorch's",
)
def cholesky(x: Node) -> Node:
    """The lower L with L @ L.T = x, of a symmetric positive definite matrix."""
    return linalg.cholesky(x)


@function(
    "eigvalsh(x)",
    "x=[[2,1],[1,3]]",
    "v = eigh(x)[1]; (v*w) @ v.T",
    convention="the gradient is symmetric, as PyTorch's",
)
def eigvalsh(x: Node) -> Node:
    """The eigenvalues of a symmetric matrix, in ascending order."""
    return linalg.eigenvalues(x)


@function(
    "eigh(x)[0]",
    "x=[[2,1],[1,3]]",
    "v = eigh(x)[1]; (v*w) @ v.T",
    convention="where eigenvalues meet, vectors have none",
)
def eigh(x: Node) -> Eigen:
    """The eigenvalues of a symmetric matrix and, as columns, its eigenvectors."""
    return Eigen(linalg.eigenvalues(x), linalg.eigenvectors(x))


@function("matrix_power(x, 2)", "x=[[1,2],[3,4]]", "w @ x.T + x.T @ w")
def matrix_power(x: Node, n: int) -> Node:
    """The product of n factors x; of the inverse where n is negative."""
    _check_square("matrix_power", x)
    base, left = (inv(x), -n) if n < 0 else (x, n)
    if not left:
        return ops.broadcast_to(x.graph.constant(np.eye(x.shape[-1])), params=(x.shape,))
    result = None
    while left:
        if left % 2:
            result = base if result is None else matmul(result, base)
        left //= 2
        base = matmul(base, base) if left else base
    assert result is not None  # some bit of n is set
    return result

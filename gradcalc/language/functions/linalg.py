"""Products, and linear algebra of square matrices (numpy.linalg), over leading axes too."""

from typing import NamedTuple

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Node, as_number, ops, size_of
from gradcalc.language.functions.reductions import sum_
from gradcalc.language.functions.registry import function
from gradcalc.language.functions.selections import diagonal
from gradcalc.language.functions.shapes import axis_of, picked, stack
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


class Eigen(NamedTuple):
    """What numpy.linalg.eigh returns."""

    eigenvalues: Node
    eigenvectors: Node


@function("inv(x)", "x=[[2,1],[1,3]]", "-y.T @ w @ y.T", domain="det(x) != 0")
def inv(x: Node) -> Node:
    """The inverse matrix; a singular matrix is an error."""
    linalg.square("inv")(x.shape)
    return linalg.solve(x, x.graph.constant(np.eye(x.shape[-1])))


@function(
    "solve(a, b)",
    "a=[[2,1],[1,3]]; b=1,2",
    {"a": "-outer(solve(a.T, w), y)", "b": "solve(a.T, w)"},
    domain="det(a) != 0",
)
def solve(a: Node, b: Node) -> Node:
    """The x with a @ x = b; a singular matrix is an error. ``b`` is a vector, or has columns."""
    linalg.square("solve")(a.shape)
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
    domain="x is positive definite",
    convention="the gradient is symmetric, as PyTorch's",
)
def cholesky(x: Node) -> Node:
    """The lower L with L @ L.T = x, of a symmetric positive definite matrix."""
    return linalg.cholesky(x)


@function(
    "eigvalsh(x)",
    "x=[[2,1],[1,3]]",
    "v = eigh(x)[1]; (v*w) @ v.T",
    kinks="equal eigenvalues",
    convention="the gradient is symmetric, as PyTorch's; equal eigenvalues: of the basis found",
)
def eigvalsh(x: Node) -> Node:
    """The eigenvalues of a symmetric matrix, in ascending order."""
    return linalg.eigenvalues(x)


@function(
    "eigh(x)[0]",
    "x=[[2,1],[1,3]]",
    "v = eigh(x)[1]; (v*w) @ v.T",
    kinks="equal eigenvalues",
    convention="vectors have LAPACK's signs; of equal eigenvalues they have no derivative",
)
def eigh(x: Node) -> Eigen:
    """The eigenvalues of a symmetric matrix and, as columns, its eigenvectors."""
    return Eigen(linalg.eigenvalues(x), linalg.eigenvectors(x))


@function("matrix_power(x, 2)", "x=[[1,2],[3,4]]", "w @ x.T + x.T @ w")
def matrix_power(x: Node, n: int) -> Node:
    """The product of n factors x; of the inverse where n is negative."""
    linalg.square("matrix_power")(x.shape)
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

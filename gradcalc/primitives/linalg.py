"""Linear algebra of square matrices, over leading axes too. What is singular is an error.

The rules are those of M. Giles, "An extended collection of matrix derivative results for forward
and reverse mode algorithmic differentiation" (2008), and I. Murray, "Differentiation of the
Cholesky decomposition" (2016). ``cholesky`` and the eigenvalues are functions of a symmetric
matrix: their gradients are symmetric, as PyTorch's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Array, Node, Shape, ops
from gradcalc.primitives.products import matmul, swap
from gradcalc.primitives.rule import General, broadcast
from gradcalc.primitives.shapes import Index

SYMMETRIC = 1e-12  # of the largest element: how far rounding may take a matrix from its transpose


def square(name: str) -> Callable[[Shape], Shape]:
    """Checks that the matrices of a shape are square; raises GradcalcError."""

    def shape(a: Shape) -> Shape:
        if len(a) < 2 or a[-1] != a[-2]:
            raise GradcalcError(
                "not-square",
                f"'{name}' is for square matrices, not for shape {a}",
                "the last two lengths must be equal",
            )
        return a

    return shape


def _solve_shape(a: Shape, b: Shape) -> Shape:
    n = square("solve")(a)[-1]
    if b[-2] != n:
        raise GradcalcError(
            "shape-mismatch",
            f"shapes {a} and {b} do not fit together in 'solve'",
            f"{n} equations want as many right-hand sides",
        )
    return (*broadcast("solve", a[:-2], b[:-2]), n, b[-1])


def _symmetric(a: Array) -> Array:
    """The symmetric part of ``a``; raises GradcalcError where that is another matrix."""
    flipped = np.swapaxes(a, -1, -2)
    if np.any(np.abs(a - flipped) > SYMMETRIC * np.max(np.abs(a), initial=0.0)):
        raise GradcalcError(
            "not-symmetric",
            "the matrix is not symmetric",
            "its symmetric part is (A + A.T)/2",
        )
    return (a + flipped) / 2.0


def _solve(a: Array, b: Array) -> Array:
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise GradcalcError(
            "singular",
            "the matrix is singular: there is no unique solution",
            "its determinant is 0: is one row a combination of others?",
        ) from None


def _cholesky(a: Array) -> Array:
    try:
        return np.linalg.cholesky(_symmetric(a))
    except np.linalg.LinAlgError:
        raise GradcalcError(
            "not-positive-definite",
            "the matrix is not positive definite",
            "all eigenvalues must be positive: look at eigvalsh",
        ) from None


def _eigh(a: Array) -> tuple[Array, Array]:
    try:
        return np.linalg.eigh(_symmetric(a))
    except np.linalg.LinAlgError:
        raise GradcalcError(
            "no-convergence", "the eigenvalues of this matrix cannot be computed"
        ) from None


def _through_solve(cotangent: Node, node: Node, position: int) -> Node:
    """To b: A^-T w; to A: -(A^-T w) x^T."""
    back = solve(swap(node.inputs[0]), cotangent)
    return back if position == 1 else -matmul(back, swap(node))


def _through_cholesky(cotangent: Node, node: Node, position: int) -> Node:
    """The symmetric part of L^-T P L^-1, with P the lower half of L^T w, its diagonal halved."""
    n = node.shape[-1]
    lower = node.graph.constant(np.tri(n) - 0.5 * np.eye(n))
    half = matmul(swap(node), cotangent) * lower
    left = solve(swap(node), half)
    both = swap(solve(swap(node), swap(left)))
    return 0.5 * (both + swap(both))


def _through_eigenvalues(cotangent: Node, node: Node, position: int) -> Node:
    """V diag(w) V^T"""
    v = eigenvectors(node.inputs[0])
    row = ops.reshape(cotangent, params=((*cotangent.shape[:-1], 1, cotangent.shape[-1]),))
    return matmul(v * row, swap(v))


def _through_eigenvectors(cotangent: Node, node: Node, position: int) -> Node:
    """The symmetric part of V (V^T w / (l_j - l_i)) V^T, where i is not j."""
    values, n = eigenvalues(node.inputs[0]), node.shape[-1]
    batch = values.shape[:-1]
    gaps = ops.reshape(values, params=((*batch, 1, n),)) - ops.reshape(
        values, params=((*batch, n, 1),)
    )
    own = node.graph.constant(np.eye(n, dtype=bool))
    inner = ops.where(own, 0.0, matmul(swap(node), cotangent) / ops.where(own, 1.0, gaps))
    both = matmul(matmul(node, inner), swap(node))
    return 0.5 * (both + swap(both))


def _gaps(node: Node) -> tuple[Node, ...]:
    """Between neighbouring eigenvalues: where they meet, each alone has no derivative."""
    values, n = eigenvalues(node.inputs[0]), node.shape[-1]
    return tuple(_column(values, i + 1) - _column(values, i) for i in range(n - 1))


def _column(x: Node, i: int) -> Node:
    return ops.index(x, params=(Index((..., i)),))


def _each(function: Callable[..., Array], *stacks: Array) -> Array:
    """``function`` of each matrix of the stacks, which broadcast over their leading axes."""
    batch = np.broadcast_shapes(*(stack.shape[:-2] for stack in stacks))
    spread = [np.broadcast_to(stack, batch + stack.shape[-2:]) for stack in stacks]
    results = [function(*(stack[i] for stack in spread)) for i in np.ndindex(batch)]
    return np.array(results, dtype=object).reshape(*batch, *np.shape(results[0]))


def _of_symmetric(name: str) -> Callable[[Any, Array], Array]:
    """A twin that is a function of the symmetric part."""

    def twin(m: Any, a: Array) -> Array:
        return _each(getattr(m, name), (a + np.swapaxes(a, -1, -2)) / 2)

    return twin


def _matrix(node: Node, position: int) -> tuple[int, ...]:
    return (node.ndim - 2, node.ndim - 1)


def _equations(node: Node, position: int) -> tuple[int, ...]:
    """The columns of the right-hand side do not mix."""
    return _matrix(node, position)[: 1 if position == 1 else 2]


solve = General(
    name="solve",
    forward=_solve,
    twin=lambda m, a, b: _each(m.solve, a, b),
    shape=_solve_shape,
    broadcasts=True,
    transpose=_through_solve,
    mixes=_equations,
)
cholesky = General(
    name="cholesky",
    forward=_cholesky,
    twin=_of_symmetric("cholesky"),
    shape=square("cholesky"),
    transpose=_through_cholesky,
    mixes=_matrix,
)
eigenvalues = General(
    name="eigenvalues",
    forward=lambda a: _eigh(a)[0],
    twin=_of_symmetric("eigenvalues"),
    shape=lambda a: square("eigvalsh")(a)[:-1],
    transpose=_through_eigenvalues,
    mixes=lambda node, position: (node.ndim - 1,),
    kinks=_gaps,
)
eigenvectors = General(
    name="eigenvectors",
    forward=lambda a: _eigh(a)[1],
    twin=_of_symmetric("eigenvectors"),
    shape=square("eigh"),
    transpose=_through_eigenvectors,
    mixes=_matrix,
    kinks=_gaps,
)

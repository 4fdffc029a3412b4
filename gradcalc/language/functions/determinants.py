"""The determinant and its logarithm, by elimination in the graph: right at singular matrices."""

from typing import NamedTuple

import numpy as np

from gradcalc.graph import Array, Node, as_number, ops
from gradcalc.language.functions.linalg import trace
from gradcalc.language.functions.reductions import prod, sum_
from gradcalc.language.functions.registry import Known, function
from gradcalc.language.functions.shapes import Positions, along, expand_dims, picked, stack
from gradcalc.primitives import products, shapes
from gradcalc.primitives.linalg import square


class SignAndLog(NamedTuple):
    """What numpy.linalg.slogdet returns."""

    sign: Node
    logabsdet: Node


@function("det(x)", "x=[[1,2],[2,4]]", "w*[[x[1,1], -x[1,0]], [-x[0,1], x[0,0]]]")
def det(known: Known, x: Node) -> Node:
    """The determinant; its gradient, the cofactors, is right at singular matrices too.

    ``x``: (..., n, n); the result has the leading axes.
    """
    square("det")(x.shape)
    sign, factors = _factors(known, as_number(x))
    return sign * prod(factors, (-1,))


@function("logdet(x)", "x=[[2,1],[1,3]]", "w*inv(x).T", domain="det(x) > 0")
def logdet(known: Known, x: Node) -> Node:
    """log(det(x)); nan where the determinant is negative."""
    square("logdet")(x.shape)
    sign, size = slogdet(known, x)
    return size * ops.where(sign < 0.0, float("nan"), 1.0)  # the gradient is nan too


@function("slogdet(x)[1]", "x=[[1,2],[3,4]]", "w*inv(x).T", domain="det(x) != 0")
def slogdet(known: Known, x: Node) -> SignAndLog:
    """The sign of the determinant and log(abs(det(x))), which does not overflow."""
    square("slogdet")(x.shape)
    sign, factors = _factors(known, as_number(x))
    size = sum_(ops.log(ops.abs(factors)), (-1,))
    return SignAndLog(sign * prod(ops.sign(factors), (-1,)), size)


def _factors(known: Known, x: Node) -> tuple[Node, Node]:
    """The sign of a reordering, and factors (..., m): the determinant is their product.

    Complete pivoting; it ends before a pivot of 0, so that nothing is ever divided by 0. The last
    factor is the determinant of what is left, a polynomial of its elements.
    """
    n = x.shape[-1]
    rows, columns, sign, ranks = _pivoting(known(x))
    steps = np.minimum(ranks, max(0, n - 1))
    if steps.size and np.any(steps != steps.flat[0]):
        return _one_by_one(known, x)
    for axis, order in ((x.ndim - 2, rows[..., :, None]), (x.ndim - 1, columns[..., None, :])):
        x = along(x, axis, np.broadcast_to(order, x.shape))
    pivots = []
    for _ in range(int(np.max(steps, initial=0))):
        pivot, row = _block(x, 0, 0), _block(x, 0, slice(1, None))
        column, rest = _block(x, slice(1, None), 0), _block(x, slice(1, None), slice(1, None))
        pivots.append(pivot)
        factor = column / expand_dims(pivot, (-1,))
        x = rest - expand_dims(factor, (-1,)) * expand_dims(row, (-2,))
    return x.graph.constant(sign), stack(*pivots, _polynomial(x), axis=-1)


def _one_by_one(known: Known, x: Node) -> tuple[Node, Node]:
    """The same of matrices that have different ranks, and so different numbers of pivots."""
    *batch, n, _ = x.shape
    signs, rows = [], []
    for i in np.ndindex(*batch):
        sign, factors = _factors(known, shapes.index(x, params=(shapes.Index(i),)))
        count = factors.shape[0]
        ones = [x.graph.constant(1.0)] * (n - count)
        signs.append(sign)
        rows.append(stack(*(picked(factors, 0, k) for k in range(count)), *ones))
    return (
        shapes.reshape(stack(*signs), params=(tuple(batch),)),
        shapes.reshape(stack(*rows), params=((*batch, n),)),
    )


def _block(x: Node, rows: int | slice, columns: int | slice) -> Node:
    return shapes.index(x, params=(shapes.Index((..., rows, columns)),))


def _pivoting(a: Array) -> tuple[Positions, Positions, Array, Positions]:
    """The orders of rows and columns with the largest pivots first, their sign, and the ranks.

    The rank of each matrix is how many of its pivots are not 0.
    """
    *batch, n, _ = a.shape
    rows, columns = (np.zeros((*batch, n), dtype=np.intp) for _ in range(2))
    sign, rank = np.ones(tuple(batch)), np.full(tuple(batch), n)
    for i in np.ndindex(*batch):
        left, row, column = a[i].copy(), np.arange(n), np.arange(n)
        for k in range(n):
            size = np.abs(left[k:, k:])
            p, q = np.unravel_index(np.argmax(size), size.shape)
            if not size[p, q] > 0.0:
                rank[i] = k
                break
            for order, other in ((row, k + int(p)), (column, k + int(q))):
                if other != k:
                    order[[k, other]] = order[[other, k]]
                    sign[i] = -sign[i]
            left[[k, k + int(p)]] = left[[k + int(p), k]]
            left[:, [k, k + int(q)]] = left[:, [k + int(q), k]]
            with np.errstate(all="ignore"):
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
        shifted = power + expand_dims(coefficient, (-2, -1)) * one
        power = products.matmul(x, shifted)
    return trace(power, 0, -2, -1) * ((-1.0) ** (n + 1) / n)

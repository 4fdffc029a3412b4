"""Functions that pick elements: by position, by place in a matrix, or by order.

An order is known when the graph is made. It is part of what steers the program, so that the check
looks at both sides of a tie.
"""

from typing import Any

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import LARGEST, Array, Node, as_number, ops
from gradcalc.language.functions.reductions import squeezed
from gradcalc.language.functions.registry import Axes, Known, function
from gradcalc.language.functions.shapes import (
    Positions,
    along,
    axes_of,
    axis_of,
    part,
    picked,
    ravel,
    transpose,
)
from gradcalc.primitives import shapes


def whole(values: Array) -> Positions:
    """``values`` as positions; raises GradcalcError for what is no whole number."""
    if np.any(values != np.rint(values)) or not np.all(np.abs(values) < LARGEST):
        raise GradcalcError("integer", "positions must be whole numbers", f"below {LARGEST:,}")
    return np.asarray(values).astype(np.intp)


@function("take(x, [0, 0, 2])", "x=1,2,3", "stack(w[0] + w[1], 0, w[2])")
def take(known: Known, x: Node, indices: Node, axis: int | None = None) -> Node:
    """The elements at ``indices`` along ``axis``, by default of all in order."""
    if axis is None:
        x, axis = ravel(x), 0
    return picked(x, axis_of(x, axis), whole(known(indices)))


@function("gather(x, 1, [[0],[1]])", "x=[[1,2],[3,4]]", "[[w[0,0], 0], [0, w[1,0]]]")
def gather(known: Known, x: Node, axis: int, indices: Node) -> Node:
    """At each place the element that ``indices`` names along ``axis`` (torch.gather)."""
    if indices.ndim != x.ndim:
        raise GradcalcError(
            "shape-mismatch",
            f"indices of shape {indices.shape} do not fit shape {x.shape}",
            "gather wants as many axes",
        )
    return along(x, axis_of(x, axis), whole(known(indices)))


@function("masked_fill(x, x > 1.5, 9)", "x=1,2", "stack(w[0], 0)", kinks="edges of the mask")
def masked_fill(x: Node, mask: Node, value: Node) -> Node:
    """``value`` where the mask is true, else x (Tensor.masked_fill)."""
    return ops.where(mask, value, x)


@function("diag(x)", "x=[[1,2],[3,4]]", "diag(w)")
def diag(x: Node, k: int = 0) -> Node:
    """The k-th diagonal of a matrix, or the matrix with a vector on that diagonal."""
    if x.ndim == 1:
        n = x.size + abs(k)
        places = np.arange(x.size)
        index = shapes.Index((places + max(-k, 0), places + max(k, 0)))
        return shapes.scatter(as_number(x), params=((n, n), index))
    return diagonal(x, k)


@function("diagonal(x)", "x=[[1,2],[3,4]]", "diag(w)")
def diagonal(x: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """The elements x[i, i + offset]; the diagonal becomes the last axis."""
    if x.ndim < 2:
        raise GradcalcError("shape", f"shape {x.shape} has no diagonal", "a matrix has one")
    first, second = axis_of(x, axis1), axis_of(x, axis2)
    if first == second:
        raise GradcalcError("axis", "a diagonal is along two different axes")
    rest = [i for i in range(x.ndim) if i not in (first, second)]
    moved = transpose(x, *rest, first, second)
    rows, columns = moved.shape[-2:]
    places = np.arange(max(0, min(rows + min(offset, 0), columns - max(offset, 0))))
    index = shapes.Index((..., places + max(-offset, 0), places + max(offset, 0)))
    return shapes.index(moved, params=(index,))


@function("triu(x)", "x=[[1,2],[3,4]]", "triu(w)")
def triu(x: Node, k: int = 0) -> Node:
    """The elements on and above the k-th diagonal; the others are 0."""
    return _masked(x, lambda n, m: ~np.tri(n, m, k - 1, dtype=bool))


@function("tril(x)", "x=[[1,2],[3,4]]", "tril(w)")
def tril(x: Node, k: int = 0) -> Node:
    """The elements on and below the k-th diagonal; the others are 0."""
    return _masked(x, lambda n, m: np.tri(n, m, k, dtype=bool))


def _masked(x: Node, mask: Any) -> Node:
    if x.ndim < 2:
        raise GradcalcError("shape", f"shape {x.shape} has no triangle", "a matrix has one")
    return ops.where(x.graph.constant(mask(*x.shape[-2:])), x, 0.0)


# By order. Where neighbours in order are equal, the order could change.


def _order(known: Known, x: Node, axis: int) -> Positions:
    """The positions along ``axis`` in ascending order; equal elements keep theirs."""
    return np.argsort(known(x), axis=axis, kind="stable")


def _sorted(known: Known, x: Node, axis: int, order: Positions) -> Node:
    """``x`` in an order; the comparisons that it hangs on are known to steer the program."""
    result = along(x, axis, order)
    known(part(result, axis, None, -1) <= part(result, axis, 1, None))
    return result


@function(
    "sort(x)",
    "x=3,1,2",
    "gather(w, 0, [2, 0, 1])",
    kinks="equal elements",
    convention="equal elements keep their order",
)
def sort(known: Known, x: Node, axis: int | None = -1, descending: bool = False) -> Node:
    """The elements in ascending order along ``axis``."""
    return ordered(known, x, axis, descending)[0]


@function("x[argsort(x)]", "x=3,1,2", "gather(w, 0, [2, 0, 1])", kinks="equal elements")
def argsort(known: Known, x: Node, axis: int | None = -1, descending: bool = False) -> Node:
    """The positions of the elements in ascending order along ``axis``. No gradient."""
    return ordered(known, x, axis, descending)[1]


def ordered(
    known: Known, x: Node, axis: int | None = -1, descending: bool = False
) -> tuple[Node, Node]:
    """The elements in order, and their positions."""
    if axis is None or not x.ndim:
        x, axis = ravel(x), 0
    at = axis_of(x, axis)
    order = _order(known, -x if descending else x, at)
    values = _sorted(known, x, at, order)
    return values, x.graph.constant(order.astype(np.float64))


@function("median(x)", "x=4,1,3,2", "w*stack(0, 0, 1, 1)/2", kinks="equal elements at the middle")
def median(known: Known, x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The middle element over ``axis``; of an even number the mean of the middle two."""
    values, count, axes = in_order(known, x, axis)
    middle = (picked(values, 0, (count - 1) // 2) + picked(values, 0, count // 2)) / 2.0
    return kept(unless_nan(middle, values), x, axes, keepdims)


def in_order(known: Known, x: Node, axis: Axes) -> tuple[Node, int, tuple[int, ...]]:
    """The elements over ``axis`` in order, along one first axis; how many, and the axes."""
    axes = axes_of(x, axis)
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    moved = transpose(x, *axes, *rest) if x.ndim else x
    flat = shapes.reshape(moved, params=((_size(x, axes), *(x.shape[i] for i in rest)),))
    if not flat.shape[0]:
        raise GradcalcError("empty-reduction", "no elements have no middle")
    return _sorted(known, flat, 0, _order(known, flat, 0)), flat.shape[0], axes


def _size(x: Node, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[i] for i in axes], dtype=int))


def unless_nan(middle: Node, values: Node) -> Node:
    """``middle`` of sorted ``values``, but nan if one of them is."""
    last = picked(values, 0, -1)  # nan comes last
    return ops.where(ops.equal(last, last), middle, last)


def kept(result: Node, x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """A result over ``axes`` of ``x``, with them as lengths of 1 if they are kept."""
    full = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    return squeezed(shapes.reshape(result, params=(full,)), axes, keepdims)


@function(
    "x[argmax(x)]",
    "x=1,5,2",
    "w*stack(0, 1, 0)",
    kinks="equal elements",
    convention="of equal ones the first",
)
def argmax(known: Known, x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """The position of the largest element, by default among all in order. No gradient."""
    return _best(known, x, axis, keepdims, np.argmax)


@function(
    "x[argmin(x)]",
    "x=3,5,2",
    "w*stack(0, 0, 1)",
    kinks="equal elements",
    convention="of equal ones the first",
)
def argmin(known: Known, x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """The position of the smallest element, by default among all in order. No gradient."""
    return _best(known, x, axis, keepdims, np.argmin)


def _best(known: Known, x: Node, axis: int | None, keepdims: bool, choose: Any) -> Node:
    line, at = (ravel(x), 0) if axis is None else (x, axis_of(x, axis))
    if not line.shape[at]:
        raise GradcalcError("empty-reduction", "no elements have no largest or smallest")
    positions = np.asarray(choose(known(line), axis=at))
    _sorted(known, line, at, _order(known, line, at))
    axes = axes_of(x, None if axis is None else (axis,))
    return kept(x.graph.constant(positions.astype(np.float64)), x, axes, keepdims)

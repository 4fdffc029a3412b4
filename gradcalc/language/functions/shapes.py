"""Arrays in other shapes and orders. Elements move; none changes."""

from itertools import pairwise
from typing import Any

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import LARGEST, Node, as_number, size_of
from gradcalc.language.functions.registry import Axes, Integers, function
from gradcalc.primitives import shapes

Positions = np.ndarray[Any, np.dtype[np.intp]]


def axis_of(x: Node, axis: int, more: int = 0) -> int:
    """``axis`` counted from 0, of an array with ``more`` axes than ``x``; raises GradcalcError."""
    ndim = x.ndim + more
    if -ndim <= axis < ndim:
        return axis % ndim
    raise GradcalcError(
        "axis",
        f"axis {axis} is out of range for shape {x.shape}",
        f"the last axis is {ndim - 1}"
        if ndim
        else "a number has no axes; maximum(a, b) and minimum(a, b) compare two numbers",
    )


def axes_of(x: Node, axis: Axes) -> tuple[int, ...]:
    """``axis`` counted from 0, in order; None is all axes."""
    if axis is None:
        return tuple(range(x.ndim))
    normal = tuple(sorted({axis_of(x, one) for one in axis}))
    if len(normal) != len(axis):
        raise GradcalcError("axis", f"axis {axis} names an axis twice")
    return normal


def part(x: Node, axis: int, start: int | None, stop: int | None) -> Node:
    """``x[start:stop]`` along ``axis``."""
    return picked(x, axis, slice(start, stop))


def picked(x: Node, axis: int, positions: int | slice | Positions) -> Node:
    """``x[positions]`` along ``axis``."""
    index = shapes.Index((*(slice(None),) * axis, positions, *(slice(None),) * (x.ndim - axis - 1)))
    return shapes.index(x, params=(index,))


def along(x: Node, axis: int, positions: Positions) -> Node:
    """numpy.take_along_axis: at each place its own position along ``axis``."""
    grids = np.ix_(*(np.arange(n) for n in positions.shape))
    items = (*grids[:axis], positions, *grids[axis + 1 :])
    return shapes.index(x, params=(shapes.Index(items),))


@function("array([x, 2*x])", "x=3", "w[0] + 2*w[1]")
def array(x: Node) -> Node:
    """``x`` as an array: a list of lists is stacked."""
    return x


@function("x*size(x)", "x=1,2", "2*w")
def size(x: Node, axis: int | None = None) -> Node:
    """How many elements there are, or how many along an axis (numpy.size, ``x.size(0)``)."""
    return x.graph.constant(float(x.size if axis is None else x.shape[axis_of(x, axis)]))


@function("x*len(x)", "x=1,2", "2*w")
def len_(x: Node) -> Node:
    """The length of the first axis."""
    return size(x, 0)


@function("reshape(x, 2, 2)", "x=1,2,3,4", "reshape(w, 4)")
def reshape(x: Node, *shape: int) -> Node:
    """The elements of ``x`` in another shape; one length may be -1."""
    if shape.count(-1) == 1:
        rest = size_of(tuple(length for length in shape if length != -1))
        shape = tuple(x.size // max(rest, 1) if n == -1 else n for n in shape)
    if any(length < 0 for length in shape):
        raise GradcalcError("shape", f"{shape} is not a shape", "at most one length may be -1")
    return shapes.reshape(x, params=(shape,))


@function("ravel(x)", "x=[[1,2],[3,4]]", "reshape(w, 2, 2)")
def ravel(x: Node) -> Node:
    """All elements in one axis."""
    return shapes.reshape(x, params=((x.size,),))


@function("flatten(x)", "x=[[1,2],[3,4]]", "reshape(w, 2, 2)")
def flatten(x: Node, start_dim: int = 0, end_dim: int = -1) -> Node:
    """The axes from start_dim to end_dim as one, by default all (torch.flatten)."""
    if not x.ndim:
        return ravel(x)
    first, last = axis_of(x, start_dim), axis_of(x, end_dim)
    joined = size_of(x.shape[first : last + 1])
    return shapes.reshape(x, params=((*x.shape[:first], joined, *x.shape[last + 1 :]),))


@function("squeeze(x)", "x=[[1,2]]", "reshape(w, 1, 2)")
def squeeze(x: Node, axis: Axes = None) -> Node:
    """``x`` without its axes of length 1, or without those that are named."""
    ones = tuple(i for i, n in enumerate(x.shape) if n == 1)
    dropped = ones if axis is None else axes_of(x, axis)
    if not set(dropped) <= set(ones):
        raise GradcalcError(
            "axis",
            f"axis {axis} of shape {x.shape} cannot be left out",
            "only an axis of length 1 can",
        )
    left = tuple(n for i, n in enumerate(x.shape) if i not in dropped)
    return shapes.reshape(x, params=(left,))


@function("expand_dims(x, 0)", "x=1,2", "w[0]")
def expand_dims(x: Node, axis: Integers) -> Node:
    """``x`` with new axes of length 1, which are counted in the result."""
    places = {axis_of(x, one, more=len(axis)) for one in axis}
    if len(places) != len(axis):
        raise GradcalcError("axis", f"axis {axis} names an axis twice")
    lengths = iter(x.shape)
    new = tuple(1 if i in places else next(lengths) for i in range(x.ndim + len(places)))
    return shapes.reshape(x, params=(new,))


@function("transpose(x)", "x=[[1,2],[3,4]]", "w.T")
def transpose(x: Node, *axes: int) -> Node:
    """``x`` with its axes in another order, by default reversed (numpy.transpose, ``x.T``).

    Two axes of more, or counted from the end, are exchanged (Tensor.transpose).
    """
    if len(axes) == 2 and (x.ndim > 2 or min(axes) < 0):
        return swapaxes(x, *axes)
    order = tuple(axis_of(x, axis) for axis in axes) if axes else tuple(range(x.ndim))[::-1]
    if sorted(order) != [*range(x.ndim)]:
        raise GradcalcError(
            "axis", f"{axes} is no order of {x.ndim} axes", "name each axis once, as 1, 0"
        )
    return shapes.transpose(x, params=(order,))


@function("swapaxes(x, 0, 1)", "x=[[1,2],[3,4]]", "swapaxes(w, 0, 1)")
def swapaxes(x: Node, axis1: int, axis2: int) -> Node:
    """``x`` with two axes exchanged (torch.transpose)."""
    order = list(range(x.ndim))
    first, second = axis_of(x, axis1), axis_of(x, axis2)
    order[first], order[second] = second, first
    return shapes.transpose(x, params=(tuple(order),))


@function("moveaxis(x, 0, 1)", "x=[[1,2],[3,4]]", "w.T")
def moveaxis(x: Node, source: int, destination: int) -> Node:
    """``x`` with one axis moved to another place."""
    order = list(range(x.ndim))
    order.insert(axis_of(x, destination), order.pop(axis_of(x, source)))
    return shapes.transpose(x, params=(tuple(order),))


@function("broadcast_to(x, 2, 3)", "x=1,2,3", "sum(w, axis=0)")
def broadcast_to(x: Node, *shape: int) -> Node:
    """``x`` repeated along new axes and axes of length 1; -1 keeps a length (torch.expand)."""
    known = (*(-1,) * (len(shape) - x.ndim), *x.shape)
    lengths = tuple(own if n == -1 else n for n, own in zip(shape, known, strict=False))
    if len(shape) < x.ndim or any(n < 0 for n in lengths):
        raise GradcalcError("shape", f"shape {x.shape} cannot be broadcast to {shape}")
    return shapes.broadcast_to(x, params=(lengths,))


@function("concatenate(a, b)", "a=1,2; b=3,4", {"a": "w[:2]", "b": "w[2:]"})
def concatenate(*arrays: Node, axis: int = 0) -> Node:
    """Arrays one after the other along an axis that they have (torch.cat)."""
    arrays = _alike("concatenate", arrays)
    if not arrays[0].ndim:
        raise GradcalcError("axis", "numbers have no axis to be joined along", "use stack")
    at = axis_of(arrays[0], axis)
    if len({one.ndim for one in arrays}) > 1:
        listed = " and ".join(dict.fromkeys(str(one.shape) for one in arrays))
        raise GradcalcError(
            "shape-mismatch", f"shapes {listed} have different numbers of axes", "reshape one"
        )
    return shapes.concatenate(*arrays, params=(at,))


@function("stack(a, b)", "a=1,2; b=3,4", {"a": "w[0]", "b": "w[1]"})
def stack(*arrays: Node, axis: int = 0) -> Node:
    """Arrays of one shape along a new axis."""
    arrays = _alike("stack", arrays)
    if len({one.shape for one in arrays}) > 1:
        listed = " and ".join(dict.fromkeys(str(one.shape) for one in arrays))
        raise GradcalcError(
            "shape-mismatch",
            f"shapes {listed} do not fit together in 'stack'",
            "they must be equal",
        )
    at = axis_of(arrays[0], axis, more=1)
    return shapes.concatenate(*(expand_dims(one, (at,)) for one in arrays), params=(at,))


def _alike(name: str, arrays: tuple[Node, ...]) -> tuple[Node, ...]:
    """All truth values, or all numbers."""
    if not arrays:
        raise GradcalcError("empty", f"{name} of nothing", "give at least one array")
    truths = all(one.truth for one in arrays)
    return arrays if truths else tuple(as_number(one) for one in arrays)


@function("hstack(a, b)", "a=1,2; b=3,4", {"a": "w[:2]", "b": "w[2:]"})
def hstack(*arrays: Node) -> Node:
    """Vectors end to end, or matrices side by side."""
    lines = tuple(ravel(one) if not one.ndim else one for one in arrays)
    return concatenate(*lines, axis=0 if lines and lines[0].ndim == 1 else 1)


@function("vstack(a, b)", "a=1,2; b=3,4", {"a": "w[0]", "b": "w[1]"})
def vstack(*arrays: Node) -> Node:
    """Vectors as the rows of a matrix, or matrices below one another."""
    rows = (shapes.reshape(one, params=((1, one.size),)) if one.ndim < 2 else one for one in arrays)
    return concatenate(*rows)


@function("a, b = split(x, 2); a*b", "x=1,2,3,4", "concatenate(w*x[2:], w*x[:2])")
def split(x: Node, sections: int | Integers, axis: int = 0) -> tuple[Node, ...]:
    """Equal parts along ``axis``, or parts that end before the given positions (numpy.split)."""
    along, length = axis_of(x, axis), x.shape[axis_of(x, axis)]
    if not isinstance(sections, int):
        return parts(x, along, (0, *sections, length))
    if sections < 1 or length % sections:
        raise GradcalcError(
            "arguments",
            f"{length} elements cannot be split into {sections} equal parts",
            "give the positions instead: split(x, [2, 5])",
        )
    size = length // sections
    return parts(x, along, tuple(size * i for i in range(sections + 1)))


def parts(x: Node, axis: int, bounds: tuple[int, ...]) -> tuple[Node, ...]:
    """The parts between neighbouring ``bounds`` along ``axis``."""
    return tuple(part(x, axis, *pair) for pair in pairwise(bounds))


def _reordered(x: Node, axis: int | None, change: Any) -> Node:
    """``x`` with its positions along ``axis`` (None: of all elements in order) changed."""
    if axis is None:
        x, axis = ravel(x), 0
    at = axis_of(x, axis)
    return picked(x, at, change(np.arange(x.shape[at])))


@function("repeat(x, 2)", "x=1,2", "sum(reshape(w, 2, 2), axis=1)")
def repeat(x: Node, repeats: Integers, axis: int | None = None) -> Node:
    """Each element several times (numpy.repeat, torch.repeat_interleave)."""
    counts = np.array(repeats, dtype=np.intp)
    _check_total(sum(repeats) * (x.size if len(repeats) == 1 else 1))
    if np.any(counts < 0):
        raise GradcalcError("arguments", "an element cannot be repeated less than 0 times")
    try:
        return _reordered(x, axis, lambda places: np.repeat(places, counts))
    except ValueError:
        raise GradcalcError(
            "arguments",
            f"{len(counts)} counts do not fit shape {x.shape}",
            "one, or one an element",
        ) from None


def _check_total(count: int) -> None:
    if count > LARGEST:
        raise GradcalcError(
            "too-large", f"this would be {count:,} elements", f"the most is {LARGEST:,}"
        )


@function("tile(x, 2)", "x=1,2", "w[:2] + w[2:]")
def tile(x: Node, *reps: int) -> Node:
    """The whole of ``x`` several times along its axes (numpy.tile, Tensor.repeat)."""
    if any(count < 0 for count in reps):
        raise GradcalcError("arguments", "an array cannot be repeated less than 0 times")
    _check_total(x.size * size_of(reps))
    lead = max(0, len(reps) - x.ndim)
    x = shapes.reshape(x, params=((*(1,) * lead, *x.shape),))
    for axis, count in enumerate(reps, x.ndim - len(reps)):
        if count != 1:
            x = picked(x, axis, np.tile(np.arange(x.shape[axis]), count))
    return x


@function("flip(x)", "x=1,2,3", "flip(w)")
def flip(x: Node, axis: Axes = None) -> Node:
    """The order of the elements reversed along ``axis``, by default along all."""
    for one in axes_of(x, axis):
        x = picked(x, one, slice(None, None, -1))
    return x


@function("roll(x, 1)", "x=1,2,3", "roll(w, -1)")
def roll(x: Node, shift: Integers, axis: Axes = None) -> Node:
    """The elements moved by ``shift`` places, those at the end to the front."""
    if axis is None:
        flat = picked(ravel(x), 0, np.roll(np.arange(x.size), sum(shift)))
        return shapes.reshape(flat, params=(x.shape,))
    if len(shift) not in (1, len(axis)):
        raise GradcalcError("arguments", f"{len(shift)} shifts do not fit {len(axis)} axes")
    for one, places in zip(axis, shift * len(axis), strict=False):
        at = axis_of(x, one)
        x = picked(x, at, np.roll(np.arange(x.shape[at]), places))
    return x

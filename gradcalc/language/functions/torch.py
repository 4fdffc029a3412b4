"""Where ``torch.`` names a function that differs from NumPy's of the same name."""

from typing import NamedTuple

from gradcalc.errors import GradcalcError
from gradcalc.graph import Node
from gradcalc.language.functions import reductions, selections
from gradcalc.language.functions.registry import Axes, Integers, Known, function
from gradcalc.language.functions.shapes import axis_of, parts, picked


class Chosen(NamedTuple):
    """What torch.max, min, median and sort return along a dimension."""

    values: Node
    indices: Node


@function(
    "torch.std(x)",
    "x=1,2,6",
    "w*(x - mean(x))/(2*y)",
    name="torch.std",
    convention="slope 0 at zero spread",
)
def std(x: Node, axis: Axes = None, ddof: float = 1.0, keepdims: bool = False) -> Node:
    """sqrt(sum((x - mean(x))**2)/(n - 1)) over ``dim``"""
    return reductions.std(x, axis, keepdims, ddof)


@function("torch.var(x)", "x=1,2,6", "w*(x - mean(x))", name="torch.var")
def var(x: Node, axis: Axes = None, ddof: float = 1.0, keepdims: bool = False) -> Node:
    """sum((x - mean(x))**2)/(n - 1) over ``dim``"""
    return reductions.var(x, axis, keepdims, ddof)


@function("torch.max(x, dim=0).values", "x=1,5,2", "w*stack(0, 1, 0)", name="torch.max")
def max_(known: Known, x: Node, axis: int | None = None, keepdims: bool = False) -> Node | Chosen:
    """The largest element; with ``dim`` also its position. Ties then go to the first."""
    if axis is None:
        return reductions.max_(x)
    return _chosen(x, axis, selections.argmax(known, x, axis, True), known, keepdims)


@function("torch.min(x, dim=0).values", "x=3,5,2", "w*stack(0, 0, 1)", name="torch.min")
def min_(known: Known, x: Node, axis: int | None = None, keepdims: bool = False) -> Node | Chosen:
    """The smallest element; with ``dim`` also its position. Ties then go to the first."""
    if axis is None:
        return reductions.min_(x)
    return _chosen(x, axis, selections.argmin(known, x, axis, True), known, keepdims)


def _chosen(x: Node, axis: int, positions: Node, known: Known, keepdims: bool) -> Chosen:
    values = selections.gather(known, x, axis, positions) if x.ndim else x
    if keepdims or not x.ndim:
        return Chosen(values, positions)
    at = axis_of(x, axis)
    return Chosen(picked(values, at, 0), picked(positions, at, 0))


@function("torch.median(x)", "x=4,1,3,2", "w*stack(0, 0, 0, 1)", name="torch.median")
def median(known: Known, x: Node) -> Node:
    """The middle element; of an even number the lower of the middle two."""
    values, count, axes = selections.in_order(known, x, None)
    return selections.kept(picked(values, 0, (count - 1) // 2), x, axes, False)


@function("torch.sort(x).values", "x=3,1,2", "gather(w, 0, [2, 0, 1])", name="torch.sort")
def sort(known: Known, x: Node, axis: int = -1, descending: bool = False) -> Chosen:
    """The elements in order along ``dim``, and their positions."""
    return Chosen(*selections.ordered(known, x, axis, descending))


@function("torch.split(x, 2)[1]", "x=1,2,3", "concatenate([0, 0], w)", name="torch.split")
def split(x: Node, size: Integers, axis: int = 0) -> tuple[Node, ...]:
    """Parts of a size along ``dim`` (the last may be smaller), or of the given sizes."""
    at = axis_of(x, axis)
    length = x.shape[at]
    if len(size) == 1:
        bounds = [*range(0, length, size[0]), length] if size[0] > 0 else []
    else:
        bounds = [sum(size[:i]) for i in range(len(size) + 1)]
    if not bounds or bounds[-1] != length or any(n < 0 for n in size):
        raise GradcalcError("arguments", f"{length} elements cannot be split into sizes {size}")
    return parts(x, at, tuple(bounds))

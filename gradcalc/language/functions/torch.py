"""Where ``torch.`` names a function that differs from NumPy's of the same name."""

from typing import NamedTuple

from gradcalc.errors import GradcalcError
from gradcalc.graph import Node, ops
from gradcalc.language.functions import activations, derivatives, reductions, selections
from gradcalc.language.functions.registry import Axes, Builder, Integers, Known, function
from gradcalc.language.functions.shapes import axis_of, parts, picked, ravel


class Chosen(NamedTuple):
    """What torch.max, min, median and sort return along a dimension."""

    values: Node
    indices: Node


@function(
    "torch.std(x)",
    "x=1,2,6",
    "w*(x - mean(x))/(2*y)",
    name="torch.std",
    kinks="zero spread",
    convention="slope 0 at zero spread",
)
def std(
    x: Node,
    dim: Axes = None,
    unbiased: bool = True,
    correction: float | None = None,
    keepdim: bool = False,
) -> Node:
    """sqrt(sum((x - mean(x))**2)/(n - 1)) over ``dim``"""
    return reductions.std(x, dim, keepdim, _ddof(unbiased, correction))


@function("torch.var(x)", "x=1,2,6", "w*(x - mean(x))", name="torch.var")
def var(
    x: Node,
    dim: Axes = None,
    unbiased: bool = True,
    correction: float | None = None,
    keepdim: bool = False,
) -> Node:
    """sum((x - mean(x))**2)/(n - 1) over ``dim``"""
    return reductions.var(x, dim, keepdim, _ddof(unbiased, correction))


def _ddof(unbiased: bool, correction: float | None) -> float:
    return float(unbiased) if correction is None else correction


@function(
    "torch.max(x, dim=0).values",
    "x=1,5,2",
    "w*stack(0, 1, 0)",
    name="torch.max",
    kinks="equal largest elements",
    convention="with dim a tie goes to the first, else it is shared",
)
def max_(known: Known, x: Node, dim: Node | None = None, keepdim: bool = False) -> Node | Chosen:
    """The largest element; with ``dim`` also its position. torch.max(a, b) is maximum(a, b)."""
    return _extreme(known, x, dim, keepdim, reductions.max_, ops.maximum, selections.argmax)


@function(
    "torch.min(x, dim=0).values",
    "x=3,5,2",
    "w*stack(0, 0, 1)",
    name="torch.min",
    kinks="equal smallest elements",
    convention="with dim a tie goes to the first, else it is shared",
)
def min_(known: Known, x: Node, dim: Node | None = None, keepdim: bool = False) -> Node | Chosen:
    """The smallest element; with ``dim`` also its position. torch.min(a, b) is minimum(a, b)."""
    return _extreme(known, x, dim, keepdim, reductions.min_, ops.minimum, selections.argmin)


def _extreme(
    known: Known,
    x: Node,
    dim: Node | None,
    keepdim: bool,
    among: Builder,
    pairwise: Builder,
    place: Builder,
) -> Node | Chosen:
    """Of all elements, of two arrays (``dim`` is no constant), or along a dimension."""
    if dim is None:
        result: Node = among(x)
    elif dim.number is None:
        result = pairwise(x, dim)
    else:
        axis = _axis(x, dim.number)
        return _chosen(known, x, axis, place(known, x, axis, True), keepdim)
    return result


def _axis(x: Node, dim: float) -> int:
    if not dim.is_integer():
        raise GradcalcError("integer", "a whole number is wanted here", f"this is {dim:.10g}")
    return axis_of(x, int(dim)) if x.ndim else 0


def _chosen(known: Known, x: Node, axis: int, positions: Node, keepdim: bool) -> Chosen:
    values = selections.gather(known, x, axis, positions) if x.ndim else x
    if keepdim or not x.ndim:
        return Chosen(values, positions)
    return Chosen(picked(values, axis, 0), picked(positions, axis, 0))


@function(
    "torch.median(x)",
    "x=4,1,3,2",
    "w*stack(0, 0, 0, 1)",
    name="torch.median",
    kinks="equal elements at the middle",
)
def median(known: Known, x: Node, dim: int | None = None, keepdim: bool = False) -> Node | Chosen:
    """The middle element, of an even number the lower one; with ``dim`` also its position."""
    if dim is None:
        values, count, axes = selections.in_order(known, x, None)
        middle = selections.unless_nan(picked(values, 0, (count - 1) // 2), values)
        return selections.kept(middle, x, axes, False)
    axis = _axis(x, float(dim))
    _, order = selections.ordered(known, x, axis)
    half = (order.shape[axis] - 1) // 2
    return _chosen(known, x, axis, picked(order, axis, slice(half, half + 1)), keepdim)


@function(
    "torch.sort(x).values",
    "x=3,1,2",
    "gather(w, 0, [2, 0, 1])",
    name="torch.sort",
    kinks="equal elements",
    convention="equal elements keep their order",
)
def sort(known: Known, x: Node, dim: int = -1, descending: bool = False) -> Chosen:
    """The elements in order along ``dim``, and their positions."""
    return Chosen(*selections.ordered(known, x, dim, descending))


@function("torch.split(x, 2)[1]", "x=1,2,3", "concatenate([0, 0], w)", name="torch.split")
def split(x: Node, size: int | Integers, dim: int = 0) -> tuple[Node, ...]:
    """Parts of a size along ``dim`` (the last may be smaller), or of the given sizes."""
    at = axis_of(x, dim)
    length = x.shape[at]
    if isinstance(size, int):
        bounds = [*range(0, length, size), length] if size > 0 else []
    else:
        bounds = [sum(size[:i]) for i in range(len(size) + 1)]
        bounds = [] if bounds[-1] != length or min(size, default=0) < 0 else bounds
    if not bounds:
        raise GradcalcError("arguments", f"{length} elements cannot be split into sizes {size}")
    return parts(x, at, tuple(bounds))


@function("torch.norm(x)", "x=[[3,0],[0,4]]", "w*x/y", name="torch.norm", kinks="x = 0")
def norm(x: Node, p: float | str | None = None, dim: Axes = None, keepdim: bool = False) -> Node:
    """sum(abs(x)**p)**(1/p), by default 2, of all elements in order or over ``dim``."""
    return reductions.norm(ravel(x) if dim is None else x, p, dim, keepdim)


@function("torch.softmax(x)", "x=1,2,3", "y*(w - sum(w*y))", name="torch.softmax")
def softmax(x: Node, dim: Axes = None) -> Node:
    """exp(x)/sum(exp(x)) over ``dim``; without it over that which PyTorch takes."""
    return activations.softmax(x, _implicit(x) if dim is None else dim)


@function("torch.log_softmax(x)", "x=1,2,3", "w - exp(y)*sum(w)", name="torch.log_softmax")
def log_softmax(x: Node, dim: Axes = None) -> Node:
    """log(softmax(x, dim)); without ``dim`` over that which PyTorch takes."""
    return activations.log_softmax(x, _implicit(x) if dim is None else dim)


def _implicit(x: Node) -> Axes:
    """The dimension of torch.nn.functional.softmax without ``dim``: 1, but 0 of 0, 1 or 3 axes."""
    return None if not x.ndim else (0,) if x.ndim in (1, 3) else (1,)


class Gradients(NamedTuple):
    """What torch.autograd.grad returns: as many gradients as there are inputs, here one."""

    gradient: Node


@function(
    "torch.autograd.grad(x**3, x)[0]", "x=2", "6*w*x", name="torch.grad", convention="as PyTorch's"
)
def grad(
    outputs: Node,
    inputs: Node,
    grad_outputs: Node | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = True,
) -> Gradients:
    """(grad(outputs, inputs, grad_outputs),): a tuple, always differentiable."""
    return Gradients(derivatives.grad(outputs, inputs, grad_outputs))

"""Functions over axes. ``axis`` counts from the end when it is negative; None is all axes."""

from math import inf

from gradcalc.errors import GradcalcError
from gradcalc.graph import Node, Primitive, as_number, as_truth, ops, size_of
from gradcalc.language.functions.registry import Axes, function
from gradcalc.language.functions.shapes import axes_of, axis_of, concatenate, part, ravel
from gradcalc.primitives import reductions, scans, shapes, softmax
from gradcalc.primitives.norms import norm_of_order


def _reduce(row: Primitive, x: Node, axis: Axes, keepdims: bool) -> Node:
    axes = axes_of(x, axis)
    return squeezed(row(as_number(x), params=(axes,)), axes, keepdims)


def squeezed(x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """A result with its reduced axes, of length 1, left out unless they are kept."""
    if keepdims:
        return x
    left = tuple(length for i, length in enumerate(x.shape) if i not in axes)
    return shapes.reshape(x, params=(left,))


def _count(x: Node, axis: Axes) -> float:
    return float(size_of(tuple(x.shape[i] for i in axes_of(x, axis))))


@function("sum(x)", "x=1,2,3", "w + 0*x")
def sum_(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The sum over ``axis``; truth values count as 1 and 0."""
    return _reduce(reductions.sum_, x, axis, keepdims)


@function("mean(x)", "x=1,2,3", "(w + 0*x)/x.size")
def mean(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """sum(x)/n: the arithmetic mean over ``axis``; nan of no elements."""
    return sum_(x, axis, keepdims) / _count(x, axis)


@function("prod(x)", "x=2,3,4", "w*y/x")
def prod(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The product over ``axis``, differentiated exactly also where factors are 0."""
    x, axes = as_number(x), axes_of(x, axis)
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    count = size_of(tuple(x.shape[i] for i in axes))
    kept = tuple(x.shape[i] for i in rest)
    moved = shapes.transpose(x, params=((*axes, *rest),))
    factors = shapes.reshape(moved, params=((count, *kept),))
    if not count:
        return ops.broadcast_to(x.graph.constant(1.0), params=(_kept(x, axes, keepdims),))
    while count > 1:  # halves, so that no product is divided by a factor to leave it out
        half = count // 2
        product = part(factors, 0, 0, half) * part(factors, 0, half, 2 * half)
        odd = [part(factors, 0, 2 * half, count)] if count % 2 else []
        factors, count = concatenate(product, *odd), half + len(odd)
    return shapes.reshape(factors, params=(_kept(x, axes, keepdims),))


def _kept(x: Node, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    lengths = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    return tuple(lengths)


@function("max(x)", "x=1,5,2", "w*(x == y)", kinks="equal largest elements")
def max_(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The largest element over ``axis`` (numpy.amax)."""
    return _reduce(reductions.max_, x, axis, keepdims)


@function("min(x)", "x=3,5,2", "w*(x == y)", kinks="equal smallest elements")
def min_(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The smallest element over ``axis`` (numpy.amin)."""
    return _reduce(reductions.min_, x, axis, keepdims)


@function("var(x)", "x=1,2,6", "w*2*(x - mean(x))/x.size")
def var(x: Node, axis: Axes = None, keepdims: bool = False, ddof: float = 0.0) -> Node:
    """sum((x - mean(x))**2)/(n - ddof) over ``axis``"""
    spread = x - mean(x, axis, True)
    return sum_(spread * spread, axis, keepdims) / max(0.0, _count(x, axis) - ddof)


@function(
    "std(x)",
    "x=1,2,6",
    "w*(x - mean(x))/(x.size*y)",
    kinks="zero spread",
    convention="slope 0 at zero spread",
)
def std(x: Node, axis: Axes = None, keepdims: bool = False, ddof: float = 0.0) -> Node:
    """sqrt(sum((x - mean(x))**2)/(n - ddof)) over ``axis``"""
    spread = x - mean(x, axis, True)
    size = _reduce(reductions.norm, spread, axis, keepdims)
    count = x.graph.constant(max(0.0, _count(x, axis) - ddof))
    return size / ops.sqrt(count)  # in the graph, which 50 digits need


@function("norm(x)", "x=3,4", "w*x/y", kinks="x = 0; of ord 1 and inf, ties and zeros")
def norm(
    x: Node, ord: float | str | None = None, axis: Axes = None, keepdims: bool = False
) -> Node:
    """sum(abs(x)**ord)**(1/ord), by default 2 (numpy.linalg.norm); of a matrix Frobenius's only."""
    matrix = x.ndim > 1 if axis is None else len(axis) > 1
    if ord == "fro" if not matrix else ord not in (None, "fro"):
        raise GradcalcError(
            "unsupported",
            "the only norm of a matrix here is Frobenius's",
            "leave ord out, or give one axis",
        )
    if ord in (None, 2.0, "fro"):
        return _reduce(reductions.norm, x, axis, keepdims)
    if isinstance(ord, str) or ord is None:
        raise GradcalcError("arguments", f"there is no norm '{ord}'", "ord is a number or 'fro'")
    if ord == 0.0:
        return sum_(ops.not_equal(x, 0.0), axis, keepdims)
    size = ops.abs(x)
    if ord == inf:
        return max_(size, axis, keepdims)
    if ord == -inf:
        return min_(size, axis, keepdims)
    if ord == 1.0:
        return sum_(size, axis, keepdims)
    axes = axes_of(x, axis)
    return squeezed(norm_of_order(as_number(x), params=(axes, ord)), axes, keepdims)


@function("logsumexp(x)", "x=1,2,3", "w*softmax(x)")
def logsumexp(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """log(sum(exp(x))) over ``axis``"""
    return _reduce(softmax.logsumexp, x, axis, keepdims)


@function("cumsum(x)", "x=1,2,3", "flip(cumsum(flip(w)))")
def cumsum(x: Node, axis: int | None = None) -> Node:
    """Running sums along ``axis``; by default of all elements in order."""
    x, along = _in_line(x, axis)
    return scans.cumsum(x, params=(along, False))


@function("cumprod(x)", "x=2,3,4", "flip(cumsum(flip(w*y)))/x")
def cumprod(x: Node, axis: int | None = None) -> Node:
    """Running products along ``axis``, differentiated exactly also where factors are 0."""
    x, along = _in_line(x, axis)
    count, width = x.shape[along], 1
    while width < count:  # each step doubles the number of factors (Hillis and Steele 1986)
        longer = part(x, along, width, count) * part(x, along, 0, count - width)
        x = concatenate(part(x, along, 0, width), longer, axis=along)
        width *= 2
    return x


def _in_line(x: Node, axis: int | None) -> tuple[Node, int]:
    """Numbers and the axis to go along: all elements in order where none is given."""
    x = as_number(x)
    return (ravel(x), 0) if axis is None else (x, axis_of(x, axis))


@function("where(any(x > 2), 2*x, x)", "x=1,2,3", "2*w")
def any_(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """Is any element true (not 0)? No gradient."""
    axes = axes_of(x, axis)
    return squeezed(reductions.any_(as_truth(x), params=(axes,)), axes, keepdims)


@function("where(all(x > 2), 2*x, x)", "x=1,2,3", "w")
def all_(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """Are all elements true (not 0)? No gradient."""
    return ~any_(~as_truth(x), axis, keepdims)

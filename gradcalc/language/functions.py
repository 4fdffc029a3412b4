"""The callable names: every elementwise row, and the functions below, written in primitives.

A function's annotations say what it takes: ``Node`` is an array of the program; everything else is
plain Python (axes, shapes, flags), known when the graph is made. Names and definitions are NumPy's,
https://numpy.org/doc/stable/reference/routines.html; values are float64. What does not fit raises
GradcalcError.
"""

import builtins
import inspect
from collections.abc import Callable
from functools import cache
from math import inf
from typing import TypeAlias

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import LARGEST, PRIMITIVES, Graph, Node, Primitive, as_number, ops, size_of
from gradcalc.language.draws import Draws
from gradcalc.primitives import linalg, reductions, shapes
from gradcalc.primitives.rule import Elementwise

Axes: TypeAlias = tuple[int, ...] | None
Operand: TypeAlias = Node | float  # an array, with a default
Builder: TypeAlias = Callable[..., Node]

FUNCTIONS: dict[str, Builder] = {
    name: row for name, row in PRIMITIVES.items() if isinstance(row, Elementwise)
}
SPELLINGS = {  # PyTorch's, and others of NumPy -> the name of the row
    "absolute": "abs",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "pow": "power",
}
FUNCTIONS.update({name: FUNCTIONS[row] for name, row in SPELLINGS.items()})
KEYWORDS = {"dim": "axis", "keepdim": "keepdims", "p": "ord", "steps": "num"}  # PyTorch -> NumPy
HABITS = {
    "ln": "did you mean 'log'? It is the natural logarithm",
    "range": "range(n) belongs to a for loop; linspace(start, stop, num) makes an array",
    "float": "every value is a float64 already",
    "print": "every name that the program assigns can be shown: --output NAME",
}


@cache
def parameters(build: Builder) -> tuple[inspect.Parameter, ...]:
    """What a function takes: its signature's parameters, an elementwise row's inputs as Nodes."""
    if isinstance(build, Elementwise):
        names = "x" if len(build.partials) == 1 else "abc"
        kind = inspect.Parameter.POSITIONAL_ONLY
        return tuple(
            inspect.Parameter(names[i], kind, annotation=Node) for i in range(len(build.partials))
        )
    return tuple(inspect.signature(build).parameters.values())


def function(build: Builder) -> Builder:
    """Makes ``build`` callable in the language, under its own name less a trailing ``_``."""
    FUNCTIONS[build.__name__.removesuffix("_")] = build
    return build


# Reductions. ``axis`` counts from the end when negative; None is all axes.


def _axes(x: Node, axis: Axes) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    for one in axis:
        if not -x.ndim <= one < x.ndim:
            raise GradcalcError(
                "axis",
                f"axis {one} is out of range for shape {x.shape}",
                f"the last axis is {x.ndim - 1}"
                if x.ndim
                else "a number has no axes; maximum(a, b) and minimum(a, b) compare two numbers",
            )
    normal = tuple(sorted({one % x.ndim for one in axis}))
    if len(normal) != len(axis):
        raise GradcalcError("axis", f"axis {axis} names an axis twice")
    return normal


def _reduce(row: Primitive, x: Node, axis: Axes, keepdims: bool) -> Node:
    axes = _axes(x, axis)
    result = row(as_number(x), params=(axes,))
    if keepdims:
        return result
    left = tuple(length for i, length in enumerate(x.shape) if i not in axes)
    return shapes.reshape(result, params=(left,))


@function
def sum_(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The sum over ``axis``; truth values count as 1 and 0."""
    return _reduce(reductions.sum_, x, axis, keepdims)


@function
def mean(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The arithmetic mean over ``axis``; nan of no elements."""
    count = size_of(tuple(x.shape[i] for i in _axes(x, axis)))
    return sum_(x, axis, keepdims) / float(count)


@function
def max_(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The largest element over ``axis`` (numpy.amax); ties share the gradient evenly."""
    return _reduce(reductions.max_, x, axis, keepdims)


FUNCTIONS["amax"] = max_


@function
def min_(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The smallest element over ``axis`` (numpy.amin); ties share the gradient evenly."""
    return _reduce(reductions.min_, x, axis, keepdims)


FUNCTIONS["amin"] = min_


@function
def norm(
    x: Node, ord: float | str | None = None, axis: Axes = None, keepdims: bool = False
) -> Node:
    """numpy.linalg.norm, of a matrix Frobenius's only: sum(abs(x)**ord)**(1/ord), by default 2."""
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
    # What is 0 is left out, so that its slope is 0 (as in PyTorch) and not 0 * inf.
    total = sum_(ops.where(ops.equal(x, 0.0), 0.0, size) ** ord, axis, keepdims)
    return ops.where(ops.equal(total, 0.0), 0.0, total ** (1.0 / ord))


# Shapes


@function
def array(x: Node) -> Node:
    """``x`` as an array: a list of lists is stacked."""
    return x


FUNCTIONS["tensor"] = array


@function
def reshape(x: Node, *shape: int) -> Node:
    """The elements of ``x`` in another shape; one length may be -1."""
    if shape.count(-1) == 1:
        rest = size_of(tuple(length for length in shape if length != -1))
        shape = tuple(x.size // builtins.max(rest, 1) if n == -1 else n for n in shape)
    if builtins.any(length < 0 for length in shape):
        raise GradcalcError("shape", f"{shape} is not a shape", "at most one length may be -1")
    return shapes.reshape(x, params=(shape,))


@function
def transpose(x: Node, *axes: int) -> Node:
    """``x`` with its axes in another order, by default reversed (numpy.transpose, ``x.T``)."""
    order = tuple(axis % x.ndim for axis in axes) if axes and x.ndim else range(x.ndim)[::-1]
    if sorted(order) != [*range(x.ndim)]:
        raise GradcalcError(
            "axis", f"{axes} is no order of {x.ndim} axes", "name each axis once, as 1, 0"
        )
    return shapes.transpose(x, params=(tuple(order),))


@function
def stack(*arrays: Node, axis: int = 0) -> Node:
    """Arrays of one shape along a new axis."""
    if not arrays:
        raise GradcalcError("empty", "stack of nothing", "give at least one array")
    ndim = arrays[0].ndim + 1
    if not -ndim <= axis < ndim:
        raise GradcalcError("axis", f"axis {axis} is out of range for shape {arrays[0].shape}")
    if not builtins.all(one.truth for one in arrays):
        arrays = tuple(as_number(one) for one in arrays)
    return shapes.stack(*arrays, params=(axis % ndim,))


# Products


@function
def matmul(a: Node, b: Node) -> Node:
    """The matrix product, over leading axes too; a vector is a row, or a column."""
    if not a.ndim or not b.ndim:
        raise GradcalcError(
            "shape-mismatch", f"shapes {a.shape} and {b.shape} do not fit together in '@'",
            "a product with a scalar is written *",
        )  # fmt: skip
    left = shapes.reshape(a, params=((1, *a.shape),)) if a.ndim == 1 else a
    right = shapes.reshape(b, params=((*b.shape, 1),)) if b.ndim == 1 else b
    try:
        result = linalg.matmul(as_number(left), as_number(right))
    except GradcalcError as error:
        error.message = error.message.replace(
            f"{left.shape} and {right.shape}", f"{a.shape} and {b.shape}"
        )
        raise
    drop = ((-2,) if a.ndim == 1 else ()) + ((-1,) if b.ndim == 1 else ())
    kept = tuple(n for i, n in enumerate(result.shape) if i - result.ndim not in drop)
    return shapes.reshape(result, params=(kept,)) if drop else result


@function
def dot(a: Node, b: Node) -> Node:
    """numpy.dot: over the last axis of ``a`` and the last but one of ``b``."""
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


# Generators


def _filled(graph: Graph, shape: tuple[int, ...], value: float) -> Node:
    if builtins.any(length < 0 for length in shape):
        raise GradcalcError("shape", f"{shape} is not a shape", "lengths are not negative")
    return shapes.broadcast_to(graph.constant(value), params=(shape,))


@function
def zeros(graph: Graph, *shape: int) -> Node:
    """Zeros of a shape, given as lengths or as one tuple."""
    return _filled(graph, shape, 0.0)


@function
def ones(graph: Graph, *shape: int) -> Node:
    """Ones of a shape, given as lengths or as one tuple."""
    return _filled(graph, shape, 1.0)


@function
def linspace(start: Node, stop: Node, num: int = 50) -> Node:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included."""
    if not 0 <= num <= LARGEST:
        raise GradcalcError("arguments", f"linspace cannot make {num:,} numbers")
    if start.number is not None and stop.number is not None:
        return start.graph.constant(np.linspace(start.number, stop.number, num))
    steps = np.linspace(0.0, 1.0, num).reshape(num, *(1,) * builtins.max(start.ndim, stop.ndim))
    return start + (stop - start) * start.graph.constant(steps)


@function
def randn(graph: Graph, draws: Draws, *shape: int) -> Node:
    """Standard normal numbers of a shape (torch.randn)."""
    return graph.constant(draws.generator.standard_normal(_filled(graph, shape, 0.0).shape))


@function
def uniform(
    graph: Graph, draws: Draws, low: Operand = 0.0, high: Operand = 1.0, size: Axes = ()
) -> Node:
    """Uniform numbers from ``low`` to ``high``, which may depend on leaves."""
    shape = _filled(graph, size or (), 0.0).shape
    return low + (high - low) * graph.constant(draws.generator.uniform(size=shape))

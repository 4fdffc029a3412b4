"""Arrays from nothing: filled, evenly spaced, or random."""

from math import ceil, isfinite

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import LARGEST, Graph, Node, ops
from gradcalc.language.draws import Draws
from gradcalc.language.functions.registry import Axes, Operand, function
from gradcalc.primitives.rule import broadcast


def _filled(graph: Graph, shape: tuple[int, ...], value: Operand) -> Node:
    if any(length < 0 for length in shape):
        raise GradcalcError("shape", f"{shape} is not a shape", "lengths are not negative")
    node = value if isinstance(value, Node) else graph.constant(value)
    return ops.broadcast_to(node, params=(shape,))


@function("x + zeros(3)", "x=1,2,3", "w")
def zeros(graph: Graph, *shape: int) -> Node:
    """Zeros of a shape, given as lengths or as one tuple."""
    return _filled(graph, shape, 0.0)


@function("x*ones(3)", "x=1,2,3", "w")
def ones(graph: Graph, *shape: int) -> Node:
    """Ones of a shape, given as lengths or as one tuple."""
    return _filled(graph, shape, 1.0)


@function("full(3, x)", "x=2", "sum(w)")
def full(graph: Graph, shape: Axes, value: Node) -> Node:
    """One value in every element of a shape."""
    return _filled(graph, shape or (), value)


@function("x + zeros_like(x)", "x=1,2,3", "w")
def zeros_like(x: Node) -> Node:
    """Zeros of the shape of ``x``."""
    return _filled(x.graph, x.shape, 0.0)


@function("x*ones_like(x)", "x=1,2,3", "w")
def ones_like(x: Node) -> Node:
    """Ones of the shape of ``x``."""
    return _filled(x.graph, x.shape, 1.0)


@function("x @ eye(2)", "x=1,2", "w")
def eye(graph: Graph, n: int, m: int | None = None, k: int = 0) -> Node:
    """A matrix with 1 on its k-th diagonal and 0 elsewhere."""
    rows, columns = _filled(graph, (n, n if m is None else m), 0.0).shape
    return graph.constant(np.eye(rows, columns, k))


@function("x*arange(3)", "x=2", "sum(w*[0, 1, 2])")
def arange(graph: Graph, *bounds: float, step: float = 1.0) -> Node:
    """Numbers from a start (0) up to, and without, a stop, by steps of 1 or the third number."""
    if not 1 <= len(bounds) <= 3:
        raise GradcalcError("arguments", "arange takes a stop, or a start, a stop and a step")
    start, stop = (0.0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = bounds[2] if len(bounds) == 3 else step
    count = (stop - start) / step if step else np.nan
    if not isfinite(count) or count > LARGEST:
        raise GradcalcError("arguments", "arange would not end", "is the step 0, or a bound inf?")
    return graph.constant(start + step * np.arange(max(0, ceil(count))))


@function("linspace(a, b, 3)", "a=0; b=1", {"a": "sum(w*[1, 0.5, 0])", "b": "sum(w*[0, 0.5, 1])"})
def linspace(start: Node, stop: Node, num: int = 50) -> Node:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included."""
    if not 0 <= num <= LARGEST:
        raise GradcalcError("arguments", f"linspace cannot make {num:,} numbers")
    if start.number is not None and stop.number is not None:
        return start.graph.constant(np.linspace(start.number, stop.number, num))
    steps = np.linspace(0.0, 1.0, num).reshape(num, *(1,) * max(start.ndim, stop.ndim))
    return start + (stop - start) * start.graph.constant(steps)


@function("where(x > 0, x, float('-inf'))", "x=1,2", "w", kinks="x = 0")
def float_(graph: Graph, x: Node | str) -> Node:
    """A number as it is, or the one that a text spells: float('inf')."""
    if isinstance(x, Node):
        return x
    try:
        return graph.constant(float(x))
    except ValueError:
        raise GradcalcError("number", f"'{x}' is not a number", "write 'inf' or 'nan'") from None


@function("x*logspace(0, 2, 3)", "x=2", "sum(w*[1, 10, 100])")
def logspace(start: Node, stop: Node, num: int = 50, base: Operand = 10.0) -> Node:
    """base**linspace(start, stop, num)"""
    exponents = linspace(start, stop, num)
    return ops.power(exponents.graph.constant(base) if isinstance(base, float) else base, exponents)


# Random numbers: the seed is --seed, or is told.


@function("x*rand(3)", "x=1,2,3")
def rand(graph: Graph, draws: Draws, *shape: int) -> Node:
    """Uniform numbers from 0 to 1 of a shape (numpy.random.rand)."""
    return graph.constant(draws.generator.uniform(size=_filled(graph, shape, 0.0).shape))


@function("x*randn(3)", "x=1,2,3")
def randn(graph: Graph, draws: Draws, *shape: int) -> Node:
    """Standard normal numbers of a shape (torch.randn)."""
    return graph.constant(draws.generator.standard_normal(_filled(graph, shape, 0.0).shape))


@function("uniform(0, x, 3)", "x=2", "sum(w*y)/x")
def uniform(
    graph: Graph, draws: Draws, low: Operand = 0.0, high: Operand = 1.0, size: Axes = None
) -> Node:
    """Uniform numbers from ``low`` to ``high``, which may depend on leaves."""
    return low + (high - low) * rand(graph, draws, *_size(size, low, high))


@function("normal(x, 2, 3)", "x=1", "sum(w)")
def normal(
    graph: Graph, draws: Draws, mean: Operand = 0.0, std: Operand = 1.0, size: Axes = None
) -> Node:
    """Normal numbers of a mean and a standard deviation, which may depend on leaves."""
    return mean + std * randn(graph, draws, *_size(size, mean, std))


def _size(size: Axes, *operands: Operand) -> tuple[int, ...]:
    """The shape of what is drawn: by default one number for each element of the operands."""
    if size is not None:
        return size
    return broadcast("size", *(one.shape if isinstance(one, Node) else () for one in operands))

"""The row: all that gradcalc knows of one primitive, and the kinds of row.

A row gives *local* facts. The pullback is made from them here, once a kind, so a row cannot get
broadcasting, masks or accumulation wrong. Partials are written in primitives themselves: what they
return is part of the graph, can be differentiated again, and can be evaluated at 50 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import (
    MOST_AXES,
    PRIMITIVES,
    Array,
    Cotangent,
    Node,
    Params,
    Primitive,
    Shape,
    as_number,
    ops,
)

Twin: TypeAlias = str | Callable[..., Any]
Partial: TypeAlias = Callable[..., Node | float]
Choice: TypeAlias = Callable[..., Node]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Row(Primitive):
    """What every row says of its primitive.

    name: as in NumPy.
    forward: float64 arrays and then the parameters -> float64 or bool array.
    conditions: how many leading inputs are truth values.
    truth: is the result a truth value (None: if input 0 is).
    convention: for people: what holds where there is no one derivative.
    broadcasts: do inputs of fewer axes line up with the last axes of the others?
    lift: of a count and the parameters: the parameters that do the same to every array of a stack
        of so many; None where there are none.
    """

    name: str
    forward: Callable[..., Array]
    conditions: int = 0
    truth: bool | None = False
    convention: str = ""
    broadcasts: bool = False
    lift: Callable[..., Params | None] = lambda count, *params: params

    def __post_init__(self) -> None:
        PRIMITIVES[self.name] = self


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Elementwise(Row):
    """Element by element, with broadcasting.

    twin: the same function for SymPy expressions and mpmath numbers: a name that the arithmetic
        (verify/arithmetic.py) knows, or a function of the arithmetic and the elements.
    partials: one an input, of the inputs and the result; None where nothing flows (conditions).
    active: for a row that chooses, one an input: the elements that were chosen; None for "all".
    domain: of the inputs: where the function is real (True: everywhere). Outside, the value and
        the partials are nan.
    kinks: of the inputs: expressions that vanish where the partials jump.
    example: numbers, one an input, at which the function can be tried.
    """

    twin: Twin
    example: tuple[float, ...]
    partials: tuple[Partial | None, ...]
    active: tuple[Choice | None, ...] = ()
    domain: Callable[..., Node | bool] = lambda *inputs: True
    kinks: Callable[..., tuple[Node, ...]] | None = None
    broadcasts: bool = True

    def infer_shape(self, shapes: tuple[Shape, ...], params: Params) -> Shape:
        first = shapes[0]
        for shape in shapes:
            if shape != first:
                return broadcast(self.name, *shapes)
        return first

    def pullback(self, node: Node, position: int, cotangent: Cotangent) -> Cotangent | None:
        partial = self.partials[position]
        if partial is None:
            return None
        slope = partial(*node.inputs, node)
        inside = self.domain(*node.inputs)
        if isinstance(inside, Node):
            slope = ops.where(inside, 1.0, np.nan) * slope  # a factor: its own slopes are nan too
        choice = self.active[position] if self.active else None
        return through(cotangent, slope, choice(*node.inputs) if choice else None)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Reduction(Row):
    """Over axes, which stay with length 1: ``forward(x, axes)``. The only parameter is ``axes``.

    partial: of the input, the result (broadcast against the input) and the axes; None where
        nothing flows.
    active, kinks: as for elementwise rows, of the same three.
    twin: of the arithmetic, an object array and the axes.
    """

    twin: Callable[..., Any]
    partial: Callable[[Node, Node, tuple[int, ...]], Node | float] | None
    active: Callable[[Node, Node, tuple[int, ...]], Node] | None = None
    kinks: Callable[[Node, Node, tuple[int, ...]], tuple[Node, ...]] | None = None
    empty: bool = True  # is there a result for no elements at all?
    lift: Callable[..., Params | None] = lambda count, axes: (deeper(axes),)

    def infer_shape(self, shapes: tuple[Shape, ...], params: Params) -> Shape:
        (shape,), (axes,) = shapes, params
        if not self.empty and any(shape[axis] == 0 for axis in axes):
            raise GradcalcError("empty-reduction", f"'{self.name}' of no elements has no value")
        return tuple(1 if axis in axes else length for axis, length in enumerate(shape))

    def pullback(self, node: Node, position: int, cotangent: Cotangent) -> Cotangent | None:
        if self.partial is None:
            return None
        (x,), (axes,) = node.inputs, node.params
        spread = Cotangent(spread_to(cotangent.value, x.shape), cotangent.active)
        choice = self.active(x, node, axes) if self.active else None
        return through(spread, self.partial(x, node, axes), choice)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Linear(Row):
    """Linear in its inputs; NumPy's own function serves numbers, mpmath and SymPy alike.

    shape: of the inputs' shapes and the parameters.
    transpose: of the cotangent, the node and the position of the input.
    chooses: does it leave elements of its input out (an index)?
    """

    shape: Callable[..., Shape]
    transpose: Callable[[Node, Node, int], Node]
    chooses: bool = False
    truth: bool | None = None

    def infer_shape(self, shapes: tuple[Shape, ...], params: Params) -> Shape:
        return self.shape(*shapes, *params)

    def pullback(self, node: Node, position: int, cotangent: Cotangent) -> Cotangent:
        value, active = cotangent
        if self.chooses and active is None:
            active = spread_to(node.graph.constant(1.0), node.shape)
        if active is not None:
            active = self.transpose(as_number(active), node, position) > 0.0
        return Cotangent(self.transpose(value, node, position), active)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class General(Row):
    """Whatever mixes elements in a way of its own.

    shape: of the inputs' shapes and the parameters.
    transpose: of the cotangent, the node and the position of the input: the cotangent's share.
    mixes: of the node and the position: the axes along which the input's elements are mixed.
    twin: of the arithmetic, object arrays and the parameters.
    kinks: of the node: expressions that vanish where it has no derivative.
    """

    shape: Callable[..., Shape]
    transpose: Callable[[Node, Node, int], Node]
    mixes: Callable[[Node, int], tuple[int, ...]]
    twin: Callable[..., Any]
    kinks: Callable[[Node], tuple[Node, ...]] | None = None

    def infer_shape(self, shapes: tuple[Shape, ...], params: Params) -> Shape:
        return self.shape(*shapes, *params)

    def pullback(self, node: Node, position: int, cotangent: Cotangent) -> Cotangent:
        value = self.transpose(cotangent.value, node, position)
        if cotangent.active is None:
            return Cotangent(value)
        # An element counts if any that it is mixed with does.
        count = ops.sum(as_number(cotangent.active), params=(self.mixes(node, position),))
        last = (1,) * (value.ndim - count.ndim)
        count = ops.reshape(count, params=((*count.shape, *last),))
        active = spread_to(count > 0.0, value.shape)
        return Cotangent(ops.where(active, value, 0.0), active)


def deeper(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The same axes of each array of a stack."""
    return tuple(axis + 1 for axis in axes)


def elementwise(
    name: str,
    forward: Callable[..., Array],
    twin: Twin,
    example: tuple[float, ...] | float,
    *partials: Partial | None,
    **facts: Any,
) -> None:
    """Adds a row to the elementwise table; the example of one input is a bare number."""
    at = example if isinstance(example, tuple) else (example,)
    Elementwise(name=name, forward=forward, twin=twin, example=at, partials=partials, **facts)


def through(cotangent: Cotangent, slope: Node | float, choice: Node | None) -> Cotangent:
    """Cotangent x slope over the elements that count: the others add exactly nothing.

    They are masked, not multiplied by zero: 0 * inf would be nan.
    """
    value, active = cotangent
    constant = slope.number if isinstance(slope, Node) else slope
    mask = active if choice is None else choice if active is None else active & choice
    if mask is not None:
        mask = spread_to(mask, value.shape)
    if constant == 0.0:
        return Cotangent(spread_to(value.graph.constant(0.0), value.shape), mask)
    if constant != 1.0:
        value = -value if constant == -1.0 else value * slope
    finite = constant is not None and np.isfinite(constant)
    if mask is not None and (choice is not None or not finite):
        value = ops.where(mask, value, 0.0)
    return Cotangent(value, mask)


def spread_to(node: Node, shape: Shape) -> Node:
    """``node`` broadcast to ``shape``; itself if it has that shape."""
    return node if node.shape == shape else ops.broadcast_to(node, params=(shape,))


def broadcast(name: str, *shapes: Shape) -> Shape:
    """The common shape of ``shapes`` (NumPy's broadcasting); raises GradcalcError."""
    longest = max(shapes, key=len)
    if len(longest) > MOST_AXES:
        return longest  # which the graph refuses
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(str(shape) for shape in shapes)
        raise GradcalcError(
            "shape-mismatch",
            f"shapes {listed} do not fit together in '{name}'",
            "shapes are compared from the right: two lengths fit if they are equal or one is 1",
        ) from None

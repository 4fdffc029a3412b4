"""Derivatives inside a program: what was derived, and what it claims to be the derivative of.

The first input is the derivative as the engine wrote it, and the value. The others let the check
derive it again: SymPy differentiates y by x, and never sees our graph of it.
"""

from dataclasses import dataclass

from gradcalc.graph import Cotangent, Node, Params, Shape
from gradcalc.primitives.rule import Linear, Row


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Derivative(Row):
    """Inputs: the derivative, y, x, and weights of y's shape or a direction of x's."""

    def infer_shape(self, shapes: tuple[Shape, ...], params: Params) -> Shape:
        return shapes[0]

    def pullback(self, node: Node, position: int, cotangent: Cotangent) -> Cotangent | None:
        return cotangent if position == 0 else None


# A value that the program differentiates by: it differs from all others, also from equal ones that
# were computed apart. ``key`` tells them apart.
named = Linear(
    name="named",
    forward=lambda x, key: x,
    shape=lambda shape, key: shape,
    transpose=lambda cotangent, node, position: cotangent,
)
pulled = Derivative(name="pulled", forward=lambda value, y, x, weights: value)
pushed = Derivative(name="pushed", forward=lambda value, y, x, direction: value)

"""The norm of any order but the Euclidean, which is a row of its own (reductions.py)."""

from typing import Any

import numpy as np

from gradcalc.graph import Array, Node, ops
from gradcalc.primitives.reductions import Axes
from gradcalc.primitives.rule import General, deeper


def _norm(x: Array, axes: Axes, order: float) -> Array:
    """sum(abs(x)**order)**(1/order), relative to the element that counts most: none overflows."""
    size = np.abs(x)
    if order > 0.0:
        most = np.max(size, axis=axes, keepdims=True, initial=0.0)
    else:
        most = np.min(size, axis=axes, keepdims=True, initial=np.inf)
    scale = np.where((most > 0.0) & (most < np.inf), most, 1.0)
    total = np.sum((size / scale) ** order, axis=axes, keepdims=True)
    return scale * total ** (1.0 / order)


def _through(cotangent: Node, node: Node, position: int) -> Node:
    """sign(x) (abs(x)/y)**(order - 1); what is 0 has slope 0, as in PyTorch, and not 0 * inf."""
    (x,), (_, order) = node.inputs, node.params
    slope = ops.sign(x) * (ops.abs(x) / node) ** (order - 1.0)
    return ops.where(ops.equal(x, 0.0) | ops.equal(node, 0.0), 0.0, cotangent * slope)


def _twin(m: Any, x: Array, axes: Axes, order: float) -> Array:
    number = m.number(order)
    powers = np.frompyfunc(lambda one: m.power(abs(one), number), 1, 1)(x)
    total = np.sum(powers, axis=axes, keepdims=True)
    return np.frompyfunc(lambda one: m.power(one, 1 / number), 1, 1)(total)


norm_of_order = General(
    name="norm_of_order",
    forward=_norm,
    twin=_twin,
    shape=lambda shape, axes, order: tuple(1 if i in axes else n for i, n in enumerate(shape)),
    transpose=_through,
    mixes=lambda node, position: node.params[0],
    kinks=lambda node: (node, *(node.inputs if node.params[1] < 1.0 else ())),
    convention="slope 0 by what is 0",
    lift=lambda count, axes, order: (deeper(axes), order),
)

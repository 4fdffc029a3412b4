"""The logarithm of a sum of exponentials and its derivatives, the softmax family.

Everything is relative to the largest element, so nothing overflows. 1 - p is computed as the sum of
the other probabilities, which does not cancel when p is nearly 1.
"""

from typing import Any

import numpy as np

from gradcalc.graph import Array, Node, Shape
from gradcalc.primitives.reductions import Axes
from gradcalc.primitives.rule import General, Reduction, deeper
from gradcalc.primitives.scans import exclusive_sum


def _exponentials(x: Array, axes: Axes) -> tuple[Array, Array]:
    """The largest element, and exp(x - largest), corrected for the rounding of the difference."""
    largest = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    difference = x - largest
    taken = x - difference
    lost = (x - (difference + taken)) + (taken - largest)
    return largest, np.exp(difference) * (1.0 + np.where(np.isfinite(lost), lost, 0.0))


def _log_of_sum(x: Array, axes: Axes) -> tuple[Array, Array]:
    """log(sum(exp(x))) in two parts: the largest element, and log1p of what the others add."""
    largest, parts = _exponentials(x, axes)
    top = parts >= 1.0
    others = np.sum(np.where(top, 0.0, parts), axis=axes, keepdims=True)
    return largest, np.log1p(others + (np.sum(top, axis=axes, keepdims=True) - 1.0))


def _logsumexp(x: Array, axes: Axes) -> Array:
    largest, rest = _log_of_sum(x, axes)
    return np.where(np.isinf(largest), largest, largest + rest)


def _log_softmax(x: Array, axes: Axes) -> Array:
    largest, rest = _log_of_sum(x, axes)
    return (x - largest) - rest


def _softmax(x: Array, axes: Axes) -> Array:
    _, parts = _exponentials(x, axes)
    return parts / np.sum(parts, axis=axes, keepdims=True)


def _same(shape: Shape, axes: Axes) -> Shape:
    return shape


def _through_softmax(cotangent: Node, node: Node, position: int) -> Node:
    """p_i (w_i sum_{j != i} p_j - sum_{j != i} p_j w_j)"""
    p = node
    others = exclusive_sum(p, params=node.params)
    return p * (cotangent * others - exclusive_sum(p * cotangent, params=node.params))


def _through_log_softmax(cotangent: Node, node: Node, position: int) -> Node:
    """w_i sum_{j != i} p_j - p_i sum_{j != i} w_j"""
    p = softmax(node.inputs[0], params=node.params)
    others = exclusive_sum(p, params=node.params)
    return cotangent * others - p * exclusive_sum(cotangent, params=node.params)


def _exp(m: Any, x: Array) -> Array:
    return np.frompyfunc(m.exp, 1, 1)(x)


def _log_of_sum_twin(m: Any, x: Array, axes: Axes) -> Array:
    return np.frompyfunc(m.log, 1, 1)(np.sum(_exp(m, x), axis=axes, keepdims=True))


logsumexp = Reduction(
    name="logsumexp",
    forward=_logsumexp,
    twin=_log_of_sum_twin,
    partial=lambda x, y, axes: softmax(x, params=(axes,)),
)
softmax: General = General(
    name="softmax",
    forward=_softmax,
    twin=lambda m, x, axes: _exp(m, x) / np.sum(_exp(m, x), axis=axes, keepdims=True),
    shape=_same,
    transpose=_through_softmax,
    mixes=lambda node, position: node.params[0],
    lift=lambda count, axes: (deeper(axes),),
)
log_softmax = General(
    name="log_softmax",
    forward=_log_softmax,
    twin=lambda m, x, axes: x - _log_of_sum_twin(m, x, axes),
    shape=_same,
    transpose=_through_log_softmax,
    mixes=lambda node, position: node.params[0],
    lift=lambda count, axes: (deeper(axes),),
)

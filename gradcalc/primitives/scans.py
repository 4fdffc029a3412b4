"""Linear rows in which every element sees many others: running sums, and sums of all the others."""

import numpy as np

from gradcalc.graph import Array
from gradcalc.primitives.reductions import Axes
from gradcalc.primitives.rule import Linear, deeper


def _cumsum(x: Array, axis: int, backward: bool) -> Array:
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis) if backward else np.cumsum(x, axis)


def _exclusive_sum(x: Array, axes: Axes) -> Array:
    """What stands before each element of the flattened axes, plus what stands behind it."""
    last = range(x.ndim - len(axes), x.ndim)
    moved = np.moveaxis(x, axes, last)
    flat = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1) if x.size else moved
    total = np.zeros_like(flat)
    total[..., 1:] += np.cumsum(flat[..., :-1], axis=-1)
    total[..., :-1] += np.cumsum(flat[..., :0:-1], axis=-1)[..., ::-1]
    return np.moveaxis(total.reshape(moved.shape), last, axes)


cumsum: Linear = Linear(
    name="cumsum",
    forward=_cumsum,
    shape=lambda shape, axis, backward: shape,
    lift=lambda count, axis, backward: (axis + 1, backward),
    transpose=lambda cotangent, node, position: cumsum(
        cotangent, params=(node.params[0], not node.params[1])
    ),
    truth=False,
)
exclusive_sum: Linear = Linear(
    name="exclusive_sum",
    forward=_exclusive_sum,
    shape=lambda shape, axes: shape,
    lift=lambda count, axes: (deeper(axes),),
    transpose=lambda cotangent, node, position: exclusive_sum(cotangent, params=node.params),
    truth=False,
)

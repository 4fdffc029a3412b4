"""The reductions: rows over axes, which stay with length 1, so that a result broadcasts back."""

from collections.abc import Callable

import numpy as np

from gradcalc.graph import Array, Node, ops, size_of
from gradcalc.primitives.rule import Linear, Reduction, deeper, spread_to

Axes = tuple[int, ...]

sum_ = Linear(
    name="sum",
    forward=lambda x, axes: np.add.reduce(x, axis=axes, keepdims=True),
    shape=lambda shape, axes: tuple(1 if i in axes else n for i, n in enumerate(shape)),
    transpose=lambda cotangent, node, position: spread_to(cotangent, node.inputs[0].shape),
    truth=False,
    lift=lambda count, axes: (deeper(axes),),
)


def _chosen(x: Node, y: Node, axes: Axes) -> Node:
    """The elements that attain an extremum; where it is nan, those that are (as PyTorch's amax)."""
    return ops.equal(x, y) | ops.not_equal(x, x)


def _ties(x: Node, y: Node, axes: Axes) -> Node:
    return sum_(ops.where(_chosen(x, y, axes), 1.0, 0.0), params=(axes,))


def _fold(function: str) -> Callable[..., Array]:
    """A twin that folds a function of two elements over the axes of an object array."""

    def twin(m: object, x: Array, axes: Axes) -> Array:
        pair = np.frompyfunc(getattr(m, function), 2, 1)
        kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        count = size_of(tuple(x.shape[i] for i in axes))
        x = np.moveaxis(x, axes, range(len(axes))).reshape(count, *kept)
        while len(x) > 1:  # halves, so that expressions nest log(n) deep
            x = np.concatenate(
                [pair(x[: len(x) // 2], x[-(len(x) // 2) :]), x[len(x) // 2 :][: len(x) % 2]]
            )
        return x[0]

    return twin


def _norm(x: Array, axes: Axes) -> Array:
    """The Euclidean norm; scaled by the largest element where squares would over- or underflow."""
    size = np.sqrt(np.sum(x * x, axis=axes, keepdims=True))
    if np.all((size > 1e-140) & (size < 1e150)):
        return size
    largest = np.max(np.abs(x), axis=axes, keepdims=True, initial=0.0)
    scale = np.where((largest > 0.0) & (largest < np.inf), largest, 1.0)
    return scale * np.sqrt(np.sum((x / scale) ** 2, axis=axes, keepdims=True))


max_ = Reduction(
    name="max",
    forward=lambda x, axes: np.max(x, axis=axes, keepdims=True),
    twin=_fold("maximum"),
    partial=lambda x, y, axes: 1.0 / _ties(x, y, axes),
    active=_chosen,
    kinks=lambda x, y, axes: (ops.where(_ties(x, y, axes) > 1.0, 0.0, 1.0),),
    convention="ties share the gradient evenly",
    empty=False,
)
min_ = Reduction(
    name="min",
    forward=lambda x, axes: np.min(x, axis=axes, keepdims=True),
    twin=_fold("minimum"),
    partial=lambda x, y, axes: 1.0 / _ties(x, y, axes),
    active=_chosen,
    kinks=lambda x, y, axes: (ops.where(_ties(x, y, axes) > 1.0, 0.0, 1.0),),
    convention="ties share the gradient evenly",
    empty=False,
)
any_ = Reduction(
    name="any",
    forward=lambda x, axes: np.any(x, axis=axes, keepdims=True),
    twin=lambda m, x, axes: _fold("logical_or")(m, x, axes) if x.size else np.any(x, axes),
    partial=None,
    conditions=1,
    truth=True,
)
norm = Reduction(
    name="norm",
    forward=_norm,
    twin=lambda m, x, axes: np.frompyfunc(m.sqrt, 1, 1)(np.sum(x * x, axis=axes, keepdims=True)),
    partial=lambda x, y, axes: ops.where(ops.equal(y, 0.0), 0.0, x / y),
    kinks=lambda x, y, axes: (y,),
    convention="slope 0 at 0",
)

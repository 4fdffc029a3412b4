"""The linear rows that move elements without changing them, and their transposes."""

from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Array, Node, Params, Shape, size_of
from gradcalc.primitives.reductions import sum_
from gradcalc.primitives.rule import Linear, broadcast, deeper


class Index:
    """A NumPy index (integers, slices, integer arrays, ``...``, None) that can be a parameter."""

    __slots__ = ("_key", "items")

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items
        self._key = tuple(
            (i.shape, i.tobytes()) if isinstance(i, np.ndarray) else repr(i) for i in items
        )

    @property
    def advanced(self) -> bool:
        """Does it pick by integer arrays, so that an element may be picked more than once?"""
        return any(isinstance(i, np.ndarray) for i in self.items)

    @property
    def separated(self) -> bool:
        """Are there slices between integer arrays, so that NumPy puts their axes first?"""
        kinds = [isinstance(i, (np.ndarray, int)) for i in self.items]
        first, last = kinds.index(True) if True in kinds else 0, len(kinds) - 1
        while last > first and not kinds[last]:
            last -= 1
        return self.advanced and not all(kinds[first : last + 1])

    @property
    def lifted(self) -> "Index":
        """The same of each array of a stack."""
        return Index((slice(None), *self.items))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self._key == other._key


def _index_shape(shape: Shape, index: Index) -> Shape:
    try:
        # A view on one element has the shape and takes no memory.
        return tuple(np.broadcast_to(np.int8(0), shape)[index.items].shape)
    except IndexError as error:
        raise GradcalcError(
            "index", f"{error}".replace("array", f"value of shape {shape}", 1)
        ) from None


def _scatter(values: Array, shape: Shape, index: Index) -> Array:
    result = np.zeros(shape, dtype=np.asarray(values).dtype)
    if index.advanced:
        np.add.at(result, index.items, values)  # an element picked twice gets both
    else:
        result[index.items] = np.asarray(values)[()]  # an object, not a 0-d array of it
    return result


def _concatenate_shape(*arguments: Any) -> Shape:
    *shapes, axis = arguments
    rest = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(rest) > 1:
        listed = " and ".join(dict.fromkeys(str(shape) for shape in shapes))
        raise GradcalcError(
            "shape-mismatch",
            f"shapes {listed} do not fit together along axis {axis}",
            "all other lengths must be equal",
        )
    return (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])


@lru_cache(maxsize=1)  # the pullbacks of one node come one after the other
def _ends(node: Node) -> list[int]:
    return list(accumulate(i.shape[node.params[0]] for i in node.inputs))


def _part(node: Node, position: int) -> Params:
    """Where the input at ``position`` stands in a concatenation."""
    axis, end = node.params[0], _ends(node)[position]
    part = slice(end - node.inputs[position].shape[axis], end)
    return (Index((*(slice(None),) * axis, part)),)


def _reshape_shape(shape: Shape, new: Shape) -> Shape:
    if size_of(shape) != size_of(new):
        raise GradcalcError(
            "shape-mismatch",
            f"{size_of(shape)} elements of shape {shape} do not fill the shape {new}",
            "the two products of lengths must be equal; one length may be -1",
        )
    return new


def _broadcast_shape(shape: Shape, new: Shape) -> Shape:
    if broadcast("broadcast_to", shape, new) != new:
        raise GradcalcError("shape-mismatch", f"shape {shape} cannot be broadcast to {new}")
    return new


def unbroadcast(node: Node, shape: Shape) -> Node:
    """The transpose of broadcasting: ``node`` summed over the axes that ``shape`` had spread."""
    if node.shape == shape:
        return node
    lead = node.ndim - len(shape)
    axes = tuple(
        axis
        for axis, length in enumerate(node.shape)
        if axis < lead or (shape[axis - lead] == 1 and length != 1)
    )
    return reshape(sum_(node, params=(axes,)) if axes else node, params=(shape,))


reshape: Linear = Linear(
    name="reshape",
    forward=np.reshape,
    shape=_reshape_shape,
    lift=lambda count, new: ((count, *new),),
    transpose=lambda cotangent, node, position: reshape(cotangent, params=(node.inputs[0].shape,)),
)
broadcast_to: Linear = Linear(
    name="broadcast_to",
    forward=np.broadcast_to,
    shape=_broadcast_shape,
    broadcasts=True,
    lift=lambda count, new: ((count, *new),),
    transpose=lambda cotangent, node, position: unbroadcast(cotangent, node.inputs[0].shape),
)
transpose: Linear = Linear(
    name="transpose",
    forward=np.transpose,
    shape=lambda shape, axes: tuple(shape[axis] for axis in axes),
    lift=lambda count, axes: ((0, *deeper(axes)),),
    transpose=lambda cotangent, node, position: transpose(
        cotangent, params=(tuple(sorted(range(node.ndim), key=node.params[0].__getitem__)),)
    ),
)
index: Linear = Linear(
    name="index",
    forward=lambda x, index: np.asarray(x)[index.items],
    shape=_index_shape,
    lift=lambda count, index: None if index.separated else (index.lifted,),
    transpose=lambda cotangent, node, position: scatter(
        cotangent, params=(node.inputs[0].shape, *node.params)
    ),
    chooses=True,
)
scatter: Linear = Linear(
    name="scatter",
    forward=_scatter,
    shape=lambda values, shape, index: shape,
    lift=lambda count, shape, index: None if index.separated else ((count, *shape), index.lifted),
    transpose=lambda cotangent, node, position: index(cotangent, params=node.params[1:]),
)
concatenate: Linear = Linear(
    name="concatenate",
    forward=lambda *arguments: np.concatenate(arguments[:-1], axis=arguments[-1]),
    shape=_concatenate_shape,
    lift=lambda count, axis: (axis + 1,),
    transpose=lambda cotangent, node, position: index(cotangent, params=_part(node, position)),
)

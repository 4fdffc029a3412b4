"""Which elements of its inputs an element of a node is made of: four ways, whatever the row.

Element by element; a row times a column; one element of an input, moved; or blocks of a node that
are made of blocks of its inputs. Only the forward functions of rows are asked, never a transpose:
what is wrong there must not be hidden here. Indices are numbered through the flat array.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradcalc.graph import Array, Node, Shape, size_of
from gradcalc.primitives.products import Product
from gradcalc.primitives.reductions import sum_
from gradcalc.primitives.rule import Elementwise, General, Linear, Reduction

NOTHING = -1  # instead of the source of an element that is 0, whatever the inputs are

Indices: TypeAlias = Sequence[int]


class Part(NamedTuple):
    """An array in blocks: the elements of each block, and the block of each element."""

    elements: Array  # [block, element within]
    block: Array  # [element]
    shape: Shape  # of one block


class Blocks(NamedTuple):
    """A node in blocks, of which each is made of one block of each input."""

    outer: Part
    inner: Sequence[Part]


@lru_cache(maxsize=256)
def positions(shape: Shape, spread: Shape) -> Array:
    """Which element of an array of ``shape`` stands where, once it is broadcast to ``spread``."""
    return np.ravel(np.broadcast_to(np.arange(size_of(shape)).reshape(shape), spread))


def places(node: Node) -> list[Array | None]:
    """Of an elementwise node: the element of each input for each of its own (None: the same)."""
    return [
        None if source.shape == node.shape else positions(source.shape, node.shape)
        for source in node.inputs
    ]


class Structure:
    """Remembers of the nodes of one graph how they are made of their inputs."""

    def __init__(self) -> None:
        self._selections: dict[Node, Array | None] = {}
        self._blocks: dict[Node, Blocks] = {}

    def behind(self, node: Node, position: int, elements: Indices) -> Indices:
        """The elements of an input that these elements of ``node`` are made of."""
        row, source = node.primitive, node.inputs[position]
        if isinstance(row, Elementwise):
            if source.shape == node.shape:
                return elements
            found = np.unique(positions(source.shape, node.shape)[elements])
        elif isinstance(row, Product):
            found = _of_product(node, position, elements)
        elif (picked := self.selection(node)) is not None:
            begin = sum(i.size for i in node.inputs[:position])
            found = picked[elements] - begin
            found = np.unique(found[(found >= 0) & (found < source.size)])
        else:
            blocks = self.blocks(node)
            own = np.unique(blocks.outer.block[elements])
            found = np.ravel(blocks.inner[position].elements[own])
        return _listed(found)

    def reached(self, node: Node, position: int, elements: Indices) -> Indices:
        """The elements of ``node`` that are made of these elements of an input."""
        row, source = node.primitive, node.inputs[position]
        if isinstance(row, Elementwise):
            if source.shape == node.shape:
                return elements
            found = np.flatnonzero(
                _mask(source.size, elements)[positions(source.shape, node.shape)]
            )
        elif isinstance(row, Product):
            found = _to_product(node, position, elements)
        elif (picked := self.selection(node)) is not None:
            begin = sum(i.size for i in node.inputs[:position])
            mask = _mask(sum(i.size for i in node.inputs) + 1, np.asarray(elements) + begin)
            found = np.flatnonzero(mask[picked])  # NOTHING is the last, which is never set
        else:
            blocks = self.blocks(node)
            own = np.unique(blocks.inner[position].block[elements])
            found = np.ravel(blocks.outer.elements[own])
        return _listed(found)

    def moves(self, node: Node, position: int, elements: Indices) -> Iterator[tuple[int, int]]:
        """Of a sum, or a node that moves elements: an input's element, and where it arrives."""
        source = np.asarray(elements, dtype=np.intp)
        picked = self.selection(node)
        if picked is None:
            blocks = self.blocks(node)
            arrived = blocks.outer.elements[blocks.inner[position].block[source], 0]
        else:
            arrived = np.asarray(self.reached(node, position, elements), dtype=np.intp)
            source = picked[arrived] - sum(i.size for i in node.inputs[:position])
        return zip(source.tolist(), arrived.tolist(), strict=True)

    def selection(self, node: Node) -> Array | None:
        """For a node that moves elements: the source of each, counted through all inputs in turn.

        None for a node that combines elements.
        """
        if node not in self._selections:
            self._selections[node] = _selection(node)
        return self._selections[node]

    def blocks(self, node: Node) -> Blocks:
        """The blocks of a node that combines elements in a way of its own."""
        if node not in self._blocks:
            axes = _mixed(node)
            if axes is None:
                inner = [_part(i.shape, tuple(range(i.ndim))) for i in node.inputs]
                self._blocks[node] = Blocks(_part(node.shape, tuple(range(node.ndim))), inner)
            else:
                inner = [_part(node.inputs[0].shape, axes)]
                self._blocks[node] = Blocks(_part(node.shape, axes), inner)
        return self._blocks[node]


def _listed(found: Array) -> Indices:
    listed: list[int] = found.tolist()
    return listed


def _mask(size: int, elements: Any) -> Array:
    mask = np.zeros(size, dtype=bool)
    mask[elements] = True
    return mask


def _selection(node: Node) -> Array | None:
    row = node.primitive
    if not isinstance(row, Linear) or row is sum_:
        return None
    ones = row.forward(*(np.ones(i.shape) for i in node.inputs), *node.params)
    if np.any(ones > 1.0):
        return None
    labels, begin = [], 1
    for source in node.inputs:  # float64 holds them exactly; 0 is what comes from nowhere
        labels.append(np.arange(begin, begin + source.size, dtype=np.float64).reshape(source.shape))
        begin += source.size
    return np.ravel(row.forward(*labels, *node.params)).astype(np.intp) - 1


def _mixed(node: Node) -> tuple[int, ...] | None:
    """The axes along which the elements of the one input mix; None where it is all of all."""
    row = node.primitive
    if isinstance(row, Reduction) or row is sum_:
        axes: tuple[int, ...] = node.params[0]
        return axes
    if isinstance(row, General) and len(node.inputs) == 1 and node.inputs[0].ndim == node.ndim:
        return row.mixes(node, 0)
    return None


def _part(shape: Shape, axes: tuple[int, ...]) -> Part:
    """An array of ``shape`` in blocks along ``axes``."""
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    block = positions(kept, shape)
    own = tuple(n if axis in axes else 1 for axis, n in enumerate(shape))
    order = np.argsort(block, kind="stable").reshape(size_of(kept), size_of(own))
    return Part(order, block, own)


def _is_left(position: int) -> bool:
    """Does the input, or the mask, at ``position`` belong to the left factor of a product?"""
    return position % 2 == 0


def factors(node: Node, element: int) -> tuple[Array, Array]:
    """The elements of the two factors whose products add up to an element of a product."""
    a, b = node.inputs[-2:]
    (count, width), height = a.shape[-2:], b.shape[-1]
    batch, rest = divmod(element, count * height)
    i, j = divmod(rest, height)
    left = positions(a.shape[:-2], node.shape[:-2])[batch] * count + i
    right = positions(b.shape[:-2], node.shape[:-2])[batch] * width * height + j
    inner = np.arange(width)
    return left * width + inner, right + inner * height


def _of_product(node: Node, position: int, elements: Indices) -> Array:
    source = node.inputs[position]
    count, height = node.shape[-2:]
    batch, rest = np.divmod(np.asarray(elements, dtype=np.intp), count * height)
    own = positions(source.shape[:-2], node.shape[:-2])[batch]
    if _is_left(position):
        lines = np.unique(own * count + rest // height)
        return np.ravel(lines[:, None] * source.shape[-1] + np.arange(source.shape[-1]))
    size = source.shape[-2] * height
    starts = np.unique(own * size + rest % height)
    return np.ravel(starts[:, None] + np.arange(source.shape[-2]) * height)


def _to_product(node: Node, position: int, elements: Indices) -> Array:
    source = node.inputs[position]
    count, height = node.shape[-2:]
    flat = np.asarray(elements, dtype=np.intp)
    batch, rest = np.divmod(flat, source.shape[-2] * source.shape[-1])
    reached = np.zeros((size_of(node.shape[:-2]), count, height), dtype=bool)
    spread = positions(source.shape[:-2], node.shape[:-2])
    for own, place in zip(batch.tolist(), rest.tolist(), strict=True):
        where = spread == own
        if _is_left(position):
            reached[where, place // source.shape[-1], :] = True
        else:
            reached[where, :, place % height] = True
    return np.flatnonzero(reached)

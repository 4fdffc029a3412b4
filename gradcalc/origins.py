"""Where a nan or an infinity in a gradient comes from: which part of the text, and which values."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.errors import Span
from gradcalc.graph import LEAF, Array, Node, ops
from gradcalc.language.syntax import part_of, span_of
from gradcalc.language.trace import Trace
from gradcalc.primitives.products import Product
from gradcalc.primitives.rule import Elementwise, General, Linear, Reduction

MOST = 2**24  # numbers of all nodes together that are computed again for an origin

Index = tuple[int, ...]


class Origin(NamedTuple):
    """The first operation that is not finite, or whose slope is not, though its operands are.

    text: that part of the program; span: its place; at: of the element. operands: their values
    there, as ``x = 0``; empty where they are not element by element.
    """

    text: str
    span: Span | None
    at: Index
    operands: str

    def __str__(self) -> str:
        place = f" at [{', '.join(map(str, self.at))}]" if self.at else ""
        return f"{self.text}{place}" + (f", where {self.operands}" if self.operands else "")


def origins_of(
    trace: Trace, gradients: Mapping[str, tuple[Node, Index]], outputs: Iterable[Node]
) -> dict[str, Origin]:
    """The origins of elements of gradients (by leaf: the node and the index) that are not finite.

    Those in the weights that were given have none; nor is one sought where so many numbers would
    have to be computed again.
    """
    targets = [node for node, _ in gradients.values()]
    if sum(node.size for node in needed(targets, trace.values)) > MOST:
        return {}
    known = dict(trace.values)
    evaluate(targets, known, keep=True)
    nodes = needed(outputs, {})
    found = {
        name: _origin(trace, *_walk(*target, known), nodes, known)
        for name, target in gradients.items()
    }
    return {name: origin for name, origin in found.items() if origin is not None}


def _origin(
    trace: Trace, node: Node, at: Index, nodes: Sequence[Node], known: dict[Node, Array]
) -> Origin | None:
    if node.primitive is LEAF:
        return Origin(f"the value of {node.params[0]}", None, at, "")
    if not isinstance(node.origin, ast.AST):
        return None
    here = [n for n in nodes if n.origin is node.origin]
    operands = _operands(trace, here)
    shape = here[-1].shape if here else node.shape
    numbers = []
    for text, operand in operands.items():
        value = np.asarray(evaluate([operand], known)[0])
        if operand.shape and (operand.shape != node.shape or shape != node.shape):
            continue  # which of its elements it was cannot be told
        element = value[at] if operand.shape else value
        numbers.append(f"{text} = {float(element):.10g}")
    place = at if numbers and shape == node.shape else ()
    span = span_of(trace.program.source.text, node.origin)
    return Origin(_text(trace, node), span, place, ", ".join(numbers))


def _operands(trace: Trace, here: Sequence[Node]) -> dict[str, Node]:
    """What an operation, or all that a function made of it, works on: by its text."""
    inside = set(here)
    names = {node: name for name, node in [*trace.names.items(), *trace.leaves.items()]}
    found = {}
    for node in here:
        for source in node.inputs:
            if source not in inside and not source.truth and (source.inputs or source in names):
                found[names.get(source) or _text(trace, source)] = source
    return found


def _text(trace: Trace, node: Node) -> str:
    """The part of the program that made the node, shortened."""
    assert isinstance(node.origin, ast.AST)  # it is no leaf and no constant
    return part_of(trace.program.source.text, node.origin)


def _walk(node: Node, index: Index, values: Mapping[Node, Array]) -> tuple[Node, Index]:
    """Backwards from an element that is not finite, to the first such one."""
    while True:
        step = next(_causes(node, index, values), None)
        if step is None:
            return node, index
        node, index = step


def _causes(node: Node, index: Index, values: Mapping[Node, Array]) -> Iterator[tuple[Node, Index]]:
    """The elements of inputs that are not finite and are behind this element; no constants."""
    for position, source in enumerate(node.inputs):
        if source.truth or not (source.inputs or source.primitive is LEAF):
            continue
        if node.primitive is ops.where:
            chosen = np.broadcast_to(values[node.inputs[0]], node.shape)[index]
            if position != (1 if chosen else 2):
                continue
        behind = _behind(node, position, index)
        found = np.argwhere(behind & ~np.isfinite(values[source]))
        if found.size or (not source.shape and len(found)):
            yield source, tuple(int(i) for i in found[0])


def _behind(node: Node, position: int, index: Index) -> Array:
    """Which elements of an input one element of ``node`` is computed from."""
    source = node.inputs[position]
    if isinstance(node.primitive, Elementwise):
        spread = np.broadcast_to(np.arange(source.size).reshape(source.shape), node.shape)
        return np.arange(source.size).reshape(source.shape) == spread[index]
    if isinstance(node.primitive, Linear):  # the transpose of a unit vector has the coefficients
        unit = np.zeros(node.shape)
        unit[index] = 1.0
        transposed = node.primitive.transpose(node.graph.constant(unit), node, position)
        return evaluate([transposed], {})[0] != 0.0
    # Along these axes of the input any element may be behind; along the others the own one.
    free = _mixed(node, position)
    where = tuple(
        slice(None) if axis in free else index[axis - source.ndim + node.ndim] if n > 1 else 0
        for axis, n in enumerate(source.shape)
    )
    behind = np.zeros(source.shape, bool)
    behind[where] = True
    return behind


def _mixed(node: Node, position: int) -> tuple[int, ...]:
    """The axes of an input along which its elements are mixed."""
    row, ndim = node.primitive, node.inputs[position].ndim
    if isinstance(row, Reduction):
        axes: tuple[int, ...] = node.params[0]
        return axes
    if isinstance(row, Product):
        left = position == row.conditions
        return (ndim - 1,) if left else (ndim - 2,)
    if isinstance(row, General) and node.ndim == ndim:
        return row.mixes(node, position)
    return tuple(range(ndim))

"""Where a nan or an infinity in a gradient comes from: which part of the text, and which values."""

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.errors import Span
from gradcalc.graph import LEAF, Array, Node, ops
from gradcalc.language.program import Program
from gradcalc.language.syntax import span_of
from gradcalc.primitives.rule import Elementwise, Linear

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


def origin_of(
    program: Program,
    gradient: Node,
    index: Index,
    outputs: Mapping[str, Node],
    values: Mapping[Node, Array],
) -> Origin | None:
    """The origin of the element at ``index`` of ``gradient``, which is nan or infinite.

    values: of the leaves at least. None where it is in the values or weights that were given, or
    where so many numbers would have to be computed again.
    """
    if sum(node.size for node in needed([gradient], dict(values))) > MOST:
        return None
    known = dict(values)
    evaluate([gradient], known, keep=True)
    node, index = _walk(gradient, index, known)
    if not node.inputs or not isinstance(node.origin, ast.AST):
        return None
    text, span = ast.unparse(node.origin), span_of(program.source.text, node.origin)
    here = [n for n in needed(outputs.values(), {}) if n.origin is node.origin]
    if not here or here[-1].shape != node.shape or not isinstance(here[-1].primitive, Elementwise):
        return Origin(text, span, (), "")
    return Origin(text, span, index, _operands(here[-1], index, known))


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
    return np.ones(source.shape, bool)


def _operands(operation: Node, index: Index, values: dict[Node, Array]) -> str:
    """The operands of an elementwise operation, but for constants, with their values there."""
    operands = [
        operand
        for operand in dict.fromkeys(operation.inputs)
        if (operand.inputs and operand.origin is not operation.origin) or operand.primitive is LEAF
    ]
    arrays = evaluate(operands, values)
    return ", ".join(
        f"{_name(operand)} = {float(np.broadcast_to(array, operation.shape)[index]):.10g}"
        for operand, array in zip(operands, arrays, strict=True)
        if not operand.truth
    )


def _name(node: Node) -> str:
    if node.primitive is LEAF:
        return str(node.params[0])
    return ast.unparse(node.origin) if isinstance(node.origin, ast.AST) else "a value"

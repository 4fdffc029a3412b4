"""Where a row bends, jumps or ends: there one derivative may not be the whole truth."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.graph import Array, Node
from gradcalc.primitives.rule import Elementwise, Reduction

NEAR = 1e-9  # of a kink: both sides are looked at; closer looks cost time only


def kinks(node: Node) -> Sequence[Node]:
    """The expressions that vanish where the partials of ``node`` jump."""
    row = node.primitive
    if isinstance(row, Elementwise) and row.kinks:
        return row.kinks(*node.inputs)
    if isinstance(row, Reduction) and row.kinks:
        return row.kinks(node.inputs[0], node, *node.params)
    return ()


def _outside(node: Node) -> Sequence[Node]:
    """Whether ``node`` is outside its domain."""
    row = node.primitive
    inside = row.domain(*node.inputs) if isinstance(row, Elementwise) else True
    return (~inside,) if isinstance(inside, Node) else ()


def distances(nodes: Iterable[Node], values: Mapping[Node, Array]) -> list[Array]:
    """For each kink expression of ``nodes`` its distance to 0: 1 at 0 itself, inf if not near."""
    found = [np.abs(array) for array in _each(kinks, nodes, values)]
    return [np.where(d == 0.0, 1.0, np.where(d <= NEAR, d, np.inf)) for d in found]


def ties(conditions: Iterable[Node], values: Mapping[Node, Array]) -> list[Array]:
    """For each comparison that decided a branch: are its two sides equal?"""
    comparisons: set[Node] = set()
    stack = list(conditions)
    while stack:
        node = stack.pop()
        if node.truth and node not in comparisons:
            comparisons.add(node)
            stack.extend(node.inputs)
    return [array == 0.0 for array in _each(kinks, comparisons, values)]


def to_kinks(
    outputs: Mapping[str, Node], values: Mapping[Node, Array], pointwise: bool
) -> dict[str, Array]:
    """For each element (flat) of each output: the smallest distance to a kink behind it."""
    return {
        name: _reach(output, pointwise, np.fmin, np.inf, distances(needed([output], {}), values))
        for name, output in outputs.items()
    }


def outside_domain(
    outputs: Mapping[str, Node], values: Mapping[Node, Array], pointwise: bool
) -> dict[str, Array]:
    """For each element (flat) of each output: does it depend on a value outside a row's domain?"""
    return {
        name: _reach(
            output, pointwise, np.logical_or, False, _each(_outside, needed([output], {}), values)
        )
        for name, output in outputs.items()
    }


def _each(
    expressions: Callable[[Node], Sequence[Node]],
    nodes: Iterable[Node],
    values: Mapping[Node, Array],
) -> list[Array]:
    return evaluate([e for node in nodes for e in expressions(node)], dict(values))


def _reach(
    output: Node, pointwise: bool, combine: np.ufunc, start: Any, found: list[Array]
) -> Array:
    """``found`` combined for each element of ``output``: pointwise its own, else any of all."""
    result = np.full(output.shape, start)
    for array in found:
        everywhere = combine.reduce(np.ravel(array), initial=start)
        result = combine(result, array if pointwise else everywhere)
    return np.ravel(result)

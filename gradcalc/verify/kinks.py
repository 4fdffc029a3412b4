"""Where a row bends, jumps or ends: there one derivative may not be the whole truth."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.graph import Array, Node
from gradcalc.primitives.rule import Elementwise, Reduction

NEAR = 1e-9  # of a kink: both sides are looked at; a look too many costs time only

Map: TypeAlias = Mapping[tuple[str, str], Array]  # output, leaf -> a number an output element


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


def to_kinks(
    outputs: Mapping[str, Node],
    leaves: Mapping[str, Node],
    values: Mapping[Node, Array],
    pointwise: bool,
) -> Map:
    """How far each output element is from the nearest kink that each leaf can move.

    1 on the kink itself, inf where none is near.
    """

    def distance(array: Array) -> Array:
        size = np.abs(array)
        return np.where(size == 0.0, 1.0, np.where(size <= NEAR, size, np.inf))

    return _map(outputs, leaves, values, pointwise, kinks, distance, np.fmin, np.inf)


def outside_domain(
    outputs: Mapping[str, Node],
    leaves: Mapping[str, Node],
    values: Mapping[Node, Array],
    pointwise: bool,
) -> Map:
    """Does each output element depend, through each leaf, on a value outside a row's domain?"""
    return _map(outputs, leaves, values, pointwise, _outside, np.asarray, np.logical_or, False)


def tied(
    conditions: Iterable[Node], leaves: Mapping[str, Node], values: Mapping[Node, Array]
) -> set[str]:
    """The leaves that could change what steered the program, being exactly on a kink of it."""
    expressions = [kink for node in needed(conditions, {}) for kink in kinks(node)]
    found: set[str] = set()
    for expression, array in zip(expressions, evaluate(expressions, dict(values)), strict=True):
        if np.any(array == 0.0):
            behind = set(needed([expression], {}))
            found |= {name for name, leaf in leaves.items() if leaf in behind}
    return found


def _map(
    outputs: Mapping[str, Node],
    leaves: Mapping[str, Node],
    values: Mapping[Node, Array],
    pointwise: bool,
    expressions_of: Callable[[Node], Sequence[Node]],
    measure: Callable[[Array], Array],
    combine: np.ufunc,
    start: Any,
) -> Map:
    """The measures of all expressions behind an output, combined for each leaf behind them.

    Pointwise, an output element has the measure of its own element; else the worst of all.
    """
    result: dict[tuple[str, str], Array] = {}
    for name, output in outputs.items():
        maps = {leaf: np.full(output.shape, start) for leaf in leaves}
        expressions = [e for node in needed([output], {}) for e in expressions_of(node)]
        for expression, array in zip(expressions, evaluate(expressions, dict(values)), strict=True):
            found = measure(array)
            if not pointwise:
                found = combine.reduce(np.ravel(found), initial=start)
            behind = set(needed([expression], {}))
            for leaf, node in leaves.items():
                if node in behind:
                    maps[leaf] = combine(maps[leaf], found)
        result.update({(name, leaf): np.ravel(array) for leaf, array in maps.items()})
    return result

"""Where a row bends, jumps or ends: there one derivative may not be the whole truth."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.graph import Array, Node
from gradcalc.primitives.rule import Elementwise, General, Reduction

NEAR = 1e-9  # of a kink: both sides are looked at; a look too many costs time only

Map: TypeAlias = Mapping[tuple[str, str], Array]  # output, leaf -> a number an output element


def kinks(node: Node) -> Sequence[Node]:
    """The expressions that vanish where the partials of ``node`` jump."""
    row = node.primitive
    if isinstance(row, Elementwise) and row.kinks:
        return row.kinks(*node.inputs)
    if isinstance(row, Reduction) and row.kinks:
        return row.kinks(node.inputs[0], node, *node.params)
    if isinstance(row, General) and row.kinks:
        return row.kinks(node)
    return ()


def is_pointwise(outputs: Iterable[Node]) -> bool:
    """Does each element of the outputs depend on its own elements of the leaves only?"""
    return all(isinstance(n.primitive, Elementwise) or not n.inputs for n in needed(outputs, {}))


def to_kinks(
    outputs: Mapping[str, Node],
    leaves: Mapping[str, Node],
    values: Mapping[Node, Array],
    pointwise: bool,
) -> Map:
    """How far each output element is from the nearest kink that each leaf can move.

    1 on the kink itself, inf where none is near.
    """
    result: dict[tuple[str, str], Array] = {}
    for name, output in outputs.items():
        found = {leaf: np.full(output.shape, np.inf) for leaf in leaves}
        expressions = [kink for node in needed([output], {}) for kink in kinks(node)]
        arrays = evaluate(expressions, dict(values))
        for expression, array in zip(expressions, arrays, strict=True):
            size = np.abs(array)
            distance = np.where(size == 0.0, 1.0, np.where(size <= NEAR, size, np.inf))
            if not pointwise:  # any element may be behind any other
                distance = np.min(distance, initial=np.inf)
            behind = set(needed([expression], {}))
            for leaf in [leaf for leaf, node in leaves.items() if node in behind]:
                found[leaf] = np.fmin(found[leaf], distance)
        result.update({(name, leaf): np.ravel(array) for leaf, array in found.items()})
    return result


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

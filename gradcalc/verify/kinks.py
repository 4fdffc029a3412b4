"""Where a row bends, jumps or ends: there one derivative may not be the whole truth."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.graph import Array, Node
from gradcalc.primitives.rule import Elementwise, General, Reduction

NEAR = 1e-9  # of a kink: both sides are looked at; a look too many costs time only

Bends: TypeAlias = Sequence[tuple[Node, Sequence[str]]]  # kinks, and the leaves that move each


class Near(NamedTuple):
    """Of each output element: is it on a kink, and how far away is the nearest it is not on?

    distance: inf where none is near.
    """

    on: Array
    distance: Array


Map: TypeAlias = Mapping[tuple[str, str], Near]  # output, leaf


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
    """Where each output element is among the kinks that a leaf can move; only what is near one."""
    result: dict[tuple[str, str], Near] = {}
    for name, output in outputs.items():
        for (_, movers), array in _at(_bends([output], leaves), values):
            size = np.abs(array)
            on, distance = size == 0.0, np.where((size > 0.0) & (size <= NEAR), size, np.inf)
            if not np.any(on) and np.all(distance == np.inf):
                continue
            if not pointwise:  # any element may be behind any other
                on, distance = np.any(on), np.min(distance, initial=np.inf)
            on, distance = (np.ravel(np.broadcast_to(a, output.shape)) for a in (on, distance))
            for leaf in movers:
                other = result.get((name, leaf), Near(on, distance))
                result[name, leaf] = Near(on | other.on, np.minimum(distance, other.distance))
    return result


def tied(
    conditions: Sequence[Node], leaves: Mapping[str, Node], values: Mapping[Node, Array]
) -> set[str]:
    """The leaves that could change what steered the program, being exactly on a kink of it."""
    found: set[str] = set()
    for (_, movers), array in _at(_bends(conditions, leaves), values):
        if np.any(array == 0.0):
            found.update(movers)
    return found


def _bends(nodes: Sequence[Node], leaves: Mapping[str, Node]) -> Bends:
    """The kinks of ``nodes`` and of what is behind them; their graph remembers them."""

    def find() -> Bends:
        expressions = [kink for node in needed(nodes, {}) for kink in kinks(node)]
        behind = [set(needed([expression], {})) for expression in expressions]
        movers = [[name for name, leaf in leaves.items() if leaf in own] for own in behind]
        return list(zip(expressions, movers, strict=True))

    if not nodes:
        return ()
    return nodes[0].graph.remember(("bends", *nodes, *leaves.items()), find)


def _at(
    bends: Bends, values: Mapping[Node, Array]
) -> Iterable[tuple[tuple[Node, Sequence[str]], Array]]:
    """Each kink with its values at a point."""
    if not bends:
        return ()
    return zip(bends, evaluate([kink for kink, _ in bends], dict(values)), strict=True)

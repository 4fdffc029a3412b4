"""The numbers of a whole Jacobian, by whichever mode has fewer passes.

All rows (or columns) come from one graph, evaluated for a stack of unit vectors.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from gradcalc.compute.stacks import evaluate_stacked
from gradcalc.derive.forward import jvp, placeholder
from gradcalc.derive.reverse import vjp
from gradcalc.graph import Array, Cotangent, Node, ops


def jacobian(output: Node, leaves: Sequence[Node], values: Mapping[Node, Array]) -> list[Array]:
    """dy/dx for each leaf x: float64, of the output's shape followed by the leaf's.

    values: float64, of all leaves of the graph. Raises GradcalcError for what has no value.
    """
    blocks: list[Array] = []
    for masked in (False, True):
        if output.size <= sum(leaf.size for leaf in leaves):
            blocks = _by_rows(output, leaves, values, masked)
        else:
            blocks = [_by_columns(output, leaf, values, masked) for leaf in leaves]
        if all(np.all(np.isfinite(block)) for block in blocks):
            break  # else a 0 of a unit vector may have met an infinite slope: it is left out
    return blocks


def _by_rows(
    output: Node, leaves: Sequence[Node], values: Mapping[Node, Array], masked: bool
) -> list[Array]:
    """Reverse mode: one row an element of the output."""
    cotangent = placeholder(output)
    pulled = vjp([(output, _counting(cotangent, masked))], leaves)
    found = [node for node in pulled.values() if node is not None]
    stacks = dict(zip(found, _each_unit(found, cotangent, values), strict=True))
    return [
        np.zeros(output.shape + leaf.shape)
        if node is None
        else stacks[node].reshape(output.shape + leaf.shape)
        for leaf, node in pulled.items()
    ]


def _by_columns(output: Node, leaf: Node, values: Mapping[Node, Array], masked: bool) -> Array:
    """Forward mode: one column an element of the leaf."""
    tangent = placeholder(leaf)
    pushed = jvp(output, {leaf: _counting(tangent, masked)})
    (columns,) = _each_unit([pushed], tangent, values)
    return columns.reshape(leaf.size, output.size).T.reshape(output.shape + leaf.shape)


def _counting(unit: Node, masked: bool) -> Cotangent:
    return Cotangent(unit, ops.not_equal(unit, 0.0) if masked else None)


def _each_unit(nodes: Sequence[Node], unit: Node, values: Mapping[Node, Array]) -> list[Array]:
    """The values of ``nodes`` for every unit vector in the place of ``unit``."""
    units = np.eye(unit.size).reshape(unit.size, *unit.shape)
    return evaluate_stacked(nodes, values, {unit: units})

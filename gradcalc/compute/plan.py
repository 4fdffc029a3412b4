"""One graph, many points: what is to be computed as a flat list of steps, made once."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.compute.tiles import TILE
from gradcalc.graph import LEAF, Array, Node


class _Step(NamedTuple):
    forward: Callable[..., Array]
    inputs: tuple[int, ...]  # slots
    params: tuple[Any, ...]


class Plan:
    """Computes ``targets`` from values of ``leaves``: float64, each of its node's shape.

    What does not depend on a leaf is computed now. Raises GradcalcError, as evaluation does.
    """

    def __init__(self, targets: Sequence[Node], leaves: Sequence[Node]) -> None:
        self.leaves = leaves
        order = needed(targets, {})
        self.fits = all(node.size < TILE for node in order)  # else tiles are better
        depends = set(leaves)
        for node in order:
            if node.primitive is not LEAF and not depends.isdisjoint(node.inputs):
                depends.add(node)
        fixed = [node for node in order if node not in depends]
        slots = {node: i for i, node in enumerate([*leaves, *fixed])}
        self.fixed = evaluate(fixed, {})
        self.steps = []
        for node in order:
            if node not in slots:
                inputs = tuple([slots[i] for i in node.inputs])
                slots[node] = len(slots)
                self.steps.append(_Step(node.primitive.forward, inputs, node.params))
        self.targets = [slots[target] for target in targets]

    def __call__(self, values: Sequence[Array]) -> list[Array]:
        """The values of the targets, for values of the leaves."""
        numbers = [*values, *self.fixed]
        add = numbers.append
        with np.errstate(all="ignore"):
            for forward, inputs, params in self.steps:
                add(forward(*[numbers[i] for i in inputs], *params))
        return [numbers[i] for i in self.targets]

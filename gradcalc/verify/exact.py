"""Our own gradient at many digits: the same nodes, in another arithmetic."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcalc.compute.evaluate import evaluate_with, needed
from gradcalc.graph import LEAF, Array, Node
from gradcalc.primitives.rule import Elementwise
from gradcalc.verify.arithmetic import Digits


class Exact:
    """Evaluates gradient nodes at the exact float64 ``values`` of the leaves."""

    def __init__(self, values: Mapping[Node, Array]) -> None:
        self.leaves = {n: value for n, value in values.items() if n.primitive is LEAF}
        self.whole: dict[tuple[Node, int], Array] = {}

    def gradient(self, node: Node, j: int, precision: int) -> Any:
        """Element j of ``node`` as an mpf of ``precision`` digits, which must be set already."""
        nodes = needed([node], {})
        if all(isinstance(n.primitive, Elementwise) or not n.inputs for n in nodes):
            # Pointwise: only the one element is computed, however many there are.
            index = np.unravel_index(j, node.shape)
            picked = {
                n: Digits().element(np.broadcast_to(self._value(n), node.shape)[index])
                for n in nodes
                if not n.inputs
            }
            return evaluate_with(Digits(), [node], picked)[0]
        if (node, precision) not in self.whole:
            known = {
                leaf: np.frompyfunc(Digits().number, 1, 1)(value)
                for leaf, value in self.leaves.items()
            }
            self.whole[node, precision] = evaluate_with(Digits(), [node], known)[0]
        return np.ravel(self.whole[node, precision])[j]

    def _value(self, source: Node) -> Array:
        return self.leaves[source] if source.primitive is LEAF else source.params[0].array

"""The numbers of one graph at its point and beside it, at every precision that is tried."""

from collections.abc import Mapping
from typing import Any

import mpmath

from gradcalc.graph import LEAF, Array, Node
from gradcalc.verify.elements import Elements
from gradcalc.verify.structure import Structure


class Points:
    """Keeps the elements that were computed at the point itself; beside it, of the last entry.

    values: float64, of the leaves at least.
    """

    def __init__(self, values: Mapping[Node, Array]) -> None:
        self.values = {node: value for node, value in values.items() if node.primitive is LEAF}
        graph = next((node.graph for node in self.values), None)
        self.structure = graph.remember("structure", Structure) if graph else Structure()
        self._here: dict[int, Elements] = {}
        self._entry: tuple[Node, int] | None = None
        self._beside: dict[tuple[int, Any], Elements] = {}

    def at(self, leaf: Node, j: int, step: Any) -> Elements:
        """The elements where element j of ``leaf`` is moved by ``step``, at the set precision."""
        precision = mpmath.mp.prec
        if precision not in self._here:
            self._here[precision] = Elements(self.values, self.structure)
        base = self._here[precision]
        if not step:
            return base
        if self._entry != (leaf, j):
            self._entry = (leaf, j)
            self._beside.clear()
        if (precision, step) not in self._beside:
            moved = Elements(self.values, self.structure, base, (leaf, j, step))
            self._beside[precision, step] = moved
        return self._beside[precision, step]

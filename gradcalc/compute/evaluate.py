"""Evaluation: each node once, only if something needs it."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from gradcalc.compute.tiles import TILE, run_tiles
from gradcalc.errors import GradcalcError
from gradcalc.graph import Array, Node
from gradcalc.primitives.rule import Elementwise


class Arithmetic(Protocol):
    """How one node is computed from its inputs' values."""

    def apply(self, node: Node, inputs: Sequence[Array]) -> Array: ...


def evaluate(
    targets: Sequence[Node], values: dict[Node, Array], *, keep: bool = False
) -> list[Array]:
    """The float64 values of ``targets``, each of its node's shape.

    values: what is known already (leaves at least); with ``keep``, all that is computed is added.
    Raises GradcalcError where memory does not suffice.
    """
    try:
        with np.errstate(all="ignore"):
            return _Evaluation(targets, values, keep).run()
    except MemoryError:
        raise GradcalcError("out-of-memory", "the values do not fit into memory") from None


def evaluate_with(
    arithmetic: Arithmetic, targets: Sequence[Node], values: dict[Node, Array]
) -> list[Array]:
    """The values of ``targets`` in another arithmetic; those on the way are added to ``values``."""
    with np.errstate(all="ignore"):
        for node in needed(targets, values):
            values[node] = arithmetic.apply(node, [values[i] for i in node.inputs])
    return [values[target] for target in targets]


def needed(targets: Iterable[Node], known: dict[Node, Array]) -> list[Node]:
    """The nodes that ``targets`` need and that are not known, in creation order."""
    seen = {target for target in targets if target not in known}
    stack = list(seen)
    while stack:
        for source in stack.pop().inputs:
            if source not in seen and source not in known:
                seen.add(source)
                stack.append(source)
    return sorted(seen, key=lambda node: node.index)


class _Evaluation:
    """One run over the needed nodes; long pointwise stretches wait and are run tile by tile."""

    def __init__(self, targets: Sequence[Node], values: dict[Node, Array], keep: bool) -> None:
        self.targets = targets
        self.values = values
        self.fresh = () if keep else {target for target in targets if target not in values}
        self.order = needed(targets, values)
        # The index of each node's last user; 0 for a node that stays.
        self.last = array("q", bytes(8 * (self.order[-1].index + 1 if self.order else 0)))
        if not keep:
            for node in self.order:
                self.last[node.index] = node.index
            for target in targets:
                if target not in values:
                    self.last[target.index] = 0
            for node in self.order:
                for source in node.inputs:
                    if self.last[source.index]:
                        self.last[source.index] = node.index

    def run(self) -> list[Array]:
        values, waiting = self.values, set[Node]()
        for node in self.order:
            large = node.size >= TILE and isinstance(node.primitive, Elementwise)
            if waiting and (
                (large and node.shape != next(iter(waiting)).shape)
                or (not large and not waiting.isdisjoint(node.inputs))
            ):
                self._flush(waiting)
            if large:
                waiting.add(node)
            else:
                values[node] = node.primitive.forward(
                    *[values[i] for i in node.inputs], *node.params
                )
                self._release((node,))
        self._flush(waiting)
        results = [values[target] for target in self.targets]
        for node in self.fresh:
            del values[node]
        return results

    def _flush(self, waiting: set[Node]) -> None:
        if waiting:
            nodes = sorted(waiting, key=lambda node: node.index)
            end = nodes[-1].index
            stay = [n for n in nodes if not self.last[n.index] or self.last[n.index] > end]
            self.values.update(run_tiles(nodes, stay, self.values))
            self._release(nodes)
            waiting.clear()

    def _release(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            for source in node.inputs:
                if self.last[source.index] == node.index:
                    self.values.pop(source, None)

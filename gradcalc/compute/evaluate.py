"""Evaluation: each node once, only if something needs it."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np

from gradcalc.compute.tiles import TILE, run_tiles
from gradcalc.errors import GradcalcError
from gradcalc.graph import Array, Node
from gradcalc.primitives.rule import Elementwise


class Arithmetic(Protocol):
    """How one node is computed, and from which of its inputs' values."""

    def inputs(self, node: Node) -> Sequence[Node]: ...

    def apply(self, node: Node, inputs: Sequence[Array]) -> Array: ...


def evaluate(
    targets: Sequence[Node], values: dict[Node, Array], *, keep: bool = False
) -> list[Array]:
    """The float64 values of ``targets``, each of its node's shape.

    values: what is known already (leaves at least); with ``keep``, all that is computed is added.
    Raises GradcalcError where memory does not suffice, and for what has no value (a singular
    matrix), with its origin.
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
        for node in needed(targets, values, arithmetic.inputs):
            values[node] = arithmetic.apply(node, [values[i] for i in arithmetic.inputs(node)])
    return [values[target] for target in targets]


def all_inputs(node: Node) -> Sequence[Node]:
    """What float64 evaluation reads of a node."""
    return node.inputs


def needed(
    targets: Iterable[Node],
    known: dict[Node, Array],
    inputs: Callable[[Node], Sequence[Node]] = all_inputs,
) -> list[Node]:
    """The nodes that ``targets`` need and that are not known, in creation order."""
    seen = {target for target in targets if target not in known}
    stack = list(seen)
    while stack:
        for source in inputs(stack.pop()):
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
        self.waiting: set[Node] = set()  # pointwise nodes of one large shape
        self.awaited: set[Node] = set()  # their inputs
        self.overdue: list[Node] = []  # awaited ones that nothing else needs any more
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
        for node in self.order:
            try:
                self._compute(node)
            except GradcalcError as error:  # a matrix that is singular, say
                error.origin = node.origin
                raise
        self._flush()
        results = [self.values[target] for target in self.targets]
        for node in self.fresh:
            del self.values[node]
        return results

    def _compute(self, node: Node) -> None:
        values, waiting = self.values, self.waiting
        large = node.size >= TILE and isinstance(node.primitive, Elementwise)
        if waiting and (
            (large and node.shape != next(iter(waiting)).shape)
            or (not large and not waiting.isdisjoint(node.inputs))
        ):
            self._flush()
        if large:
            waiting.add(node)
            self.awaited.update(node.inputs)
        else:
            values[node] = node.primitive.forward(*[values[i] for i in node.inputs], *node.params)
            self._release((node,))

    def _flush(self) -> None:
        if self.waiting:
            nodes = sorted(self.waiting, key=lambda node: node.index)
            end = nodes[-1].index
            stay = [n for n in nodes if not self.last[n.index] or self.last[n.index] > end]
            self.values.update(run_tiles(nodes, stay, self.values))
            self.waiting.clear()
            self.awaited.clear()
            self._release(nodes)
            for source in self.overdue:
                self.values.pop(source, None)
            self.overdue.clear()

    def _release(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            for source in node.inputs:
                if self.last[source.index] == node.index:
                    if source in self.awaited:
                        self.overdue.append(source)
                    else:
                        self.values.pop(source, None)

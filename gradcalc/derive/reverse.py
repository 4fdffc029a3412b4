"""Reverse mode: the vector-Jacobian product, as further nodes of the same graph."""

from collections.abc import Iterable

import numpy as np

from gradcalc.graph import Array, Cotangent, Node, as_number
from gradcalc.primitives.shapes import unbroadcast


def seed(output: Node, weights: Array) -> Cotangent:
    """The cotangent that ``weights`` (of the output's shape) put on ``output``.

    A weight of exactly 0 leaves its element out.
    """
    graph = output.graph
    complete = np.count_nonzero(weights) == output.size
    active = None if complete else graph.constant(np.asarray(weights) != 0.0)
    return Cotangent(graph.constant(weights), active)


def vjp(seeds: Iterable[tuple[Node, Cotangent]], leaves: Iterable[Node]) -> dict[Node, Node | None]:
    """wᵀJ: for each leaf the node of sum_k w_k * dy_k/dleaf, of the leaf's shape.

    seeds: outputs with their cotangents, each of its output's shape; those of one node add up. All
    of them flow in one pass, as in one call of ``torch.autograd.backward``. Any node may be a leaf
    here; those of a program's leaves are ends, others are passed on.
    Returns None for a leaf that no output depends on.
    """
    wanted = list(leaves)
    cotangents: dict[Node, Cotangent] = {}
    for output, cotangent in seeds:
        _accumulate(cotangents, output, cotangent)
    between = _between(wanted, cotangents)
    useful, kept = set(between), set(wanted)
    for node in reversed(between):
        if node not in cotangents or not node.inputs:
            continue
        cotangent = cotangents[node]
        node.graph.origin = node.origin
        for position, source in enumerate(node.inputs):
            if source not in useful:
                continue
            share = node.primitive.pullback(node, position, cotangent)
            if share is not None:
                _accumulate(cotangents, source, share)
        if node not in kept:
            del cotangents[node]
    return {leaf: cotangents[leaf].value if leaf in cotangents else None for leaf in wanted}


def _between(leaves: list[Node], outputs: Iterable[Node]) -> list[Node]:
    """The nodes on a path from a leaf to an output, in creation order."""
    seen = set(outputs)
    stack = list(seen)
    while stack:
        for source in stack.pop().inputs:
            if source not in seen:
                seen.add(source)
                stack.append(source)
    useful = set(leaves)
    order = []
    for node in sorted(seen, key=lambda node: node.index):
        if node in useful or any(source in useful for source in node.inputs):
            useful.add(node)
            order.append(node)
    return order


def _accumulate(cotangents: dict[Node, Cotangent], node: Node, share: Cotangent) -> None:
    """Add ``share`` to what flows into ``node``; broadcasting is undone here and nowhere else."""
    value, active = share
    if value.shape != node.shape:
        value = unbroadcast(value, node.shape)
        active = None if active is None else unbroadcast(as_number(active), node.shape) > 0.0
    before = cotangents.get(node)
    if before is not None:
        value = before.value + value
        active = None if active is None or before.active is None else before.active | active
    cotangents[node] = Cotangent(value, active)

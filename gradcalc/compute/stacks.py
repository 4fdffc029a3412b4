"""Evaluation of one graph for a stack of values at once, as for all rows of a Jacobian."""

from collections.abc import Mapping, Sequence

import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.graph import Array, Node
from gradcalc.primitives.rule import Row

CHUNK = 1 << 18  # elements of one node at a time: a few MiB, which the caches hold


def evaluate_stacked(
    targets: Sequence[Node], values: Mapping[Node, Array], stacks: Mapping[Node, Array]
) -> list[Array]:
    """The float64 values of ``targets``, one for each entry of the stacks.

    stacks: (count, *shape) by node; values: of the leaves at least. Returns (count, *shape) each.
    """
    count = len(next(iter(stacks.values())))
    order = needed(targets, dict(stacks))
    deep = set(stacks)
    for node in order:
        if not deep.isdisjoint(node.inputs):
            deep.add(node)
    order = [node for node in order if node in deep]
    flat = {i for node in order for i in node.inputs} | set(targets)
    border = [node for node in flat if node not in deep]
    fixed = dict(zip(border, evaluate(border, dict(values)), strict=True))
    results = [np.empty((count, *target.shape)) for target in targets]
    widest = max((node.size for node in order), default=1)
    step = max(1, CHUNK // max(1, widest))
    with np.errstate(all="ignore"):
        for start in range(0, count, step):
            part = slice(start, start + step)
            local = {node: stack[part] for node, stack in stacks.items()}
            _run(order, fixed, local, targets)
            for result, target in zip(results, targets, strict=True):
                result[part] = local[target] if target in local else fixed[target]
    return results


def _run(
    order: Sequence[Node],
    fixed: Mapping[Node, Array],
    local: dict[Node, Array],
    targets: Sequence[Node],
) -> None:
    """Adds the stacked values of ``order`` to ``local``, and drops those of no further use."""
    count = len(next(iter(local.values())))
    last = {source: node for node in order for source in node.inputs}
    for node in order:
        local[node] = _apply(node, fixed, local, count)
        for source in set(node.inputs):
            if last[source] is node and source not in targets:
                local.pop(source, None)


def _apply(
    node: Node, fixed: Mapping[Node, Array], local: Mapping[Node, Array], count: int
) -> Array:
    row = node.primitive
    assert isinstance(row, Row)  # a leaf or constant has no inputs
    params = row.lift(count, *node.params)
    if params is None:  # no stack: one array after the other
        return np.stack(
            [
                row.forward(
                    *(local[i][k] if i in local else fixed[i] for i in node.inputs), *node.params
                )
                for k in range(count)
            ]
        )
    inputs = []
    for source in node.inputs:
        if source not in local:
            value = fixed[source]
            if not row.broadcasts:
                value = np.broadcast_to(value, (count, *source.shape))
        else:
            value = local[source]
            if row.broadcasts:
                between = (1,) * (node.ndim - source.ndim)
                value = value.reshape(count, *between, *source.shape)
        inputs.append(value)
    return row.forward(*inputs, *params)

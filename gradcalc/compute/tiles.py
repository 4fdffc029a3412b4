"""Pointwise stretches of large arrays, tile by tile: what is between stays in the cache."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gradcalc.graph import Array, Node

TILE = 1 << 15  # elements: 256 KiB of float64, so that a few fit into a second-level cache


def run_tiles(
    nodes: Sequence[Node], stay: Iterable[Node], values: Mapping[Node, Array]
) -> dict[Node, Array]:
    """The values of ``stay`` among ``nodes``: elementwise, of one shape, in creation order."""
    shape = nodes[0].shape
    results = {node: np.empty(shape, bool if node.truth else np.float64) for node in stay}
    inside = set(nodes)
    outer = {i: values[i] for node in nodes for i in node.inputs if i not in inside}
    last = {i: node for node in nodes for i in node.inputs}  # the last user of each
    dead: dict[Node, list[Node]] = {node: [] for node in nodes}
    for source, user in last.items():
        dead[user].append(source)
    rows = max(1, TILE * shape[0] // nodes[0].size)
    for start in range(0, shape[0], rows):
        tile = slice(start, start + rows)
        local = {node: _cut(array, shape, tile) for node, array in outer.items()}
        for node in nodes:
            out = results[node][tile] if node in results else None
            local[node] = _apply(node, [local[i] for i in node.inputs], out)
            for source in dead[node]:
                del local[source]  # its memory, still in the cache, serves the next node
    return results


def _apply(node: Node, inputs: list[Array], out: Array | None) -> Array:
    """The value of ``node``; into ``out``, if there is one and NumPy can write there directly."""
    ufunc = getattr(np, node.primitive.name, None)
    if isinstance(ufunc, np.ufunc):
        return ufunc(*inputs, out=out)
    value = node.primitive.forward(*inputs)
    if out is not None:
        out[...] = value
    return value


def _cut(array: Array, shape: tuple[int, ...], tile: slice) -> Array:
    """The rows ``tile`` of an array that is broadcast to ``shape``."""
    spread = np.ndim(array) < len(shape) or np.shape(array)[0] == 1
    return array if spread else array[tile]

"""Forward mode: the Jacobian-vector product, as further nodes of the same graph.

Reverse mode is linear in its cotangent, and its transpose is forward mode: the rows say nothing
about it, so the two modes cannot differ.
"""

from collections.abc import Mapping

from gradcalc.derive.reverse import vjp
from gradcalc.graph import Cotangent, Node, ops


def jvp(output: Node, tangents: Mapping[Node, Cotangent]) -> Node:
    """J v: the node of sum_i dy/dx_i v_i, of the output's shape.

    tangents: v by input, of the input's shape, with the elements that count.
    """
    graph = output.graph
    cotangent = placeholder(output)
    pulled = vjp([(output, Cotangent(cotangent))], tangents)
    seeds = [(node, tangents[x]) for x, node in pulled.items() if node is not None]
    pushed = vjp(seeds, [cotangent])[cotangent]
    if pushed is None:
        return ops.broadcast_to(graph.constant(0.0), params=(output.shape,))
    return pushed


def placeholder(like: Node) -> Node:
    """A leaf of the same shape, which no program can name."""
    return like.graph.leaf(f"d{like.index}", like.shape)

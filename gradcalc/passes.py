"""Backward passes as PyTorch means them: weights, several outputs, accumulation."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gradcalc.derive.reverse import seed, vjp
from gradcalc.errors import GradcalcError, did_you_mean, whole
from gradcalc.graph import Array, Cotangent, Node, Shape, as_number
from gradcalc.language.literals import Weights
from gradcalc.language.trace import Trace
from gradcalc.primitives.rule import spread_to
from gradcalc.primitives.shapes import reshape

Leaves = Mapping[str, Node | None]  # None: a leaf that the run never read


class Backward(NamedTuple):
    """One pass as nodes: the weighted outputs, their weights, and the gradients by leaf."""

    outputs: dict[str, Node]
    weights: dict[str, Array]
    gradients: dict[str, Node | None]


def backward(
    trace: Trace, leaves: Leaves, weights: Weights, *, result: str | None, expand: bool
) -> Backward:
    """One pass of reverse mode from all of its weighted outputs.

    weights: float64 arrays of their outputs' shapes, or bare numbers; empty for a scalar result.
    result: the output that is meant where none is named (None: what the program assigns last).
    expand: an output of one element may have longer weights.
    Raises GradcalcError for weights that do not fit and outputs that do not exist.
    """
    chosen = {None: None} if not weights else dict(weights)
    if result is not None and chosen.keys() - {None, result}:
        raise GradcalcError(
            "weights",
            f"the weights name other outputs than '{result}', which is asked for",
            "leave out --output: what has weights is an output",
        )
    outputs: dict[str, Node] = {}
    numbers: dict[str, Array] = {}
    seeds: list[tuple[Node, Cotangent]] = []
    for key, given in chosen.items():
        name = output_name(trace, key, result)
        if name in outputs:
            raise GradcalcError("weights", f"the output '{name}' has two weights in one pass")
        node = as_number(trace.names[name])
        outputs[name] = node
        try:
            if given is not None and expand and node.size == 1:
                # As many copies of the one element as there are weights.
                node = spread_to(reshape(node, params=((1,) * np.ndim(given),)), np.shape(given))
            numbers[name] = _weights(name, node, given)
        except GradcalcError as error:
            raise trace.error(error, name) from None
        seeds.append((node, seed(node, numbers[name])))
    found = vjp(seeds, [leaf for leaf in leaves.values() if leaf is not None])
    gradients = {name: found[leaf] if leaf is not None else None for name, leaf in leaves.items()}
    return Backward(outputs, numbers, gradients)


def output_name(trace: Trace, name: str | None, result: str | None) -> str:
    """The name of an output that the program really assigned; None is its result."""
    label = "weights" if name is not None else "output"
    if name is None:
        name = trace.output if result is None else result
    if name is None:
        raise GradcalcError(
            "no-output", "the program has no result", "let it assign a name or end with a value"
        )
    if name not in trace.names:
        hint = did_you_mean(name, trace.names) or f"it assigns {', '.join(trace.names)}"
        error = GradcalcError("unknown-output", f"the program assigns no '{name}'", hint)
        raise error.located(*whole(name, label))
    return name


def _weights(name: str, node: Node, given: Array | None) -> Array:
    """The weights of an output in its shape: PyTorch's rules for ``backward(gradient)``."""
    if given is None:
        if node.shape != ():
            raise GradcalcError(
                "weights-needed",
                f"'{name}' has shape {node.shape}: a gradient needs one weight an element",
                "--weights 1 weighs each element 1; gradcalc jacobian has all derivatives",
            )
        return np.float64(1.0)
    shape: Shape = np.shape(given)
    if shape == () or shape == node.shape:
        return np.broadcast_to(np.asarray(given, dtype=np.float64), node.shape)[()]
    hint = "weights have the output's shape, or are one bare number"
    if node.size == 1:
        hint += "; --expand spreads an output of one element over them"
    raise GradcalcError(
        "weights-shape", f"weights of shape {shape} do not fit '{name}' of shape {node.shape}", hint
    )


def added(
    state: Mapping[str, Node | None], more: Mapping[str, Node | None]
) -> dict[str, Node | None]:
    """Leaf gradients after a pass that accumulates: None + g is g."""
    return {
        name: g if before is None else before if g is None else before + g
        for (name, before), g in zip(state.items(), more.values(), strict=True)
    }

"""The gradients of a problem by differences of its values, to be looked at beside them."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Array, as_number
from gradcalc.graphs import Computed, compiled, moved
from gradcalc.language.interpreter import run
from gradcalc.problem import Problem
from gradcalc.result import Differences
from gradcalc.verify.numeric import central

MOST = 1_000  # elements of all leaves together


def differences(problem: Problem, done: Computed) -> dict[str, Differences]:
    """The gradients by differences: the program runs anew for every element of every leaf.

    Raises GradcalcError where that are too many.
    """
    leaves = {name: leaf for name, leaf in done.graph.leaves.items() if leaf is not None}
    count = sum(leaf.size for leaf in leaves.values())
    if count > MOST:
        raise GradcalcError(
            "too-large",
            f"numeric differentiation of {count:,} elements would take too long",
            f"the most is {MOST:,}: take fewer leaves (--wrt)",
        )
    # The last pass alone, where the gradients are cleared before it.
    weights = [one.weights for one in done.graph.passes[-1 if problem.zero_grad else 0 :]]
    found = {}
    for name, leaf in leaves.items():
        value = np.ravel(problem.at[name])
        estimates = [
            central(partial(_weighted_value, problem, weights, name, j), float(value[j]))
            for j in range(leaf.size)
        ]
        columns = np.array(estimates).reshape(*leaf.shape, 2)
        found[name] = Differences(columns[..., 0][()], columns[..., 1][()])
    return found


def _weighted_value(
    problem: Problem, weights: Sequence[Mapping[str, Array]], leaf: str, j: int, x: float
) -> float:
    """sum_k w_k y_k of all passes, with element j of one leaf changed; nan where it has none."""
    try:
        trace = run(compiled(problem), moved(problem.at, leaf, j, x), problem.draws.again())
        total = 0.0
        for one in weights:
            for name, given in one.items():
                value = np.asarray(trace.value(as_number(trace.names[name])))
                with np.errstate(all="ignore"):
                    total += float(np.sum(np.where(given == 0.0, 0.0, given * value)))
    except (GradcalcError, KeyError, ValueError):
        return math.nan
    return total

"""The one path: a Problem in, a Result out, for the command line, batches and Python."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradcalc.errors import GradcalcError, whole
from gradcalc.graph import Array, as_number
from gradcalc.graphs import Computed, Graphs, compiled, compute, moved, no_leaf
from gradcalc.language.interpreter import run
from gradcalc.origins import Origin, origins_of
from gradcalc.passes import Leaves
from gradcalc.problem import InterruptedCheckError, Problem
from gradcalc.result import Differences, Pass, Result
from gradcalc.verify.findings import Check

FEW = 32  # elements that Python is faster with than NumPy

if TYPE_CHECKING:
    from gradcalc.verify.verdict import Traced


def solve(problem: Problem, graphs: Graphs | None = None) -> Result:
    """Runs the program, differentiates it, evaluates, and checks.

    graphs: of earlier problems, for one like them.
    Raises GradcalcError for whatever is wrong with the text, the values or the weights, and
    InterruptedCheckError.
    """
    done = compute(problem) if graphs is None else graphs.compute(problem)
    graph = done.graph
    _check_expectation(problem, graph.leaves)
    gradients = done.numbers(graph.state)
    mismatches = _mismatches(problem, gradients)
    infinite = {
        name: _first_not_finite(gradient)
        for name, gradient in gradients.items()
        if gradient is not None and not _is_finite(gradient)
    }
    numeric = _differences(problem, done) if problem.numeric else {}  # may be too many
    check = _verify(problem, done) if problem.check else Check("off")
    if mismatches and problem.check:
        check = check._replace(status="mismatch")
    result = Result(
        problem,
        {name: done.values[node] for name, node in graph.outputs.items()},
        gradients,
        [Pass(one.weights, done.numbers(one.gradients)) for one in graph.passes],
        check,
        mismatches,
        [name for name in problem.at if name not in graph.trace.program.read],
        infinite,
        _origins(done, infinite) if infinite else {},
        numeric,
    )
    if check.interrupted:
        raise InterruptedCheckError(result)
    return result


def _differences(problem: Problem, done: Computed) -> Mapping[str, Differences]:
    from gradcalc.differences import differences  # which few ask for

    return differences(problem, done)


def _is_finite(array: Array) -> bool:
    """Are all elements finite? Their sum tells in half the time, unless it overflows."""
    if np.size(array) < FEW:
        return all(map(math.isfinite, np.ravel(array).tolist()))
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.sum(array)) or np.all(np.isfinite(array)))


def _first_not_finite(gradient: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(~np.isfinite(gradient))[0])


def _origins(done: Computed, infinite: Mapping[str, tuple[int, ...]]) -> dict[str, Origin]:
    """Where the first nan or infinity of each gradient comes from."""
    targets = {
        name: (node, index)
        for name, index in infinite.items()
        if (node := done.graph.state[name]) is not None
    }
    return origins_of(done.trace, targets, done.graph.outputs.values())


def _verify(problem: Problem, done: Computed) -> Check:
    """The verdict on every number that will be printed."""
    # SymPy and mpmath cost more time than all the rest, so only a check imports them.
    from gradcalc.verify.check import check
    from gradcalc.verify.entry import Claim
    from gradcalc.verify.verdict import Traced

    graph, trace = done.graph, done.trace
    claims = [Claim([p.weights], done.numbers(p.gradients), p.gradients.get) for p in graph.passes]
    if len(graph.passes) > 1 and not problem.zero_grad:  # the sum of all passes is printed too
        weights = [one.weights for one in graph.passes]
        claims.append(Claim(weights, done.numbers(graph.state), graph.state.get))
    leaves = {name: leaf for name, leaf in graph.leaves.items() if leaf is not None}
    values = {**trace.values, **done.values}
    traced = Traced(problem.expr.text, graph.outputs, leaves, values, trace.conditions)
    again = partial(_again, problem, tuple(graph.outputs), tuple(leaves))
    return check(
        traced,
        claims,
        again,
        problem.check_seconds,
        method=problem.method,
        explain=problem.explain,
    )


def _again(
    problem: Problem, outputs: Sequence[str], leaves: Sequence[str], leaf: str, j: int, value: float
) -> "Traced | None":
    """What the program computes with one leaf element changed; None where it has no such result."""
    from gradcalc.verify.verdict import Traced

    try:
        trace = run(compiled(problem), moved(problem.at, leaf, j, value), problem.draws.again())
        found = {name: as_number(trace.names[name]) for name in outputs}
        known = {name: trace.leaves[name] for name in leaves}
    except (GradcalcError, KeyError):
        return None
    return Traced(problem.expr.text, found, known, trace.values, trace.conditions)


def _check_expectation(problem: Problem, leaves: Leaves) -> None:
    for name in problem.expect or ():
        if name not in leaves:
            raise no_leaf(name, leaves).located(*whole(name, "expect"))


def _mismatches(problem: Problem, gradients: Mapping[str, Array | None]) -> list[str]:
    """The leaves whose gradient is not what ``expect`` says."""
    return [
        name
        for name, wanted in (problem.expect or {}).items()
        if not _as_expected(gradients.get(name), wanted, problem.rtol, problem.atol)
    ]


def _as_expected(found: Array | None, wanted: Array | None, rtol: float, atol: float) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return np.shape(wanted) in ((), np.shape(found)) and bool(
        np.allclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    )

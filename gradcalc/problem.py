"""The one path: a Problem in, a Result out, for the command line, batches and Python."""

from __future__ import annotations

import gc
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcalc.compute.evaluate import needed
from gradcalc.compute.plan import Plan
from gradcalc.errors import GradcalcError, Source, Span, did_you_mean, whole
from gradcalc.graph import LEAF, Array, Node, as_number
from gradcalc.language.compiler import compile_program
from gradcalc.language.draws import Draws
from gradcalc.language.interpreter import run
from gradcalc.language.literals import Weights
from gradcalc.language.program import Program
from gradcalc.language.trace import Trace
from gradcalc.origins import Origin, origins_of
from gradcalc.passes import Backward, Leaves, added, backward
from gradcalc.verify.findings import Check
from gradcalc.verify.numeric import central

MOST_DIFFERENCES = 1_000
FEW = 32  # elements that Python is faster with than NumPy
MOST_PLANS = 64  # graphs that are kept
MOST_KEPT = 20_000  # nodes of a graph that is kept

if TYPE_CHECKING:
    from gradcalc.verify.verdict import Traced


@dataclass(frozen=True)
class Problem:
    """A program, the values of its leaves, and what is asked of it.

    at: float64 arrays (or scalars) by leaf name.
    passes: one entry a backward pass, as in one call of PyTorch's ``backward()``.
    zero_grad: clear the gradients between passes; retain_graph: keep the graph for the next pass.
    expand: an output of one element may be spread over longer weights.
    wrt: the leaves whose gradients are wanted (None: all); output: what is differentiated (None:
        what the program assigns last).
    expect: leaf -> gradient (None: no gradient; one number: of every element), compared to
        ``rtol`` and ``atol``.
    numeric: estimate the gradients by differences of values as well.
    check: compare with SymPy's derivative, for at most ``check_seconds``, by ``method``
        (``symbolic`` or ``chain``; None: whichever gets further); explain: keep the evidence.
    """

    expr: Source
    at: Mapping[str, Array] = field(default_factory=dict)
    passes: Sequence[Weights] = ({},)
    name: str | None = None
    zero_grad: bool = False
    retain_graph: bool = True
    expand: bool = False
    wrt: Sequence[str] | None = None
    output: str | None = None
    expect: Mapping[str, Array | None] | None = None
    rtol: float = 1e-9
    atol: float = 0.0
    numeric: bool = False
    draws: Draws = field(default_factory=Draws)
    check: bool = True
    check_seconds: float = 10.0
    method: str | None = None
    explain: bool = False


class Pass(NamedTuple):
    """One backward pass alone: its weights by output, and what it adds to the leaves."""

    weights: Mapping[str, Array]
    gradients: Mapping[str, Array | None]


class Differences(NamedTuple):
    """A gradient by differences of values (float64, of the leaf's shape), and its likely error."""

    gradient: Array
    error: Array


class Note(NamedTuple):
    """Something that a reader of the result should know; ``span``: about which part of the text."""

    code: str
    message: str
    span: Span | None = None


def unused_notes(names: Sequence[str]) -> list[Note]:
    """Which leaves have a value for nothing."""
    return [Note("unused-leaf", f"the program does not use '{name}'") for name in names]


def seed_notes(draws: Draws) -> list[Note]:
    """How random numbers that were drawn without a seed can be had again."""
    if not (draws.used and draws.chosen):
        return []
    return [Note("seed", f"the random numbers can be had again by --seed {draws.seed}")]


@dataclass(frozen=True)
class Result:
    """The gradients and all that belongs to them.

    outputs: the values of the weighted outputs. gradients: the leaves' state after the last pass;
    None for a leaf that no weighted output depends on. mismatches: leaves that differ from
    ``expect``. unused: leaves that the program does not name. infinite: by leaf, the first element
    of its gradient that is not finite; origins: of that, where it is known. numeric: by leaf, if it
    was asked for.
    """

    problem: Problem
    outputs: Mapping[str, Array]
    gradients: Mapping[str, Array | None]
    passes: Sequence[Pass]
    check: Check
    mismatches: Sequence[str]
    unused: Sequence[str]
    infinite: Mapping[str, tuple[int, ...]]
    origins: Mapping[str, Origin]
    numeric: Mapping[str, Differences] = field(default_factory=dict)

    @property
    def warnings(self) -> Sequence[Note]:
        """What a reader should know: unused leaves, infinite gradients and nan, a chosen seed."""
        found = unused_notes(self.unused)
        for name, index in self.infinite.items():
            where = f" at [{', '.join(map(str, index))}]" if index else ""
            word = "nan" if np.isnan(np.asarray(self.gradients[name])[index]) else "infinite"
            message = f"the gradient of '{name}' is {word}{where}"
            origin = self.origins.get(name)
            if origin is not None:
                message += f": it begins in {origin}"
            span = origin.span if origin else None
            found.append(Note("non-finite-gradient", message, span))
        return [*found, *seed_notes(self.problem.draws)]

    @property
    def proven(self) -> bool:
        """Was everything verified (or the check left out on purpose)?"""
        return self.check.status in ("verified", "off")

    def differing(self, leaf: str) -> Array:
        """Which elements of a leaf's gradient are not what is expected; of its shape."""
        problem = self.problem
        found: Any = self.gradients[leaf]
        wanted: Any = (problem.expect or {})[leaf]
        return ~np.isclose(found, wanted, problem.rtol, problem.atol, equal_nan=True)

    @property
    def status(self) -> str:
        """``ok``, or ``mismatch`` when the check or the expectation failed."""
        failed = self.mismatches or self.check.status == "mismatch"
        return "mismatch" if failed else "ok"


class InterruptedCheckError(KeyboardInterrupt):
    """Ctrl-C during a check: ``result`` has all that was computed before, and is not verified."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


class _Graph(NamedTuple):
    """The graph of a problem: what is wanted of it, as nodes."""

    trace: Trace
    leaves: Leaves
    passes: Sequence[Backward]
    state: Mapping[str, Node | None]  # the leaves' gradients after the last pass
    outputs: Mapping[str, Node]
    wanted: Sequence[Node]


class _Computed(NamedTuple):
    """A graph, the values of its leaves, and the numbers of it that are wanted."""

    graph: _Graph
    at: Mapping[str, Array]
    values: Mapping[Node, Array]

    @property
    def trace(self) -> Trace:
        """What the program did at these values."""
        return self.graph.trace.elsewhere(self.at)

    def numbers(self, nodes: Mapping[str, Node | None]) -> dict[str, Array | None]:
        """The values of ``nodes`` by name; None stays None."""
        return {name: None if node is None else self.values[node] for name, node in nodes.items()}


def solve(problem: Problem, graphs: Graphs | None = None) -> Result:
    """Runs the program, differentiates it, evaluates, and checks.

    graphs: of earlier problems, for one like them.
    Raises GradcalcError for whatever is wrong with the text, the values or the weights, and
    InterruptedCheckError.
    """
    done = _compute(problem) if graphs is None else graphs.compute(problem)
    graph = done.graph
    _check_expectation(problem, graph.leaves)
    gradients = done.numbers(graph.state)
    mismatches = _mismatches(problem, gradients)
    infinite = {
        name: _first_not_finite(gradient)
        for name, gradient in gradients.items()
        if gradient is not None and not _is_finite(gradient)
    }
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
        _differences(problem, done) if problem.numeric else {},
    )
    if check.interrupted:
        raise InterruptedCheckError(result)
    return result


def _is_finite(array: Array) -> bool:
    """Are all elements finite? Their sum tells in half the time, unless it overflows."""
    if np.size(array) < FEW:
        return all(map(math.isfinite, np.ravel(array).tolist()))
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.sum(array)) or np.all(np.isfinite(array)))


def _first_not_finite(gradient: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(~np.isfinite(gradient))[0])


def _origins(done: _Computed, infinite: Mapping[str, tuple[int, ...]]) -> dict[str, Origin]:
    """Where the first nan or infinity of each gradient comes from."""
    targets = {
        name: (node, index)
        for name, index in infinite.items()
        if (node := done.graph.state[name]) is not None
    }
    return origins_of(done.trace, targets, done.graph.outputs.values())


class Graphs:
    """The graphs of the last problems, for others with the same text and shapes."""

    def __init__(self) -> None:
        self._plans: dict[Hashable, tuple[_Graph, Plan]] = {}

    def compute(self, problem: Problem) -> _Computed:
        """Text to numbers; a problem like an earlier one has its graph."""
        key = _key(problem)
        known = self._plans.get(key)
        if known is None:
            done = _compute(problem)
            self._keep(key, problem, done.graph)
            return done
        graph, plan = known
        try:
            numbers = plan([problem.at[str(leaf.params[0])] for leaf in plan.leaves])
        except GradcalcError:
            return _compute(problem)  # which tells it with the place in this problem's own text
        return _Computed(graph, problem.at, dict(zip(graph.wanted, numbers, strict=True)))

    def _keep(self, key: Hashable, problem: Problem, graph: _Graph) -> None:
        if problem.draws.used or len(graph.trace.graph.nodes) > MOST_KEPT or not _is_fixed(graph):
            return
        plan = Plan(graph.wanted, list(graph.trace.leaves.values()))
        if plan.fits:
            while len(self._plans) >= MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = graph, plan


def _compute(problem: Problem) -> _Computed:
    """Text to numbers, without the check."""
    with collector_paused():
        graph = _graph(problem)
        numbers = graph.trace.compute(graph.wanted)
    return _Computed(graph, problem.at, dict(zip(graph.wanted, numbers, strict=True)))


def _key(problem: Problem) -> Hashable:
    """What two problems have in common whose graphs are alike."""
    return (
        problem.expr.text,
        tuple([(name, value.shape) for name, value in problem.at.items()]),
        tuple([_weights_key(weights) for weights in problem.passes]),
        (problem.zero_grad, problem.retain_graph, problem.expand, problem.output),
        None if problem.wrt is None else tuple(problem.wrt),
    )


def _weights_key(weights: Weights) -> Hashable:
    return tuple(
        [
            (name, None if given is None else (given.shape, given.tobytes()))
            for name, given in weights.items()
        ]
    )


def _is_fixed(graph: _Graph) -> bool:
    """Does the program do the same whatever the values are?"""
    behind = needed(graph.trace.conditions, {})
    return not any(node.primitive is LEAF for node in behind)


def _graph(problem: Problem) -> _Graph:
    """Text to graph."""
    trace = run(compiled(problem), problem.at, problem.draws)
    leaves = wanted_leaves(problem, trace)
    if len(problem.passes) > 1 and not problem.retain_graph:
        raise GradcalcError(
            "graph-freed",
            "a second backward pass through a graph that the first one freed",
            "keep the graph (leave out --no-retain-graph), or ask for one pass only",
        )
    passes = [
        backward(trace, leaves, weights, result=problem.output, expand=problem.expand)
        for weights in problem.passes
    ]
    state: dict[str, Node | None] = dict.fromkeys(leaves)
    for one in passes:
        state = one.gradients if problem.zero_grad else added(state, one.gradients)
    outputs = {name: node for one in passes for name, node in one.outputs.items()}
    wanted = [
        *outputs.values(),
        *state.values(),
        *(g for p in passes for g in p.gradients.values()),
    ]
    nodes = list(dict.fromkeys(node for node in wanted if node is not None))
    return _Graph(trace, leaves, passes, state, outputs, nodes)


def _verify(problem: Problem, done: _Computed) -> Check:
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


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection inside: a graph grows by many small objects and none is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def moved(at: Mapping[str, Array], leaf: str, j: int, value: float) -> dict[str, Array]:
    """``at`` with element j of one leaf changed."""
    changed = np.array(at[leaf])
    changed.flat[j] = value
    return {**at, leaf: changed[()]}


def _again(
    problem: Problem, outputs: Sequence[str], leaves: Sequence[str], leaf: str, j: int, value: float
) -> Traced | None:
    """What the program computes with one leaf element changed; None where it has no such result."""
    from gradcalc.verify.verdict import Traced

    try:
        trace = run(compiled(problem), moved(problem.at, leaf, j, value), problem.draws.again())
        found = {name: as_number(trace.names[name]) for name in outputs}
        known = {name: trace.leaves[name] for name in leaves}
    except (GradcalcError, KeyError):
        return None
    return Traced(problem.expr.text, found, known, trace.values, trace.conditions)


def compiled(problem: Problem) -> Program:
    """The program of a problem; its leaves are no modules."""
    return compile_program(problem.expr, frozenset(problem.at))


def wanted_leaves(problem: Problem, trace: Trace, only: Iterable[str] | None = None) -> Leaves:
    """The leaves that are wanted (None: as the problem says); None for one that was never read."""
    for name in problem.at:
        if name in trace.program.assigned and name not in trace.leaves:
            error = GradcalcError(
                "not-a-leaf",
                f"'{name}' is not a leaf: the program assigns it before it reads it",
                f"leave out the value of '{name}', or rename one of the two",
            )
            raise trace.error(error, name)
    wanted = problem.wrt if only is None else only
    names = list(problem.at) if wanted is None else list(wanted)
    for name in names:
        if name not in problem.at:
            raise no_leaf(name, problem.at).located(*whole(name, "wrt"))
    return {name: trace.leaves.get(name) for name in names}


def _check_expectation(problem: Problem, leaves: Leaves) -> None:
    for name in problem.expect or ():
        if name not in leaves:
            raise no_leaf(name, leaves).located(*whole(name, "expect"))


def no_leaf(name: str, leaves: Iterable[str]) -> GradcalcError:
    hint = did_you_mean(name, leaves) or f"the leaves with values are {', '.join(leaves)}"
    return GradcalcError("unknown-leaf", f"'{name}' is not a leaf of the program", hint)


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


def _differences(problem: Problem, done: _Computed) -> dict[str, Differences]:
    """The gradients by differences: the program runs anew for every element of every leaf."""
    leaves = {name: leaf for name, leaf in done.graph.leaves.items() if leaf is not None}
    count = sum(leaf.size for leaf in leaves.values())
    if count > MOST_DIFFERENCES:
        raise GradcalcError(
            "too-large",
            f"numeric differentiation of {count:,} elements would take too long",
            f"the most is {MOST_DIFFERENCES:,}: take fewer leaves (--wrt)",
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

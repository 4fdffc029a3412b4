"""From a problem's text to its graph, and to the numbers of it; the check comes after."""

import gc
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from gradcalc.compute.evaluate import needed
from gradcalc.compute.plan import Plan
from gradcalc.errors import GradcalcError, did_you_mean, whole
from gradcalc.graph import LEAF, Array, Node
from gradcalc.language.compiler import compile_program
from gradcalc.language.interpreter import run
from gradcalc.language.literals import Weights
from gradcalc.language.program import Program
from gradcalc.language.trace import Trace
from gradcalc.passes import Backward, Leaves, added, backward
from gradcalc.problem import Problem

MOST_PLANS = 64  # graphs that are kept
MOST_NODES = 100_000  # of all of them together


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


def no_leaf(name: str, leaves: Iterable[str]) -> GradcalcError:
    known = ", ".join(leaves)
    hint = did_you_mean(name, leaves) or (
        f"the leaves with values are {known}" if known else "the program has none"
    )
    return GradcalcError("unknown-leaf", f"'{name}' is not a leaf of the program", hint)


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


class Prepared(NamedTuple):
    """The graph of a problem: what is wanted of it, as nodes."""

    trace: Trace
    leaves: Leaves
    passes: Sequence[Backward]
    state: Mapping[str, Node | None]  # the leaves' gradients after the last pass
    outputs: Mapping[str, Node]
    wanted: Sequence[Node]


class Computed(NamedTuple):
    """A graph, the values of its leaves, and the numbers of it that are wanted."""

    graph: Prepared
    at: Mapping[str, Array]
    values: Mapping[Node, Array]

    @property
    def trace(self) -> Trace:
        """What the program did at these values."""
        return self.graph.trace.elsewhere(self.at)

    def numbers(self, nodes: Mapping[str, Node | None]) -> dict[str, Array | None]:
        """The values of ``nodes`` by name; None stays None."""
        return {name: None if node is None else self.values[node] for name, node in nodes.items()}


class Graphs:
    """The graphs of the last problems, for others with the same text and shapes."""

    def __init__(self) -> None:
        self._plans: dict[Hashable, tuple[Prepared, Plan, int]] = {}
        self._nodes = 0  # of all; a check may add some to a graph later

    def compute(self, problem: Problem) -> Computed:
        """Text to numbers; a problem like an earlier one has its graph."""
        key = _key(problem)
        known = self._plans.get(key)
        if known is None:
            done = compute(problem)
            self._keep(key, problem, done.graph)
            return done
        graph, plan, _ = known
        try:
            numbers = plan([problem.at[str(leaf.params[0])] for leaf in plan.leaves])
        except GradcalcError:
            return compute(problem)  # which tells it with the place in this problem's own text
        return Computed(graph, problem.at, dict(zip(graph.wanted, numbers, strict=True)))

    def _keep(self, key: Hashable, problem: Problem, graph: Prepared) -> None:
        size = len(graph.trace.graph.nodes)
        if problem.draws.used or size > MOST_NODES or not _is_fixed(graph):
            return
        plan = Plan(graph.wanted, list(graph.trace.leaves.values()))
        if plan.fits:
            while len(self._plans) >= MOST_PLANS or self._nodes + size > MOST_NODES:
                _, _, freed = self._plans.pop(next(iter(self._plans)))
                self._nodes -= freed
            self._plans[key] = graph, plan, size
            self._nodes += size


def compute(problem: Problem) -> Computed:
    """Text to numbers, without the check."""
    with collector_paused():
        graph = _graph_of(problem)
        numbers = graph.trace.compute(graph.wanted)
    return Computed(graph, problem.at, dict(zip(graph.wanted, numbers, strict=True)))


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


def _is_fixed(graph: Prepared) -> bool:
    """Does the program do the same whatever the values are?"""
    behind = needed(graph.trace.conditions, {})
    return not any(node.primitive is LEAF for node in behind)


def _graph_of(problem: Problem) -> Prepared:
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
    return Prepared(trace, leaves, passes, state, outputs, nodes)

"""The one path: a Problem in, a Result out, for the command line, batches and Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradcalc.compute.evaluate import evaluate
from gradcalc.derive.reverse import seed, vjp
from gradcalc.errors import GradcalcError, Source, did_you_mean, whole
from gradcalc.graph import Array, Cotangent, Node, Shape, as_number
from gradcalc.language.draws import Draws
from gradcalc.language.interpreter import run
from gradcalc.language.literals import Weights
from gradcalc.language.program import compile_program
from gradcalc.language.trace import Trace
from gradcalc.primitives.rule import spread_to
from gradcalc.primitives.shapes import reshape
from gradcalc.verify.findings import Check

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
    expect: leaf -> gradient (None: no gradient), compared to ``rtol`` and ``atol``.
    check: compare with SymPy's derivative, for at most ``check_seconds``.
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
    draws: Draws = field(default_factory=Draws)
    check: bool = True
    check_seconds: float = 10.0


class Pass(NamedTuple):
    """One backward pass alone: its weights by output, and what it adds to the leaves."""

    weights: Mapping[str, Array]
    gradients: Mapping[str, Array | None]


class Note(NamedTuple):
    """Something that a reader of the result should know."""

    code: str
    message: str


@dataclass(frozen=True)
class Result:
    """The gradients and all that belongs to them.

    outputs: the values of the weighted outputs. gradients: the leaves' state after the last pass;
    None for a leaf that no weighted output depends on. mismatches: leaves that differ from
    ``expect``.
    """

    problem: Problem
    outputs: Mapping[str, Array]
    gradients: Mapping[str, Array | None]
    passes: Sequence[Pass]
    check: Check
    mismatches: Sequence[str]
    warnings: Sequence[Note]

    @property
    def proven(self) -> bool:
        """Was everything verified (or the check left out on purpose)?"""
        return self.check.status in ("verified", "off")

    @property
    def status(self) -> str:
        """``ok``, or ``mismatch`` when the check or the expectation failed."""
        failed = self.mismatches or self.check.status == "mismatch"
        return "mismatch" if failed else "ok"


class _Backward(NamedTuple):
    """One pass as nodes: the weighted outputs, their weights, and the gradients by leaf."""

    outputs: dict[str, Node]
    weights: dict[str, Array]
    gradients: dict[str, Node | None]


def solve(problem: Problem) -> Result:
    """Runs the program, differentiates it, evaluates, and checks.

    Raises GradcalcError for whatever is wrong with the text, the values or the weights.
    """
    trace = run(compile_program(problem.expr, frozenset(problem.at)), problem.at, problem.draws)
    leaves = _leaves(problem, trace)
    _check_expectation(problem, leaves)
    if len(problem.passes) > 1 and not problem.retain_graph:
        raise GradcalcError(
            "graph-freed",
            "a second backward pass through a graph that the first one freed",
            "keep the graph (leave out --no-retain-graph), or ask for one pass only",
        )
    passes = [_backward(problem, trace, leaves, weights) for weights in problem.passes]
    state: dict[str, Node | None] = dict.fromkeys(leaves)
    for one in passes:
        state = one.gradients if problem.zero_grad else _added(state, one.gradients)

    outputs = {name: node for one in passes for name, node in one.outputs.items()}
    nodes = [*outputs.values(), *state.values(), *(g for p in passes for g in p.gradients.values())]
    asked = list(dict.fromkeys(node for node in nodes if node is not None))
    values = dict(zip(asked, evaluate(asked, trace.values), strict=True))
    gradients = _valued(state, values)
    check = Check("off")
    if problem.check:
        # SymPy and mpmath cost more time than all the rest, so only a check imports them.
        from gradcalc.verify.entry import Claim
        from gradcalc.verify.verdict import Traced
        from gradcalc.verify.verdict import check as verify

        claims = [Claim([p.weights], _valued(p.gradients, values), p.gradients) for p in passes]
        if len(passes) > 1 and not problem.zero_grad:  # the sum of all passes is printed too
            claims.append(Claim([p.weights for p in passes], gradients, state))
        known = {name: leaf for name, leaf in leaves.items() if leaf is not None}
        traced = Traced(outputs, known, {**trace.values, **values}, trace.conditions)
        again = partial(_again, problem, tuple(outputs), tuple(known))
        check = verify(traced, claims, again, problem.check_seconds)
    mismatches = _mismatches(problem, gradients)
    return Result(
        problem,
        {name: values[node] for name, node in outputs.items()},
        gradients,
        [Pass(p.weights, _valued(p.gradients, values)) for p in passes],
        check._replace(status="mismatch") if mismatches and problem.check else check,
        mismatches,
        _warnings(problem, trace, gradients),
    )


def _again(
    problem: Problem, outputs: Sequence[str], leaves: Sequence[str], leaf: str, j: int, value: float
) -> Traced | None:
    """What the program computes with one leaf element changed; None where it has no such result."""
    from gradcalc.verify.verdict import Traced

    moved = np.array(problem.at[leaf])
    moved.flat[j] = value
    try:
        trace = run(
            compile_program(problem.expr, frozenset(problem.at)),
            {**problem.at, leaf: moved[()]},
            Draws(problem.draws.seed),
        )
        found = {name: as_number(trace.names[name]) for name in outputs}
        known = {name: trace.leaves[name] for name in leaves}
    except (GradcalcError, KeyError):
        return None
    return Traced(found, known, trace.values, trace.conditions)


def _leaves(problem: Problem, trace: Trace) -> dict[str, Node | None]:
    """The leaves that gradients are wanted for; None for one that the run never read."""
    for name in problem.at:
        if name in trace.program.assigned and name not in trace.leaves:
            error = GradcalcError(
                "not-a-leaf",
                f"'{name}' is not a leaf: the program assigns it before it reads it",
                f"leave out the value of '{name}', or rename one of the two",
            )
            raise trace.error(error, name)
    names = list(problem.at) if problem.wrt is None else list(problem.wrt)
    for name in names:
        if name not in problem.at:
            raise _no_leaf(name, problem.at).located(*whole(name, "wrt"))
    return {name: trace.leaves.get(name) for name in names}


def _check_expectation(problem: Problem, leaves: Mapping[str, Node | None]) -> None:
    for name in problem.expect or ():
        if name not in leaves:
            raise _no_leaf(name, leaves).located(*whole(name, "expect"))


def _no_leaf(name: str, leaves: Iterable[str]) -> GradcalcError:
    hint = did_you_mean(name, leaves) or f"the leaves with values are {', '.join(leaves)}"
    return GradcalcError("unknown-leaf", f"'{name}' is not a leaf of the program", hint)


def _backward(
    problem: Problem, trace: Trace, leaves: Mapping[str, Node | None], weights: Weights
) -> _Backward:
    """One pass of reverse mode from all of its weighted outputs."""
    chosen = {None: None} if not weights else dict(weights)
    if problem.output is not None and chosen.keys() - {None, problem.output}:
        raise GradcalcError(
            "weights",
            f"the weights name other outputs than '{problem.output}', which is asked for",
            "leave out --output: what has weights is an output",
        )
    outputs: dict[str, Node] = {}
    numbers: dict[str, Array] = {}
    seeds: list[tuple[Node, Cotangent]] = []
    for key, given in chosen.items():
        name = _output(problem, trace, key)
        if name in outputs:
            raise GradcalcError("weights", f"the output '{name}' has two weights in one pass")
        node = as_number(trace.names[name])
        outputs[name] = node
        try:
            if given is not None and problem.expand and node.size == 1:
                # As many copies of the one element as there are weights.
                node = spread_to(reshape(node, params=((1,) * np.ndim(given),)), np.shape(given))
            numbers[name] = _weights(name, node, given)
        except GradcalcError as error:
            raise trace.error(error, name) from None
        seeds.append((node, seed(node, numbers[name])))
    found = vjp(seeds, [leaf for leaf in leaves.values() if leaf is not None])
    gradients = {name: found[leaf] if leaf is not None else None for name, leaf in leaves.items()}
    return _Backward(outputs, numbers, gradients)


def _output(problem: Problem, trace: Trace, name: str | None) -> str:
    """The name of an output that the program really assigned; None is its result."""
    label = "weights" if name is not None else "output"
    if name is None:
        name = trace.output if problem.output is None else problem.output
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
                "--weights 1 weighs each element 1",
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


def _added(
    state: Mapping[str, Node | None], more: Mapping[str, Node | None]
) -> dict[str, Node | None]:
    """Leaf gradients after a pass that accumulates: None + g is g."""
    return {
        name: g if before is None else before if g is None else before + g
        for (name, before), g in zip(state.items(), more.values(), strict=True)
    }


def _valued(
    nodes: Mapping[str, Node | None], values: Mapping[Node, Array]
) -> dict[str, Array | None]:
    return {name: None if node is None else values[node] for name, node in nodes.items()}


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
    return np.shape(found) == np.shape(wanted) and bool(
        np.allclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    )


def _warnings(
    problem: Problem, trace: Trace, gradients: Mapping[str, Array | None]
) -> Sequence[Note]:
    found = [
        Note("unused-leaf", f"the program does not use '{name}'")
        for name in problem.at
        if name not in trace.program.read
    ]
    for name, gradient in gradients.items():
        if gradient is not None and not np.all(np.isfinite(gradient)):
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(gradient))[0])
            number = float(np.asarray(gradient)[index])
            where = f" at [{', '.join(map(str, index))}]" if index else ""
            word = "nan" if math.isnan(number) else "infinite"
            found.append(Note("non-finite-gradient", f"the gradient of '{name}' is {word}{where}"))
    if problem.draws.used and problem.draws.chosen:
        found.append(
            Note("seed", f"the random numbers can be had again by --seed {problem.draws.seed}")
        )
    return found

"""What Python programs use, and the command line: every public function of gradcalc.

    import gradcalc

    result = gradcalc.solve("y = a*b", {"a": [1.0, 2.0], "b": 3.0}, weights=[0.1, 1.0])
    result.gradients["a"]

    graph = gradcalc.trace("y = a*b", {"a": [1.0, 2.0], "b": 3.0})
    graph.backward([0.1, 1.0])
    graph.leaves["a"].grad

Values are float64 arrays or what numpy.asarray makes of the arguments. Errors are GradcalcError.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gradcalc.blocks import Blocks, derive_blocks
from gradcalc.errors import GradcalcError, Source
from gradcalc.graph import Array, Node
from gradcalc.language.compiler import compile_program
from gradcalc.language.draws import Draws
from gradcalc.language.interpreter import run
from gradcalc.language.literals import Weights
from gradcalc.language.syntax import normalize
from gradcalc.passes import added, backward
from gradcalc.problem import Problem, Result, wanted_leaves
from gradcalc.problem import solve as solve_problem

__all__ = ["Blocks", "GradcalcError", "Graph", "Leaf", "Result", "hessian", "hvp", "jacobian"]
__all__ += ["jvp", "solve", "trace"]

Values: TypeAlias = Mapping[str, Any]  # array-likes by name
Given: TypeAlias = Any  # weights: None, a number, an array-like, or by output (None: 1)


def solve(
    expr: str | Source,
    at: Values | None = None,
    weights: Given = None,
    *,
    passes: Sequence[Given] | None = None,
    zero_grad: bool = False,
    retain_graph: bool = True,
    expand: bool = False,
    wrt: Sequence[str] | None = None,
    output: str | None = None,
    draws: Draws | None = None,
    check: bool = True,
    check_seconds: float = 10.0,
) -> Result:
    """The gradients of ``expr`` at the values ``at``, checked against SymPy: ``gradcalc eval``.

    weights: w of w @ J, of the output's shape or one number for all of it; a scalar output needs
    none. Several outputs have theirs by name. passes: the weights of each of several backward
    passes, instead. https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
    Raises GradcalcError for whatever is wrong with the text, the values or the weights.
    """
    every = [weights] if passes is None else passes
    problem = Problem(
        _source(expr),
        _values(at),
        [_weights(one) for one in every] or [{}],
        zero_grad=zero_grad,
        retain_graph=retain_graph,
        expand=expand,
        wrt=wrt,
        output=output,
        draws=draws or Draws(),
        check=check,
        check_seconds=check_seconds,
    )
    return solve_problem(problem)


def jacobian(expr: str | Source, at: Values | None = None, **options: Any) -> Blocks:
    """dy/dx of all outputs by all leaves: ``gradcalc jacobian``.

    The block of y by x has the shape of y followed by that of x. Options: wrt (names of leaves),
    output (names, separated by commas), draws, check, check_seconds.
    """
    return derive_blocks(_asked(expr, at, options), "jacobian")


def hessian(expr: str | Source, at: Values | None = None, **options: Any) -> Blocks:
    """The second derivatives of a scalar output, in blocks between leaves: ``gradcalc hessian``.

    The block of a and b has the shape of a followed by that of b. Options as of ``jacobian``.
    """
    return derive_blocks(_asked(expr, at, options), "hessian")


def jvp(
    expr: str | Source, at: Values | None = None, along: Values | None = None, **options: Any
) -> Blocks:
    """J v, the derivative of all outputs along the direction ``along``: ``gradcalc jvp``.

    along: array-likes by leaf, of its shape or one number for all of it; leaves without one stay.
    """
    return derive_blocks(_asked(expr, at, options), "jvp", _values(along))


def hvp(
    expr: str | Source, at: Values | None = None, along: Values | None = None, **options: Any
) -> Blocks:
    """H v, the derivative of the gradient of a scalar output along ``along``: ``gradcalc hvp``."""
    return derive_blocks(_asked(expr, at, options), "hvp", _values(along))


def trace(expr: str | Source, at: Values | None = None, *, draws: Draws | None = None) -> "Graph":
    """Runs the program once, and keeps its graph for backward passes."""
    return Graph(_asked(expr, at, {"draws": draws or Draws()}))


@dataclass
class Leaf:
    """A leaf: its value, and its gradient after the backward passes so far (None: no pass)."""

    value: Array
    grad: Array | None = None


class Graph:
    """The graph of one run of a program, with what PyTorch has for it.

    leaves: by name, with their gradients. outputs: float64 values of all names, by name.
    """

    def __init__(self, problem: Problem) -> None:
        program = compile_program(problem.expr, frozenset(problem.at))
        self._problem = problem
        self._trace = run(program, problem.at, problem.draws)
        self._nodes = wanted_leaves(problem, self._trace)
        self._state: dict[str, Node | None] = dict.fromkeys(self._nodes)
        self._freed = False
        self.leaves = {name: Leaf(problem.at[name]) for name in self._nodes}

    @property
    def outputs(self) -> dict[str, Array]:
        """The values of all names that the program assigned."""
        names = self._trace.names
        return dict(zip(names, self._trace.compute(list(names.values())), strict=True))

    def backward(
        self, weights: Given = None, *, retain_graph: bool = True, create_graph: bool = False
    ) -> None:
        """One backward pass: adds w @ J to the gradient of every leaf (torch.Tensor.backward).

        weights: as of ``solve``. retain_graph: keep the graph for another pass. create_graph: the
        gradients become outputs, as ``a.grad``, which can be weighed in another pass.
        Raises GradcalcError for weights that do not fit, and for a graph that was freed.
        """
        if self._freed:
            raise GradcalcError(
                "graph-freed",
                "a second backward pass through a graph that the first one freed",
                "keep the graph: backward(..., retain_graph=True)",
            )
        one = backward(self._trace, self._nodes, _weights(weights), result=None, expand=False)
        self._state = added(self._state, one.gradients)
        found = {name: node for name, node in self._state.items() if node is not None}
        numbers = dict(zip(found, self._trace.compute(list(found.values())), strict=True))
        for name, leaf in self.leaves.items():
            leaf.grad = numbers.get(name)
        if create_graph:
            self._trace.names.update({f"{name}.grad": node for name, node in found.items()})
        self._freed = not (retain_graph or create_graph)

    def zero_grad(self) -> None:
        """Forgets the gradients of all leaves (torch.optim.Optimizer.zero_grad)."""
        self._state = dict.fromkeys(self._nodes)
        for leaf in self.leaves.values():
            leaf.grad = None

    def jacobian(self, output: str | None = None) -> Mapping[str, Mapping[str, Array]]:
        """dy/dx by output and leaf, of the output's shape followed by the leaf's; not checked."""
        return self._blocks("jacobian", output)

    def hessian(self, output: str | None = None) -> Mapping[str, Mapping[str, Array]]:
        """The second derivatives of a scalar output by leaf and leaf; not checked."""
        return self._blocks("hessian", output)

    def jvp(self, along: Values, output: str | None = None) -> dict[str, Array]:
        """J v by output, of its shape; not checked."""
        return _products(self._blocks("jvp", output, along))

    def hvp(self, along: Values, output: str | None = None) -> dict[str, Array]:
        """H v by leaf, of its shape; not checked."""
        return _products(self._blocks("hvp", output, along))

    def _blocks(
        self, kind: str, output: str | None, along: Values | None = None
    ) -> Mapping[str, Mapping[str, Array]]:
        options = {"output": output, "draws": Draws(self._problem.draws.seed), "check": False}
        problem = _asked(self._problem.expr, self._problem.at, options)
        return derive_blocks(problem, kind, _values(along)).blocks


def _products(blocks: Mapping[str, Mapping[str, Array]]) -> dict[str, Array]:
    return {name: next(iter(by.values())) for name, by in blocks.items()}


def _asked(expr: str | Source, at: Values | None, options: Mapping[str, Any]) -> Problem:
    return Problem(_source(expr), _values(at), **{"draws": Draws(), **options})


def _source(expr: str | Source) -> Source:
    return expr if isinstance(expr, Source) else Source(expr)


def _values(given: Values | None) -> dict[str, Array]:
    """Array-likes as float64; raises GradcalcError for what is no array of numbers."""
    return {normalize(name): _array(value, name) for name, value in (given or {}).items()}


def _weights(given: Given) -> Weights:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {n: None if w is None else _array(w, "weights") for n, w in given.items()}
    return {None: _array(given, "weights")}


def _array(value: Any, name: str) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)[()]
    except (TypeError, ValueError):
        raise GradcalcError("number", f"the value of {name} is not an array of numbers") from None

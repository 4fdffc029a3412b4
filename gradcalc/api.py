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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gradcalc.arguments import (
    Given,
    Values,
    expected_of,
    method_of,
    name_of,
    names_of,
    passes_of,
    source_of,
    values_of,
    weights_of,
)
from gradcalc.blocks import Blocks, blocks_of, derive_blocks, direction_of, products_of
from gradcalc.errors import GradcalcError, Source
from gradcalc.graph import Array, Node
from gradcalc.graphs import compiled, wanted_leaves
from gradcalc.language.draws import Draws
from gradcalc.language.interpreter import run
from gradcalc.passes import added, backward
from gradcalc.problem import Problem
from gradcalc.result import Result
from gradcalc.solver import solve as solve_problem

if TYPE_CHECKING:
    from gradcalc.claims import Verdict

__all__ = ["Blocks", "GradcalcError", "Graph", "Leaf", "Result", "hessian", "hvp", "jacobian"]
__all__ += ["jvp", "solve", "trace", "verify_claims"]


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
    expect: Mapping[str, Any] | None = None,
    rtol: float = 1e-9,
    atol: float = 0.0,
    numeric: bool = False,
    check: bool = True,
    check_seconds: float = 10.0,
    method: str | None = None,
    explain: bool = False,
) -> Result:
    """The gradients of ``expr`` at the values ``at``, checked against SymPy: ``gradcalc eval``.

    weights: w of w @ J, of the output's shape or one number for all of it; a scalar output needs
    none. Several outputs have theirs by name. passes: the weights of each of several backward
    passes, instead. https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
    expect: gradients by leaf (None: no gradient), compared to ``rtol`` and ``atol``: what differs
    is in ``mismatches``. numeric: estimate the gradients by differences of values as well.
    method: of the check, ``symbolic`` or ``chain``; explain: keep the evidence of each verdict.
    Raises GradcalcError for whatever is wrong with the text, the values or the weights.
    """
    if passes is not None and weights is not None:
        raise GradcalcError("weights", "weights and passes at once", "passes have all the weights")
    problem = Problem(
        source_of(expr),
        values_of(at),
        [weights_of(weights)] if passes is None else passes_of(passes),
        zero_grad=zero_grad,
        retain_graph=retain_graph,
        expand=expand,
        wrt=names_of(wrt),
        output=name_of(output),
        draws=draws or Draws(),
        expect=None if expect is None else expected_of(expect),
        rtol=rtol,
        atol=atol,
        numeric=numeric,
        check=check,
        check_seconds=check_seconds,
        method=method_of(method),
        explain=explain,
    )
    return solve_problem(problem)


def jacobian(
    expr: str | Source,
    at: Values | None = None,
    *,
    wrt: Sequence[str] | None = None,
    output: str | None = None,
    draws: Draws | None = None,
    check: bool = True,
    check_seconds: float = 10.0,
    method: str | None = None,
    explain: bool = False,
) -> Blocks:
    """dy/dx of all outputs by all leaves: ``gradcalc jacobian``.

    wrt: names of leaves (None: all). output: names, separated by commas (None: those that no other
    one uses). The block of y by x is float64, of the shape of y followed by that of x.
    Raises GradcalcError for whatever is wrong with the text or the values.
    https://pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html
    """
    problem = _asked(expr, at, wrt, output, draws, check, check_seconds, method, explain)
    return derive_blocks(problem, "jacobian")


def hessian(
    expr: str | Source,
    at: Values | None = None,
    *,
    wrt: Sequence[str] | None = None,
    output: str | None = None,
    draws: Draws | None = None,
    check: bool = True,
    check_seconds: float = 10.0,
    method: str | None = None,
    explain: bool = False,
) -> Blocks:
    """The second derivatives of a scalar output, in blocks between leaves: ``gradcalc hessian``.

    Options as of ``jacobian``; output is one name (None: the result). The block of a and b is
    float64, of the shape of a followed by that of b. Raises GradcalcError, as ``jacobian``.
    https://pytorch.org/docs/stable/generated/torch.autograd.functional.hessian.html
    """
    problem = _asked(expr, at, wrt, output, draws, check, check_seconds, method, explain)
    return derive_blocks(problem, "hessian")


def jvp(
    expr: str | Source,
    at: Values | None = None,
    along: Values | None = None,
    *,
    output: str | None = None,
    draws: Draws | None = None,
    check: bool = True,
    check_seconds: float = 10.0,
    method: str | None = None,
    explain: bool = False,
) -> Blocks:
    """J v, the derivative of all outputs along a direction: ``gradcalc jvp``.

    along: array-likes by leaf, of its shape or one number for all of it; leaves without one stay.
    The products are float64, of the outputs' shapes. Raises GradcalcError, as ``jacobian``.
    https://pytorch.org/docs/stable/generated/torch.autograd.functional.jvp.html
    """
    problem = _asked(expr, at, None, output, draws, check, check_seconds, method, explain)
    return derive_blocks(problem, "jvp", values_of(along))


def hvp(
    expr: str | Source,
    at: Values | None = None,
    along: Values | None = None,
    *,
    wrt: Sequence[str] | None = None,
    output: str | None = None,
    draws: Draws | None = None,
    check: bool = True,
    check_seconds: float = 10.0,
    method: str | None = None,
    explain: bool = False,
) -> Blocks:
    """H v, the derivative of the gradient of a scalar output along a direction: ``gradcalc hvp``.

    along: as of ``jvp``. The products are float64, of the leaves' shapes. Raises GradcalcError.
    https://pytorch.org/docs/stable/generated/torch.autograd.functional.hvp.html
    """
    problem = _asked(expr, at, wrt, output, draws, check, check_seconds, method, explain)
    return derive_blocks(problem, "hvp", values_of(along))


def verify_claims(
    expr: str | Source,
    claims: Sequence[str],
    at: Values | None = None,
    *,
    output: str | None = None,
    rtol: float = 1e-9,
    seed: int = 0,
    seconds: float = 10.0,
) -> "list[Verdict]":
    """Are derivatives that were found by hand right? ``gradcalc verify``.

    claims: texts such as ``b = 4*b``: formulas of the gradient of the (sum of the) result by a
    leaf. at: values, which give the shapes; a leaf without one is a number.
    Raises GradcalcError for whatever is wrong with the texts or the values.
    """
    from gradcalc.claims import judge_claims  # which eval does without

    listed = [claims] if isinstance(claims, str) else list(claims)
    return judge_claims(
        source_of(expr),
        listed,
        values_of(at),
        output=name_of(output),
        rtol=rtol,
        seed=seed,
        seconds=seconds,
    )


def trace(expr: str | Source, at: Values | None = None, *, draws: Draws | None = None) -> "Graph":
    """Runs the program once, and keeps its graph for backward passes.

    Raises GradcalcError for whatever is wrong with the text or the values.
    """
    return Graph(_asked(expr, at, None, None, draws, False, 0.0, None, False))


@dataclass
class Leaf:
    """A leaf: its float64 value, and its gradient after the passes so far (None: there is none)."""

    value: Array
    grad: Array | None = None


class Graph:
    """The graph of one run of a program, with what PyTorch has for it.

    leaves: by name, with their gradients. outputs: float64 values of all names, by name.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._trace = run(compiled(problem), problem.at, problem.draws)
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

        weights: as of ``solve``. retain_graph: keep the graph for another pass (PyTorch: only if
        it is asked for). create_graph: the gradients become outputs, as ``a.grad``, which can be
        weighed in another pass.
        Raises GradcalcError for weights that do not fit, and for a graph that was freed.
        """
        self._check_kept()
        for name, leaf in self.leaves.items():
            if leaf.grad is None:  # also by hand, as PyTorch's optimizers do
                self._state[name] = None
        one = backward(self._trace, self._nodes, weights_of(weights), result=None, expand=False)
        self._state = added(self._state, one.gradients)
        found = {name: node for name, node in self._state.items() if node is not None}
        numbers = dict(zip(found, self._trace.compute(list(found.values())), strict=True))
        self._forget_gradients()
        for name, leaf in self.leaves.items():
            leaf.grad = numbers.get(name)
        if create_graph:
            self._trace.names.update({f"{name}.grad": node for name, node in found.items()})
        self._freed = not retain_graph

    def zero_grad(self) -> None:
        """Forgets the gradients of all leaves (torch.optim.Optimizer.zero_grad)."""
        self._state = dict.fromkeys(self._nodes)
        for leaf in self.leaves.values():
            leaf.grad = None

    def jacobian(self, output: str | None = None) -> Mapping[str, Mapping[str, Array]]:
        """dy/dx by output and leaf: float64, of the output's shape followed by the leaf's.

        Not checked. Raises GradcalcError for a name that does not exist, or a graph that was freed.
        """
        return self._blocks("jacobian", output)

    def hessian(self, output: str | None = None) -> Mapping[str, Mapping[str, Array]]:
        """The second derivatives of a scalar output by leaf and leaf; as ``jacobian``."""
        return self._blocks("hessian", output)

    def jvp(self, along: Values, output: str | None = None) -> Mapping[str, Array]:
        """J v by output, of its shape; as ``jacobian``, with ``along`` as of ``gradcalc.jvp``."""
        return self._products("jvp", output, along)

    def hvp(self, along: Values, output: str | None = None) -> Mapping[str, Array]:
        """H v by leaf, of its shape; as ``jacobian``, with ``along`` as of ``gradcalc.jvp``."""
        return self._products("hvp", output, along)

    def _check_kept(self) -> None:
        if self._freed:
            raise GradcalcError(
                "graph-freed",
                "a second backward pass through a graph that the first one freed",
                "keep the graph: backward(..., retain_graph=True)",
            )

    def _forget_gradients(self) -> None:
        """Gradients that were outputs are those of an earlier pass."""
        for name in self._nodes:
            self._trace.names.pop(f"{name}.grad", None)

    def _blocks(self, kind: str, output: str | None) -> Mapping[str, Mapping[str, Array]]:
        self._check_kept()
        return blocks_of(replace(self._problem, output=output), kind, self._trace)

    def _products(self, kind: str, output: str | None, along: Values) -> Mapping[str, Array]:
        self._check_kept()
        problem = replace(self._problem, output=output)
        return products_of(problem, kind, self._trace, direction_of(problem, values_of(along)))


def _asked(
    expr: str | Source,
    at: Values | None,
    wrt: Sequence[str] | None,
    output: str | None,
    draws: Draws | None,
    check: bool,
    check_seconds: float,
    method: str | None,
    explain: bool,
) -> Problem:
    return Problem(
        source_of(expr),
        values_of(at),
        wrt=names_of(wrt),
        output=name_of(output),
        draws=draws or Draws(),
        check=check,
        check_seconds=check_seconds,
        method=method_of(method),
        explain=explain,
    )

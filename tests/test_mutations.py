"""Every rule is broken in turn: the check must call each a mismatch, by either method."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gradcalc.errors import Source
from gradcalc.graph import PRIMITIVES, Node
from gradcalc.primitives.products import Product
from gradcalc.primitives.rule import General, Linear, Reduction
from gradcalc.problem import Problem
from gradcalc.result import Result
from gradcalc.solver import solve
from gradcalc.verify import local

A = [[2.0, 0.3], [0.7, 1.5]]
# Programs in which the derivative of a row counts, at x = 0.9, 0.4; A as above; w = 0.3, -0.8.
PROGRAMS = {
    "sum": "sum(x*x)",
    "reshape": "reshape(A, 4)[1]*3 + A[0, 0]",
    "broadcast_to": "sum(broadcast_to(x, 2, 2)*A)",
    "transpose": "sum(A.T*A*stack(w, x))",
    "index": "x[1]*x[0] + x[0]",
    "scatter": "g = grad(x[0]*x[0]*x[1], x); sum(g*w)",
    "concatenate": "sum(concatenate(x, x*x)*concatenate(w, 2*w))",
    "cumsum": "sum(cumsum(x)*w)",
    "exclusive_sum": "g = grad(sum(softmax(x)*w), x); sum(g*g)",
    "named": "y = x*x; grad(y[0]**3, y)[0]*w[0]",
    "max": "max(x)*2",
    "min": "min(x)*2",
    "norm": "norm(x)",
    "logsumexp": "logsumexp(x)",
    "softmax": "sum(softmax(x)*w)",
    "log_softmax": "sum(log_softmax(x)*w)",
    "norm_of_order": "norm(x, 3)",
    "solve": "sum(solve(A, x)*w)",
    "cholesky": "sum(cholesky(A @ A.T)*stack(w, x))",
    "eigenvalues": "sum(eigvalsh(A + A.T)*w)",
    "eigenvectors": "S = A + A.T; g = grad(sum(eigvalsh(S)*w), S); sum(g*g*A)",
    "matmul": "sum((A @ x)*w)",
    "masked_matmul": "g = grad(sum((A @ x)[:1]**2), x); sum(g*w)",
    "pulled": "g = grad(sum(x**3), x); sum(g*w)",
    "pushed": "sum(jvp(x**3, x, w)*x)",
}
NO_FLOW = ("any",)  # nothing flows, so there is no rule
ROWS = [
    row
    for row in PRIMITIVES.values()
    if isinstance(row, (Linear, Reduction, General, Product)) or row.name in ("pulled", "pushed")
]
SPOILS: dict[str, Callable[[Any], Any]] = {
    "sign": lambda value: -1.0 * value,
    "factor": lambda value: 2.0 * value,
    "twelfth digit": lambda value: value * (1 + 1e-11),
}


def run(program: str, method: str | None) -> Result:
    at = {"x": np.array([0.9, 0.4]), "A": np.array(A), "w": np.array([0.3, -0.8])}
    used = {name: value for name, value in at.items() if name in program.replace("max", "")}
    return solve(Problem(Source(program), used, method=method))


@contextmanager
def spoiled(row: Any, spoil: Callable[[Any], Any]) -> Iterator[None]:
    """``row`` with every share of its pullback spoiled."""
    right = type(row).pullback

    def pullback(self: Any, node: Node, position: int, cotangent: Any) -> Any:
        share = right(self, node, position, cotangent)
        if self is not row or share is None:
            return share
        return share._replace(value=spoil(share.value))

    type(row).pullback = pullback
    try:
        yield
    finally:
        type(row).pullback = right


def test_each_row_has_a_program() -> None:
    assert {row.name for row in ROWS} == {*PROGRAMS, *NO_FLOW}


@pytest.mark.parametrize("method", ["symbolic", "chain"])
@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("row", [row for row in ROWS if row.name not in NO_FLOW], ids=str)
def test_a_wrong_rule_is_a_mismatch(row: Any, spoil: str, method: str) -> None:
    program = PROGRAMS[row.name]
    right = run(program, method)
    if method == "chain" and ("grad(" in program or "jvp(" in program):
        assert right.check.status == "unchecked"  # which formulas check: it says so
        return
    assert right.check.status == "verified", right.check
    with spoiled(row, SPOILS[spoil]):
        wrong = run(program, method)
    assert not all(np.array_equal(wrong.gradients[k], right.gradients[k]) for k in wrong.gradients)
    assert wrong.check.status == "mismatch", wrong.check
    assert any(finding.kind == "wrong rule" for finding in wrong.check.findings)


def test_sympy_is_asked_once_for_each_row() -> None:
    local._of_row.cache_clear()
    loop = "y = x\nfor i in range(50):\n    y = sin(y)*w"
    weights = {None: np.ones(2)}
    at = {"x": np.array([0.9, 0.4]), "w": np.array([0.3, -0.8])}
    solve(Problem(Source(loop), at, [weights], method="chain"))
    assert local._of_row.cache_info().misses == 2

"""The verdict: what is right is verified, what is special is flagged, what is wrong is caught."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rows import SMOOTH

from gradcalc.errors import Source
from gradcalc.graph import PRIMITIVES
from gradcalc.language.functions import FUNCTIONS
from gradcalc.primitives.rule import Elementwise
from gradcalc.problem import Problem, Result, solve


def checked(expr: str, weights: Any = None, **at: Any) -> Result:
    values = {name: np.asarray(value, dtype=float)[()] for name, value in at.items()}
    given = {} if weights is None else {None: np.asarray(weights, dtype=float)}
    return solve(Problem(Source(expr), values, [given]))


@pytest.mark.parametrize(
    "expr,at,kind,true,left,right",
    [
        ("abs(x)", 0.0, "kink", None, -1.0, 1.0),
        ("relu(x)", 0.0, "kink", None, 0.0, 1.0),
        ("x*abs(x) + relu(x)", 0.0, "kink", None, 0.0, 1.0),
        ("log(x)", 0.0, "pole", None, np.nan, np.inf),
        ("1/x", 0.0, "pole", None, -np.inf, -np.inf),
        ("sqrt(x)", 0.0, "pole", None, np.nan, np.inf),
        ("log(x)", -2.0, "outside domain", None, None, None),
        ("round(x)", 0.5, "jump", None, 0.0, 0.0),
        ("where(x < 0, sin(x), 0.5)", 0.0, "jump", None, 1.0, 0.0),
        ("where(x == 0, 1, (exp(x) - 1)/x)", 0.0, "removable singularity", 0.5, None, None),
        ("sign(x)*log(abs(x) + sqrt(x*x + 1))", 0.0, "removable singularity", 1.0, None, None),
        ("relu(x) - relu(-x)", 0.0, "removable singularity", 1.0, None, None),
        ("sqrt(x)**2", 0.0, "removable singularity", 1.0, None, None),
        ("x*9**9**9", 1.0, "overflow", "4.28", None, None),
        ("(1 + x) - 1 - x + 1e-20*x", 0.1, "rounded", 1e-20, None, None),
        ("x if x > 0 else 2*x", 0.0, "kink", None, 2.0, 1.0),
        ("x if x > 0 else 1 + x", 0.0, "jump", None, 1.0, 1.0),
        ("log(1 + exp(x))", 800.0, "overflow", 1.0, None, None),
        ("sum(stack(x, 2)[stack(x, 2) > 0])", 0.0, "kink", None, 0.0, 1.0),
    ],
)
def test_a_special_point_is_flagged_with_its_values(
    expr: str, at: float, kind: str, true: Any, left: Any, right: Any
) -> None:
    check = checked(expr, x=at).check
    (finding,) = check.findings
    assert (check.status, finding.kind) == ("flagged", kind)
    if isinstance(true, str):  # beyond the range of float64
        assert str(finding.true).startswith(true)
        true = finding.true
    for found, wanted in ((finding.true, true), (finding.left, left), (finding.right, right)):
        assert (found is None) == (wanted is None)
        if (wanted is not None and not np.isinf(float(wanted))) or found is not None:
            np.testing.assert_allclose(float(found), float(wanted), rtol=1e-15)


@pytest.mark.parametrize(
    "expr,x",
    [
        ("x*abs(x)", 0.0),
        ("relu(x)**2", 0.0),
        ("max(stack(x, x))", 2.0),
        ("maximum(x, 0)", 1e-310),
        ("relu(x)", -1e-12),
        ("x**1.5", 0.0),
        ("tanh(x)", 300.0),
        ("exp(-x*x)", 30.0),
        ("sin(x)", 1e10),
        ("where(x > 0, log(x), x)", -1.0),
        ("exp(-norm(stack(x, x))**2)", 0.0),
    ],
)
def test_an_ordinary_point_is_verified(expr: str, x: float) -> None:
    check = checked(expr, x=x).check
    assert (check.status, list(check.findings)) == ("verified", [])
    assert (check.digits or 0) >= 14


def test_sums_that_cancel_are_not_verified() -> None:
    check = checked("x/sum(x)", 1.0, x=[0.3, 1.7, 0.9]).check
    assert {(f.kind, float(f.true)) for f in check.findings} <= {("rounded", 0.0)}


SPOILS: dict[str, Callable[[Any], Any]] = {
    "sign": lambda partial: -1.0 * partial,
    "factor": lambda partial: 2.0 * partial,
    "eleventh digit": lambda partial: partial * (1 + 1e-10),
}


@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("row", SMOOTH, ids=repr)
def test_a_wrong_rule_is_a_mismatch(
    row: Elementwise, spoil: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = row.conditions
    names = ["x", "b", "c"][: len(row.partials) - first]
    call = f"{row.name}({', '.join(['x > 0'] * first + names)})"
    at = dict(zip(names, (0.7, 0.3, 0.2), strict=False))
    if checked(call, **at).gradients["x"] == 0.0:
        return  # a slope of 0 has neither a sign nor a factor
    right = row.partials[first]
    assert right is not None
    wrong = lambda *inputs: SPOILS[spoil](right(*inputs))  # noqa: E731 - one of a row's lambdas
    monkeypatch.setitem(PRIMITIVES, row.name, row)  # what is put back: a new row registers itself
    spoiled = replace(row, partials=(*row.partials[:first], wrong, *row.partials[first + 1 :]))
    monkeypatch.setitem(FUNCTIONS, row.name, spoiled)
    assert checked(call, **at).check.status == "mismatch"

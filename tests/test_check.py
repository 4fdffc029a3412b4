"""The verdict: what is right is verified, what is special is flagged, what is wrong is caught."""

import math
import re
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from rows import SMOOTH

from gradcalc.errors import Source
from gradcalc.graph import PRIMITIVES
from gradcalc.language.functions.registry import FUNCTIONS
from gradcalc.primitives.rule import Elementwise
from gradcalc.problem import Problem
from gradcalc.result import Result
from gradcalc.solver import solve
from gradcalc.verify.culprit import Culprits
from gradcalc.verify.deadline import TimeIsUpError
from gradcalc.verify.formula import Formula, Point, Steps


def checked(expr: str, weights: Any = None, **at: Any) -> Result:
    values = {name: np.asarray(value, dtype=float)[()] for name, value in at.items()}
    given = {} if weights is None else {None: np.asarray(weights, dtype=float)}
    # Time is no subject here, and gamma at 1600 digits takes long on a busy machine.
    return solve(Problem(Source(expr), values, [given], check_seconds=60.0))


@pytest.mark.parametrize(
    "expr,at,kind,true,left,right",
    [
        ("abs(x)", 0.0, "kink", None, -1.0, 1.0),
        ("abs(stack(x, 1)[0])", 0.0, "kink", None, -1.0, 1.0),
        ("floor(stack(x, 1)[0])", 2.0, "jump", None, 0.0, 0.0),
        ("log(stack(1, x)[1])", 0.0, "pole", None, np.nan, np.inf),
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
        ("sin(x)/x", 0.0, "removable singularity", 0.0, None, None),
        ("gamma(x)", -1.0, "pole", None, np.inf, np.inf),
        ("sqrt(x)**2", 0.0, "removable singularity", 1.0, None, None),
        ("x*9**9**9", 1.0, "overflow", "4.28", None, None),
        ("(1 + x) - 1 - x + 1e-20*x", 0.1, "rounded", 1e-20, None, None),
        ("x if x > 0 else 2*x", 0.0, "kink", None, 2.0, 1.0),
        ("x if x > 0 else 1 + x", 0.0, "jump", None, 1.0, 1.0),
        ("log(1 + exp(x))", 800.0, "overflow", 1.0, None, None),
        ("x*log(1 + exp(x))*1e215", -500.0, "rounded", -3.555163626963901, None, None),
        ("sum(stack(x, 2)[stack(x, 2) > 0])", 0.0, "kink", None, 0.0, 1.0),
        ("1/trunc(x)", 1.0, "jump", None, np.nan, 0.0),
        ("inv([[floor(x), 1], [0, 2]])[0,0]", 1.0, "jump", None, np.nan, 0.0),
        ("sort([sqrt(x), x, 0])[1]", 1.0, "kink", None, 1.0, 0.5),
        ("median([sin(x) + 1, x - 5, 1])", 0.0, "kink", None, 1.0, 0.0),
        ("arcsin(log(sign(x)))", 0.0, "outside domain", None, None, None),
        ("arctan2(log(x), x)", -0.5, "outside domain", None, None, None),
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
        ("maximum(x, log(0))", 2.0),
        ("clip(x, log(0), 3)", 2.0),
        ("norm(stack(x, 2, -3), 3)", 1.0),
        ("sign(arccos(x))*x", 0.3),
        ("exp(x)*exp(-x)*x", 1e-200),
        ("exp(-norm(stack(x, x))**2)", 0.0),
        ("log(softplus(x))", -500.0),
        ("mish(x)", -500.0),
        *(("gelu(x)", x) for x in (-16.0, -31.0, -37.0)),
        *(("log(ndtr(x))", x) for x in (-16.0, -31.0, -37.0)),
        ("tanh(x) - 3*exp(-2*x)", 300.0),
        ("gelu(x, approximate='tanh')", -1e300),
        ("softsign(x)", 1e17),
        ("norm(stack(x, 2e200, 3e200), 3)", 1e200),
        ("polygamma(100, x)", 1.5),
        ("binary_cross_entropy_with_logits(x, 1)", 40.0),
    ],
)
def test_an_ordinary_point_is_verified(expr: str, x: float) -> None:
    check = checked(expr, x=x).check
    assert (check.status, list(check.findings)) == ("verified", [])
    assert (check.digits or 0) >= 14


def test_digits_that_cancelled_are_told() -> None:
    """The slope of sum(x/sum(x)) is 0: what float64 leaves of it has no right digit."""
    check = checked("x/sum(x)", 1.0, x=[0.3, 1.7, 0.9]).check
    for finding in check.findings:
        assert (finding.kind, finding.true) == ("rounded", 0)
    assert check.checked == 3


def test_the_sum_of_passes_is_checked_too() -> None:
    passes: list[Any] = [{None: np.float64(1.0)}, {None: np.float64(-0.9999999999999999)}]
    check = solve(Problem(Source("x/3"), {"x": np.float64(1.0)}, passes)).check
    (finding,) = check.findings
    assert finding.kind == "rounded"
    np.testing.assert_allclose(float(finding.true), (1 - 0.9999999999999999) / 3, rtol=1e-15)


def test_passes_may_have_outputs_of_their_own() -> None:
    passes: list[Any] = [{"y": None}, {"z": None}]
    result = solve(Problem(Source("y = x*x; z = sin(x)"), {"x": np.float64(2.0)}, passes))
    assert result.check.status == "verified"
    assert result.gradients["x"] == 4.0 + np.cos(2.0)


@pytest.mark.parametrize(
    "expr,at",
    [
        ("a/b", {"a": 1.0, "b": 0.0}),
        ("w*log(x)", {"w": 2.0, "x": 0.0}),
        ("x*inf", {"x": 1.0}),
        ("a*b", {"a": np.inf, "b": 2.0}),
        ("max(stack(x, nan))", {"x": 1.0}),
        ("maximum(x, nan)", {"x": 1.0}),
        ("remainder(0*x, x*0)", {"x": 1.0}),
        ("arctanh(inf/inf)**where(x > 0, 1, x)", {"x": 0.5}),
        ("0*log(x) + log(1 - x)", {"x": 0.0}),
    ],
)
def test_what_is_not_finite_is_no_mismatch(expr: str, at: dict[str, float]) -> None:
    assert checked(expr, **at).check.status == "flagged"


@pytest.mark.parametrize(
    "expr,at",
    [
        ("x*x if round(x) == 2 else x", 2.2),
        ("i = 0\nwhile i < 3:\n    i = i + 1\n    y = x*i", 2.0),
        ("y = 1\nwhile abs(y*y - x) > 1e-12:\n    y = 0.5*(y + x/y)", 2.0),
    ],
)
def test_a_condition_that_no_side_changes_is_no_kink(expr: str, at: float) -> None:
    assert checked(expr, x=at).check.findings == []


SPOILS: dict[str, Callable[[Any], Any]] = {
    "sign": lambda partial: -1.0 * partial,
    "factor": lambda partial: 2.0 * partial,
    "eleventh digit": lambda partial: partial * (1 + 1e-10),
}


FLAT = ("sign", "floor", "ceil", "trunc", "round", "floor_divide")  # 0 has no sign and no factor
PARTIALS = [
    (row, position)
    for row in SMOOTH
    for position, partial in enumerate(row.partials)
    if partial and row.name not in FLAT and not row.name.startswith("_")
]
# Programs on which the partial at a position counts, where "f(x, b)" at (0.7, 0.3) is none.
CALLS = {
    ("minimum", 0): "minimum(x, 2)",
    ("minimum", 1): "minimum(2, x)",
    ("maximum", 1): "maximum(b, x)",
    ("clip", 0): "clip(x, 0, 1)",
    ("clip", 1): "clip(0, x, 1)",
    ("clip", 2): "clip(2, 0, x)",
    ("where", 1): "where(x > 0, x, b)",
    ("where", 2): "where(x < 0, b, x)",
    ("arccosh", 0): "arccosh(1 + x)",
    ("polygamma", 1): "polygamma(2, x)",
}


def spoiled(row: Elementwise, position: int, spoil: str) -> Elementwise:
    """``row`` with a wrong partial."""
    right = row.partials[position]
    assert right is not None
    partials = list(row.partials)
    partials[position] = lambda *inputs: SPOILS[spoil](right(*inputs))
    return replace(row, partials=tuple(partials))


@pytest.mark.parametrize("around", ["{}", "{} + relu(0*x)", "sum(stack({}, relu(0*x)))"])
@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("row,position", PARTIALS, ids=str)
def test_a_wrong_rule_is_a_mismatch(
    row: Elementwise, position: int, spoil: str, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside a kink, where both sides are looked at."""
    names = ["x", "b"][: len(row.partials)]
    program = around.format(CALLS.get((row.name, position), f"{row.name}({', '.join(names)})"))
    at = {
        name: value
        for name, value in (("x", 0.7), ("b", 0.3))
        if re.search(rf"\b{name}\b", program)
    }
    right = checked(program, **at)
    assert right.check.status in ("verified", "flagged")
    monkeypatch.setitem(PRIMITIVES, row.name, row)  # what is put back: a new row registers itself
    monkeypatch.setitem(FUNCTIONS, row.name, spoiled(row, position, spoil))
    wrong = checked(program, **at)
    assert wrong.gradients != right.gradients
    assert wrong.check.status == "mismatch"


@pytest.mark.parametrize("row,position", PARTIALS, ids=str)
def test_the_chain_finds_a_wrong_rule_too(
    row: Elementwise, position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["x", "b"][: len(row.partials)]
    program = CALLS.get((row.name, position), f"{row.name}({', '.join(names)})")
    at = {n: np.float64(v) for n, v in (("x", 0.7), ("b", 0.3)) if re.search(rf"\b{n}\b", program)}
    assert solve(Problem(Source(program), at, method="chain")).check.status == "verified"
    monkeypatch.setitem(PRIMITIVES, row.name, row)
    monkeypatch.setitem(FUNCTIONS, row.name, spoiled(row, position, "factor"))
    assert solve(Problem(Source(program), at, method="chain")).check.status == "mismatch"


UNLIKE = (
    "multiply",
    "divide",
    "power",
    "hypot",
    "logaddexp",
    "arctan2",
    "xlogy",
    "xlog1py",
    "beta",
)


@pytest.mark.parametrize("method", ["symbolic", "chain"])
@pytest.mark.parametrize("name", UNLIKE)
def test_swapped_operands_are_a_mismatch(
    name: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the rows whose partial is another one with its operands exchanged."""
    row = PRIMITIVES[name]
    assert isinstance(row, Elementwise)
    first, second = row.partials
    assert first is not None
    monkeypatch.setitem(PRIMITIVES, name, row)  # what is put back: a new row registers itself
    swapped = replace(row, partials=(lambda a, b, y: first(b, a, y), second))
    monkeypatch.setitem(FUNCTIONS, name, swapped)
    at = {"a": np.float64(0.7), "b": np.float64(0.3)}
    check = solve(Problem(Source(f"{name}(a, b)"), at, method=method)).check
    assert check.status == "mismatch"


def test_a_wrong_rule_is_found_among_outputs_of_several_shapes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = PRIMITIVES["sin"]
    assert isinstance(row, Elementwise)
    monkeypatch.setitem(PRIMITIVES, "sin", row)
    monkeypatch.setitem(FUNCTIONS, "sin", spoiled(row, 0, "factor"))
    at = {"a": np.array([0.1, 0.2, 0.3]), "b": np.array([0.4, 0.5])}
    weights: list[Any] = [{"y": np.ones(3), "z": np.ones(2)}]
    check = solve(Problem(Source("y = sin(a); z = b*b"), at, weights)).check
    assert check.status == "mismatch"
    assert {finding.leaf for finding in check.findings} == {"a"}


def test_a_finding_outlives_the_clock_that_stops_the_search_for_its_culprit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Culprits, "of", lambda *arguments: time.sleep(60))
    check = solve(Problem(Source("abs(x)"), {"x": np.float64(0.0)}, check_seconds=0.5)).check
    assert (check.status, [finding.kind for finding in check.findings]) == ("flagged", ["kink"])


@pytest.mark.parametrize("method", ["symbolic", "chain"])
@pytest.mark.parametrize(
    "expr,at,leaf,true",
    [  # by mpmath at 400 digits
        ("sin(exp(x))", {"x": 150.0}, "x", -1.117751307672793e65),
        ("sin(x**40)", {"x": 100.5}, "x", -9.55665023188593e78),
        ("tan(x**30)", {"x": 300.5}, "x", 2.215249762984287e73),
        ("y = b + b*1e60*(exp2(x) - 1)", {"x": 1e-60, "b": 1.0}, "b", 1.6931471805599454),
        ("b*c*((1 + exp(-a)) - 1)*1e217", {"a": 500.0, "b": 2.0, "c": 3.0}, "b", 2.137372922),
        ("b*c*((1 + exp(-a)) - 1)*1e217", {"a": 500.0, "b": 2.0, "c": 3.0}, "c", 1.424915281),
    ],
)
def test_what_50_digits_cannot_tell_is_computed_with_more(
    expr: str, at: dict[str, float], leaf: str, true: float, method: str
) -> None:
    values = {name: np.float64(value) for name, value in at.items()}
    check = solve(Problem(Source(expr), values, method=method)).check
    (found,) = [finding for finding in check.findings if finding.leaf == leaf]
    assert (found.kind, float(found.true)) == ("rounded", pytest.approx(true, rel=1e-9))


def test_an_entry_without_a_formula_hides_none_of_the_others() -> None:
    at = {"x": np.array([[2.0, 1.0], [1.0, 3.0]]), "a": np.array([0.0, 1.0])}
    check = solve(Problem(Source("sum(eigh(x)[1][0]) + sum(abs(a))"), at)).check
    assert (check.status, check.checked, check.entries) == ("flagged", 2, 6)
    assert [(finding.kind, finding.at) for finding in check.findings] == [("kink", (0,))]
    assert check.reason == "there is no formula for eigenvectors"


def test_a_timer_that_was_set_before_the_check_goes_on() -> None:
    before = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 1000.0)
    try:
        checked("x*x", x=3.0)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 1000.0
        assert signal.getsignal(signal.SIGALRM) is before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_threads_do_not_disturb_each_other() -> None:
    def digits(k: int) -> float | None:
        return checked("log(1 + exp(-x*100))*x", x=0.1 + k / 1000).check.digits

    alone = [digits(k) for k in range(20)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(digits, range(20))) == alone


def test_an_alarm_within_the_steps_of_formulas_leaves_them_right() -> None:
    class Alarm(dict[Any, Any]):
        """Rings when a step has been made, before anyone knows of it."""

        def __setitem__(self, key: Any, value: Any) -> None:
            raise TimeIsUpError

    x = sympy.Symbol("x", real=True)
    steps = Steps()
    known = steps._positions
    steps._positions = Alarm(known)
    with pytest.raises(TimeIsUpError):
        Formula(sympy.sin(x), steps)
    steps._positions = known
    formulas = [Formula(expr, steps) for expr in (5 * x, sympy.sin(x), x)]
    point = Point({x: mpmath.mpf(2)})
    assert [float(one(point)) for one in formulas] == [10.0, math.sin(2.0), 2.0]


KB = 1.380649e-23  # scales of SI units


@pytest.mark.parametrize(
    "expr,at,leaf,kind,left,right",
    [
        ("sum(abs(x))", {"x": [0.0, 1e-10]}, "x", "kink", -1, 1),
        ("sum(abs(x))", {"x": [0.0, 1e-300]}, "x", "kink", -1, 1),
        ("sum(floor(x))", {"x": [1.0, 2.0000000001]}, "x", "jump", 0, 0),
        ("abs(x) + abs(x - 1e-10)", {"x": 0.0}, "x", "kink", -2, 0),
        ("log(maximum(x, 0) + 1e-12)", {"x": 0.0}, "x", "kink", 0, 1e12),
        ("log(maximum(x, 1e-12))", {"x": 1e-12}, "x", "kink", 0, 1e12),
        ("sum(clip(x, 0, 1))", {"x": [1.0, 1e-300, 1e300]}, "x", "kink", 1, 0),
        ("relu(x - 1e-12)*x", {"x": 1e-12}, "x", "kink", 0, 1e-12),
        ("abs(x - 1e-12)*x", {"x": 1e-12}, "x", "kink", -1e-12, 1e-12),
        ("clip(x, 1e-12, 1)*x", {"x": 1e-12}, "x", "kink", 1e-12, 2e-12),
        ("relu(x)*exp(-1e11*x)", {"x": 0.0}, "x", "kink", 0, 1),
        (f"relu(x)*exp(-x/({KB}*300))", {"x": 0.0}, "x", "kink", 0, 1),
        ("exp(1e28*x)*abs(x)", {"x": 0.0}, "x", "kink", -1, 1),
        ("where(x >= 1e-30, x**2, 0)", {"x": 1e-30}, "x", "jump", 0, 2e-30),
        ("where(x > 0, 1e-30, 0) + x", {"x": 0.0}, "x", "jump", 1, 1),
        ("floor(x)*1e-27", {"x": 3.0}, "x", "jump", 0, 0),
        ("floor(x)", {"x": 1e200}, "x", "jump", 0, 0),
        ("where(x >= 1e200, x, 2*x)", {"x": 1e200}, "x", "jump", 2, 1),
        ("where(x > 0, x, inf)", {"x": 0.0}, "x", "jump", 0, 1),
    ],
)
@pytest.mark.parametrize("method", ["symbolic", "chain"])
def test_kinks_of_any_scale_beside_others(
    expr: str, at: dict[str, Any], leaf: str, kind: str, left: float, right: float, method: str
) -> None:
    values = {name: np.asarray(value, dtype=float)[()] for name, value in at.items()}
    findings = solve(Problem(Source(expr), values, method=method)).check.findings
    found = findings[0]
    assert (found.leaf, found.kind, len(findings)) == (leaf, kind, 1)
    assert (float(found.left), float(found.right)) == pytest.approx((left, right), rel=1e-9)


def test_what_is_continuous_does_not_jump() -> None:
    for expr in ("where(x == 0, 0, 1/log(abs(x)))", "sqrt(abs(x))", "cbrt(x)"):
        kinds = {finding.kind for finding in checked(expr, x=0.0).check.findings}
        assert kinds <= {"pole", "kink", "undetermined"}, (expr, kinds)


def test_200_functions_inside_each_other() -> None:
    check = checked("sin(" * 200 + "x" + ")" * 200, x=0.5).check
    assert (check.status, check.checked) == ("verified", 1)

"""Higher order, forward mode, Jacobians and Hessians: against SymPy, and against one another."""

import json
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from conftest import Ran
from hypothesis import HealthCheck, assume, given, settings
from test_check import spoiled
from test_definitions import DEFINITIONS, arrays
from test_gradients import NUMBERS, PROGRAMS, VECTOR

import gradcalc
from gradcalc.compute import jacobian as matrices
from gradcalc.derive.forward import jvp
from gradcalc.derive.reverse import seed, vjp
from gradcalc.errors import GradcalcError, Source
from gradcalc.graph import PRIMITIVES, Cotangent, Node, as_number
from gradcalc.language.compiler import compile_program
from gradcalc.language.draws import Draws
from gradcalc.language.functions.registry import FUNCTIONS
from gradcalc.language.interpreter import run
from gradcalc.language.trace import Trace
from gradcalc.primitives.rule import Elementwise
from gradcalc.verify.points import Points


@pytest.mark.parametrize("order", range(1, 7))
def test_derivatives_up_to_order_6_are_sympys(order: int) -> None:
    text = "y = exp(sin(x))*log(1 + x**2)" + "; y = grad(y, x)" * order
    result = gradcalc.solve(text, {"x": 0.7}, check=False)
    x = sympy.Symbol("x", real=True)
    true = sympy.diff(sympy.exp(sympy.sin(x)) * sympy.log(1 + x**2), x, order)
    wanted = float(true.evalf(30, subs={x: sympy.Rational(7, 10)}))
    np.testing.assert_allclose(result.outputs["y"], wanted, rtol=1e-10)


def test_the_check_differentiates_a_gradient_penalty_itself() -> None:
    text = "f = tanh(w @ x); g = grad(sum(f), x); loss = mean(f) + 10*(norm(g) - 1)**2"
    at = {"w": [[1.0, 2.0], [3.0, 4.0]], "x": [0.1, 0.2]}
    assert gradcalc.solve(text, at).check.status == "verified"


@pytest.mark.parametrize("where", ["y = sin(x)*x", "h = x*x; y = sin(h)*h"])
def test_a_wrong_rule_inside_a_derivative_is_a_mismatch(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check never sees our graph of the inner gradient."""
    row = PRIMITIVES["sin"]
    assert isinstance(row, Elementwise)
    monkeypatch.setitem(PRIMITIVES, "sin", row)  # what is put back: a new row registers itself
    by = "h" if "h" in where else "x"
    right = gradcalc.solve(f"{where}; grad(y, {by})*x", {"x": 0.7})
    assert right.check.status == "verified"
    monkeypatch.setitem(FUNCTIONS, "sin", spoiled(row, 0, "factor"))
    assert gradcalc.solve(f"{where}; grad(y, {by})*x", {"x": 0.7}).check.status == "mismatch"
    for derive in (gradcalc.jacobian, gradcalc.hessian):
        assert derive(where, {"x": 0.7}).check.status == "mismatch"
    for along in (gradcalc.jvp, gradcalc.hvp):
        assert along(where, {"x": 0.7}, {"x": 2.0}).check.status == "mismatch"


def test_an_intermediate_is_not_the_equal_value_that_was_computed_apart() -> None:
    """As PyTorch's tensors: y = h + x*x depends on h once."""
    result = gradcalc.solve("h = x*x; y = h + x*x; grad(y, h)*x", {"x": 3.0})
    assert result.gradients["x"] == 1.0
    nested = "a = x*x; b = a*sin(a); y = b*a*x; z = grad(y, a)*grad(y, b) + grad(y, x)"
    assert (
        gradcalc.solve(f"{nested}; grad(z*b, x)*grad(z, a)", {"x": 1.3}).check.status == "verified"
    )


def test_another_name_of_a_value_is_that_value() -> None:
    for text in ("a = x*x; b = a; grad(sum(a*b), b)", "a = b = x*x; grad(sum(a*b), a)"):
        out = gradcalc.solve(f"{text}.sum()", {"x": [1.0, 2.0]}, check=False).outputs["out"]
        assert out == 10.0
    assert gradcalc.solve("h = x; grad(x**3, h)", {"x": 2.0}).outputs["out"] == 12.0


@pytest.mark.parametrize("f", ["grad(x*x, x, w)", "jvp(x*x, x, w)", "(hvp(sum(x**3), x, w)/3)"])
def test_weights_that_vary_are_factors_also_where_they_are_0(f: str) -> None:
    result = gradcalc.solve(f"{f}.sum()", {"x": [3.0, 4.0], "w": [0.0, 1.0]})
    np.testing.assert_allclose(result.gradients["w"], [6.0, 8.0])
    assert result.check.status == "verified"


def test_a_zero_of_a_direction_leaves_its_element_out() -> None:
    at, along = {"x": [0.0, 4.0]}, {"x": [0.0, 1.0]}
    np.testing.assert_array_equal(gradcalc.jvp("sqrt(x)", at, along).products["out"], [0.0, 0.25])
    np.testing.assert_array_equal(
        gradcalc.hvp("sum(x**1.5)", at, along).products["x"], [0.0, 0.375]
    )


def test_derivatives_inside_are_pushed_along() -> None:
    blocks = gradcalc.jvp("grad(x**3, x)", {"x": 2.0}, {"x": 1.0})
    assert (blocks.products["out"], blocks.check.status) == (12.0, "verified")


def test_what_does_not_depend_is_0() -> None:
    assert gradcalc.jvp("3*b", {"a": 1.0, "b": 2.0}, {"a": 1.0}).products["out"] == 0.0
    blocks = gradcalc.hessian("3*a*a", {"a": 1.0, "b": [1.0, 2.0]}).blocks
    assert blocks["a"]["a"] == 6.0
    np.testing.assert_array_equal(blocks["b"]["b"], np.zeros((2, 2)))


def test_weights_of_grad_are_constant_to_it_and_not_to_the_program() -> None:
    result = gradcalc.solve("grad(x**3, x, x).sum()", {"x": [1.0, 2.0]})
    assert result.outputs["out"] == 3.0 + 24.0  # sum of x * 3 x**2
    np.testing.assert_allclose(result.gradients["x"], [9.0, 36.0])
    assert result.check.status == "verified"


@pytest.mark.parametrize(
    "expr", ["where(x > 0, sqrt(x), 0)", "where(x > 0, x**1.5, 0*x)", "relu(x)**2*where(x>0,1/x,0)"]
)
def test_second_order_through_masks_is_finite(expr: str) -> None:
    found = gradcalc.hessian(expr, {"x": 0.0}, check=False).blocks["x"]["x"]
    assert found == 0.0
    both = gradcalc.solve(f"y = {expr}; grad(grad(y, x), x)", {"x": 0.0}, check=False)
    assert both.outputs["out"] == 0.0


def traced(text: str, at: Any) -> Trace:
    values = {name: np.asarray(value, dtype=float)[()] for name, value in at.items()}
    return run(compile_program(Source(text), frozenset(at)), values, Draws(0))


@pytest.mark.parametrize("name", DEFINITIONS)
def test_forward_and_reverse_mode_make_the_same_jacobian(name: str) -> None:
    for call, _ in DEFINITIONS[name]:
        trace = traced(call, arrays(call))
        assert trace.output is not None
        y, leaves = as_number(trace.names[trace.output]), list(trace.leaves.values())
        rows = matrices._by_rows(y, leaves, trace.values, True) if leaves else []
        for row, leaf in zip(rows, leaves, strict=True):
            columns = matrices._by_columns(y, leaf, trace.values, True)
            if np.all(np.isfinite(row)):
                np.testing.assert_allclose(row, columns, rtol=1e-12, atol=1e-13, err_msg=call)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, VECTOR, VECTOR, NUMBERS)
def test_the_two_modes_are_transposes(text: str, a: Any, b: Any, s: float) -> None:
    """<w, J v> = <w J, v>: at 60 digits, where inner terms that cancel leave enough."""
    trace = traced(text, {"a": a, "b": b, "s": s, "M": np.outer(a, b)})
    assert trace.output is not None
    y = trace.names[trace.output]
    graph, draw = trace.graph, np.random.default_rng(0)
    leaves = list(trace.leaves.values())
    v = {leaf: draw.normal(size=leaf.shape) for leaf in leaves}
    w = draw.normal(size=y.shape)
    pulled = vjp([(y, Cotangent(graph.constant(w)))], leaves)
    pushed = jvp(y, {leaf: Cotangent(graph.constant(v[leaf])) for leaf in leaves})
    points = Points(trace.values)
    with mpmath.workdps(60):
        back = [
            float(direction) * number
            for leaf, node in pulled.items()
            for direction, number in zip(
                np.ravel(v[leaf]), _numbers(points, node, leaf), strict=True
            )
        ]
        forth = [
            float(weight) * number
            for weight, number in zip(np.ravel(w), _numbers(points, pushed, pushed), strict=True)
        ]
        assume(all(map(mpmath.isfinite, [*back, *forth])))
        size = sum(map(abs, [*back, *forth, mpmath.mpf(1)]))
        assert abs(mpmath.fsum(back) - mpmath.fsum(forth)) <= size * mpmath.mpf(10) ** -30


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, VECTOR, VECTOR, NUMBERS)
def test_hessians_are_symmetric(text: str, a: Any, b: Any, s: float) -> None:
    """At 50 digits, where no rounding hides what a rule does."""
    at = {"a": np.array(a), "b": np.array(b), "s": np.float64(s), "M": np.outer(a, b)}
    used = {name: value for name, value in at.items() if name in text}
    trace = run(compile_program(Source(text), frozenset(used)), used, Draws(0))
    assert trace.output is not None
    output, leaves = as_number(trace.names[trace.output]), list(trace.leaves.values())
    gradients = vjp([(output, seed(output, np.float64(1.0)))], leaves)
    points = Points(trace.values)
    with mpmath.workdps(60):
        rows = [
            [number for leaf in leaves for number in _numbers(points, pulled[leaf], leaf)]
            for gradient in gradients.values()
            if gradient is not None
            for k in range(gradient.size)
            for pulled in [vjp([(gradient, seed(gradient, _unit(gradient, k)))], leaves)]
        ]
        assume(
            len(rows) == len(rows[0])
            and all(mpmath.isfinite(number) for row in rows for number in row)
        )
        size = max(1, *(abs(number) for row in rows for number in row))
        for i, row in enumerate(rows):
            for j, number in enumerate(row):
                assert abs(number - rows[j][i]) <= size * mpmath.mpf(10) ** -30


def _unit(node: Node, k: int) -> Any:
    unit = np.zeros(node.size)
    unit[k] = 1.0
    return unit.reshape(node.shape)


def _numbers(points: Points, node: Node | None, leaf: Node) -> list[Any]:
    if node is None:
        return [mpmath.mpf(0)] * leaf.size
    return points.at(leaf, 0, 0).take(node, range(leaf.size))


@pytest.mark.parametrize(
    "expr",
    [
        "relu(x)",
        "a*relu(x)",
        "clip(x, 0, 1)",
        "(relu(x) + 2*relu(a))**2",
        "abs(x)*a",
        "max(stack(x, a))",
    ],
)
@pytest.mark.parametrize("a", [0.0, 1.0])
def test_a_kink_is_no_mismatch(expr: str, a: float) -> None:
    at = {name: value for name, value in (("x", 0.0), ("a", a)) if name in expr.replace("max", "")}
    assert gradcalc.hessian(expr, at).check.status in ("verified", "flagged")
    assert gradcalc.hvp(expr, at, {"x": 1.0}).check.status in ("verified", "flagged")


def test_a_branch_is_looked_at_from_both_sides_whatever_leaves_are_asked_for() -> None:
    program, at = "y = a*b if a > 1 else 2*a*b", {"a": 1.0, "b": 2.0}
    for check in (
        gradcalc.solve(program, at, wrt=["a"]).check,
        gradcalc.jacobian(program, at, wrt="a").check,
        gradcalc.jvp(program, at, {"a": 1.0}).check,
    ):
        assert check.status == "flagged"


def test_blocks_may_be_empty_or_deep(gradcalc: Callable[..., Ran]) -> None:
    assert gradcalc("jacobian", "y = a", "--at", "a=zeros(0)").code == 0
    deep = gradcalc("jacobian", "a*a", "--at", "a=ones(" + ", ".join(["1"] * 40) + ")")
    assert (deep.code, "40 axes" in deep.err) == (2, True)


@pytest.mark.parametrize("expr", ["sqrt(x)", "log(x)", "x**1.5", "arccosh(x)"])
def test_outside_the_domain_second_derivatives_are_nan(expr: str) -> None:
    assert np.isnan(gradcalc.hessian(expr, {"x": -1.0}, check=False).blocks["x"]["x"])


def test_mixed_partials_commute() -> None:
    at = {"x": 0.7, "y": 1.3}
    f = "f = exp(sin(x*y))*log(1 + x**2*y)"
    one = gradcalc.solve(f"{f}; grad(grad(f, x), y)", at, check=False).outputs["out"]
    other = gradcalc.solve(f"{f}; grad(grad(f, y), x)", at, check=False).outputs["out"]
    np.testing.assert_allclose(one, other, rtol=1e-14)


def test_products_are_those_of_the_matrices() -> None:
    at, along = {"x": [0.3, -0.7], "y": 1.2}, {"x": [1.0, 2.0], "y": -1.0}
    f = "z = exp(x*y); f = sum(z*x**3)"
    jacobian = gradcalc.jacobian(f, at, output="z")
    product = gradcalc.jvp(f, at, along, output="z")
    whole = jacobian.blocks["z"]["x"] @ along["x"] + jacobian.blocks["z"]["y"] * along["y"]
    np.testing.assert_allclose(product.products["z"], whole, rtol=1e-14)
    hessian, product = gradcalc.hessian(f, at), gradcalc.hvp(f, at, along)
    whole = hessian.blocks["x"]["x"] @ along["x"] + hessian.blocks["x"]["y"] * along["y"]
    np.testing.assert_allclose(product.products["x"], whole, rtol=1e-13)
    for blocks in (jacobian, hessian, product):
        assert blocks.check.status == "verified"


def test_a_zero_of_a_unit_vector_leaves_its_element_out() -> None:
    found = gradcalc.jacobian("sqrt(x)", {"x": [0.0, 4.0]}, check=False).blocks["out"]["x"]
    np.testing.assert_array_equal(found, [[np.inf, 0.0], [0.0, 0.25]])


# Python


def test_a_graph_is_pytorchs() -> None:
    graph = gradcalc.trace("y = a*b", {"a": [1.0, 2.0], "b": 3.0})
    assert graph.leaves["a"].grad is None
    graph.backward([0.1, 1.0])
    np.testing.assert_allclose(graph.leaves["a"].grad, [0.3, 3.0])
    graph.backward(1.0)
    np.testing.assert_allclose(graph.leaves["b"].grad, 0.1 + 2.0 + 3.0)
    graph.zero_grad()
    assert graph.leaves["b"].grad is None
    graph.backward({"y": [1.0, 0.0]}, retain_graph=False)
    np.testing.assert_allclose(graph.leaves["a"].grad, [3.0, 0.0])
    with pytest.raises(GradcalcError) as raised:
        graph.backward(1.0)
    assert raised.value.code == "graph-freed"


def test_create_graph_makes_gradients_outputs() -> None:
    graph = gradcalc.trace("y = sum(x**3)", {"x": [1.0, 2.0]})
    graph.backward(create_graph=True)
    graph.zero_grad()
    graph.backward({"x.grad": [1.0, 1.0]})
    np.testing.assert_allclose(graph.leaves["x"].grad, [6.0, 12.0])


def test_a_graph_has_its_matrices() -> None:
    graph = gradcalc.trace("y = sum(x**3)", {"x": [1.0, 2.0]})
    np.testing.assert_allclose(graph.outputs["y"], 9.0)
    np.testing.assert_allclose(graph.jacobian()["y"]["x"], [3.0, 12.0])
    np.testing.assert_allclose(graph.hessian()["x"]["x"], [[6.0, 0.0], [0.0, 12.0]])
    np.testing.assert_allclose(graph.jvp({"x": [1.0, 0.0]})["y"], 3.0)
    np.testing.assert_allclose(graph.hvp({"x": [1.0, 1.0]})["x"], [6.0, 12.0])


@pytest.mark.parametrize("value", ["one", [[1.0], [1.0, 2.0]], {"a": 1}])
def test_what_is_no_array_is_an_error(value: Any) -> None:
    with pytest.raises(GradcalcError):
        gradcalc.solve("x", {"x": value})


def test_a_graph_keeps_its_own_values() -> None:
    x = np.array([1.0, 2.0])
    graph = gradcalc.trace("y = sum(x*x)", {"x": x})
    x[0] = 50.0
    graph.backward()
    np.testing.assert_allclose(graph.leaves["x"].grad, [2.0, 4.0])


# The command line


@pytest.mark.parametrize("kind", ["jacobian", "hessian", "jvp", "hvp"])
def test_matrices_as_json(kind: str, gradcalc: Callable[..., Ran]) -> None:
    along = ["--along", "x=1,0"] if kind in ("jvp", "hvp") else []
    ran = gradcalc(kind, "y = sum(x**3)", "--at", "x=1,2", "--json", *along)
    assert ran.code == 0
    record = json.loads(ran.out)
    assert record["schema"] == f"gradcalc.{kind}/1"
    assert record["check"]["status"] == "verified"
    wanted = {
        "jacobian": {"y": {"x": [3.0, 12.0]}},
        "hessian": {"x": {"x": [[6.0, 0.0], [0.0, 12.0]]}},
        "jvp": {"y": 3.0},
        "hvp": {"x": [6.0, 0.0]},
    }
    assert record[kind] == wanted[kind]


def test_a_large_matrix_is_shown_without_its_middle(gradcalc: Callable[..., Ran]) -> None:
    out = gradcalc("jacobian", "x*x", "--at", "x=arange(20)", "--no-check").out
    assert out.splitlines()[0].split() == [
        "dout/dx",
        "x[0]",
        "x[1]",
        "x[2]",
        "…",
        "x[17]",
        "x[18]",
        "x[19]",
    ]
    assert len(out.splitlines()) == 1 + 7 + 2

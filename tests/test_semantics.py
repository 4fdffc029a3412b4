"""PyTorch's semantics of backward: weights, passes, leaves, conventions at kinks, masks."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Ran

Shell = Callable[..., Ran]


@pytest.fixture
def result(gradcalc: Shell) -> Callable[..., Any]:
    """The JSON of an eval that must succeed."""

    def run(*arguments: str) -> Any:
        ran = gradcalc("eval", *arguments, "--json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    return run


def test_a_bare_number_weighs_every_element(result: Callable[..., Any]) -> None:
    one = result("y = x*x", "--at", "x=1,2", "--weights", "0.5")
    assert one["weights"] == {"y": [0.5, 0.5]}
    assert one["gradients"] == {"x": [1.0, 2.0]}


def test_passes_accumulate_and_zero_grad_clears(result: Callable[..., Any]) -> None:
    both = ["y = x*x", "--at", "x=1,2", "--weights", "1,0", "--weights", "0,1"]
    assert result(*both)["gradients"] == {"x": [2.0, 4.0]}
    cleared = result(*both, "--zero-grad")
    assert cleared["gradients"] == {"x": [0.0, 4.0]}
    assert [p["gradients"] for p in cleared["passes"]] == [{"x": [2.0, 0.0]}, {"x": [0.0, 4.0]}]


def test_several_outputs_in_one_pass(result: Callable[..., Any]) -> None:
    found = result("y = x*x; z = sum(x)", "--at", "x=1,2", "--weights", "y=0.1,1; z")
    assert found["weights"] == {"y": [0.1, 1.0], "z": 1.0}
    np.testing.assert_allclose(found["gradients"]["x"], [1.2, 5.0])


def test_two_names_of_one_value_add_their_weights(result: Callable[..., Any]) -> None:
    found = result("y = x*x; z = x*x", "--at", "x=3", "--weights", "y=1; z=10")
    assert found["gradients"] == {"x": 66.0}


def test_an_output_that_another_output_needs(result: Callable[..., Any]) -> None:
    found = result("y = x*x; z = 2*y", "--at", "x=3", "--weights", "y; z")
    assert found["gradients"] == {"x": 18.0}


def test_outputs_of_several_shapes_in_one_pass(result: Callable[..., Any]) -> None:
    found = result("y = a*a; z = b*b*2", "--at", "a=1,2,3; b=1,2", "--weights", "y=1; z=1,0")
    assert found["gradients"] == {"a": [2.0, 4.0, 6.0], "b": [4.0, 0.0]}
    assert found["check"]["status"] == "verified"
    assert found["check"]["jacobian"] == {"y": {"a": "2*a", "b": "0"}, "z": {"a": "0", "b": "4*b"}}


def test_a_leaf_as_output(result: Callable[..., Any]) -> None:
    assert result("x", "--at", "x=1,2", "--weights", "3,4")["gradients"] == {"x": [3.0, 4.0]}


def test_none_and_zeros_differ(result: Callable[..., Any]) -> None:
    found = result("z = b*2; y = sign(a)*c", "--at", "a=3; b=1; c=2; d=1")
    assert found["gradients"] == {"a": 0.0, "b": None, "c": 1.0, "d": None}
    assert [w["code"] for w in found["warnings"]] == ["unused-leaf"]


def test_wrt_and_output(result: Callable[..., Any]) -> None:
    found = result("y = a*b; z = y*y", "--at", "a=2; b=3", "--wrt", "b", "--output", "y")
    assert found["gradients"] == {"b": 2.0}
    assert found["check"]["status"] == "verified"


@pytest.mark.parametrize(
    "expr,x,slope",
    [
        ("abs(x)", 0.0, 0.0),
        ("relu(x)", 0.0, 0.0),
        ("maximum(x, 0)", 0.0, 0.5),
        ("minimum(x, 0)", 0.0, 0.5),
        ("max(stack(x, 0, -1))", 0.0, 0.5),
        ("min(stack(x, 0, 0, 1))", 0.0, 1 / 3),
        ("sign(x)", 0.0, 0.0),
        ("round(x)", 0.5, 0.0),
        ("norm(stack(x, x))", 0.0, 0.0),
        ("x**0", 0.0, 0.0),
        ("0**x", 2.0, 0.0),
        ("0**x", 0.0, 0.0),
        ("x**1", 0.0, 1.0),
        ("x**2", -3.0, -6.0),
        ("x**1.5", 0.0, 0.0),
        ("x**0.5", 0.0, np.inf),
        ("sqrt(x)", 0.0, np.inf),
        ("log(x)", 0.0, np.inf),
        ("sqrt(x)**2", 0.0, np.nan),
        ("log(x)", -2.0, np.nan),
        ("sqrt(x)", -1.0, np.nan),
        ("x**0.5", -1.0, np.nan),
        ("(-2)**x", 2.0, np.nan),
        ("where(x > 0, log(x), x)", -1.0, 1.0),
        ("where(x > 0, 1/x, 2*x)", 0.0, 2.0),
        ("maximum(sqrt(x), 1)", 0.0, 0.0),
        ("stack(sqrt(x), x)[1]", 0.0, 1.0),
        ("relu(-1/x)", 0.0, 0.0),
        ("x if x > 0 else x*x", -2.0, -4.0),
    ],
)
def test_conventions(expr: str, x: float, slope: float, result: Callable[..., Any]) -> None:
    found = float(result(expr, "--at", f"x={x}")["gradients"]["x"])
    np.testing.assert_array_equal(found, slope)


def test_a_zero_weight_leaves_its_element_out(result: Callable[..., Any]) -> None:
    assert result("sqrt(x)", "--at", "x=0,4", "--weights", "0,1")["gradients"]["x"] == [0, 0.25]


def test_a_zero_weight_leaves_out_its_row_of_a_product(result: Callable[..., Any]) -> None:
    found = result("A @ x", "--at", "A=[[inf, 1], [2, 3]]; x=1,1", "--weights", "0,1")
    assert found["gradients"]["x"] == [2.0, 3.0]


def test_masks_hold_where_cotangents_meet(result: Callable[..., Any]) -> None:
    # The first use of r is left out by where, the second is not: only the second counts.
    program = "r = sqrt(x); y = where(x > 1, r, 0) + where(x > 3, r, 0)"
    assert result(program, "--at", "x=0,2,4", "--weights", "1")["gradients"]["x"] == pytest.approx(
        [0.0, 0.5 / 2**0.5, 0.5]
    )


LEFT_OUT = [
    "cumsum(sqrt(x))[0]",
    "concatenate(sqrt(x), x)[0]",
    "sum(gather(sqrt(x), 0, [0, 0]))",
    "einsum('i,i->i', sqrt(x), x)[0]",
    "(outer(sqrt(x), x) @ x)[0]",
    "sort(sqrt(x) + x)[1]",
    "max(sqrt(x))",
    "sum(where(x > 0, sqrt(x), 0))",
    "softmax(stack([sqrt(x), x], axis=1), axis=1)[0, 0]",
    "roll(sqrt(x), 1)[1]",
    "sum(tril(outer(sqrt(x), sqrt(x)))[0])",
    "split(sqrt(x), 2)[0][0]",
    "sum(repeat(sqrt(x), 2)[:2])",
    "sum(clip(log(x), 0, 9))",
    "median(stack(x[0], sqrt(x[0]), sqrt(x[1])))",
    "trace(diag(sqrt(x))[:1, :1])",
    "sum(take(sqrt(x),[0]))",
    "logsumexp(stack([sqrt(x), x], axis=1), axis=1)[0]",
    "norm(stack([sqrt(x), x], axis=1), axis=1)[0]",
    "cumprod(sqrt(x))[0]",
    "kron(sqrt(x), x)[0]",
    "sum(flip(sqrt(x))[1:])",
    "cross_entropy(stack([sqrt(x), x], axis=1), [0, -100])",
    "sum(solve([[2, 1], [1, 3]], stack([sqrt(x), x], axis=1))[:, 1])",
]


@pytest.mark.parametrize("expr", LEFT_OUT)
def test_what_is_left_out_contributes_nothing_through_any_row(
    expr: str, result: Callable[..., Any]
) -> None:
    """The slope of sqrt at 0 is infinite, and of what is left out not a term."""
    gradient = result(expr, "--at", "x=4,0")["gradients"]["x"]
    assert np.isfinite(gradient[0])
    assert abs(gradient[1]) < 1

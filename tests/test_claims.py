"""gradcalc verify, --expect, --against numeric, --explain-check: what they say and how they end."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ran

import gradcalc as package
from gradcalc.verify.numeric import central

Shell = Callable[..., Ran]
EXPR = "y = 3*a + 2*b*b + log(c)"


@pytest.mark.parametrize(
    "expr,claim,status,factor,term",
    [
        (EXPR, "b = 4*b", "proven", None, None),
        (EXPR, "b = 2*b + 2*b", "proven", None, None),
        (EXPR, "c = 1/c", "proven", None, None),
        (EXPR, "b = 2*b", "wrong", "1/2", None),
        (EXPR, "a = 3 + a", "wrong", None, "a"),
        ("tanh(x)", "x = 1 - tanh(x)**2", "proven", None, None),
        ("0.1*x*x", "x = 0.2*x", "proven", None, None),
        ("pi*x", "x = pi", "proven", None, None),
        ("x^2", "x = 2x".replace("2x", "2*x"), "proven", None, None),
        ("x**y", "y = x**y*log(x)", "proven", None, None),
        ("log(x)", "x = 1/abs(x)", "holds", None, None),
        ("abs(x)", "x = x/abs(x)", "holds", None, None),
        ("x**2", "x = 2*sqrt(x)**2", "wrong", None, None),  # it has no value for x < 0
        ("cbrt(x)", "x = 1/3*x**(-2/3)", "wrong", None, None),
        ("x**2", "x = 2*x*where(x < 0, nan, 1)", "wrong", None, None),
        ("x*x/2 + x", "x = (x*x - 1)/(x - 1)", "proven", None, None),  # a hole at 1 only
        ("a*b", "c = 1", "unknown-leaf", None, None),
        ("x if x > 0 else 2*x", "x = where(x > 0, 1, 2)", "holds", None, None),
        ("g = grad(x**3, x); g*g", "x = 36*x**3", "proven", None, None),
        ("log(-exp(x))", "x = 1", "domain", None, None),
        ("relu(x - 1000)", "x = 0", "wrong", None, "-where(-1000 + x > 0, 1, 0)"),
        ("prod(stack(x, y))", "x = prod(stack(x, y))/x", "holds", None, None),
    ],
)
def test_a_claim(
    expr: str, claim: str, status: str, factor: Any, term: Any, gradcalc: Shell
) -> None:
    ran = gradcalc("verify", expr, "--claim", claim, "--json")
    record = json.loads(ran.out)
    if record["status"] == "error":
        assert (ran.code, record["error"]["code"]) == (2, status)
        return
    (found,) = record["claims"]
    assert (found["status"], found["factor"], found["term"]) == (status, factor, term)
    assert ran.code == (1 if status == "wrong" else 0)
    assert (found["example"] is not None) == (status == "wrong")
    assert status != "holds" or found["points"] == 200


def test_arrays_are_compared_at_points(gradcalc: Shell) -> None:
    at = ["--at", "A=[[1,2],[3,4]]; x=[0.1,0.2]"]
    right = gradcalc("verify", "sum(tanh(A@x))", "--claim", "x = A.T @ (1 - tanh(A@x)**2)", *at)
    assert (right.code, "right at 200 points" in right.out) == (0, True)
    wrong = gradcalc("verify", "sum(tanh(A@x))", "--claim", "x = A @ (1 - tanh(A@x)**2)", *at)
    assert wrong.code == 1
    assert "x[0]: at A=[[1, 2], [3, 4]], x=[0.1, 0.2] claimed 1.504850365, true 1.864051681" in (
        wrong.out
    )


def test_the_simplest_counter_example_comes_first(gradcalc: Shell) -> None:
    ran = gradcalc("verify", "x**3", "--claim", "x = 3*x", "--json")
    (claim,) = json.loads(ran.out)["claims"]
    assert claim["example"] == {"at": {"x": 2}, "index": [], "claimed": 6, "true": 12}


def test_claims_from_python() -> None:
    (verdict,) = package.verify_claims("x*x", ["x = 2*x"])
    assert (verdict.status, verdict.true) == ("proven", "2*x")


@pytest.mark.parametrize(
    "expect,code",
    [
        (["a=0.3,3,0.0003"], 0),
        (["b=4*b*[0.1,1,0.0001]; c=[0.1,1,0.0001]/c"], 0),
        (["a=0.3,3,0.00031"], 1),
        (["a=0.3,3,0.00031", "--rtol", "0.1"], 0),
        (["a=0.3,3,0.00031", "--atol", "0.001"], 0),
        (["a=None"], 1),
        (["a=0.3,3"], 1),
        (["d=1"], 2),
        (["a"], 2),
    ],
)
def test_expectations(expect: list[str], code: int, gradcalc: Shell) -> None:
    at = ["--at", "a=1,2,3; b=3,4,5; c=6,7,8", "--weights", "0.1,1,0.0001"]
    ran = gradcalc("eval", EXPR, *at, "--expect", *expect, "--no-check")
    assert ran.code == code
    if code == 1:
        assert "a: expected" in ran.out or "a[2]: expected 0.00031" in ran.out


def test_no_gradient_can_be_expected(gradcalc: Shell) -> None:
    assert gradcalc("eval", "a*1", "--at", "a=1; b=2", "--expect", "a=1; b=None").code == 0


@pytest.mark.parametrize(
    "function,slope,x",
    [
        (math.exp, math.exp, 1.0),
        (math.sin, math.cos, 1e3),
        (lambda x: x**3, lambda x: 3 * x * x, 0.0),
        (lambda x: float(np.sqrt(x)), lambda x: 0.5 / math.sqrt(x), 1e-3),
    ],
)
def test_the_error_of_differences_is_told(
    function: Callable[[float], float], slope: Callable[[float], float], x: float
) -> None:
    value, error = central(function, x)
    assert abs(value - slope(x)) <= 10 * error + 1e-15
    assert error < 1e-6


def test_differences_stand_beside_the_gradient(gradcalc: Shell) -> None:
    ran = gradcalc("eval", EXPR, "--at", "a=1; b=3; c=6", "--against", "numeric", "--json")
    record = json.loads(ran.out)
    for leaf, found in record["numeric"].items():
        assert abs(found["gradient"] - record["gradients"][leaf]) <= 10 * found["error"] + 1e-12
    assert "numeric" in gradcalc("eval", "x*x", "--at", "x=1", "--against", "numeric").out
    assert gradcalc("eval", "sum(x)", "--at", "x=ones(2000)", "--against", "numeric").code == 2


def test_passes_add_up_in_the_differences(gradcalc: Shell) -> None:
    passes = ["--weights", "1,0", "--weights", "0,2", "--against", "numeric", "--json"]
    for more in ([], ["--zero-grad"]):
        record = json.loads(gradcalc("eval", "x*x", "--at", "x=1,2", *passes, *more).out)
        np.testing.assert_allclose(record["numeric"]["x"]["gradient"], record["gradients"]["x"])


def test_each_verdict_is_explained(gradcalc: Shell) -> None:
    ran = gradcalc("eval", "x/3", "--at", "x=0.1", "--explain-check")
    assert "our rules at 50 digits 0.33333333333333333333333333333333333333333333333333" in ran.out
    record = json.loads(gradcalc("eval", "abs(x)", "--at", "x=0", "--explain-check", "--json").out)
    (one,) = record["check"]["evidence"]
    assert (one["leaf"], one["verdict"], one["autograd"]) == ("x", "kink", 0)


@pytest.mark.parametrize(
    "expr,at,part",
    [
        ("3*x + abs(x)", "x=0", "abs(x)"),
        ("x + 1/x", "x=0", "1/x"),
        ("x*log(x)", "x=-2", "log(x)"),
        ("x + floor(x)", "x=2", "floor(x)"),
        ("where(x == 0, 1, (exp(x) - 1)/x)", "x=0", "x == 0"),
        ("(1 + x) - 1 - x + 1e-20*x", "x=0.1", "1 + x"),
        ("log(1 + exp(x))", "x=800", "exp(x)"),
        ("exp(-x)*1e300", "x=800", "exp(-x)"),
        ("x if x > 0 else 2*x", "x=0", "x > 0"),
        ("sum(relu(A@x))", "A=[[1,2],[3,4]]; x=[2,-1]", "relu(A@x)"),
    ],
)
def test_a_finding_names_the_part_that_is_responsible(
    expr: str, at: str, part: str, gradcalc: Shell
) -> None:
    for method in ("symbolic", "chain"):
        ran = gradcalc("eval", expr, "--at", at, "--check", method, "--json")
        findings = json.loads(ran.out)["check"]["findings"]
        assert {finding["part"] for finding in findings} == {part}


def test_ctrl_c_during_the_check_prints_the_gradients() -> None:
    program = "y = x\nfor i in range(30000):\n    y = sin(y)*1.01"
    command = [str(Path(sys.executable).parent / "gradcalc"), "eval", program]
    command += ["--at", "x=linspace(0.1,2,50)", "--weights", "1", "--json", "--check-time", "60"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(6)
    os.kill(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    record = json.loads(out)
    assert (running.returncode, err) == (130, "")
    assert len(record["gradients"]["x"]) == 50
    assert record["check"]["checked"] < record["check"]["entries"] == 50
    assert "interrupted" in record["check"]["reason"]


def test_claims_are_bounded_in_time_in_a_thread_too() -> None:
    claims = "x = cos(x)"
    with ThreadPoolExecutor() as pool:
        begin = time.monotonic()
        ask = partial(package.verify_claims, "tanh(x)**3*exp(sin(x))/(1 + x**2)", claims)
        (verdict,) = pool.submit(ask, seconds=1.0).result()
    assert verdict.status == "wrong"
    assert time.monotonic() - begin < 20

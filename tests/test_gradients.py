"""Random programs: gradients against derivatives that know nothing of our rules."""

import contextlib
from typing import Any

import mpmath
import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gradcalc.compute.evaluate import evaluate_with
from gradcalc.derive.reverse import seed, vjp
from gradcalc.errors import GradcalcError, Source
from gradcalc.graph import Node
from gradcalc.language.compiler import compile_program
from gradcalc.language.draws import Draws
from gradcalc.language.functions.registry import FUNCTIONS
from gradcalc.language.interpreter import run
from gradcalc.language.trace import Trace
from gradcalc.problem import Problem
from gradcalc.solver import solve
from gradcalc.verify.arithmetic import Digits

NUMBERS = st.floats(-3, 3).filter(lambda x: abs(x) > 1e-3)
VECTOR = st.lists(NUMBERS, min_size=3, max_size=3)

LEAVES = st.sampled_from(["a", "b", "s", "M[0]", "M @ a", "0.7", "[1, -2, 0.5]"])


UNARY = st.sampled_from(
    [
        "exp",
        "exp2",
        "expm1",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "arctan",
        "arcsinh",
        "sigmoid",
        "cbrt",
        "deg2rad",
        "relu",
        "abs",
        "sign",
        "floor",
        "ceil",
        "trunc",
        "round",
        "-",
        "erf",
        "erfc",
        "softplus",
        "silu",
        "gelu",
        "mish",
        "elu",
        "softsign",
        "sinc",
        "logsigmoid",
        "softmax",
        "log_softmax",
        "cumsum",
        "cumprod",
        "sort",
        "flip",
    ]
)
POSITIVE = st.sampled_from(["log", "log2", "log10", "log1p", "sqrt"])
BOUNDED = st.sampled_from(["arcsin", "arccos", "arctanh"])
PAIRS = st.sampled_from(["hypot", "arctan2", "logaddexp", "maximum", "minimum"])
REDUCE = st.sampled_from(
    ["sum", "mean", "max", "min", "norm", "prod", "std", "var", "logsumexp", "median"]
)
COMPARE = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])


def _deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A vector (or a scalar that broadcasts) made of others; every row of the language occurs."""
    part = inner.map("({})".format)
    full = part.map("(0*a + {})".format)  # of shape (3,) whatever the part has
    return st.one_of(
        st.builds("{}({})".format, UNARY, inner),
        st.builds("{}(abs({}) + 0.1)".format, POSITIVE, inner),
        st.builds("{}(0.9*tanh({}))".format, BOUNDED, inner),
        st.builds("arccosh(1.1 + abs({}))".format, inner),
        st.builds("clip({}, -0.5, {})".format, inner, inner),
        st.builds("{}({}, 1.3)".format, st.sampled_from(["fmod", "remainder"]), inner),
        st.builds("{} // 0.7".format, part),
        st.builds("{} {} {}".format, part, st.sampled_from("+-*"), part),
        st.builds("{} / (1 + {}**2)".format, part, part),
        st.builds("(abs({}) + 0.2)**{}".format, inner, part),
        st.builds("{}**{}".format, part, st.integers(0, 4)),
        st.builds("{}({}, {})".format, PAIRS, inner, inner),
        st.builds("where({} {} 0.1, {}, {})".format, part, COMPARE, inner, inner),
        st.builds("where(({0} > 0) & ~({1} > 0) | ({0} < -1), {0}, {1})".format, part, part),
        st.builds("{}({})".format, REDUCE, full),
        st.builds("dot({}, {})".format, full, full),
        st.builds("{}[::-1]".format, full),
        st.builds("solve([[2, 1, 0], [0, 3, 1], [1, 0, 2]], {})".format, full),
        st.builds("det(outer({}, {}) + diag([1, 2, 3]))".format, full, full),
        st.builds("einsum('i,ij->j', {}, outer({}, a))".format, full, full),
        st.builds("roll(concatenate({}, {}), 2)[1:4]".format, full, full),
        st.builds("{}[[0, 0, 2]]".format, full),
        st.builds("stack({}, {}).T.reshape(2, 3)[1]".format, full, full),
    )


PROGRAMS = st.recursive(LEAVES, _deeper, max_leaves=6).map(lambda text: f"sum(0*a + {text})")


def traced(text: str, a: Any, b: Any, s: float) -> tuple[Trace, Node, dict[Node, Any]]:
    """The program, its output, and the gradient nodes of the leaves that it uses."""
    at = {"a": np.array(a), "b": np.array(b), "s": np.float64(s), "M": np.outer(a, b)}
    trace = run(compile_program(Source(text)), at, Draws(0))
    assert trace.output is not None
    output = trace.names[trace.output]
    found = vjp([(output, seed(output, np.float64(1.0)))], trace.leaves.values())
    return trace, output, {leaf: node for leaf, node in found.items() if node is not None}


def exactly(trace: Trace, node: Node, leaf: Node, j: int, step: Any) -> Any:
    """The value of ``node`` in mpmath, with element j of ``leaf`` moved by ``step``."""
    known = {}
    for one in trace.leaves.values():
        known[one] = np.frompyfunc(lambda v: mpmath.mpf(float(v)), 1, 1)(trace.values[one])
    moved = np.array(known[leaf], dtype=object)
    moved.flat[j] += step
    known[leaf] = moved[()]
    return evaluate_with(Digits(), [node], known)[0]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, VECTOR, VECTOR, NUMBERS)
def test_the_gradient_is_the_derivative(text: str, a: Any, b: Any, s: float) -> None:
    """Reverse mode at 100 digits is a central difference; float64 agrees where well conditioned."""
    trace, output, gradients = traced(text, a, b, s)
    at = {name: trace.values[leaf] for name, leaf in trace.leaves.items()}
    result = solve(Problem(Source(text), at, check=False))
    with mpmath.workdps(100):
        step = mpmath.mpf(10) ** -30
        for leaf, node in gradients.items():
            name = leaf.params[0]
            for j in range(leaf.size):
                up, down = (exactly(trace, output, leaf, j, side * step) for side in (1, -1))
                here = exactly(trace, output, leaf, j, 0)
                assume(all(mpmath.isfinite(v) and abs(v) < 1e60 for v in (up, down, here)))
                slopes = (up - here) / step, (here - down) / step
                assume(abs(slopes[0] - slopes[1]) <= 1e-20 * (1 + abs(slopes[0])))  # not a kink
                difference = (up - down) / (2 * step)
                ours = np.ravel(exactly(trace, node, leaf, j, 0))[j]
                assume(mpmath.isfinite(ours))  # not infinite slopes that cancel: cbrt(a - a)
                assert abs(ours - difference) <= 1e-25 * (1 + abs(difference))
                nudge = mpmath.mpf(float(np.ravel(trace.values[leaf])[j])) * 1e-14
                moved = np.ravel(exactly(trace, node, leaf, j, nudge))[j]
                # Well conditioned; 0 may be all that cancels, as in the std of three times 0.7.
                if ours != 0 and abs(moved - ours) <= 1e-12 * abs(ours):
                    printed = np.ravel(result.gradients[name])[j]
                    assert abs(printed - float(ours)) <= 1e-10 * abs(float(ours))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, VECTOR, VECTOR, NUMBERS)
def test_the_check_raises_no_false_alarm(text: str, a: Any, b: Any, s: float) -> None:
    at = {"a": np.array(a), "b": np.array(b), "s": np.float64(s), "M": np.outer(a, b)}
    program = compile_program(Source(text))
    used = {name: value for name, value in at.items() if name in program.read}
    assert solve(Problem(Source(text), used)).check.status != "mismatch"


CHARACTERS = [*"()[],:;.=+-*/^@<>~&|!#'\"\\ \n\t0123456789abxyzε\x00\ud800\u0661"]
WORDS = "while if else for in range( lambda == ** 1e999 None True inf nan not x[ .T .sum( np."
TOKENS = st.sampled_from(
    [*CHARACTERS, *(f"{word} " for word in WORDS.split()), *(f"{name}(" for name in FUNCTIONS)]
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(TOKENS, max_size=25).map("".join)))
def test_no_text_gives_a_traceback(text: str) -> None:
    with contextlib.suppress(GradcalcError):
        solve(Problem(Source(text), {"x": np.array([1.0, 2.0]), "a": np.float64(0.5)}, check=False))

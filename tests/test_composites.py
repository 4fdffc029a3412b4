"""Functions that are made of rows, in the tails too: slopes against definitions in SymPy, values
against NumPy and SciPy."""

from collections.abc import Callable, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy
from rows import DENORMAL, POINTS, SIZES, TARGETS, mixed, truth, ulps
from scipy import special

from gradcalc.errors import Source
from gradcalc.language.draws import Draws
from gradcalc.language.functions.registry import FACTS, FUNCTIONS
from gradcalc.language.literals import value
from gradcalc.verify.formula import Formula

LIMIT = 64  # units in the last place
CLOSE = 1e-12  # relative, of second derivatives, for inputs of ordinary sizes:
LEAST, MOST = 1e-8, 30.0  # beyond, a term may over- or underflow alone
FEW = POINTS[1::3]

a, b, c = INPUTS = sympy.symbols("a b c", real=True)
EXP = sympy.exp(-a)
SIGMOID = 1 / (1 + EXP)
SOFTPLUS = sympy.log(1 + sympy.exp(a))
NDTR = (1 + sympy.erf(a / sympy.sqrt(2))) / 2


def exactly(number: float) -> Any:
    return sympy.Rational(*number.as_integer_ratio())


TANH_NDTR = (1 + sympy.tanh(sympy.sqrt(2 / sympy.pi) * (a + exactly(0.044715) * a**3))) / 2


def where(condition: Any, yes: Any, no: Any) -> Any:
    return sympy.Piecewise((yes, condition), (no, True))


def elu(alpha: float) -> Any:
    return where(a > 0, a, exactly(alpha) * (sympy.exp(a) - 1))


def huber(delta: float) -> Any:
    size, delta = abs(a - b), exactly(delta)
    return where(size < delta, size**2 / 2, delta * (size - delta / 2))


class Case(NamedTuple):
    """A function with its keywords, what it is in a, b and c, and the points to try.

    smooth: of the points: where the function is; terms: of slopes that have roots, by input, the
    term that is the larger one at a root, and nowhere much larger than the slope elsewhere.
    """

    name: str
    definition: Any
    keywords: Mapping[str, Any] = MappingProxyType({})
    points: tuple[list[float], ...] = (POINTS,)
    smooth: Callable[..., Any] = lambda *inputs: True
    terms: Mapping[int, Any] = MappingProxyType({})

    def __repr__(self) -> str:
        return "-".join([self.name, *(f"{k}={v}" for k, v in self.keywords.items())])

    def __call__(self, *nodes: Any) -> Any:
        return FUNCTIONS[self.name](*nodes, **self.keywords)

    def term(self, i: int) -> Any:
        return self.terms.get(i, sympy.Integer(0))

    def inputs(self) -> list[Any]:
        """Arrays of numbers."""
        values = np.array(list(product(*self.points))).T
        keep = np.broadcast_to(np.asarray(self.smooth(*values)), values.shape[1:])
        return [v[keep] for v in values]


EACH = {"reduction": "none"}
PAIRS = (FEW, FEW)
PROBABILITIES = ([s for s in SIZES if 1e-30 <= s < 1.0], TARGETS)
LOSS, OTHER_LOSS = SOFTPLUS, sympy.log(1 + EXP)  # of a logit, for targets 0 and 1
CASES = [
    Case("logsigmoid", -OTHER_LOSS),
    Case("relu6", where(a > 6, 6, where(a > 0, a, 0))),
    Case("hardtanh", where(a > 1, 1, where(a > -1, a, -1)), smooth=lambda x: np.abs(x) != 1),
    Case("leaky_relu", where(a > 0, a, exactly(0.01) * a)),
    Case("elu", elu(1.0)),
    Case("elu", elu(0.3), {"alpha": 0.3}),
    Case("selu", exactly(1.0507009873554805) * elu(1.6732632423543772)),
    Case("gelu", a * NDTR, terms={0: NDTR}),
    Case("gelu", a * TANH_NDTR, {"approximate": "tanh"}, terms={0: TANH_NDTR}),
    Case("silu", a * SIGMOID),
    Case("mish", a * sympy.tanh(SOFTPLUS)),
    Case("softplus", SOFTPLUS),
    Case("softplus", SOFTPLUS.subs(a, 2 * a) / 2, {"beta": 2.0}),
    Case("softsign", a / (1 + abs(a))),
    Case("reciprocal", 1 / a),
    Case("square", a * a),
    Case("rsqrt", 1 / sympy.sqrt(a), smooth=lambda x: x > 0),
    Case("lerp", a + c * (b - a), points=(FEW[::2], FEW[::2], FEW[::2])),
    Case("clip", where(a > 2, 2, where(a < -2, -2, a)), {"low": -2.0, "high": 2.0}),
    Case("clip", where(a < 0.7, 0.7, a), {"low": 0.7}),
    Case("round", 0 * a, {"decimals": 1}),
    Case("divide", a / b, points=PAIRS),
    Case("divide", 0 * a, {"rounding_mode": "floor"}, PAIRS),
    # The slopes of a/b, which meet a cotangent that only happens to be 0, must not overflow.
    Case("divide", 0 * a, {"rounding_mode": "trunc"}, PAIRS, lambda x, y: np.abs(y) > 1e-4),
    Case("detach", 0 * a),
    Case("mse_loss", (a - b) ** 2, EACH, PAIRS),
    Case("l1_loss", abs(a - b), EACH, PAIRS, lambda x, t: x != t),
    Case("huber_loss", huber(0.7), {**EACH, "delta": 0.7}, PAIRS),
    Case("smooth_l1_loss", huber(0.7) / exactly(0.7), {**EACH, "beta": 0.7}, PAIRS),
    Case(
        "binary_cross_entropy",
        -b * sympy.log(a) - (1 - b) * sympy.log(1 - a),
        EACH,
        PROBABILITIES,
        terms={0: b / a},
    ),
    Case(
        "binary_cross_entropy_with_logits",
        LOSS - b * a,
        EACH,
        (POINTS, TARGETS),
        terms={0: (1 - b) * SIGMOID},
    ),
    Case(
        "binary_cross_entropy_with_logits",
        (1 - b) * LOSS + 3 * b * OTHER_LOSS,
        {**EACH, "pos_weight": 3.0},
        (POINTS, TARGETS),
        terms={0: (1 - b) * SIGMOID, 1: LOSS},
    ),
    Case("kl_div", b * (sympy.log(b) - a), EACH, (FEW, SIZES), terms={1: sympy.log(b)}),
    Case(
        "kl_div",
        sympy.exp(b) * (b - a),
        {**EACH, "log_target": True},
        PAIRS,
        lambda x, t: np.abs(t) < 700.0,
        terms={1: b * sympy.exp(b)},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_slopes_are_those_of_the_definition(case: Case) -> None:
    values = case.inputs()
    symbols = INPUTS[: len(values)]
    assert values[0].size >= 20
    for i, symbol in enumerate(symbols):
        slope, term = Formula(sympy.diff(case.definition, symbol)), Formula(case.term(i))
        for number, *point in zip(mixed(case, values, i), *values, strict=True):
            true = truth(symbols, slope, tuple(point))
            larger = truth(symbols, term, tuple(point))
            assert ulps(number, true, larger) <= LIMIT, (symbol, point, number, true)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_second_slopes_are_those_of_the_definition(case: Case) -> None:
    """By every pair of inputs, in either order."""
    values = case.inputs()
    keep = np.all([(np.abs(v) <= MOST) & ((np.abs(v) >= LEAST) | (v == 0)) for v in values], 0)
    values = [v[keep] for v in values]
    symbols = INPUTS[: len(values)]
    for i, j in product(range(len(symbols)), repeat=2):
        slope = Formula(sympy.diff(case.definition, symbols[i], symbols[j]))
        for number, *point in zip(mixed(case, values, i, j), *values, strict=True):
            true = truth(symbols, slope, tuple(point))
            assert abs(number - true) <= CLOSE * abs(true) + DENORMAL, (i, j, point, number, true)


def test_every_elementwise_composite_is_among_them() -> None:
    mixing = {"softmax", "log_softmax", "nll_loss", "cross_entropy", "cosine_similarity"}
    modules = {f"gradcalc.language.functions.{n}" for n in ("activations", "elementwise", "losses")}
    names = {name for name in FACTS if FUNCTIONS[name].__module__ in modules}
    assert names - mixing == {case.name for case in CASES}


X = np.random.default_rng(0).normal(size=(7, 7)) * 10.0
S = X @ X.T + np.eye(7)
V = np.array(POINTS)
# What NumPy and SciPy have too: a call in the language, and theirs, with which values agree to the
# last bit.
SAME: dict[str, Callable[[], Any]] = {
    "reciprocal(V)": lambda: np.reciprocal(V),
    "square(V)": lambda: np.square(V),
    "clip(V, -2, 2)": lambda: np.clip(V, -2, 2),
    "round(V)": lambda: np.round(V),
    "logsigmoid(V)": lambda: special.log_expit(V),
    "sum(X)": lambda: np.sum(X),
    "mean(X, 1)": lambda: np.mean(X, 1),
    "max(X, 0)": lambda: np.max(X, 0),
    "min(X)": lambda: np.min(X),
    "var(X, 0)": lambda: np.var(X, 0),
    "median(X, 1)": lambda: np.median(X, 1),
    "cumsum(X, 0)": lambda: np.cumsum(X, 0),
    "sort(X, 0)": lambda: np.sort(X, 0),
    "trace(X)": lambda: np.trace(X),
    "logsumexp(X, 1)": lambda: special.logsumexp(X, 1),
    "X @ S": lambda: X @ S,
    "kron(X, S)": lambda: np.kron(X, S),
    "outer(V, V)": lambda: np.outer(V, V),
    "inv(X)": lambda: np.linalg.inv(X),
    "solve(X, S)": lambda: np.linalg.solve(X, S),
    "cholesky(S)": lambda: np.linalg.cholesky(S),
}
# With which they agree to some last bits only, and why.
NEARLY: dict[str, Callable[[], Any]] = {
    "prod(X)": lambda: np.prod(X),  # by halves, so that the gradient needs no division
    "cumprod(X, 0)": lambda: np.cumprod(X, 0),  # in steps that double
    "norm(X)": lambda: np.linalg.norm(X),  # NumPy's sum of squares is a dot product by BLAS
    "std(X)": lambda: np.std(X),  # by norm, lest the squares overflow
    "eigvalsh(S)": lambda: np.linalg.eigvalsh(S),  # by what finds the eigenvectors too
    "norm(V[:9], 3)": lambda: np.linalg.norm(V[:9], 3),  # relative to the largest element
    "softmax(X, 1)": lambda: special.softmax(X, 1),  # corrected for the rounding of x - max(x)
    "log_softmax(X, 1)": lambda: special.log_softmax(X, 1),  # and by log1p
    "det(X)": lambda: np.linalg.det(X),  # as a product of factors, which its gradient needs
}


@pytest.mark.parametrize("call", [*SAME, *NEARLY])
def test_values_are_those_of_numpy_and_scipy(call: str) -> None:
    given = f"X = {X.tolist()}; S = {S.tolist()}; V = {V.tolist()}; "
    with np.errstate(all="ignore"):
        found, wanted = value(Source(given + call), Draws(0)), {**SAME, **NEARLY}[call]()
    if call in SAME:
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)

"""What the tests of the rows share: points over a domain, and SymPy's derivatives there."""

from collections.abc import Callable
from itertools import product
from typing import Any

import mpmath
import numpy as np
import sympy

from gradcalc.compute.evaluate import evaluate
from gradcalc.derive.reverse import seed, vjp
from gradcalc.graph import PRIMITIVES, Graph, Node
from gradcalc.primitives import gamma, special
from gradcalc.primitives.rule import Elementwise, Reduction
from gradcalc.verify.arithmetic import Symbols
from gradcalc.verify.formula import Formula
from gradcalc.verify.precision import settled

ELEMENTWISE = [row for row in PRIMITIVES.values() if isinstance(row, Elementwise)]
SMOOTH = [row for row in ELEMENTWISE if any(row.partials)]
SPECIAL = [
    row
    for row in SMOOTH
    if next(filter(None, row.partials)).__module__ in (special.__name__, gamma.__name__)
]
REDUCTIONS = [row for row in PRIMITIVES.values() if isinstance(row, Reduction)]

# Ordinary values, tails, and what is next to nothing: on both sides of 0.
SIZES = [1e-300, 1e-200, 1e-30, 1e-9, 1e-3, 0.1, 0.37, 0.5, 0.75, 0.999, 1.0, 1.7, 2.0, 3.3]
SIZES += [9.0, 19.5, 40.0, 300.0, 354.9, 700.0, 744.0, 1e5, 1e10, 1e100, 1e200, 1e300]
DENORMAL = 1e-320  # an error that only numbers without full precision have
POINTS = [sign * size for size in SIZES for sign in (1.0, -1.0)]

# Beside the poles and roots of the gamma functions and at the ends of erfinv, for special rows.
BESIDE = [-0.999, -0.9999999, 0.999, 0.9999999, 1.0000001, 1.4616321, -0.504083]
BESIDE += [26.5, -26.5, 37.5, -37.5, 170.3, -170.3, -99999.5]
ORDERS = [0.0, 1.0, 2.0, 3.0, 15.0, 16.0, 40.0]
TARGETS = [0.0, *[s for s in SIZES if s <= 1.0]]  # of a loss: probabilities
SMALL_INPUTS = [[0.0, 1.0, 2.0], *[[s for s in SIZES if 1e-3 <= s < 400.0]] * 2]
INPUTS = {
    "_logistic_loss": [POINTS, TARGETS],
    "polygamma": [ORDERS, POINTS + BESIDE],
    "_polygamma": [ORDERS, POINTS + BESIDE],
    "_psi_slope": SMALL_INPUTS,  # beyond, its slope by b overflows, which mixed derivatives have
}


def points(row: Elementwise) -> list[np.ndarray[Any, Any]]:
    """Arrays of inputs for ``row``, inside its domain and off its kinks."""
    arity = len(row.partials) - row.conditions
    few = POINTS if arity < 3 else POINTS[9::6]  # the product of three lists is long
    if row in SPECIAL:
        few = (POINTS if arity == 1 else POINTS[::3]) + BESIDE
    values = np.array(list(product(*INPUTS.get(row.name, [few] * arity)))).T
    conditions = [np.arange(values.shape[1]) % 2 == 0] * row.conditions
    graph = Graph()
    leaves = [graph.leaf(f"x{i}", v.shape) for i, v in enumerate(values)]
    inputs = [*(graph.constant(c) for c in conditions), *leaves]
    known = dict(zip(leaves, values, strict=True))
    keep = np.ones(values.shape[1], dtype=bool)
    inside = row.domain(*inputs)
    if isinstance(inside, Node):
        keep &= evaluate([inside], known)[0]
    for kink in row.kinks(*inputs) if row.kinks else ():
        keep &= np.abs(evaluate([kink], known)[0]) > 0
    return [c[keep] for c in conditions] + [v[keep] for v in values]


def gradients(apply: Callable[..., Node], values: list[Any], order: int = 1) -> list[Any]:
    """d^order sum(apply(x))/dx_i^order for each numeric input, in float64."""
    graph = Graph()
    inputs = [
        graph.constant(v) if np.asarray(v).dtype == bool else graph.leaf(f"x{i}", np.shape(v))
        for i, v in enumerate(values)
    ]
    leaves = [n for n in inputs if n.params and n.params[0] in {f"x{i}" for i in range(9)}]
    results = []
    for leaf in leaves:
        node: Node | None = apply(*inputs)
        for _ in range(order):
            assert node is not None
            node = vjp([(node, seed(node, np.ones(node.shape)))], [leaf])[leaf]
            if node is None:
                break
        known = dict(zip(inputs, values, strict=True))
        zeros = np.zeros(leaf.shape)
        results.append(zeros if node is None else evaluate([node], known)[0])
    return results


def mixed(apply: Callable[..., Node], values: list[Any], *by: int) -> Any:
    """d^n sum(apply(x))/dx_i dx_j..., first by x_i, in float64."""
    graph = Graph()
    leaves = [graph.leaf(f"x{i}", np.shape(v)) for i, v in enumerate(values)]
    node: Node | None = apply(*leaves)
    for i in by:
        if node is not None:
            node = vjp([(node, seed(node, np.ones(node.shape)))], [leaves[i]])[leaves[i]]
    zeros = np.zeros(np.shape(values[0]))
    return zeros if node is None else evaluate([node], dict(zip(leaves, values, strict=True)))[0]


def definition(row: Elementwise) -> tuple[list[Any], list[Any], Any]:
    """The symbols of the row's inputs, those of the numeric ones, and its twin of them."""
    arity = len(row.partials) - row.conditions
    symbols = [sympy.Symbol(f"x{i}", real=True) for i in range(arity)]
    conditions = [sympy.Symbol(f"c{i}") for i in range(row.conditions)]
    arithmetic = Symbols()
    twin = row.twin
    inputs = [*conditions, *symbols]
    expr = (
        getattr(arithmetic, twin)(*inputs) if isinstance(twin, str) else twin(arithmetic, *inputs)
    )
    return inputs, symbols, expr


def formulas(row: Elementwise, order: int = 1) -> tuple[list[Any], list[Formula]]:
    """The symbols of the row's inputs, and the derivatives of its twin by each numeric one."""
    inputs, symbols, expr = definition(row)
    return inputs, [Formula(sympy.diff(expr, s, order)) for s in symbols]


def truth(inputs: list[Any], formula: Formula, point: tuple[Any, ...]) -> Any:
    """The value of a formula at an exact float64 point, to at least 30 digits."""
    numbers = [bool(v) if isinstance(v, np.bool_) else mpmath.mpf(float(v)) for v in point]
    return settled(lambda: formula(dict(zip(inputs, numbers, strict=True))))


def _reflected(n: Any, x: Any) -> Any:
    """Of the two terms of polygamma at x < 0, which cancel at a root, the one that is simple."""
    return mpmath.psi(n, 1 - x) if x < 0 else 0


# Slopes that have roots, by row and input: a term of theirs, which is the larger one at a root.
TERMS: dict[tuple[str, int], Callable[..., Any]] = {
    ("lgamma", 0): lambda x: _reflected(0, x),
    ("gamma", 0): lambda x: mpmath.gamma(x) * _reflected(0, x),
    ("_gamma", 0): lambda x: mpmath.gamma(x) * _reflected(0, x),
    ("_logistic_loss", 0): lambda x, t: (1 - t) / (1 + mpmath.exp(-x)),
    ("_psi_slope", 2): lambda n, a, b: mpmath.psi(int(n) + 1, mpmath.mpf(a) + b) / b,
}


def ulps(ours: float, true: Any, term: Any = 0) -> float:
    """How many units in the last place of the true value lie between it and ``ours``.

    The units are those of ``term``, if that is larger.
    """
    if mpmath.isnan(true) and np.isinf(ours):
        return 0.0  # a pole, at the end of a domain
    nearest = float(true)
    if ours == nearest or (np.isnan(ours) and mpmath.isnan(true)):
        return 0.0
    if not np.isfinite(ours) or not np.isfinite(nearest):
        return np.inf
    error = abs(mpmath.mpf(ours) - true)
    if error < DENORMAL:
        return 0.0
    return float(error / mpmath.mpf(float(np.spacing(max(abs(nearest), abs(float(term)))))))

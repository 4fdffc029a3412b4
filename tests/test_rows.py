"""One loop over all rows: partials against SymPy at 50 digits, transposes against their rows."""

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from rows import (
    ELEMENTWISE,
    INPUTS,
    REDUCTIONS,
    SMOOTH,
    SPECIAL,
    TERMS,
    definition,
    formulas,
    gradients,
    mixed,
    points,
    truth,
    ulps,
)
from scipy import special

from gradcalc.compute.evaluate import evaluate
from gradcalc.derive.reverse import seed, vjp
from gradcalc.graph import PRIMITIVES, Graph
from gradcalc.primitives.norms import norm_of_order
from gradcalc.primitives.products import Product
from gradcalc.primitives.rule import Elementwise, General, Linear, Reduction
from gradcalc.primitives.shapes import Index
from gradcalc.verify.arithmetic import DIGITS, Digits, Symbols
from gradcalc.verify.formula import Formula
from gradcalc.verify.lower import lower

LIMIT = 8  # units in the last place
LIMIT_OF_SPECIAL = 64


def limit(row: Elementwise) -> int:
    return LIMIT_OF_SPECIAL if row in SPECIAL else LIMIT


@pytest.mark.parametrize("row", SMOOTH, ids=repr)
def test_partials_are_sympys_over_the_domain(row: Elementwise) -> None:
    values = points(row)
    inputs, slopes = formulas(row)
    assert values[-1].size >= 10
    for i, (ours, slope) in enumerate(zip(gradients(row, values), slopes, strict=True)):
        term = TERMS.get((row.name, i), lambda *point: 0)
        for number, *point in zip(ours, *values, strict=True):
            true = truth(inputs, slope, tuple(point))
            assert ulps(number, true, term(*point)) <= limit(row), (point, number, true)


# Rows with ``_`` serve first partials; their own are met in the second ones of the other rows.
@pytest.mark.parametrize("row", [r for r in SMOOTH if not r.name.startswith("_")], ids=repr)
def test_second_partials_are_sympys(row: Elementwise) -> None:
    values = points(row)
    inputs, slopes = formulas(row, order=2)
    for ours, slope in zip(gradients(row, values, order=2), slopes, strict=True):
        for number, *point in zip(ours, *values, strict=True):
            if np.any(np.abs(np.asarray(point, dtype=float)) > 30) or np.any(
                np.abs(np.asarray(point, dtype=float)) < 1e-8
            ):
                continue  # terms of a second derivative may over- or underflow alone
            true = truth(inputs, slope, tuple(point))
            if not (mpmath.isnan(true) and np.isinf(number)):  # a pole, at the end of a domain
                np.testing.assert_allclose(number, float(true), rtol=1e-12, atol=1e-12)


# Mixed second derivatives that have roots: the larger of their terms.
MIXED_TERMS: dict[str, Callable[..., Any]] = {
    "arctan2": lambda a, b: 1 / (mpmath.mpf(a) ** 2 + mpmath.mpf(b) ** 2),
}


@pytest.mark.parametrize("by", [(0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize(
    "row", [r for r in SMOOTH if len(r.partials) == 2 and not r.conditions], ids=repr
)
def test_mixed_second_partials_are_sympys(row: Elementwise, by: tuple[int, int]) -> None:
    """In either order, since they come from the partials of different inputs."""
    values = points(row)
    ordinary = np.all([(np.abs(v) <= 30) & ((np.abs(v) >= 1e-8) | (v == 0)) for v in values], 0)
    values = [v[ordinary] for v in values]
    inputs, _, expr = definition(row)
    slope = Formula(sympy.diff(expr, *inputs))
    term = MIXED_TERMS.get(row.name, lambda *point: 0)
    for number, *point in zip(mixed(row, values, *by), *values, strict=True):
        true = truth(inputs, slope, tuple(point))
        if not (mpmath.isnan(true) and not np.isfinite(number)):  # the end of a domain
            assert abs(number - true) <= 1e-12 * max(abs(true), abs(term(*point))), (point, true)


def outside(row: Elementwise) -> list[np.ndarray[Any, Any]] | None:
    """A point outside of the row's domain; None where there is no outside."""
    graph = Graph()
    arity = len(row.partials) - row.conditions
    leaves = [graph.leaf(f"x{i}", ()) for i in range(arity)]
    inside = row.domain(*[graph.constant(True)] * row.conditions, *leaves)
    if inside is True:
        return None
    for numbers in product((-2.5, -0.5, 1.5, -2.0), repeat=arity):
        point = [np.array(number) for number in numbers]
        if not evaluate([inside], dict(zip(leaves, point, strict=True)))[0]:
            return point
    raise AssertionError(f"choose a point outside of the domain of {row}")


@pytest.mark.parametrize("row", [row for row in ELEMENTWISE if outside(row)], ids=repr)
def test_outside_the_domain_value_and_gradient_are_nan(row: Elementwise) -> None:
    point = outside(row)
    assert point is not None
    with np.errstate(invalid="ignore"):
        assert np.isnan(row.forward(*point))
    for gradient, partial in zip(
        gradients(row, point), row.partials[row.conditions :], strict=True
    ):
        assert np.isnan(gradient) or partial is None


# Where SciPy's or NumPy's own values are worse than the limit, and why.
POOR: dict[str, Any] = {
    "lgamma": lambda x: abs(x - 1) < 0.01,  # a root
    "digamma": lambda x: x < 0 and abs(x - round(x)) < 0.01,  # a pole
    "polygamma": lambda n, x: n == 0 and x < 0 and abs(x - round(x)) < 0.01,
    "_polygamma": lambda n, x: n == 0 and x == -0.504083,  # a root
    "beta": lambda a, b: max(a, b) > 26,  # by logarithms, which cancel
    "sinc": lambda x: abs(x) > 0.9,  # pi x is rounded
}


@pytest.mark.parametrize("row", SMOOTH, ids=repr)
def test_values_are_the_twins(row: Elementwise) -> None:
    values = points(row)
    inputs, (value, *_) = formulas(row, order=0)
    with np.errstate(all="ignore"):
        found = row.forward(*values)
    for number, *point in zip(found, *values, strict=True):
        if row.name not in POOR or not POOR[row.name](*point):
            assert ulps(number, truth(inputs, value, tuple(point))) <= limit(row), point


SCIPYS = {"lgamma": "gammaln", "sigmoid": "expit"}  # names that differ


def theirs(row: Elementwise) -> Callable[..., Any] | None:
    """NumPy's or else SciPy's function; None where neither has one."""
    if row.name.startswith("_"):
        return None
    return getattr(np, row.name, getattr(special, SCIPYS.get(row.name, row.name), None))


# Where values are not theirs, and why; they are the twin's to the limit there, as everywhere.
DIFFERENT: dict[str, Callable[..., Any]] = {
    "sigmoid": lambda x: x < 0.0,  # in the last place: no SciPy, whose import takes longer
    "ndtr": lambda x: x < -5.0,  # theirs rounds x/sqrt(2) before it squares it
    "polygamma": lambda n, x: (n > 0.0) & (x < 0.0),  # theirs goes to x > 0 step by step
}


@pytest.mark.parametrize("row", [row for row in ELEMENTWISE if theirs(row)], ids=repr)
def test_values_are_those_of_numpy_or_scipy_bit_for_bit(row: Elementwise) -> None:
    values, function = points(row), theirs(row)
    assert function is not None
    same = ~np.array(DIFFERENT.get(row.name, lambda *point: np.bool_(False))(*values))
    values = [v[np.broadcast_to(same, v.shape)] for v in values]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(row.forward(*values), function(*values))


def test_rows_that_neither_numpy_nor_scipy_has_are_few() -> None:
    own = {row.name for row in PUBLIC if theirs(row) is None}
    assert own <= {"detach", "relu", "softplus", "softsign"}  # of PyTorch; SciPy 1.15 has one


HANGS = 30.0  # seconds: a step too many would take hours, a loaded machine does not
WILD = [0.0, -3.0, -1e10 + 0.5, np.inf, np.nan]
WILD += [s * x for x in (1e300, 1e154, 2.0**52, 300.3, 1 - 2.0**-53, 1e-300) for s in (1, -1)]


@pytest.mark.parametrize("row", SPECIAL, ids=repr)
def test_twins_of_special_rows_end_soon(row: Elementwise) -> None:
    """Of what has no value, or too large a one, too."""
    arithmetic = Digits()
    twin = getattr(arithmetic, row.twin) if isinstance(row.twin, str) else row.twin
    before = () if isinstance(row.twin, str) else (arithmetic,)
    first = [1.0, 1e10] if row.name in INPUTS else WILD
    for point in product(*[first, WILD, WILD][: len(row.partials)]):
        for digits in (50, 400):
            start = time.perf_counter()
            with mpmath.workdps(digits):
                arithmetic.call(twin, *before, *map(mpmath.mpf, point))
            assert time.perf_counter() - start < HANGS, (point, digits)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_the_twin_of_polygamma_at_negative_numbers_is_mpmaths(n: int) -> None:
    with mpmath.workdps(50):
        for x in map(mpmath.mpf, (-1e-9, -0.504083, -0.999, -3.7, -19.5)):
            assert mpmath.almosteq(Digits().polygamma(n, x), mpmath.psi(n, x), 1e-40)


@pytest.mark.parametrize("n", [98.0, 99.0, 100.0])
def test_the_largest_orders_of_polygamma_have_slopes(n: float) -> None:
    """Those are of the orders beyond, which are not for users."""
    x = np.array([0.37, 3.3, 40.0, 1e5, -0.5, -0.999, -26.5])
    _, ours = gradients(PRIMITIVES["polygamma"], [np.full(x.shape, n), x])
    for number, at in zip(ours, x, strict=True):
        with mpmath.workdps(200):
            assert ulps(number, DIGITS["higher_polygamma"](n + 1, at)) <= LIMIT_OF_SPECIAL, at


SHAPES = [((), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((1,), (0,)), ((2, 3), (3,))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize(
    "row", [r for r in SMOOTH if len(r.partials) - r.conditions == 2], ids=repr
)
def test_broadcasting_is_undone_on_either_side(row: Elementwise, shapes: Any) -> None:
    condition = [np.array(True)] * row.conditions
    narrow = [np.full(shape, 0.3 + i) for i, shape in enumerate(shapes)]
    wide = [np.broadcast_to(value, np.broadcast_shapes(*shapes)) for value in narrow]
    ours = gradients(row, [*condition, *narrow])
    theirs = gradients(row, [*condition, *wide])
    for one, whole, shape in zip(ours, theirs, shapes, strict=True):
        assert np.shape(one) == shape
        np.testing.assert_allclose(np.sum(one), np.sum(whole), rtol=1e-14)


TAILS = [[0.3, -1.7, 2.5], [1e200, -3e200, 2e199], [3e-200, 4e-200, 0.0], [1.0, 1e-9, -1e-30]]


@pytest.mark.parametrize("numbers", TAILS, ids=str)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("row", REDUCTIONS, ids=repr)
def test_partials_of_reductions_are_sympys(
    row: Reduction, order: int, numbers: list[float]
) -> None:
    x = np.array(numbers)
    symbols = [sympy.Symbol(f"x{i}", real=True) for i in range(3)]
    (expr,) = row.twin(Symbols(), np.array(symbols, dtype=object), (0,))
    (ours,) = gradients(lambda node: row(node, params=((0,),)), [x])
    for number, symbol in zip(ours, symbols, strict=True):
        assert ulps(number, truth(symbols, Formula(sympy.diff(expr, symbol)), tuple(x))) <= LIMIT
    if order == 2 and max(map(abs, numbers)) < 10:  # beyond, the second derivative may overflow
        (second,) = gradients(lambda node: row(node, params=((0,),)), [x], order=2)
        slopes = sum(sympy.diff(expr, symbol) for symbol in symbols)
        for number, symbol in zip(second, symbols, strict=True):
            true = float(truth(symbols, Formula(sympy.diff(slopes, symbol)), tuple(x)))
            np.testing.assert_allclose(number, true, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("numbers", TAILS, ids=str)
@pytest.mark.parametrize("order", [0.5, 1.5, 3.0, 4.0, -1.0, -3.0])
def test_slopes_of_a_norm_of_any_order_neither_over_nor_underflow(
    order: float, numbers: list[float]
) -> None:
    """What is 0 has slope 0, and leaves the others theirs; but of a negative order all are 0."""
    x = np.array(numbers)
    symbols = [sympy.Symbol(f"x{i}", real=True) for i in range(3)]
    parts = [s for s, number in zip(symbols, x, strict=True) if number or order < 0.0]
    (expr,) = norm_of_order.twin(Symbols(), np.array(parts, dtype=object), (0,), order)
    (ours,) = gradients(lambda node: norm_of_order(node, params=((0,), order)), [x])
    for number, symbol in zip(ours, symbols, strict=True):
        slope = Formula(sympy.diff(expr, symbol))
        true = 0 if order < 0.0 and 0.0 in numbers else truth(symbols, slope, tuple(x))
        assert ulps(number, mpmath.mpf(true)) <= LIMIT, (symbol, number)


@pytest.mark.parametrize("name,b", [("xlogy", 0.0), ("xlogy", -1.0), ("xlog1py", -1.0)])
def test_nothing_times_a_logarithm_that_has_ended_has_slope_0(name: str, b: float) -> None:
    assert gradients(PRIMITIVES[name], [np.array(0.0), np.array(b)]) == [0.0, 0.0]


@pytest.mark.parametrize("row", REDUCTIONS, ids=repr)
@pytest.mark.parametrize(
    "shape,axes", [((2, 3), (1,)), ((2, 3), (0, 1)), ((1, 4), (0,)), ((), ()), ((3, 0), (0,))]
)
def test_reductions_over_axes_are_those_of_each_slice(
    row: Reduction, shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    x = np.random.default_rng(1).normal(size=shape)
    (ours,) = gradients(lambda node: row(node, params=(axes,)), [x])
    rest = tuple(i for i in range(len(shape)) if i not in axes)
    rows = np.moveaxis(x, rest, range(len(rest))).reshape(
        int(np.prod([shape[i] for i in rest])), int(np.prod([shape[i] for i in axes]))
    )
    slices = [gradients(lambda node: row(node, params=((0,),)), [one])[0] for one in rows]
    back = np.moveaxis(np.asarray(ours), rest, range(len(rest))).reshape(rows.shape)
    np.testing.assert_array_equal(back, np.reshape(slices, rows.shape))


A, B = np.arange(6.0).reshape(2, 3) - 2.5, np.linspace(-1, 1, 12).reshape(3, 4)
LINEAR: dict[str, tuple[list[Any], tuple[Any, ...]]] = {
    "sum": ([A], ((1,),)),
    "reshape": ([A], ((3, 2),)),
    "broadcast_to": ([A], ((4, 2, 3),)),
    "transpose": ([A.reshape(1, 2, 3)], ((2, 0, 1),)),
    "index": ([A], (Index((np.array([1, 1, 0]), slice(None, None, -2))),)),
    "scatter": ([np.arange(3.0)], ((4,), Index((np.array([1, 1, 0]),)))),
    "concatenate": ([A, 2 * A[:, :1]], (1,)),
    "cumsum": ([A], (1, False)),
    "exclusive_sum": ([A.reshape(2, 3, 1)], ((0, 1),)),
    "matmul": ([A, B], ()),
    "masked_matmul": ([A > 0, B < 0.5, A, B], ()),
    "named": ([A], (7,)),
}


@pytest.mark.parametrize("name", LINEAR)
def test_a_transpose_is_the_adjoint_of_its_row(name: str) -> None:
    """<w, A v> = <Aᵀ w, v>, for each input that the row is linear in."""
    values, params = LINEAR[name]
    row = PRIMITIVES[name]
    graph = Graph()
    inputs = [
        graph.constant(v) if v.dtype == bool else graph.leaf(f"x{i}", v.shape)
        for i, v in enumerate(values)
    ]
    node = row(*inputs, params=params)
    w = np.random.default_rng(0).normal(size=node.shape)
    for position, leaf in enumerate(inputs):
        if leaf.truth:
            continue
        pulled = vjp([(node, seed(node, w))], [leaf])[leaf]
        assert pulled is not None
        known = dict(zip(inputs, values, strict=True))
        if name == "concatenate":  # linear in both together: the others are 0
            known.update({n: np.zeros(n.shape) for n in inputs if n is not leaf})
        value, adjoint = evaluate([node, pulled], known)
        np.testing.assert_allclose(
            np.sum(w * value), np.sum(adjoint * values[position]), rtol=1e-13
        )


S = np.array([[[4.0, 1.0], [1.0, 3.0]], [[2.0, -0.5], [-0.5, 1.5]]])  # symmetric, positive
GENERAL: dict[str, tuple[list[Any], tuple[Any, ...]]] = {
    "softmax": ([A], ((1,),)),
    "log_softmax": ([np.array([[40.0, 0.0, -700.0]])], ((0, 1),)),
    norm_of_order.name: ([A], ((1,), 3.5)),
    "solve": ([S + np.array([[0.0, 1.0], [0.0, 0.0]]), A], ()),
    "cholesky": ([S], ()),
    "eigenvalues": ([S], ()),
    "eigenvectors": ([S], ()),
}
UNWRITTEN = "eigenvectors"  # without a formula: see the next test


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", [name for name in GENERAL if name != UNWRITTEN])
def test_gradients_of_general_rows_are_sympys(name: str, order: int) -> None:
    """Of sum(w*y) by each element; of order 2, of the sum of the squares of those."""
    values, params = GENERAL[name]
    row = PRIMITIVES[name]
    graph = Graph()
    leaves = [graph.leaf(f"x{i}", v.shape) for i, v in enumerate(values)]
    node = row(*leaves, params=params)
    w = np.linspace(0.5, 2.0, node.size).reshape(node.shape)
    lowered = lower([node])
    target = sum(np.ravel(w * lowered.expressions[0]))
    ours = vjp([(node, seed(node, w))], leaves)
    if order == 2:
        first = ours[leaves[0]]
        assert first is not None
        square = first * first
        ours = vjp([(square, seed(square, np.ones(square.shape)))], leaves)
        target = sum(sympy.diff(target, x) ** 2 for x in np.ravel(lowered.symbols[leaves[0]]))
    symbols = [symbol for leaf in leaves for symbol in np.ravel(lowered.symbols[leaf])]
    point = np.concatenate([v.ravel() for v in values])
    known = dict(zip(leaves, values, strict=True))
    found = [np.ravel(evaluate([ours[leaf]], known)[0]) for leaf in leaves if ours[leaf]]
    for number, symbol in zip(np.concatenate(found), symbols, strict=True):
        true = truth(symbols, Formula(sympy.diff(target, symbol)), tuple(point))
        if order == 1:
            assert ulps(number, true) <= LIMIT, symbol
        else:
            np.testing.assert_allclose(number, float(true), rtol=1e-12, atol=1e-12)


def test_gradients_of_eigenvectors_are_differences() -> None:
    """Of sum(w*V) by each element of a symmetric matrix, by mpmath at 60 digits."""
    a = np.array([[2.0, 0.5, -1.0], [0.5, 1.0, 0.3], [-1.0, 0.3, -0.7]])
    w = np.arange(1.0, 10.0).reshape(3, 3)
    (ours,) = gradients(lambda x: PRIMITIVES["eigenvectors"](x) * x.graph.constant(w), [a])
    signs = np.sign(np.linalg.eigh(a)[1][0])  # the first row tells LAPACK's choice

    def total(matrix: Any) -> Any:
        vectors = np.array(mpmath.eigsy(matrix)[1].tolist(), dtype=object)
        return np.sum(w * vectors * np.sign(vectors[0]) * signs)

    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -20
        for i, j in np.ndindex(a.shape):
            moved = []
            for side in (step, -step):
                matrix = mpmath.matrix(a.tolist())
                matrix[i, j] += side / 2
                matrix[j, i] += side / 2
                moved.append(total(matrix))
            assert ulps(ours[i, j], (moved[0] - moved[1]) / (2 * step)) <= 32


FINITE = [s * x for x in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 300.5) for s in (1.0, -1.0)]
BY_ZERO = ("divide", "fmod", "remainder", "floor_divide")  # 0/0 is nan, and no end of a domain
PUBLIC = [row for row in ELEMENTWISE if not row.name.startswith("_")]


@pytest.mark.parametrize("row", PUBLIC, ids=repr)
def test_a_row_is_real_inside_its_domain_and_nowhere_else(row: Elementwise) -> None:
    """So that a row without a domain of its own fails, if it has one."""
    points = np.array(list(product(FINITE, repeat=len(row.partials))))
    if row.name in BY_ZERO:
        points = points[points[:, 1] != 0.0]
    graph = Graph()
    leaves = [graph.leaf(f"x{i}", (len(points),)) for i in range(points.shape[1])]
    inside = row.domain(*leaves)
    known = dict(zip(leaves, points.T, strict=True))
    found = evaluate([inside], known)[0] if inside is not True else np.ones(len(points), bool)
    with np.errstate(all="ignore"):
        values = row.forward(*points.T)
    assert not np.any(np.isnan(values[found]))
    assert not np.any(np.isfinite(values[~found]))


def test_no_row_goes_untested() -> None:
    linear = {n for n, row in PRIMITIVES.items() if isinstance(row, (Linear, Product))}
    assert linear == set(LINEAR)
    general = {name for name, row in PRIMITIVES.items() if isinstance(row, General)}
    assert general == set(GENERAL)
    derivatives = {"pulled", "pushed"}  # what is inside them is tested as functions
    others = linear | general | derivatives
    assert set(PRIMITIVES) == others | {row.name for row in [*ELEMENTWISE, *REDUCTIONS]}

"""One loop over all rows: partials against SymPy at 50 digits, transposes against their rows."""

from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from rows import ELEMENTWISE, REDUCTIONS, SMOOTH, formulas, gradients, points, truth, ulps

from gradcalc.compute.evaluate import evaluate
from gradcalc.derive.reverse import seed, vjp
from gradcalc.graph import PRIMITIVES, Graph
from gradcalc.primitives.linalg import Product
from gradcalc.primitives.rule import Elementwise, Linear, Reduction
from gradcalc.primitives.shapes import Index
from gradcalc.verify.arithmetic import Symbols
from gradcalc.verify.formula import Formula

LIMIT = 8  # units in the last place


@pytest.mark.parametrize("row", SMOOTH, ids=repr)
def test_partials_are_sympys_over_the_domain(row: Elementwise) -> None:
    values = points(row)
    inputs, slopes = formulas(row)
    assert values[-1].size >= 10
    for ours, slope in zip(gradients(row, values), slopes, strict=True):
        for number, *point in zip(ours, *values, strict=True):
            true = truth(inputs, slope, tuple(point))
            assert ulps(number, true) <= LIMIT, (point, number, true)


@pytest.mark.parametrize("row", SMOOTH, ids=repr)
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


def outside(row: Elementwise) -> list[np.ndarray[Any, Any]] | None:
    """A point outside of the row's domain; None where there is no outside."""
    graph = Graph()
    arity = len(row.partials) - row.conditions
    leaves = [graph.leaf(f"x{i}", ()) for i in range(arity)]
    inside = row.domain(*[graph.constant(True)] * row.conditions, *leaves)
    if inside is True:
        return None
    for numbers in product((-2.5, -0.5, 1.5), repeat=arity):
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
    for gradient in gradients(row, point):
        assert np.isnan(gradient)


@pytest.mark.parametrize("row", SMOOTH, ids=repr)
def test_values_are_the_twins(row: Elementwise) -> None:
    values = points(row)
    inputs, (value, *_) = formulas(row, order=0)
    with np.errstate(all="ignore"):
        found = row.forward(*values)
    for number, *point in zip(found, *values, strict=True):
        assert ulps(number, truth(inputs, value, tuple(point))) <= LIMIT, point


@pytest.mark.parametrize("row", [r for r in ELEMENTWISE if hasattr(np, r.name)], ids=repr)
def test_values_are_numpys_bit_for_bit(row: Elementwise) -> None:
    values = points(row)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(row.forward(*values), getattr(np, row.name)(*values))


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
    "stack": ([A, 2 * A], (1,)),
    "matmul": ([A, B], ()),
    "masked_matmul": ([A > 0, B < 0.5, A, B], ()),
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
        if name == "stack":  # linear in both together: the others are 0
            known.update({n: np.zeros(n.shape) for n in inputs if n is not leaf})
        value, adjoint = evaluate([node, pulled], known)
        np.testing.assert_allclose(
            np.sum(w * value), np.sum(adjoint * values[position]), rtol=1e-13
        )


def test_no_row_goes_untested() -> None:
    linear = {n for n, row in PRIMITIVES.items() if isinstance(row, (Linear, Product))}
    assert linear == set(LINEAR)
    assert set(PRIMITIVES) == linear | {row.name for row in [*ELEMENTWISE, *REDUCTIONS]}

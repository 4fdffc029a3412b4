"""One loop over all rows: partials against SymPy at 50 digits, transposes against their rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rows import ELEMENTWISE, REDUCTIONS, SMOOTH, formulas, gradients, points, truth, ulps

from gradcalc.compute.evaluate import evaluate
from gradcalc.derive.reverse import seed, vjp
from gradcalc.graph import PRIMITIVES, Graph
from gradcalc.primitives.linalg import Product
from gradcalc.primitives.rule import Elementwise, Linear, Reduction
from gradcalc.primitives.shapes import Index

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
            np.testing.assert_allclose(number, float(true), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("row", ELEMENTWISE, ids=repr)
def test_outside_the_domain_value_and_gradient_are_nan(row: Elementwise) -> None:
    graph = Graph()
    sides = (-2.5, -0.5)
    leaves = [graph.leaf(f"x{i}", ()) for i in range(len(row.partials) - row.conditions)]
    inside = row.domain(*[graph.constant(True)] * row.conditions, *leaves)
    if inside is True:
        return  # there is no outside
    known = dict(zip(leaves, map(np.float64, sides), strict=False))
    if evaluate([inside], known)[0]:
        pytest.fail(f"choose points outside of the domain of {row}")
    assert np.isnan(evaluate([row(*leaves)], known)[0])
    for gradient in gradients(row, list(known.values())):
        assert np.isnan(gradient)


@pytest.mark.parametrize("row", ELEMENTWISE, ids=repr)
def test_the_value_is_numpys_bit_for_bit(row: Elementwise) -> None:
    theirs: Callable[..., Any] | None = getattr(np, row.name, None)
    values = points(row)
    with np.errstate(all="ignore"):
        if theirs is not None:
            np.testing.assert_array_equal(row.forward(*values), theirs(*values))
        else:
            assert row.name in ("sigmoid", "relu")


@pytest.mark.parametrize("row", SMOOTH, ids=repr)
def test_broadcasting_is_undone_on_either_side(row: Elementwise) -> None:
    arity = len(row.partials)
    if arity - row.conditions < 2:
        return  # there is no other side
    for shapes in (((), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((1,), (0,)), ((2, 3), (3,))):
        common = np.broadcast_shapes(*shapes)
        condition = [np.array(True)] * row.conditions
        values = [*condition, *(np.full(s, 0.3 + i) for i, s in enumerate(shapes))]
        full = [
            *condition,
            *(np.broadcast_to(v, common) for v in values[row.conditions :]),
        ]
        ours, theirs = gradients(row, values), gradients(row, full)
        for one, whole, shape in zip(ours, theirs, shapes, strict=True):
            assert np.shape(one) == shape
            np.testing.assert_allclose(np.sum(one), np.sum(whole), rtol=1e-14)


@pytest.mark.parametrize("row", REDUCTIONS, ids=repr)
@pytest.mark.parametrize(
    "shape,axes",
    [((5,), (0,)), ((2, 3), (1,)), ((2, 3), (0, 1)), ((1, 4), (0,)), ((), ())],
)
def test_reductions_have_the_slopes_of_their_differences(
    row: Reduction, shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    x = np.random.default_rng(1).normal(size=shape)
    (ours,) = gradients(lambda node: row(node, params=(axes,)), [x])
    for index in np.ndindex(shape):
        step = np.zeros(shape)
        step[index] = 1e-6
        difference = np.sum(row.forward(x + step, axes) - row.forward(x - step, axes)) / 2e-6
        np.testing.assert_allclose(np.asarray(ours)[index], difference, atol=1e-8)


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

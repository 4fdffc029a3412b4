"""The elementwise rows that bend, step or choose, and the truth values they choose by.

Conventions at the kinks are PyTorch's. A row that chooses says which elements are ``active``: what
it leaves out contributes exactly nothing, whatever its partial.
"""

import operator
from collections.abc import Callable

import numpy as np

from gradcalc.graph import Array, Node, ops
from gradcalc.primitives.elementwise import at_zero, one, zero
from gradcalc.primitives.rule import elementwise

JUMPS = "slope 0, also at the jumps"


def _whole(name: str, forward: Callable[..., Array], kink: Callable[[Node], Node]) -> None:
    """A row that rounds to whole numbers: its slope is 0, and it jumps where ``kink`` vanishes."""
    elementwise(name, forward, name, 2.5, zero, kinks=lambda x: (kink(x),), convention=JUMPS)


def _rest(x: Node) -> Node:
    return x - ops.round(x)


def _bend(x: Node, y: Node) -> Node:
    return ops.sign(x)


elementwise(
    "abs", np.abs, lambda m, x: abs(x), -3.0, _bend, kinks=at_zero, convention="slope 0 at 0"
)
elementwise("sign", np.sign, "sign", -3.0, zero, kinks=at_zero, convention="slope 0, also at 0")
_whole("floor", np.floor, _rest)
_whole("ceil", np.ceil, _rest)
_whole("trunc", np.trunc, _rest)
_whole("round", np.rint, lambda x: ops.abs(x - ops.round(x)) - 0.5)  # half-way

# Remainders: y = a - q b with a whole q, which is found again from y, since a/b may be rounded.


def _quotient(a: Node, b: Node, y: Node) -> Node:
    return -ops.round((a - y) / b)


elementwise(
    "fmod",
    np.fmod,
    lambda m, a, b: a - b * m.trunc(a / b),
    (-7.0, 4.0),
    one,
    _quotient,
    kinks=lambda a, b: (ops.fmod(a, b),),
    convention="the sign of a; at the jumps the slopes of the formula",
)
elementwise(
    "remainder",
    np.remainder,
    lambda m, a, b: a - b * m.floor(a / b),
    (-7.0, 4.0),
    one,
    _quotient,
    kinks=lambda a, b: (ops.remainder(a, b),),
    convention="the sign of b, as Python's %; at the jumps the slopes of the formula",
)
elementwise(
    "floor_divide",
    np.floor_divide,
    lambda m, a, b: m.floor(a / b),
    (7.0, 4.0),
    zero,
    zero,
    kinks=lambda a, b: (ops.remainder(a, b),),
    convention=JUMPS,
)

# Choices.

elementwise(
    "relu",
    lambda x: np.maximum(x, 0.0),
    lambda m, x: m.maximum(x, 0),
    2.0,
    one,
    active=(lambda x: ~(x <= 0.0),),
    kinks=at_zero,
    convention="slope 0 at 0",
)


def _share(a: Node, b: Node, y: Node) -> Node:
    return ops.where(ops.equal(a, b), 0.5, 1.0)


def _extreme(name: str, forward: Callable[..., Array], loses: Callable[[Node, Node], Node]) -> None:
    """A row that chooses one of two; nan passes, as in the value."""
    elementwise(
        name,
        forward,
        name,
        (1.0, 2.0),
        _share,
        _share,
        active=(lambda a, b: ~loses(a, b), lambda a, b: ~loses(b, a)),
        kinks=lambda a, b: (a - b,),
        convention="a tie counts half on both sides",
    )


_extreme("maximum", np.maximum, operator.lt)
_extreme("minimum", np.minimum, operator.gt)
elementwise(
    "clip",
    lambda x, low, high: np.minimum(np.maximum(x, low), high),
    lambda m, x, low, high: m.minimum(m.maximum(x, low), high),
    (5.0, 0.0, 3.0),
    lambda x, low, high, y: 1.0,
    one,
    one,
    active=(
        lambda x, low, high: ~(x < low) & ~(x > high),
        lambda x, low, high: (x < low) & (low <= high),
        lambda x, low, high: (x > high) | (low > high),
    ),
    kinks=lambda x, low, high: (x - low, x - high, low - high),
    convention="slope 1 at both bounds",
)


def _where(condition: Array, a: Array, b: Array) -> Array:
    """np.where, without the copy when ``a`` is taken everywhere: most masks leave nothing out."""
    shape = np.shape(a)  # of the result too, unless the condition or ``b`` is wider
    if np.shape(condition) == shape and np.shape(b) in ((), shape) and np.all(condition):
        return a
    return np.where(condition, a, b)


elementwise(
    "where",
    _where,
    "where",
    (1.0, 2.0, 3.0),
    None,
    lambda c, a, b, y: 1.0,
    one,
    conditions=1,
    active=(None, lambda c, a, b: c, lambda c, a, b: ~c),
    convention="the branch that is not taken contributes nothing",
)

# Truth values: nothing flows through them, and a comparison is a kink where its sides are equal.


def _comparison(name: str, forward: Callable[..., Array]) -> None:
    elementwise(
        name, forward, name, (1.0, 2.0), None, None, truth=True, kinks=lambda a, b: (a - b,)
    )


_comparison("less", operator.lt)
_comparison("less_equal", operator.le)
_comparison("greater", operator.gt)
_comparison("greater_equal", operator.ge)
_comparison("equal", operator.eq)
_comparison("not_equal", operator.ne)

elementwise(
    "logical_and", np.logical_and, "logical_and", (1.0, 0.0), None, None, conditions=2, truth=True
)
elementwise(
    "logical_or", np.logical_or, "logical_or", (1.0, 0.0), None, None, conditions=2, truth=True
)
elementwise("logical_not", np.logical_not, "logical_not", 1.0, None, conditions=1, truth=True)

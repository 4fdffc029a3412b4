"""The smooth elementwise rows: one primitive a row, its partials behind its twin.

Partials are written so that they keep their accuracy where the textbook form loses it: tanh' as
4 s(2x) s(-2x), not 1 - tanh(x)**2, which is 0 from x = 19.1 on; (a/b)' by b as -y/b, not -a/b**2.
Constants that float64 cannot hold are nodes (log(2), pi), so that 50 digits have them in full.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcalc.graph import Array, Node, ops
from gradcalc.primitives.rule import elementwise

LARGEST_ODD = 2.0**53

# Partials, kinks and domains that many rows share.


def one(*inputs: Node) -> float:
    return 1.0


def minus_one(*inputs: Node) -> float:
    return -1.0


def zero(*inputs: Node) -> float:
    return 0.0


def first(a: Node, b: Node, y: Node) -> Node:
    return a


def second(a: Node, b: Node, y: Node) -> Node:
    return b


def at_zero(x: Node) -> tuple[Node, ...]:
    return (x,)


def not_negative(x: Node) -> Node:
    return x >= 0.0


def within_one(x: Node) -> Node:
    return ops.abs(x) <= 1.0


# Constants, and partials that are longer than a line.


def exact_pi(like: Node) -> Node:
    """pi to whatever precision the graph is evaluated in."""
    return 4.0 * ops.arctan(like.graph.constant(1.0))


def exact_log(base: float, like: Node) -> Node:
    """The natural logarithm of ``base``, to any precision."""
    return ops.log(like.graph.constant(base))


def _power_by_base(a: Node, b: Node, y: Node) -> Node | float:
    """b a**(b-1), and 0 for b = 0 whatever a is, also where a**-1 has no value.

    b - 1 is exact in float64 from 1/2 (Sterbenz) to 2**53; elsewhere its rounding would be
    multiplied by log(a), or turn odd into even, so b y/a is used where it is finite.
    """
    if b.number is not None and (b.number == 0.0 or 0.5 <= b.number <= LARGEST_ODD):
        exponent = b.number - 1.0
        return b * a if exponent == 1.0 else 0.0 if b.number == 0.0 else b * a**exponent
    exact = (b >= 0.5) & (b <= LARGEST_ODD)
    inexact = ~exact & ops.not_equal(a, 0.0) & (ops.abs(a) < np.inf)
    flat = ops.equal(b, 0.0) & ~(ops.abs(a) > 0.0)
    return ops.where(flat, 0.0, b * ops.where(inexact, y / a, a ** (b - 1.0)))


def _power_by_exponent(a: Node, b: Node, y: Node) -> Node:
    """y log(a); at a = 0 its limit 0 for b >= 0; nan for a negative base."""
    return ops.where(ops.equal(a, 0.0) & (b >= 0.0), 0.0, y * ops.log(a))


def _is_integer(b: Node) -> bool:
    """Is ``b`` a constant whole number, so that a negative base needs no care?"""
    return b.number is not None and b.number.is_integer()


def expit(x: Array) -> Array:
    """1/(1 + exp(-x)) without overflow: exp(min(x, 0)) / (1 + exp(-|x|))."""
    return np.exp(np.minimum(x, 0.0)) / (1.0 + np.exp(-np.abs(x)))


def _logistic_loss(x: Array, t: Array) -> Array:
    """log(1 + exp(x)) - t x, so that it cancels neither for t = 1 nor for t = 0."""
    return (1.0 - t) * np.logaddexp(0.0, x) + t * np.logaddexp(0.0, -x)


def _sigmoid_of_difference(a: Node, b: Node) -> Node:
    """sigmoid(a - b), corrected for the rounding of a - b (two-sum), which exp multiplies."""
    difference = a - b
    taken = a - difference
    lost = (a - (difference + taken)) + (taken - b)
    s = ops.sigmoid(difference)
    finite = ops.abs(difference) < np.inf
    return s * (1.0 + ops.where(finite, lost * ops.sigmoid(-difference), 0.0))


def _over_size(part: Node, size: Node) -> Node:
    """part / size; 0 where the size is 0."""
    return ops.where(ops.equal(size, 0.0), 0.0, part / size)


def _over_square(part: Node, a: Node, b: Node) -> Node:
    """part / (a**2 + b**2), without over- or underflow of the squares; 0 at (0, 0)."""
    size = ops.hypot(a, b)
    return ops.where(ops.equal(size, 0.0), 0.0, part / size / size)


def _by_above(a: Node, b: Node, y: Node) -> Node:
    return 1.0 / b


def _by_below(a: Node, b: Node, y: Node) -> Node:
    return -y / b


def _radians(x: Node, y: Node) -> Node:
    return exact_pi(x) / 180.0


def _degrees(x: Node, y: Node) -> Node:
    return 180.0 / exact_pi(x)


def _cbrt(m: Any, x: Any) -> Any:
    """The twin, which is real for x < 0 too."""
    return m.sign(x) * m.cbrt(abs(x))


def _logarithm(name: str, forward: Callable[..., Array], base: float, example: float) -> None:
    """The row of the logarithm to ``base``."""
    elementwise(
        name,
        forward,
        lambda m, x: m.log(x) / m.log(m.number(base)),
        example,
        lambda x, y: 1.0 / (ops.abs(x) * exact_log(base, x)),
        domain=not_negative,
        kinks=at_zero,
    )


def _sigmoid_slope(x: Node, y: Node) -> Node:
    return y * ops.sigmoid(-x)


def _tanh_slope(x: Node, y: Node) -> Node:
    return 4.0 * (ops.sigmoid(2.0 * x) * ops.sigmoid(-2.0 * x))


def _softsign(x: Array) -> Array:
    return x / (1.0 + np.abs(x))


def _softsign_slope(x: Node, y: Node) -> Node:
    return (1.0 / (1.0 + ops.abs(x))) ** 2.0


def _cosine(x: Node) -> Node:
    """sqrt(1 - x**2), which does not cancel at 1."""
    return ops.sqrt((1.0 - x) * (1.0 + x))


# Arithmetic: Python's operators, which on float64 scalars are ten times as fast as NumPy's ufuncs.

elementwise("add", operator.add, lambda m, a, b: a + b, (1.5, 2.0), one, one)
elementwise("subtract", operator.sub, lambda m, a, b: a - b, (1.5, 2.0), one, minus_one)
elementwise("multiply", operator.mul, lambda m, a, b: a * b, (3.0, 4.0), second, first)
elementwise(
    "divide",
    operator.truediv,
    lambda m, a, b: a / b,
    (1.0, 4.0),
    _by_above,
    _by_below,
    kinks=lambda a, b: (b,),
)
elementwise("negative", operator.neg, lambda m, x: -x, 2.0, minus_one)
elementwise(
    "power",
    operator.pow,
    "power",
    (2.0, 3.0),
    _power_by_base,
    _power_by_exponent,
    domain=lambda a, b: _is_integer(b) or (a >= 0.0) | ops.equal(b, ops.round(b)),
    kinks=lambda a, b: () if _is_integer(b) and b.number >= 0.0 else (a,),
    convention="x**0 has slope 0; 0**b has slope 0 by b >= 0; by b, a negative base gives nan",
)
elementwise(
    "hypot",
    np.hypot,
    lambda m, a, b: m.sqrt(a * a + b * b),
    (3.0, 4.0),
    lambda a, b, y: _over_size(a, y),
    lambda a, b, y: _over_size(b, y),
    kinks=lambda a, b: (ops.hypot(a, b),),
    convention="slope 0 at (0, 0)",
)
elementwise("deg2rad", np.deg2rad, lambda m, x: x * m.pi() / 180, 180.0, _radians)
elementwise("rad2deg", np.rad2deg, lambda m, x: x * 180 / m.pi(), 1.0, _degrees)

# Roots, exponentials and logarithms.

elementwise(
    "sqrt",
    np.sqrt,
    "sqrt",
    4.0,
    lambda x, y: 0.5 / ops.abs(y),
    domain=not_negative,
    kinks=at_zero,
)
elementwise("cbrt", np.cbrt, _cbrt, 8.0, lambda x, y: 1.0 / (3.0 * y * y), kinks=at_zero)
elementwise("exp", np.exp, "exp", 1.0, lambda x, y: y)
elementwise("exp2", np.exp2, lambda m, x: m.power(2, x), 3.0, lambda x, y: y * exact_log(2.0, x))
elementwise("expm1", np.expm1, lambda m, x: m.exp(x) - 1, 1e-9, lambda x, y: ops.exp(x))
elementwise(
    "log",
    np.log,
    "log",
    2.0,
    lambda x, y: 1.0 / ops.abs(x),
    domain=not_negative,
    kinks=at_zero,
)
_logarithm("log2", np.log2, 2.0, 8.0)
_logarithm("log10", np.log10, 10.0, 100.0)
elementwise(
    "log1p",
    np.log1p,
    lambda m, x: m.log(1 + x),
    1e-9,
    lambda x, y: 1.0 / (1.0 + x),
    domain=lambda x: x >= -1.0,
)
elementwise(
    "logaddexp",
    np.logaddexp,
    lambda m, a, b: m.log(m.exp(a) + m.exp(b)),
    (1.0, 2.0),
    lambda a, b, y: _sigmoid_of_difference(a, b),
    lambda a, b, y: _sigmoid_of_difference(b, a),
)
elementwise("sigmoid", expit, lambda m, x: 1 / (1 + m.exp(-x)), 40.0, _sigmoid_slope)
elementwise(
    "_logistic_loss",
    _logistic_loss,
    lambda m, x, t: m.log(1 + m.exp(x)) - t * x,
    (0.5, 0.25),
    lambda x, t, y: (1.0 - t) * ops.sigmoid(x) - t * ops.sigmoid(-x),
    lambda x, t, y: -x,
)
elementwise("softsign", _softsign, lambda m, x: x / (1 + abs(x)), -3.0, _softsign_slope)

# Trigonometric and hyperbolic. 1 - x**2 is written (1 - x)(1 + x), which does not cancel at 1.

elementwise("sin", np.sin, "sin", 0.5, lambda x, y: ops.cos(x))
elementwise("cos", np.cos, "cos", 0.5, lambda x, y: -ops.sin(x))
elementwise("tan", np.tan, "tan", 0.5, lambda x, y: 1.0 + y * y)
elementwise("arcsin", np.arcsin, "asin", 0.5, lambda x, y: 1.0 / _cosine(x), domain=within_one)
elementwise("arccos", np.arccos, "acos", 0.5, lambda x, y: -1.0 / _cosine(x), domain=within_one)
elementwise("arctan", np.arctan, "atan", 1.0, lambda x, y: (1.0 / ops.hypot(1.0, x)) ** 2.0)
elementwise(
    "arctan2",
    np.arctan2,
    "atan2",
    (1.0, 2.0),
    lambda a, b, y: _over_square(b, a, b),
    lambda a, b, y: -_over_square(a, a, b),
    kinks=lambda a, b: (ops.where(b <= 0.0, a, 1.0),),
    convention="slope 0 at (0, 0)",
)
elementwise("sinh", np.sinh, "sinh", 0.5, lambda x, y: ops.cosh(x))
elementwise("cosh", np.cosh, "cosh", 0.5, lambda x, y: ops.sinh(x))
elementwise("tanh", np.tanh, "tanh", 19.5, _tanh_slope)
elementwise("arcsinh", np.arcsinh, "asinh", 0.5, lambda x, y: 1.0 / ops.hypot(1.0, x))
elementwise(
    "arccosh",
    np.arccosh,
    "acosh",
    2.0,
    lambda x, y: 1.0 / (ops.sqrt(x - 1.0) * ops.sqrt(x + 1.0)),
    domain=lambda x: x >= 1.0,
)
elementwise(
    "arctanh",
    np.arctanh,
    "atanh",
    0.5,
    lambda x, y: 1.0 / ((1.0 - x) * (1.0 + x)),
    domain=within_one,
)

# A constant to derivatives: nothing flows through it.

elementwise("detach", lambda x: x, "detach", 3.0, None)

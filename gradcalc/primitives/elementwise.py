"""The smooth elementwise rows: one primitive a row, its partials behind its twin.

Partials are written so that they keep their accuracy where the textbook form loses it: tanh' as
4 s(2x) s(-2x), not 1 - tanh(x)**2, which is 0 from x = 19.1 on; (a/b)' by b as -y/b, not -a/b**2.
Constants that float64 cannot hold are nodes (log(2), pi), so that 50 digits have them in full.
"""

import operator

import numpy as np

from gradcalc.graph import Array, Node, ops
from gradcalc.primitives.rule import elementwise

LARGEST_ODD = 2.0**53


def exact_pi(like: Node) -> Node:
    """pi to whatever precision the graph is evaluated in."""
    return 4.0 * ops.arctan(like.graph.constant(1.0))


def exact_log(base: float, like: Node) -> Node:
    """The natural logarithm of ``base``, to any precision."""
    return ops.log(like.graph.constant(base))


def _power_by_base(a: Node, b: Node, y: Node) -> Node | float:
    """b a**(b-1), and 0 for b = 0 whatever a is.

    b - 1 is exact in float64 from 1/2 (Sterbenz) to 2**53; elsewhere its rounding would be
    multiplied by log(a), or turn odd into even, so b y/a is used where it is finite.
    """
    if b.number is not None and (b.number == 0.0 or 0.5 <= b.number <= LARGEST_ODD):
        exponent = b.number - 1.0
        return b * a if exponent == 1.0 else 0.0 if b.number == 0.0 else b * a**exponent
    exact = (b >= 0.5) & (b <= LARGEST_ODD)
    inexact = ~exact & ops.not_equal(a, 0.0) & (ops.abs(a) < np.inf)
    return ops.where(ops.equal(b, 0.0), 0.0, b * ops.where(inexact, y / a, a ** (b - 1.0)))


def _power_by_exponent(a: Node, b: Node, y: Node) -> Node:
    """y log(a); at a = 0 its limit 0 for b >= 0; nan for a negative base."""
    return ops.where(ops.equal(a, 0.0) & (b >= 0.0), 0.0, y * ops.log(a))


def _is_integer(b: Node) -> bool:
    """Is ``b`` a constant whole number, so that a negative base needs no care?"""
    return b.number is not None and b.number.is_integer()


def _sigmoid(x: Array) -> Array:
    """1/(1 + exp(-x)) without overflow: exp(min(x, 0)) / (1 + exp(-|x|))."""
    return np.exp(np.minimum(x, 0.0)) / (1.0 + np.exp(-np.abs(x)))


def _sigmoid_of_difference(a: Node, b: Node) -> Node:
    """sigmoid(a - b), corrected for the rounding of a - b (two-sum), which exp multiplies."""
    difference = a - b
    taken = a - difference
    lost = (a - (difference + taken)) + (taken - b)
    s = ops.sigmoid(difference)
    finite = ops.abs(difference) < np.inf
    return s * (1.0 + ops.where(finite, lost * ops.sigmoid(-difference), 0.0))


# Arithmetic: Python's operators, which on float64 scalars are ten times as fast as NumPy's ufuncs.

elementwise(
    "add", operator.add, lambda m, a, b: a + b, (1.5, 2.0), lambda a, b, y: 1.0, lambda a, b, y: 1.0
)
elementwise(
    "subtract",
    operator.sub,
    lambda m, a, b: a - b,
    (1.5, 2.0),
    lambda a, b, y: 1.0,
    lambda a, b, y: -1.0,
)
elementwise(
    "multiply",
    operator.mul,
    lambda m, a, b: a * b,
    (3.0, 4.0),
    lambda a, b, y: b,
    lambda a, b, y: a,
)
elementwise(
    "divide",
    operator.truediv,
    lambda m, a, b: a / b,
    (1.0, 4.0),
    lambda a, b, y: 1.0 / b,
    lambda a, b, y: -y / b,
)
elementwise("negative", operator.neg, lambda m, x: -x, 2.0, lambda x, y: -1.0)
elementwise(
    "power",
    operator.pow,
    "power",
    (2.0, 3.0),
    _power_by_base,
    _power_by_exponent,
    domain=lambda a, b: _is_integer(b) or (a >= 0.0) | ops.equal(b, ops.round(b)),
    kinks=lambda a, b: (a,),
    convention="x**0 has slope 0; 0**b has slope 0 by b >= 0; by b, a negative base gives nan",
)
elementwise(
    "hypot",
    np.hypot,
    lambda m, a, b: m.sqrt(a * a + b * b),
    (3.0, 4.0),
    lambda a, b, y: ops.where(ops.equal(y, 0.0), 0.0, a / y),
    lambda a, b, y: ops.where(ops.equal(y, 0.0), 0.0, b / y),
    kinks=lambda a, b: (ops.hypot(a, b),),
    convention="slope 0 at (0, 0)",
)
elementwise(
    "deg2rad", np.deg2rad, lambda m, x: x * m.pi() / 180, 180.0, lambda x, y: exact_pi(x) / 180.0
)
elementwise(
    "rad2deg", np.rad2deg, lambda m, x: x * 180 / m.pi(), 1.0, lambda x, y: 180.0 / exact_pi(x)
)

# Roots, exponentials and logarithms.

elementwise("sqrt", np.sqrt, "sqrt", 4.0, lambda x, y: 0.5 / ops.abs(y), domain=lambda x: x >= 0.0)
elementwise(
    "cbrt",
    np.cbrt,
    lambda m, x: m.sign(x) * m.cbrt(abs(x)),
    8.0,
    lambda x, y: 1.0 / (3.0 * y * y),
    kinks=lambda x: (x,),
)
elementwise("exp", np.exp, "exp", 1.0, lambda x, y: y)
elementwise("exp2", np.exp2, lambda m, x: m.power(2, x), 3.0, lambda x, y: y * exact_log(2.0, x))
elementwise("expm1", np.expm1, lambda m, x: m.exp(x) - 1, 1e-9, lambda x, y: ops.exp(x))
elementwise("log", np.log, "log", 2.0, lambda x, y: 1.0 / ops.abs(x), domain=lambda x: x >= 0.0)
elementwise(
    "log2",
    np.log2,
    lambda m, x: m.log(x) / m.log(m.number(2.0)),
    8.0,
    lambda x, y: 1.0 / (ops.abs(x) * exact_log(2.0, x)),
    domain=lambda x: x >= 0.0,
)
elementwise(
    "log10",
    np.log10,
    lambda m, x: m.log(x) / m.log(m.number(10.0)),
    100.0,
    lambda x, y: 1.0 / (ops.abs(x) * exact_log(10.0, x)),
    domain=lambda x: x >= 0.0,
)
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
elementwise(
    "sigmoid", _sigmoid, lambda m, x: 1 / (1 + m.exp(-x)), 40.0, lambda x, y: y * ops.sigmoid(-x)
)

# Trigonometric and hyperbolic. 1 - x**2 is written (1 - x)(1 + x), which does not cancel at 1.

elementwise("sin", np.sin, "sin", 0.5, lambda x, y: ops.cos(x))
elementwise("cos", np.cos, "cos", 0.5, lambda x, y: -ops.sin(x))
elementwise("tan", np.tan, "tan", 0.5, lambda x, y: 1.0 + y * y)
elementwise(
    "arcsin",
    np.arcsin,
    "asin",
    0.5,
    lambda x, y: 1.0 / ops.sqrt((1.0 - x) * (1.0 + x)),
    domain=lambda x: ops.abs(x) <= 1.0,
)
elementwise(
    "arccos",
    np.arccos,
    "acos",
    0.5,
    lambda x, y: -1.0 / ops.sqrt((1.0 - x) * (1.0 + x)),
    domain=lambda x: ops.abs(x) <= 1.0,
)
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
elementwise(
    "tanh", np.tanh, "tanh", 19.5, lambda x, y: 4.0 * (ops.sigmoid(2.0 * x) * ops.sigmoid(-2.0 * x))
)
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
    domain=lambda x: ops.abs(x) <= 1.0,
)

# A constant to derivatives: nothing flows through it.

elementwise("detach", lambda x: x, "detach", 3.0, None)


def _over_square(numerator: Node, a: Node, b: Node) -> Node:
    """numerator / (a**2 + b**2), without over- or underflow of the squares; 0 at (0, 0)."""
    size = ops.hypot(a, b)
    return ops.where(ops.equal(size, 0.0), 0.0, numerator / size / size)

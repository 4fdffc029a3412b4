"""Special functions: SciPy's values, with derivatives after the DLMF (https://dlmf.nist.gov).

SciPy is imported when a value is first asked for. The rows whose names begin with ``_`` are not for
users: partials need them to keep their digits, and, being rows, they are exact at 50 digits too.
"""

from collections.abc import Callable
from math import factorial

import numpy as np

from gradcalc.graph import Array, Node, ops
from gradcalc.primitives.elementwise import exact_pi
from gradcalc.primitives.rule import elementwise


def scipy(name: str) -> Callable[..., Array]:
    """``scipy.special``'s function of that name."""

    def forward(*inputs: Array) -> Array:
        from scipy import special

        return getattr(special, name)(*inputs)

    return forward


def circle(x: Array) -> tuple[Array, Array]:
    """sin(pi x) and cos(pi x); the argument is reduced before pi can round it."""
    whole = np.rint(x)
    rest = x - whole
    sign = 1.0 - 2.0 * np.remainder(whole, 2.0)
    return sign * np.sin(np.pi * rest), sign * np.sin(np.pi * (0.5 - np.abs(rest)))


# The error function and its relatives, DLMF 7.


def _gauss(x: Array) -> Array:
    """exp(-x**2/2), with x**2 split so that its rounding is not multiplied by x**2."""
    high = np.rint(np.clip(x, -64.0, 64.0) * 16.0) / 16.0  # few bits: its square is exact
    return np.exp(-0.5 * high * high) * np.exp(-0.5 * (x - high) * (x + high))


def _erfinv_slope(x: Array) -> Array:
    """sqrt(pi)/2 exp(y**2) of y = erfinv(x), corrected for the rounding of y, times 2 y."""
    from scipy import special

    y = np.abs(special.erfinv(x))
    slope = 0.5 * np.sqrt(np.pi) / np.square(_gauss(y))
    missing = special.erfc(y) - (1.0 - np.abs(x))
    return slope + np.where(missing == 0.0, 0.0, 2.0 * y * slope * slope * missing)


def _bell(x: Node) -> Node:
    """exp(-x**2)"""
    return ops._gauss(x) * ops._gauss(x)


elementwise("_gauss", _gauss, lambda m, x: m.exp(-x * x / 2), 1.0, lambda x, y: -x * y)
elementwise("erf", scipy("erf"), "erf", 0.5, lambda x, y: 2.0 / ops.sqrt(exact_pi(x)) * _bell(x))
elementwise(
    "erfc", scipy("erfc"), "erfc", 0.5, lambda x, y: -2.0 / ops.sqrt(exact_pi(x)) * _bell(x)
)
elementwise(
    "erfinv",
    scipy("erfinv"),
    "erfinv",
    0.5,
    lambda x, y: ops._erfinv_slope(x),
    domain=lambda x: ops.abs(x) <= 1.0,
)
elementwise(
    "_erfinv_slope",
    _erfinv_slope,
    lambda m, x: m.sqrt(m.pi()) / 2 * m.exp(m.erfinv(x) * m.erfinv(x)),
    0.5,
    lambda x, y: 2.0 * ops.erfinv(x) * y * y,
    domain=lambda x: ops.abs(x) <= 1.0,
)
elementwise(
    "ndtr",
    scipy("ndtr"),
    lambda m, x: m.erfc(-x / m.sqrt(m.number(2.0))) / 2,
    1.0,
    lambda x, y: ops._gauss(x) / ops.sqrt(2.0 * exact_pi(x)),
)
elementwise(
    "logit",
    scipy("logit"),
    lambda m, x: m.log(x) - m.log(1 - x),
    0.25,
    lambda x, y: 1.0 / (x * (1.0 - x)),
    domain=lambda x: (x >= 0.0) & (x <= 1.0),
)
elementwise(
    "softplus",
    lambda x: np.logaddexp(0.0, x),
    lambda m, x: m.log(1 + m.exp(x)),
    1.0,
    lambda x, y: ops.sigmoid(x),
)

# x log(y) with 0 log(0) = 0, and sin(pi x)/(pi x) with 1 at 0.


def _ratio(a: Node, b: Node) -> Node:
    return ops.where(ops.equal(a, 0.0), 0.0, a / b)


elementwise(
    "xlogy",
    scipy("xlogy"),
    lambda m, a, b: m.where(m.logical_and(m.equal(a, 0), m.less_equal(b, 0)), 0, a * m.log(b)),
    (2.0, 3.0),
    lambda a, b, y: ops.log(b),
    lambda a, b, y: _ratio(a, b),
    domain=lambda a, b: (b >= 0.0) | ops.equal(a, 0.0),
    convention="0 for a = 0, whatever b is, and so is its slope by b",
)
elementwise(
    "xlog1py",
    scipy("xlog1py"),
    lambda m, a, b: m.where(m.logical_and(m.equal(a, 0), m.less_equal(b, -1)), 0, a * m.log(1 + b)),
    (2.0, 3.0),
    lambda a, b, y: ops.log1p(b),
    lambda a, b, y: _ratio(a, 1.0 + b),
    domain=lambda a, b: (b >= -1.0) | ops.equal(a, 0.0),
    convention="0 for a = 0, whatever b is, and so is its slope by b",
)


def _sinc_slope(x: Array) -> Array:
    """The slope of sinc, (cos(pi x) - sin(pi x)/(pi x)) / x; by its series where that cancels."""
    square = np.square(np.pi * np.clip(x, -0.5, 0.5))
    series = np.zeros_like(square)
    for k in range(12, 0, -1):  # sum over k of (-1)**k square**(k-1) 2k/(2k+1)!
        series = -2.0 * k / factorial(2 * k + 1) - square * series
    sine, cosine = circle(x)
    far = (cosine - sine / (np.pi * x)) / x
    return np.where(np.abs(x) < 0.5, np.pi * (np.pi * x) * series, far)[()]


def _sinc_bend(x: Node, slope: Node) -> Node:
    """The second derivative of sinc; -pi**2/3 at 0."""
    whole = ops.round(x)
    sine = (1.0 - 2.0 * ops.remainder(whole, 2.0)) * ops.sin(exact_pi(x) * (x - whole))
    bend = -(exact_pi(x) * sine + 2.0 * slope) / x
    return ops.where(ops.equal(x, 0.0), exact_pi(x) * exact_pi(x) / -3.0, bend)


elementwise("sinc", np.sinc, lambda m, x: m.sinc(m.pi() * x), 0.5, lambda x, y: ops._sinc_slope(x))
elementwise(
    "_sinc_slope",
    _sinc_slope,
    lambda m, x: (m.cos(m.pi() * x) - m.sinc(m.pi() * x)) / x,
    0.5,
    lambda x, y: _sinc_bend(x, y),
)

"""Special functions: SciPy's values, with derivatives after the DLMF (https://dlmf.nist.gov).

SciPy is imported when a value is first asked for. The rows whose names begin with ``_`` are not for
users: partials need them to keep their digits, and, being rows, they are exact at 50 digits too.
"""

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np

from gradcalc.graph import Array, Node, ops
from gradcalc.primitives.elementwise import exact_pi, expit, within_one
from gradcalc.primitives.rule import elementwise


def scipy(name: str) -> Callable[..., Array]:
    """``scipy.special``'s function of that name."""

    def forward(*inputs: Array) -> Array:
        from scipy import special

        return getattr(special, name)(*inputs)

    return forward


def product(a: Array, b: Array) -> tuple[Array, Array]:
    """a b, and what its rounding lost: Dekker 1971, doi:10.1007/BF01397083."""

    def halves(x: Array) -> tuple[Array, Array]:
        high = 134217729.0 * x - (134217729.0 * x - x)
        return high, x - high

    (a, b), (c, d), rounded = halves(a), halves(b), a * b
    return rounded, ((a * c - rounded) + a * d + b * c) + b * d


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
    """exp(-x**2)/sqrt(pi)"""
    return ops._gauss(x) * ops._gauss(x) / ops.sqrt(exact_pi(x))


def _ndtr(x: Array) -> Array:
    """SciPy's; but below -5, where that rounds x/sqrt(2) before it squares it, by erfcx."""
    from scipy import special

    tail = np.minimum(x, -5.0)
    ours = 0.5 * special.erfcx(-np.sqrt(0.5) * tail) * _gauss(tail)
    return np.where(x < -5.0, ours, special.ndtr(x))[()]


def _ndtr_twin(m: Any, x: Any) -> Any:
    return m.erfc(-x / m.sqrt(m.number(2.0))) / 2


def _normal(x: Node, y: Node) -> Node:
    return ops._gauss(x) / ops.sqrt(2.0 * exact_pi(x))


# gelu's approximation has sigmoid(sqrt(8/pi) (x + CUBIC x**3)) for ndtr: Hendrycks and Gimpel 2016.
# Beyond FAR that is 0 or 1, and x**3 must not overflow.

CUBIC, FAR = 0.044715, 32.0
ROOT, ROOT_REST = 1.5957691216057308, -9.969308809110920e-17  # sqrt(8/pi)


def _tanh_ndtr(x: Array) -> Array:
    """In twice the digits up to exp, which would multiply what is lost by rounding."""
    x = np.clip(x, -FAR, FAR)
    square, lost = product(x, x)
    cubic, more = product(CUBIC, square)
    total = 1.0 + cubic
    taken = total - 1.0
    rest = (1.0 - (total - taken)) + (cubic - taken) + more + CUBIC * lost
    inner, lost = product(x, total)
    outer, more = product(ROOT, inner)
    rest = more + ROOT * (lost + x * rest) + ROOT_REST * inner
    return expit(outer) * (1.0 + rest * expit(-outer))


def _tanh_ndtr_twin(m: Any, x: Any) -> Any:
    return 1 / (1 + m.exp(-m.sqrt(m.number(8.0) / m.pi()) * (x + m.number(CUBIC) * x * x * x)))


def _tanh_normal(x: Node, y: Node) -> Node:
    near = ops.clip(x, -FAR, FAR)
    slope = ops.sqrt(8.0 / exact_pi(x)) * (1.0 + 3.0 * CUBIC * near * near)
    return y * ops._tanh_ndtr(-x) * slope


elementwise("_gauss", _gauss, lambda m, x: m.exp(-x * x / 2), 1.0, lambda x, y: -x * y)
elementwise("erf", scipy("erf"), "erf", 0.5, lambda x, y: 2.0 * _bell(x))
elementwise("erfc", scipy("erfc"), "erfc", 0.5, lambda x, y: -2.0 * _bell(x))
elementwise(
    "erfinv", scipy("erfinv"), "erfinv", 0.5, lambda x, y: ops._erfinv_slope(x), domain=within_one
)
elementwise(
    "_erfinv_slope",
    _erfinv_slope,
    lambda m, x: m.sqrt(m.pi()) / 2 * m.exp(m.erfinv(x) * m.erfinv(x)),
    0.5,
    lambda x, y: 2.0 * ops.erfinv(x) * y * y,
    domain=within_one,
)
elementwise("ndtr", _ndtr, _ndtr_twin, 1.0, _normal)
elementwise("_tanh_ndtr", _tanh_ndtr, _tanh_ndtr_twin, 1.0, _tanh_normal)
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


def _times_log(name: str, log: str, end: float) -> None:
    """The row of a log(b), which is 0 for a = 0 also where the logarithm has ended."""

    def left_out(a: Node, b: Node) -> Node:
        return ops.equal(a, 0.0) & (b <= end)

    elementwise(
        name,
        scipy(name),
        lambda m, a, b: m.where(
            m.logical_and(m.equal(a, 0), m.less_equal(b, int(end))), 0, a * m.log(b - int(end))
        ),
        (2.0, 3.0),
        lambda a, b, y: ops.where(left_out(a, b), 0.0, getattr(ops, log)(b)),
        lambda a, b, y: ops.where(ops.equal(a, 0.0), 0.0, a / (b - end)),
        domain=lambda a, b: (b >= end) | ops.equal(a, 0.0),
        kinks=lambda a, b: (ops.where(b <= end, a, 1.0),),
        convention=f"0 for a = 0, whatever b is, with slope 0 by b, and for b <= {end:g} by a",
    )


_times_log("xlogy", "log", 0.0)
_times_log("xlog1py", "log1p", -1.0)


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

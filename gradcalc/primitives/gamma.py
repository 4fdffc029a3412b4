"""The gamma function and its relatives, after chapter 5 of the DLMF (https://dlmf.nist.gov/5).

Their values are SciPy's, which are poor near the poles of gamma and in the tails of beta. So the
partials do not build on them but on the rows whose names begin with ``_``. Those are not for users;
being rows, they are exact at 50 digits too. Numbers as 5.15.6 are equations of the DLMF.
"""

from collections.abc import Callable
from functools import cache
from math import factorial
from typing import Any

import numpy as np

from gradcalc.graph import Array, Node, ops
from gradcalc.primitives.rule import elementwise
from gradcalc.primitives.special import circle, product, scipy

LARGEST_ORDER = 100.0  # of polygamma: a power beyond float64 is not far
HIGHEST_ORDER = 150.0  # of its derivatives, which the rows that are not for users make
BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]  # B2, B4...


@cache
def _cotangent(n: int) -> Array:
    """The n-th derivative of cot(x), over (-1)**n n!, as a polynomial in cot(x).

    All of its coefficients are positive or 0 and its powers all odd or all even: none cancel.
    """
    polynomial = np.array([1.0, 0.0])
    for k in range(1, n + 1):
        polynomial = np.polymul(np.polyder(polynomial), [1.0, 0.0, 1.0]) / k
    return polynomial


def _order(n: Array, largest: float) -> Array:
    return np.where((n == np.rint(n)) & (n >= 0.0) & (n <= largest), n, np.nan)


def _polygamma(n: Array, x: Array) -> Array:
    """SciPy's where that is good; for x < 0 by reflection, 5.15.6; nan at the poles."""
    from scipy import special

    n, x = np.broadcast_arrays(_order(n, HIGHEST_ORDER), x)
    mirrored = np.where(x < 0.0, 1.0 - x, x)
    value = np.array(special.polygamma(n, mirrored))
    far = (n > 0.0) & (mirrored > 16.0 + 8.0 * n)
    value[far] = _polygamma_far(n[far], mirrored[far])
    for k in np.unique(n[(x <= 0.0) & (n >= 0.0)]):
        left = (x <= 0.0) & (n == k)
        value[left] = (-1.0) ** k * (value[left] - _cotangent_slope(int(k), x[left]))
    return value[()]


def _cotangent_slope(n: int, x: Array) -> Array:
    """(-1)**n times the n-th derivative of pi cot(pi x); nan at the poles."""
    from scipy.special import gamma, polygamma

    if n < 16:
        sine, cosine = circle(x)
        cot = cosine / np.where(sine == 0.0, np.nan, sine)
        return gamma(n + 1.0) * np.pi ** (n + 1.0) * np.polyval(_cotangent(n), cot)
    # Powers of the cotangent are poor: its poles at 0 and 1 and what is beyond, by polygamma.
    rest = np.trunc(x) - x
    slope = polygamma(n, rest) - (-1.0) ** n * polygamma(n, 1.0 - rest)
    return np.where(rest == 0.0, np.nan, slope)


def _polygamma_far(n: Array, x: Array) -> Array:
    """By the series 5.15.9, from its small terms on; no factor underflows alone."""
    from scipy.special import gamma

    series = np.zeros_like(x)
    for k, number in reversed([*enumerate(BERNOULLI, 1)]):
        series = series / x / x + number * gamma(2 * k + n) / gamma(n) / factorial(2 * k)
    series = 1.0 + 0.5 * n / x + series / x / x
    half = x ** (-0.5 * n)
    return (-1.0) ** (n + 1.0) * (half * gamma(n)) * (half * series)


def _scipys_polygamma(n: Array, x: Array) -> Array:
    """SciPy's; but for n > 0 and x < 0, where it goes upwards step by step, however far, ours."""
    n = _order(n, LARGEST_ORDER)
    theirs = (x > 0.0) | (n == 0.0)
    value = scipy("polygamma")(n, np.where(theirs, x, np.nan))
    both: Array = np.where(theirs, value, _polygamma(n, x))
    return both[()]


def _gamma(x: Array) -> Array:
    """SciPy's for x > 0; for x < 0 by reflection and, lest it overflow, duplication: 5.5.3, 5.5.5.

    gamma(1 - x) is written -x gamma(-x): 1 - x may be rounded.
    """
    from scipy import special

    mirrored = np.where(x > 0.0, 1.0, -x)
    large = mirrored > 170.0
    half = 0.5 * mirrored
    first = special.gamma(np.where(large, half, mirrored))
    second = special.gamma(half + 0.5) * np.exp2(mirrored - 1.0) / np.sqrt(np.pi)
    sine, _ = circle(x)
    left = np.pi / np.where(sine == 0.0, np.nan, sine) / (mirrored * first)
    left = left / np.where(large, second, 1.0)
    return np.where(x > 0.0, special.gamma(x), left)[()]


def _stirling(x: Array) -> Array:
    """log(gamma(x)) less Stirling's formula, for x >= 10: 5.11.1."""
    result = np.zeros_like(x)
    for k, number in reversed([*enumerate(BERNOULLI[:7], 1)]):
        result = (result / x + number / (2 * k * (2 * k - 1))) / x
    return result


def _residual(part: Array, ratio: Array, total: Array, lost: Array) -> Array:
    """part - ratio (total + lost), with the product in full."""
    rounded, rest = product(ratio, total)
    return (part - rounded) - rest - ratio * lost


def _scipys_beta(a: Array, b: Array) -> Array:
    """SciPy's, where the integral 5.12.1 is finite."""
    return np.where((a > 0.0) & (b > 0.0), scipy("beta")(a, b), np.nan)[()]


def _beta(a: Array, b: Array) -> Array:
    """gamma(a) gamma(b) / gamma(a + b) for a, b > 0; by Stirling's formula for those above 10."""
    from scipy import special

    low, high = np.minimum(a, b), np.maximum(a, b)
    low = np.where(low > 0.0, low, np.nan)
    total = low + high
    lost = low - (total - high)  # by rounding
    none = special.gamma(high) / special.gamma(total) * special.gamma(low)
    none = none * (1.0 - lost * special.digamma(total))
    one = special.gamma(low) * np.exp(_stirling(high) - _stirling(total) + low - _bent(high, low))
    one = one * np.sqrt(total / high) * total ** (-0.5 * low) * total ** (-0.5 * low)
    # high**high low**low / total**total: powers are good, if the ratios' rounding is made up for.
    high = np.minimum(high, 1e100)  # from 1e32 on, beta is 0
    low = np.minimum(low, high)
    first, second = high / total, low / total
    error = _residual(high, first, total, lost) + _residual(low, second, total, lost)
    error = error + _stirling(high) + _stirling(low) - _stirling(total)
    both = first**high * second**low * np.exp(np.minimum(error, 700.0))
    both = both * np.sqrt(2.0 * np.pi * (total / high) / low)
    return np.where(high < 10.0, none, np.where(low < 10.0, one, both))[()]


def _bent(a: Array, b: Array) -> Array:
    """a log(1 + b/a), which tends to b."""
    return np.where(b / a < 1e-20, b, a * np.log1p(b / a))


def _psi_slope(n: Array, a: Array, b: Array) -> Array:
    """(psi_n(a + b) - psi_n(a)) / b for a, b > 0, where psi_n is polygamma.

    The recurrence 5.15.5 up to a + 16 and then the series 5.15.8-9, both term by term.
    """
    from scipy.special import gamma

    def fall(p: Array, x: Array) -> Array:
        """(x**-p - (x + b)**-p) / b"""
        t = b / x
        return x**-p * np.where(t < 1e-20, p / x, -np.expm1(-p * np.log1p(t)) / b)

    a = np.where((a > 0.0) & (b > 0.0), a, np.nan)
    end = a + 16.0
    growth = np.where(b / end < 1e-20, 1.0 / end, np.log1p(b / end) / b)
    total = np.where(n == 0.0, growth, gamma(n) * fall(n, end))
    total = total + gamma(n + 1.0) * (0.5 * fall(n + 1.0, end))
    for k, number in enumerate(BERNOULLI, 1):
        total = total + number * gamma(n + 2 * k) / factorial(2 * k) * fall(n + 2 * k, end)
    for j in range(15, -1, -1):
        total = total + gamma(n + 1.0) * fall(n + 1.0, a + j)
    return ((-1.0) ** n * total)[()]


def _is_order(n: Node, largest: float) -> Node:
    return (n >= 0.0) & (n <= largest) & ops.equal(n, ops.round(n))


def _off_poles(x: Node) -> Node:
    """Not 0, -1, -2, ..."""
    return (x > 0.0) | ops.not_equal(x, ops.round(x))


def _poles(*inputs: Node) -> tuple[Node, ...]:
    """Vanishes at the poles of the last input."""
    x = inputs[-1]
    return (ops.where(x <= 0.0, x - ops.round(x), 1.0),)


def _are_positive(a: Node, b: Node) -> Node:
    return (a > 0.0) & (b > 0.0)


def _beta_by(a: Node, b: Node) -> Node:
    """beta'(a, b) by a: beta (psi(a) - psi(a + b)), scaled lest a factor over- or underflow."""
    mean = ops._psi_slope(0.0, a, b) * ops.maximum(b, 1.0)
    return -(ops._beta(a, b) * ops.minimum(b, 1.0)) * mean


elementwise(
    "lgamma", scipy("gammaln"), "lgamma", 0.5, lambda x, y: ops._polygamma(0.0, x), kinks=_poles
)
elementwise(
    "digamma",
    scipy("digamma"),
    lambda m, x: m.polygamma(0, x),
    0.5,
    lambda x, y: ops._polygamma(1.0, x),
    domain=_off_poles,
    kinks=_poles,
)

# Each of the next three is two rows: one with SciPy's values, and one with ours, on which the
# partials of both build.


def _both(name: str, *forwards: Callable[..., Array], about: tuple[Any, ...], **facts: Any) -> None:
    for prefix, forward in zip(("", "_"), forwards, strict=True):
        elementwise(prefix + name, forward, name, *about, **facts)


def _polygamma_row(name: str, twin: str, forward: Callable[..., Array], largest: float) -> None:
    elementwise(
        name,
        forward,
        twin,
        (1.0, 0.5),
        None,
        lambda n, x, y: ops._polygamma(n + 1.0, x),
        domain=lambda n, x: _is_order(n, largest) & _off_poles(x),
        kinks=_poles,
        convention=f"n is a whole number from 0 to {largest:g}; nothing flows to it",
    )


_polygamma_row("polygamma", "polygamma", _scipys_polygamma, LARGEST_ORDER)
_polygamma_row("_polygamma", "higher_polygamma", _polygamma, HIGHEST_ORDER)
_both(
    "gamma",
    scipy("gamma"),
    _gamma,
    about=(0.5, lambda x, y: ops._gamma(x) * ops._polygamma(0.0, x)),
    domain=_off_poles,
    kinks=_poles,
)
_both(
    "beta",
    _scipys_beta,
    _beta,
    about=((2.0, 3.0), lambda a, b, y: _beta_by(a, b), lambda a, b, y: _beta_by(b, a)),
    domain=_are_positive,
    convention="for a, b > 0",
)
elementwise(
    "_psi_slope",
    _psi_slope,
    lambda m, n, a, b: (m.higher_polygamma(n, a + b) - m.higher_polygamma(n, a)) / b,
    (0.0, 2.0, 3.0),
    None,
    lambda n, a, b, y: ops._psi_slope(n + 1.0, a, b),
    lambda n, a, b, y: (ops._polygamma(n + 1.0, a + b) - y) / b,
    domain=lambda n, a, b: _is_order(n, HIGHEST_ORDER) & _are_positive(a, b),
)

"""One entry at exact points: our number, the true slope, and what lies to both sides of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import mpmath
import numpy as np

from gradcalc.graph import Array, Node
from gradcalc.verify.jacobian import Term

PRECISION = 50  # decimal digits
MOST = 1600  # digits after which two precisions that still disagree are given up
FULL = 53 * math.log10(2)  # digits of float64: 15.95
STEP = mpmath.mpf(10) ** -25  # to either side of a kink


@dataclass(frozen=True)
class Reading:
    """What is to be checked: weights by output, and the gradients that were printed for them."""

    weights: Mapping[str, Array]
    gradients: Mapping[str, Array | None]
    nodes: Mapping[str, Node | None]


@dataclass(frozen=True)
class Look:
    """One entry for one reading: its terms, weighted."""

    leaf: str
    j: int
    ours: float
    terms: Sequence[Term]
    reading: Reading
    step: Any  # to either side: small against the distance to the nearest kink

    def _sum(self, number: Callable[[Term], Any]) -> Any:
        """sum_k w_k number_k; a weight of exactly 0 leaves its element out."""
        total = mpmath.mpf(0)
        for term in self.terms:
            weight = float(np.ravel(self.reading.weights[term.output])[term.element])
            if weight != 0.0:
                total += weight * number(term)
        return total

    def slope(self, step: Any) -> Any:
        """sum_k w_k dy_k/dx_j, at x_j + step."""
        return self._sum(lambda term: term.slope(term.shifted(step)))

    def vanishes(self) -> bool:
        """Is the slope 0 as a formula, whatever the point?"""
        return all(term.slope.expr == 0 for term in self.terms)

    def height(self, step: Any) -> Any:
        """sum_k w_k y_k, at x_j + step."""
        return self._sum(lambda term: term.value(term.shifted(step)))

    def limit(self, side: int) -> Any:
        """The slope's limit from one side: finite, infinite, or nan where it has none."""
        near, nearer = (self._slope_beside(side * step) for step in (self.step, self.step * STEP))
        if mpmath.isnan(nearer) or not mpmath.isfinite(near):
            return nearer
        if abs(nearer - near) <= abs(nearer) * mpmath.mpf(10) ** -15:
            return nearer
        if abs(nearer) > 1.5 * abs(near):
            return mpmath.sign(nearer) * mpmath.inf
        return mpmath.mpf(0) if abs(nearer) < abs(near) / 1.5 else mpmath.nan

    def _slope_beside(self, step: Any) -> Any:
        """The slope at x_j + step: by the formula, else (0 * log(0), say) by a difference."""
        if mpmath.isnan(settled(lambda: self.height(step))):
            return mpmath.nan  # outside the domain, where a formula may still have a value
        slope = settled(lambda: self.slope(step))
        if not mpmath.isnan(slope):
            return slope
        width = step * STEP
        return settled(lambda: (self.height(step + width) - self.height(step)) / width)

    def is_inside(self) -> bool:
        """Does the function have values beside the point?"""
        return not all(
            mpmath.isnan(settled(partial(self.height, s))) for s in (-self.step, self.step)
        )

    def jumps(self) -> bool:
        """Does the value itself leap here?"""

        def gap(step: Any) -> Any:
            sides = [settled(partial(self.height, s)) for s in (-step, 0, step)]
            real = [side for side in sides if not mpmath.isnan(side)]
            return max(real) - min(real) if real else mpmath.mpf(0)

        wide, narrow = gap(self.step), gap(self.step * STEP)
        return bool(narrow > self.step and narrow > wide / 2)


def settled(compute: Callable[[], Any]) -> Any:
    """``compute()`` at a precision that is doubled until two results agree to 30 digits.

    0 where all digits cancel even at the highest; nan where there is no real value, or no end.
    """
    before = None
    precision = 2 * PRECISION
    while precision <= MOST:
        with mpmath.workdps(precision):
            value = compute()
            if mpmath.isnan(value):
                return value
            known = before is not None and value != 0
            if known and abs(value - before) <= abs(value) * mpmath.mpf(10) ** -30:
                return value
        before = value
        precision *= 2
    # Smaller than any float64, and than what rounding leaves of a cancelled sum.
    return mpmath.mpf(0) if abs(value) < mpmath.mpf(10) ** (-MOST // 2) else mpmath.nan


def agreement(ours: float, true: Any) -> float:
    """How many decimal digits of ``ours`` are those of ``true`` (an mpf); at the most FULL."""
    if math.isinf(ours) and mpmath.isfinite(true):
        return 0.0
    if float(true) == ours:
        return FULL
    error = abs(mpmath.mpf(ours) - true)
    if not mpmath.isfinite(error) or true == 0:
        return 0.0
    if error <= 5e-324:  # one unit of the denormals
        return FULL
    return max(0.0, min(FULL, float(-mpmath.log10(error / abs(true)))))

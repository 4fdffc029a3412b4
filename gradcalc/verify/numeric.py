"""Numeric differentiation, to be looked at beside the gradient: it is no part of the check.

Central differences, extrapolated to step 0, as in C. Ridders, "Accurate computation of F'(x) and
F'(x) F''(x)", Advances in Engineering Software 4 (1982).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

FIRST = 2.0**-8  # step, relative to x
SMALL = 2.0**-4  # size that x has at least, for that
RATIO = 2.0  # by which steps become smaller
STEPS = 12  # at the most
UNIT = 2.0**-53
WORSE = 2.0  # an error that grows by so much ends the search


class Estimate(NamedTuple):
    """A derivative, and how far from the true one it is likely to be."""

    value: float
    error: float


def central(function: Callable[[float], float], x: float) -> Estimate:
    """The derivative of ``function`` at ``x`` in float64; nan where there is no difference."""
    step = FIRST * max(abs(x), SMALL)
    best = Estimate(math.nan, math.inf)
    before: list[float] = []
    for _ in range(STEPS):
        right, left = x + step, x - step  # as float64 has them: the width is exact
        above, below = function(right), function(left)
        row = [(above - below) / (right - left)]
        rounding = UNIT * max(abs(above), abs(below)) / (right - left)  # of the values themselves
        factor = RATIO**2
        for i, old in enumerate(before):
            row.append(row[i] + (row[i] - old) / (factor - 1.0))
            error = max(abs(row[-1] - row[i]), abs(row[-1] - old), rounding)
            factor *= RATIO**2
            if error < best.error:
                best = Estimate(row[-1], error)
        if before and abs(row[-1] - before[-1]) >= WORSE * best.error:
            break
        before = row
        step /= RATIO
    return best

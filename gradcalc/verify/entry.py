"""One entry of a gradient at exact points: our number, the true slope, and both sides of it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import mpmath
import numpy as np

from gradcalc.graph import Array, Node
from gradcalc.verify.functions import AtJump
from gradcalc.verify.precision import PRECISION, Range, is_spanned, settled

FULL = 53 * math.log10(2)  # digits of float64: 15.95
POOR = 8.0  # right digits below which a number is badly rounded
STEP = mpmath.mpf(10) ** -25  # to either side of a kink
REFINED = 4  # times that a step is made smaller by as much


class Term(Protocol):
    """dy_k/dx_j for one element k of one output, by one of the methods."""

    @property
    def output(self) -> str: ...

    @property
    def element(self) -> int:
        """k, counted through the flat output."""

    @property
    def size(self) -> int:
        """The number of elements of the output."""

    @property
    def vanishes(self) -> bool:
        """Is the slope 0 whatever the point?"""

    @property
    def is_finite(self) -> bool:
        """Is there no infinity in what it is computed by?"""

    @property
    def identity(self) -> object:
        """What two terms have in common that are computed alike."""

    def slope(self, step: Any) -> Any:
        """dy_k/dx_j at x_j + step."""

    def value(self, step: Any) -> Any:
        """y_k at x_j + step."""


@dataclass(frozen=True)
class Claim:
    """Gradients that were printed, and the passes that they are said to be the sum of.

    weights: of each pass, by output; gradients: float64 by leaf; node: that of a leaf's gradient.
    element: of a row of a Jacobian instead of weights: the one element of an output that counts.
    """

    weights: Sequence[Mapping[str, Array]]
    gradients: Mapping[str, Array | None]
    node: Callable[[str], Node | None]
    element: tuple[str, int] | None = None


class Entry(NamedTuple):
    """Element j of the gradient of one leaf, in one claim.

    on_kink: is the point on a kink behind the entry?
    distance: to the nearest kink that it is not on; inf where none is near.
    """

    leaf: str
    j: int
    claim: Claim
    terms: Sequence[Term]
    on_kink: bool
    distance: float

    @property
    def ours(self) -> float:
        """The number that was printed."""
        return float(np.asarray(self.claim.gradients[self.leaf]).flat[self.j])

    @property
    def step(self) -> Any:
        """A step to either side, small against the distance to the nearest kink."""
        return STEP * min(self.distance, 1.0)

    def _weights(self, term: Term) -> Iterator[float]:
        """The weights of the term's output element, of all passes, that are not exactly 0."""
        if self.claim.element == (term.output, term.element):
            yield 1.0
        for weights in self.claim.weights:
            if term.output in weights:
                given = np.asarray(weights[term.output])
                spread = given.size != term.size  # --expand: the one element has all the weights
                yield from filter(None, given.flat if spread else (given.flat[term.element],))

    def _sum(self, number: Callable[[Term], Any]) -> Any:
        """sum_k w_k number_k; a weight of exactly 0 leaves its element out.

        The integer 0 is what is exactly 0, whatever the precision.
        """
        total: Any = 0
        for term in self.terms:
            for weight in self._weights(term):
                value = number(term)
                if type(value) is not int:  # else nothing flows
                    weighted = value if weight == 1.0 else float(weight) * value
                    total = weighted if type(total) is int else total + weighted
        return total

    def slope(self, step: Any = 0) -> Any:
        """sum_k w_k dy_k/dx_j, at x_j + step."""
        return self._sum(lambda term: term.slope(step))

    def value(self, step: Any = 0) -> Any:
        """sum_k w_k y_k, at x_j + step."""
        return self._sum(lambda term: term.value(step))

    def vanishes(self) -> bool:
        """Is the slope 0 whatever the point?"""
        return all(term.vanishes for term in self.terms)

    def true(self) -> Any:
        """The slope at the point itself, to 50 digits or more; nan where it has none."""
        Range.bits = 0
        with mpmath.workdps(PRECISION):
            slope = self.slope()
            spanned = is_spanned()
        if type(slope) is int:
            return mpmath.mpf(0)
        if not spanned or (slope == 0 and not self.vanishes()):
            return settled(self.slope)  # 0 may be all that cancellation has left
        return slope

    def conventions(self) -> tuple[Any, Any]:
        """The smallest and largest slope, whatever a step is said to be exactly at its jump."""
        slopes = []
        try:
            for AtJump.value in (0, 1):
                with mpmath.workdps(PRECISION):
                    slopes.append(self.slope())
        finally:
            AtJump.value = None
        return min(slopes), max(slopes)

    def limit(self, side: int) -> Any:
        """The slope's limit from one side: finite, infinite, or nan where it has none."""
        step = side * self.step
        slopes = [self._slope_beside(step)]
        for _ in range(REFINED):  # a slope may change within any distance: exp(1e30*x)
            step *= STEP
            slopes.append(self._slope_beside(step))
            near, nearer = slopes[-2:]
            if mpmath.isnan(nearer) or not mpmath.isfinite(near):
                return nearer
            if abs(nearer - near) <= abs(nearer) * mpmath.mpf(10) ** -15:
                return nearer
        near, nearer = slopes[:2]
        if abs(nearer) > 1.5 * abs(near):
            return mpmath.sign(nearer) * mpmath.inf
        return mpmath.mpf(0) if abs(nearer) < abs(near) / 1.5 else mpmath.nan

    def _slope_beside(self, step: Any) -> Any:
        """The slope at x_j + step: by the formula, else (0 * log(0), say) by a difference."""
        if mpmath.isnan(settled(partial(self.value, step))):
            return mpmath.nan  # outside the domain, where a formula may still have a value
        slope = settled(partial(self.slope, step))
        if not mpmath.isnan(slope):
            return slope
        width = step * STEP
        return settled(lambda: (self.value(step + width) - self.value(step)) / width)

    def is_inside(self) -> bool:
        """Does the function have values beside the point?"""
        return not all(
            mpmath.isnan(settled(partial(self.value, step))) for step in (-self.step, self.step)
        )


def leaps(left: Entry, here: Entry, right: Entry) -> bool:
    """Does the value itself jump at the point? ``left`` and ``right`` hold on their sides of it."""

    outside = mpmath.isnan(settled(here.value))
    pairs = [(right, 1, left, -1)] if outside else [(left, -1, here, 0), (right, 1, here, 0)]

    def gap(step: Any) -> Any:
        gaps = [_difference(a, x * step, b, y * step) for a, x, b, y in pairs]
        return max((abs(one) for one in gaps if not mpmath.isnan(one)), default=mpmath.mpf(0))

    wide, narrow = gap(here.step * STEP), gap(here.step * STEP**2)
    return bool(narrow > 0 and (narrow == wide or narrow > 0.75 * wide))  # of 1/log(x), 2/3


def _difference(one: Entry, x: Any, other: Entry, y: Any) -> Any:
    """Between two values; a 0 at twice the usual precision is believed."""

    def compute() -> Any:
        return one.value(x) - other.value(y)

    Range.bits = 0
    with mpmath.workdps(2 * PRECISION):
        if compute() == 0 and is_spanned():
            return mpmath.mpf(0)
    return settled(compute)


def agreement(ours: float, true: Any) -> float:
    """How many decimal digits of ``ours`` are those of ``true`` (an mpf); at the most FULL."""
    if math.isinf(ours) and mpmath.isfinite(true):
        return 0.0
    if float(true) == ours:
        return FULL
    error, size = abs(float(true - ours)), abs(float(true))
    if not math.isfinite(error) or not true:
        return 0.0
    if error <= max(5e-324, size * 2.0**-53):  # one unit of the denormals
        return FULL
    return max(0.0, -math.log10(error / size)) if size else 0.0

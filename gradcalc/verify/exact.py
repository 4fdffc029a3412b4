"""Our own gradient at many digits: the same nodes, in another arithmetic."""

from collections.abc import Iterable, Sequence
from typing import Any

import mpmath

from gradcalc.graph import Node
from gradcalc.verify.points import Points
from gradcalc.verify.precision import MOST, PRECISION

TINY = mpmath.mpf(10) ** -330  # smaller than any float64
DIGITS = (PRECISION, 2 * PRECISION, 8 * PRECISION, MOST)  # tried until the two agree
CLOSE = mpmath.mpf(10) ** -20  # to which our rule and SymPy's must agree


class Exact:
    """Evaluates gradient nodes at, and beside, the exact float64 point."""

    def __init__(self, points: Points) -> None:
        self.points = points

    def agrees(
        self,
        node: Node,
        leaf: Node,
        j: int,
        step: Any,
        true: Any,
        digits: Sequence[int] = DIGITS,
    ) -> bool | None:
        """Is element j of the gradient ``node`` the number ``true``, at x_j + step?

        None where it has no value: 0 times an infinite slope is none, and proves nothing.
        """
        ours: Any = mpmath.nan
        for precision in digits:
            with mpmath.workdps(precision):
                ours = self.gradient(node, leaf, j, step)
                if mpmath.isfinite(ours) and abs(ours - true) <= abs(true) * CLOSE + TINY:
                    return True
        return False if mpmath.isfinite(ours) else None

    def gradient(self, node: Node, leaf: Node, j: int, step: Any) -> Any:
        """Element j of ``node``, the gradient of ``leaf``, at the precision that is set."""
        return self.points.at(leaf, j, step).take(node, [j])[0]

    def is_real(self, elements: Iterable[tuple[Node, int]], leaf: Node, j: int, step: Any) -> bool:
        """Have these elements of outputs real values at x_j + step?"""
        with mpmath.workdps(4 * PRECISION):
            here = self.points.at(leaf, j, step)
            return not any(mpmath.isnan(here.take(node, [k])[0]) for node, k in elements)

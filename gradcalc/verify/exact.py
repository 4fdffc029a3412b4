"""Our own gradient at many digits: the same nodes, in another arithmetic."""

from collections.abc import Iterable, Mapping
from typing import Any

import mpmath
import numpy as np

from gradcalc.compute.evaluate import evaluate_with, needed
from gradcalc.graph import LEAF, Array, Node
from gradcalc.primitives.rule import Elementwise
from gradcalc.verify.arithmetic import Digits
from gradcalc.verify.entry import MOST, PRECISION

TINY = mpmath.mpf(10) ** -330  # smaller than any float64
DIGITS = (PRECISION, 2 * PRECISION, 8 * PRECISION, MOST)  # tried until the two agree
CLOSE = mpmath.mpf(10) ** -20  # to which our rule and SymPy's must agree


class Exact:
    """Evaluates gradient nodes at, and beside, the exact float64 ``values`` of the leaves."""

    def __init__(self, values: Mapping[Node, Array]) -> None:
        self.leaves = {n: value for n, value in values.items() if n.primitive is LEAF}
        self.whole: dict[tuple[Node, int], Array] = {}

    def agrees(self, node: Node, leaf: Node, j: int, step: Any, true: Any) -> bool | None:
        """Is element j of the gradient ``node`` the number ``true``, at x_j + step?

        None where it has no value: 0 times an infinite slope is none, and proves nothing.
        """
        for precision in DIGITS:
            with mpmath.workdps(precision):
                ours = self.gradient(node, leaf, j, step, precision)
                if mpmath.isfinite(ours) and abs(ours - true) <= abs(true) * CLOSE + TINY:
                    return True
        return False if mpmath.isfinite(ours) else None

    def gradient(self, node: Node, leaf: Node, j: int, step: Any, precision: int) -> Any:
        """Element j of ``node``, the gradient of ``leaf``; ``precision`` digits are set already."""
        nodes = needed([node], {})
        if all(isinstance(n.primitive, Elementwise) or not n.inputs for n in nodes):
            # Pointwise: only the one element is computed, however many there are.
            index = np.unravel_index(j, node.shape)
            picked = {n: self._element(n, node.shape, index) for n in nodes if not n.inputs}
            picked[leaf] = picked.get(leaf, mpmath.mpf(0)) + step
            return evaluate_with(Digits(), [node], picked)[0]
        if step:
            return np.ravel(self._evaluated(node, leaf, j, step))[j]
        if (node, precision) not in self.whole:
            self.whole[node, precision] = self._evaluated(node, leaf, j, step)
        return np.ravel(self.whole[node, precision])[j]

    def is_real(self, outputs: Iterable[Node], leaf: Node, j: int, step: Any) -> bool:
        """Have all elements of ``outputs`` real values at x_j + step?"""
        with mpmath.workdps(4 * PRECISION):
            arrays = [self._evaluated(output, leaf, j, step) for output in outputs]
        return not any(mpmath.isnan(value) for array in arrays for value in np.ravel(array))

    def _evaluated(self, node: Node, leaf: Node, j: int, step: Any) -> Array:
        known = {n: _each_number(value) for n, value in self.leaves.items()}
        moved = np.array(known[leaf], dtype=object)
        moved.flat[j] += step
        return evaluate_with(Digits(), [node], {**known, leaf: moved[()]})[0]

    def _element(self, source: Node, shape: tuple[int, ...], index: tuple[Any, ...]) -> Any:
        value = self.leaves[source] if source.primitive is LEAF else source.params[0].array
        return Digits().element(np.broadcast_to(value, shape)[index])


def _each_number(value: Array) -> Array:
    with np.errstate(invalid="ignore"):  # nan
        return np.frompyfunc(Digits().number, 1, 1)(value)

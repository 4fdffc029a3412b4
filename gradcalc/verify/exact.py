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
        if step or _is_pointwise(node):
            return self._beside(node, j, leaf, j, step)[j]
        if (node, precision) not in self.whole:
            self.whole[node, precision] = self._evaluated(node, leaf, j, step)
        return np.ravel(self.whole[node, precision])[j]

    def is_real(self, elements: Iterable[tuple[Node, int]], leaf: Node, j: int, step: Any) -> bool:
        """Have these elements of outputs, all moved by x_j, real values at x_j + step?

        Where an output is not pointwise, all of its elements are looked at.
        """
        distinct = {(node, k if _is_pointwise(node) else 0) for node, k in elements}
        with mpmath.workdps(4 * PRECISION):
            found = [self._beside(node, k, leaf, j, step).values() for node, k in distinct]
        return not any(mpmath.isnan(value) for values in found for value in values)

    def _beside(self, node: Node, k: int, leaf: Node, j: int, step: Any) -> dict[int, Any]:
        """The elements of ``node`` at x_j + step, by number: pointwise k alone, else all."""
        if not _is_pointwise(node):
            return dict(enumerate(np.ravel(self._evaluated(node, leaf, j, step))))
        index = np.unravel_index(k, node.shape)
        sources = [n for n in needed([node], {}) if not n.inputs]
        picked = {n: self._element(n, node.shape, index) for n in sources}
        picked[leaf] = picked.get(leaf, mpmath.mpf(0)) + step
        return {k: evaluate_with(Digits(), [node], picked)[0]}

    def _evaluated(self, node: Node, leaf: Node, j: int, step: Any) -> Array:
        known = {n: _each_number(value) for n, value in self.leaves.items()}
        moved = np.array(known[leaf], dtype=object)
        moved.flat[j] += step
        return evaluate_with(Digits(), [node], {**known, leaf: moved[()]})[0]

    def _element(self, source: Node, shape: tuple[int, ...], index: tuple[Any, ...]) -> Any:
        value = self.leaves[source] if source.primitive is LEAF else source.params[0].array
        return Digits().element(np.broadcast_to(value, shape)[index])


def _is_pointwise(node: Node) -> bool:
    """Does each element depend on its own elements of the inputs only?"""
    return all(isinstance(n.primitive, Elementwise) or not n.inputs for n in needed([node], {}))


def _each_number(value: Array) -> Array:
    with np.errstate(invalid="ignore"):  # nan
        return np.frompyfunc(Digits().number, 1, 1)(value)

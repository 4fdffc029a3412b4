"""Which sub-expression is responsible for a finding."""

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import mpmath
import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.derive.reverse import seed, vjp
from gradcalc.errors import Span
from gradcalc.graph import Array, Node
from gradcalc.language.syntax import part_of, span_of
from gradcalc.verify import findings
from gradcalc.verify.chain import Chain, slopes_of_one
from gradcalc.verify.derivative import NoFormulaError
from gradcalc.verify.entry import POOR, Entry, agreement
from gradcalc.verify.exact import CLOSE, TINY
from gradcalc.verify.kinks import NEAR, kinks
from gradcalc.verify.lower import TooLargeError
from gradcalc.verify.points import Points
from gradcalc.verify.precision import PRECISION

MOST = 2**22  # float64 numbers that are computed once more
TRIED = 8  # elements of one input by which a rule is tried
SMALLEST = 2.3e-308  # of float64, at full precision

Place = tuple[str | None, Span | None]


class Culprits:
    """Looks for the first operation of a program that explains what was found."""

    def __init__(
        self,
        text: str,
        outputs: Mapping[str, Node],
        leaves: Mapping[str, Node],
        conditions: Sequence[Node],
        points: Points,
    ) -> None:
        self.text = text
        self.outputs, self.leaves = outputs, leaves
        self.conditions, self.points = conditions, points
        self.right: dict[Node, bool] = {}  # rules that were tried

    def of(self, kind: str, entry: Entry) -> Place:
        """The text and the span of the part; None where none is known."""
        try:
            node = self._node(kind, entry)
        except (NoFormulaError, TooLargeError):  # to look for it was too much
            return None, None
        if node is None or not isinstance(node.origin, ast.AST):
            return None, None
        return part_of(self.text, node.origin), span_of(self.text, node.origin)

    def _node(self, kind: str, entry: Entry) -> Node | None:
        match kind:
            case "rounded" | "underflow" | "overflow":
                return self._first_poor(entry)
            case "pole" | "outside domain":
                return self._first_infinite(entry)
            case findings.WRONG_RULE:
                return self._first_wrong(entry)
            case _:
                return self._first_kink(entry) or self._first_infinite(entry)

    def underflows(self, entry: Entry) -> bool:
        """Did a number on the way become smaller than float64 can tell from 0?"""
        return any(
            number != 0 and abs(number) < SMALLEST
            for _, numbers in self._numbers(entry)
            for _, number in numbers
        )

    @cached_property
    def _program(self) -> list[Node]:
        return needed([*self.outputs.values(), *self.conditions], {})

    @cached_property
    def _float64(self) -> dict[Node, Array]:
        """The values of the program's nodes; of the leaves only, where they are too many."""
        known = dict(self.points.values)
        if sum(node.size for node in self._program) <= MOST:
            evaluate(self._program, known, keep=True)
        return known

    @cached_property
    def _kinks(self) -> list[tuple[Node, Array, set[Node]]]:
        """The kinks of the program: of which node, how far away, and what moves it."""
        found = [(node, kink) for node in self._program for kink in kinks(node)]
        arrays = evaluate([kink for _, kink in found], dict(self._float64))
        return [
            (node, np.abs(array), set(needed([kink], {})))
            for (node, kink), array in zip(found, arrays, strict=True)
        ]

    @cached_property
    def _chain(self) -> Chain | None:
        try:
            return Chain(self.outputs, self.leaves, self.points)
        except NoFormulaError:
            return None

    def _slopes(self, entry: Entry) -> Iterator[tuple[Node, dict[int, Any]]]:
        """The nodes that are made of the entry's element, each with its slopes."""
        if self._chain is not None:
            with mpmath.workdps(PRECISION):
                slopes = self._chain.slopes(self.leaves[entry.leaf], entry.j, 0)
            yield from sorted(slopes.items(), key=lambda pair: pair[0].index)

    def _numbers(self, entry: Entry) -> Iterator[tuple[Node, Iterable[tuple[int, Any]]]]:
        """All that our gradient of the entry was computed from, at 50 digits."""
        gradient = entry.claim.node(entry.leaf)
        if gradient is None:
            return
        with mpmath.workdps(PRECISION):
            here = self.points.at(self.leaves[entry.leaf], entry.j, 0)
            here.want(gradient, [entry.j])
        for node in needed([gradient], {}):
            if not node.truth:
                yield node, list(here.of(node).items())

    def _first_kink(self, entry: Entry) -> Node | None:
        """The nearest kink that the entry's element moves."""
        leaf = self.leaves[entry.leaf]
        near = [
            (float(np.min(distance)), node.index, node)
            for node, distance, behind in self._kinks
            if leaf in behind and distance.size and np.min(distance) <= NEAR
        ]
        return min(near)[2] if near else None

    def _first_infinite(self, entry: Entry) -> Node | None:
        """The first operation whose value or slope is not finite."""
        for node, slopes in self._slopes(entry):
            value = np.ravel(self._float64.get(node, 0.0))
            for k, slope in slopes.items():
                if not mpmath.isfinite(slope) or not math.isfinite(value[min(k, value.size - 1)]):
                    return node
        return None

    def _first_poor(self, entry: Entry) -> Node | None:
        """The first operation on the way to our gradient that loses the digits."""
        numbers = list(self._numbers(entry))
        if sum(node.size for node, _ in numbers) > MOST:
            return None
        known = dict(self._float64)
        evaluate([node for node, _ in numbers], known, keep=True)
        for node, exact in numbers:
            value = np.ravel(known[node])
            if any(mpmath.isfinite(x) and agreement(float(value[k]), x) < POOR for k, x in exact):
                return node
        return None

    def _first_wrong(self, entry: Entry) -> Node | None:
        """The first operation whose rule differs from SymPy's derivative of it alone."""
        for node, _ in self._slopes(entry):
            if node.inputs and not self._is_right(node):
                return node
        return None

    def _is_right(self, node: Node) -> bool:
        if node not in self.right:
            sources = [i for i in dict.fromkeys(node.inputs) if not i.truth]
            ours = vjp([(node, seed(node, np.ones(node.shape)))], sources)
            self.right[node] = all(
                self._agree(node, source, ours[source], i)
                for source in sources
                for i in range(min(source.size, TRIED))
            )
        return self.right[node]

    def _agree(self, node: Node, source: Node, ours: Node | None, i: int) -> bool:
        """Is the sum of the slopes of ``node`` by element i of an input what our rule says?"""
        with mpmath.workdps(PRECISION):
            here = self.points.at(source, i, 0)
            true = mpmath.fsum(slopes_of_one(here, node, source, i).values())
            found = mpmath.mpf(0) if ours is None else here.take(ours, [i])[0]
            if not mpmath.isfinite(true) or not mpmath.isfinite(found):
                return True  # which proves nothing
            return bool(abs(found - true) <= abs(true) * CLOSE + TINY)

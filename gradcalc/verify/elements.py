"""Single elements of nodes at many digits: each is computed when it is asked for, once.

An element of a product needs a row and a column, one of a sum all that is summed: nothing else is
computed, so a few entries of a large gradient cost little.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

import mpmath
import numpy as np
import sympy

from gradcalc.graph import LEAF, Array, Node
from gradcalc.primitives.derivatives import Derivative
from gradcalc.primitives.products import Product
from gradcalc.primitives.rule import Elementwise, Row
from gradcalc.verify.arithmetic import Digits
from gradcalc.verify.duals import DUALS, Dual
from gradcalc.verify.local import local
from gradcalc.verify.lower import TooLargeError
from gradcalc.verify.precision import Range, between
from gradcalc.verify.structure import NOTHING, Structure, factors, places

MOST = 1_500_000  # numbers of one point at one precision: some 600 MB

Numbers = dict[int, Any]  # mpf or bool, by the number of the element


class _Source(Numbers):
    """All numbers of a leaf or constant, each converted when it is asked for."""

    def __init__(self, array: Array) -> None:
        super().__init__()
        self.flat = np.ravel(array)

    def __missing__(self, k: int) -> Any:
        number = self[k] = Digits().element(self.flat[k])
        return number


class Elements:
    """The numbers of a graph at one point, at the precision that is set (``mpmath.workdps``).

    values: float64 by leaf. moved: a leaf, j and the step by which its element j is moved. base:
    the numbers at the point itself, which serve for all that does not depend on that leaf.
    """

    def __init__(
        self,
        values: Mapping[Node, Array],
        structure: Structure,
        base: "Elements | None" = None,
        moved: tuple[Node, int, Any] | None = None,
    ) -> None:
        self.values = values
        self.structure = structure
        self.base = base
        self.moved = moved
        self.numbers: dict[Node, Numbers] = {}
        self.dependent = _Dependent(moved[0]) if moved else None
        self.count = 0
        self.bits = 0  # Range.bits of all that was computed so far
        if moved is not None:
            leaf, j, step = moved
            self.bits = between((Digits().element(np.ravel(values[leaf])[j]), step))

    def take(self, node: Node, elements: Sequence[int]) -> list[Any]:
        """The numbers of these elements of ``node``; nan where there is none."""
        self.want(node, elements)
        numbers = self.of(node)
        return [numbers[k] for k in elements]

    def of(self, node: Node) -> Numbers:
        """All numbers of ``node`` that are known so far; of a source, all there are."""
        found = self.numbers.get(node)
        if found is None:
            if self.base is not None and self.dependent is not None and node not in self.dependent:
                return self.base.of(node)
            found = self.numbers[node] = {} if node.inputs else self._source(node)
        return found

    def _source(self, node: Node) -> Numbers:
        source = _Source(self.values[node] if node.primitive is LEAF else node.params[0].array)
        if self.moved is not None and self.moved[0] is node:
            _, j, step = self.moved
            source[j] += step
        return source

    def want(self, node: Node, elements: Iterable[int]) -> None:
        """Computes these elements of ``node``, and what they need."""
        missing = self._missing(node, elements)
        before, Range.bits = Range.bits, self.bits
        if missing:
            self._compute(node, missing)
        self.bits = Range.bits
        Range.ask(max(before, self.base.bits if self.base else 0))

    def _compute(self, node: Node, missing: list[int]) -> None:
        pending = {node: missing}
        queue = [(-node.index, node)]
        order = []
        while queue:  # later nodes first: when one is reached, all that needs it was there before
            _, top = heappop(queue)
            asked = list(dict.fromkeys(pending.pop(top)))
            self.count += len(asked)
            if self.count > MOST:
                raise TooLargeError("it needs too many numbers of 50 digits")
            order.append((top, asked))
            for position, source in enumerate(_inputs(top)):
                missing = self._missing(source, self.structure.behind(top, position, asked))
                if missing and source in pending:
                    pending[source] += missing
                elif missing:
                    pending[source] = missing
                    heappush(queue, (-source.index, source))
        for top, asked in reversed(order):
            self.of(top).update(self._computed(top, asked))

    def _missing(self, node: Node, elements: Iterable[int]) -> list[int]:
        if not node.inputs:
            return []
        known = self.of(node)
        return [k for k in elements if k not in known]

    def _computed(self, node: Node, elements: Sequence[int]) -> Iterable[tuple[int, Any]]:
        row = node.primitive
        inputs = [self.of(source) for source in _inputs(node)]
        if isinstance(row, Derivative):
            return ((k, inputs[0][k]) for k in elements)
        if isinstance(row, Elementwise):
            return self._elementwise(node, row, elements, inputs)
        if isinstance(row, Product):
            return ((k, product_of(node, k, inputs)) for k in elements)
        if self.structure.selection(node) is not None:
            return self._selected(node, elements, inputs)
        return self._in_blocks(node, elements, inputs)

    def _elementwise(
        self, node: Node, row: Elementwise, elements: Sequence[int], inputs: Sequence[Numbers]
    ) -> Iterator[tuple[int, Any]]:
        symbols, value, _ = local(node, row)
        known = list(zip(symbols, inputs, places(node), strict=True))
        return ((k, value(element_of(known, k))) for k in elements)

    def _selected(
        self, node: Node, elements: Sequence[int], inputs: Sequence[Numbers]
    ) -> Iterator[tuple[int, Any]]:
        picked = self.structure.selection(node)
        assert picked is not None
        for k in elements:
            source, i = int(picked[k]), 0
            if source == NOTHING:
                yield k, mpmath.mpf(0)
                continue
            while source >= node.inputs[i].size:
                source -= node.inputs[i].size
                i += 1
            yield k, inputs[i][source]

    def _in_blocks(
        self, node: Node, elements: Sequence[int], inputs: Sequence[Numbers]
    ) -> Iterator[tuple[int, Any]]:
        blocks = self.structure.blocks(node)
        for b in np.unique(blocks.outer.block[elements]).tolist():
            results = block_of(node, b, inputs, [{} for _ in inputs], self.structure)
            yield from (
                (k, number.value if isinstance(number, Dual) else number) for k, number in results
            )


def element_of(
    known: Iterable[tuple[sympy.Symbol, Numbers, Array | None]], k: int
) -> dict[sympy.Symbol, Any]:
    """The point of a row's formula at element k, from the symbols, numbers and places of inputs."""
    return {s: own[k if place is None else int(place[k])] for s, own, place in known}


def block_of(
    node: Node,
    b: int,
    numbers: Sequence[Numbers],
    slopes: Sequence[Numbers],
    structure: Structure,
) -> Iterator[tuple[int, Any]]:
    """Block b of a node, from the numbers of its inputs and the slopes of those that have some."""
    row = node.primitive
    assert isinstance(row, Row)  # it has inputs
    outer, inner = structure.blocks(node)
    arrays = []
    for part, own, tangents in zip(inner, numbers, slopes, strict=True):
        array = np.empty(part.elements.shape[1], dtype=object)
        for place, k in enumerate(part.elements[b].tolist()):
            number = own[k]
            array[place] = number if isinstance(number, bool) else Dual(number, tangents.get(k, 0))
        arrays.append(array.reshape(part.shape))
    result = DUALS.combined(row, arrays, node.params)
    return zip(
        outer.elements[b].tolist(), np.ravel(np.broadcast_to(result, outer.shape)), strict=True
    )


def product_of(node: Node, k: int, inputs: Sequence[Numbers]) -> Any:
    """An element of a product of matrices."""
    left, right = (part.tolist() for part in factors(node, k))
    pairs = list(zip(left, right, strict=True))
    if node.primitive.conditions:
        in_a, in_b = inputs[:2]
        pairs = [(i, j) for i, j in pairs if in_a[i] and in_b[j]]
    a, b = inputs[-2:]
    lefts, rights = [a[i] for i, _ in pairs], [b[j] for _, j in pairs]
    total = mpmath.fdot(lefts, rights)
    Range.note_products(lefts, rights, total)
    return total


def total_of(terms: Sequence[Any]) -> Any:
    """The sum, which is exact but for one rounding."""
    flowing = [term for term in terms if type(term) is not int]  # the others are exactly 0
    if len(flowing) < 2:
        return flowing[0] if flowing else 0
    total = mpmath.fsum(flowing)
    Range.note((*flowing, total))
    return total


def _inputs(node: Node) -> Sequence[Node]:
    """What is computed of a node: a derivative inside the program is what our own rules made it."""
    return node.inputs[:1] if isinstance(node.primitive, Derivative) else node.inputs


class _Dependent:
    """The nodes that depend on one, as far as the graph has been looked at."""

    def __init__(self, source: Node) -> None:
        self.source = source
        self.found = {source}
        self.seen = source.index + 1

    def __contains__(self, node: Node) -> bool:
        nodes = self.source.graph.nodes
        while self.seen < len(nodes):  # the graph may have grown
            one = nodes[self.seen]
            self.seen += 1
            if not self.found.isdisjoint(one.inputs):
                self.found.add(one)
        return node in self.found

"""The chain method: forward mode over mpmath numbers, each row's derivative taken from SymPy once.

It is linear in the graph, whatever formula the graph would make, and looks only at elements that
depend on the one that is moved.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath

from gradcalc.compute.evaluate import needed
from gradcalc.graph import Node
from gradcalc.primitives.derivatives import Derivative
from gradcalc.primitives.products import Product, matmul
from gradcalc.primitives.reductions import sum_
from gradcalc.primitives.rule import Elementwise
from gradcalc.verify.derivative import NoFormulaError
from gradcalc.verify.duals import slope_of, times
from gradcalc.verify.elements import Elements, Numbers, block_of, element_of, total_of
from gradcalc.verify.functions import AtJump
from gradcalc.verify.local import local
from gradcalc.verify.points import Points
from gradcalc.verify.precision import PRECISION, Range
from gradcalc.verify.structure import factors, places

# dnode_k/dx_j, of the elements k that are made of x_j; the integer 0 where nothing flows to them.
Slopes = dict[Node, Numbers]


@dataclass(frozen=True)
class ChainTerm:
    """dy_k/dx_j for one element k of one output, by the chain rule."""

    chain: "Chain"
    output: str
    element: int
    size: int
    leaf: Node
    j: int
    vanishes: bool  # whatever the point

    is_finite = True  # there is no formula that could contain an infinity

    def slope(self, step: Any) -> Any:
        """dy_k/dx_j at x_j + step."""
        found = self.chain.slopes(self.leaf, self.j, step)
        return found.get(self.chain.outputs[self.output], {}).get(self.element, 0)

    def value(self, step: Any) -> Any:
        """y_k at x_j + step."""
        here = self.chain.points.at(self.leaf, self.j, step)
        return here.take(self.chain.outputs[self.output], [self.element])[0]

    @property
    def identity(self) -> object:
        """What two terms have in common that are computed alike."""
        return self.output, self.element, self.chain.identity(self.output)


class Chain:
    """The chain rule over the graph of ``outputs``, at an exact float64 point.

    Raises NoFormulaError for derivatives inside the program, and TooLargeError where the numbers
    would not fit into memory.
    """

    method = "chain"

    def __init__(
        self, outputs: Mapping[str, Node], leaves: Mapping[str, Node], points: Points
    ) -> None:
        self.outputs, self.leaves, self.points = outputs, leaves, points
        self.order = needed(outputs.values(), {})
        if any(isinstance(node.primitive, Derivative) for node in self.order):
            raise NoFormulaError("derivatives of derivatives are checked by formulas only")
        self._orders: dict[Node, list[Node]] = {}
        self._kept: tuple[Any, ...] = ()
        self._slopes: dict[tuple[Any, ...], tuple[Slopes, int]] = {}

    def listing(self) -> None:
        """There are no formulas to show."""

    def terms(self, leaf: str, j: int, *, every: bool = False) -> Iterator[ChainTerm]:
        """The terms dy_k/dx_j of element j of ``leaf``: of the y_k that contain it, or of every."""
        node = self.leaves[leaf]
        with mpmath.workdps(PRECISION):  # which will be asked for first
            reached = self.slopes(node, j, 0)
        for output, y in self.outputs.items():
            own = reached.get(y, {})
            for k in range(y.size) if every else own:
                yield ChainTerm(self, output, k, y.size, node, j, type(own.get(k, 0)) is int)

    def identity(self, output: str) -> object:
        """The graph behind an output, without the numbers."""
        nodes = needed([self.outputs[output]], {})
        number = {node: i for i, node in enumerate(nodes)}
        return tuple((n.primitive, n.params, *(number[i] for i in n.inputs)) for n in nodes)

    def slopes(self, leaf: Node, j: int, step: Any) -> Slopes:
        """The slopes of all that is made of x_j, at x_j + step, at the precision that is set."""
        if self._kept != (leaf, j):
            self._kept = (leaf, j)
            self._slopes.clear()
        key = (mpmath.mp.prec, step, AtJump.value)
        if key not in self._slopes:
            before, Range.bits = Range.bits, 0
            found = _Pass(self.points.at(leaf, j, step)).run(leaf, j, self._behind(leaf))
            self._slopes[key] = (found, Range.bits)
            Range.bits = before
        found, bits = self._slopes[key]
        Range.ask(bits)
        return found

    def _behind(self, leaf: Node) -> list[Node]:
        """The nodes that depend on ``leaf``, in creation order."""
        if leaf not in self._orders:
            dependent = {leaf}
            for node in self.order:
                if not dependent.isdisjoint(node.inputs):
                    dependent.add(node)
            self._orders[leaf] = [n for n in self.order if n in dependent and n is not leaf]
        return self._orders[leaf]


class _Pass:
    """One pass of forward mode, at one point."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        self.structure = elements.structure
        self.slopes: Slopes = {}

    def run(self, leaf: Node, j: int, order: Sequence[Node]) -> Slopes:
        self.slopes[leaf] = {j: mpmath.mpf(1)}
        for node in order:
            row = node.primitive
            if isinstance(row, Elementwise):
                found = self._elementwise(node, row)
            elif isinstance(row, Product):
                found = self._product(node)
            elif row is sum_ or self.structure.selection(node) is not None:
                found = self._moved(node)
            else:
                found = self._in_blocks(node)
            if found:
                self.slopes[node] = found
        return self.slopes

    def _elementwise(self, node: Node, row: Elementwise) -> Numbers:
        terms: dict[int, list[Any]] = {}
        symbols, _, slopes = local(node, row)
        spread = places(node)
        for position, (source, slope) in enumerate(zip(node.inputs, slopes, strict=True)):
            own = self.slopes.get(source)
            if not own:
                continue
            reached = self.structure.reached(node, position, list(own))
            if slope is None:  # flat, or a condition: it may still jump
                for k in reached:
                    terms.setdefault(k, []).append(0)
                continue
            for i in slope.needs:
                self.elements.want(node.inputs[i], self.structure.behind(node, i, reached))
            known = [(symbols[i], self.elements.of(node.inputs[i]), spread[i]) for i in slope.needs]
            place = spread[position]
            for k in reached:
                factor = slope.formula(element_of(known, k))
                tangent = own[k if place is None else int(place[k])]
                left_out = row.active and factor == 0  # adds nothing, even where its slope is nan
                terms.setdefault(k, []).append(0 if left_out else times(tangent, factor))
        return {k: total_of(parts) for k, parts in terms.items()}

    def _product(self, node: Node) -> Numbers:
        assert node.primitive is matmul  # masks are of our own gradients only
        terms: dict[int, list[Any]] = {}
        for position, other in ((0, node.inputs[1]), (1, node.inputs[0])):
            own = self.slopes.get(node.inputs[position])
            if not own:
                continue
            for k in self.structure.reached(node, position, list(own)):
                pairs = zip(*(part.tolist() for part in factors(node, k)), strict=True)
                met = [(p[position], p[1 - position]) for p in pairs if p[position] in own]
                numbers = self.elements.take(other, [o for _, o in met])
                products = [times(own[i], n) for (i, _), n in zip(met, numbers, strict=True)]
                terms.setdefault(k, []).extend(products)
        return {k: total_of(parts) for k, parts in terms.items()}

    def _moved(self, node: Node) -> Numbers:
        """Of a sum, and of what only moves elements: the slopes themselves, added up."""
        terms: dict[int, list[Any]] = {}
        for position, source in enumerate(node.inputs):
            own = self.slopes.get(source)
            if own:
                for i, k in self.structure.moves(node, position, list(own)):
                    terms.setdefault(k, []).append(own[i])
        return {k: total_of(parts) for k, parts in terms.items()}

    def _in_blocks(self, node: Node) -> Numbers:
        tangents = [self.slopes.get(source, {}) for source in node.inputs]
        reached: set[int] = set()
        for position, own in enumerate(tangents):
            reached.update(self.structure.reached(node, position, list(own)) if own else ())
        if not reached:
            return {}
        for position, source in enumerate(node.inputs):
            self.elements.want(source, self.structure.behind(node, position, list(reached)))
        numbers = [self.elements.of(source) for source in node.inputs]
        blocks = self.structure.blocks(node)
        found: Numbers = {}
        for b in sorted({int(blocks.outer.block[k]) for k in reached}):
            for k, number in block_of(node, b, numbers, tangents, self.structure):
                found[k] = slope_of(number)
        return found


def slopes_of_one(elements: Elements, node: Node, source: Node, i: int) -> Numbers:
    """The slopes of ``node`` alone, by element i of one of its inputs."""
    return _Pass(elements).run(source, i, [node]).get(node, {})

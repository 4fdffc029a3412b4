"""The symbolic Jacobian: SymPy's derivatives as formulas, and at a point."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import mpmath
import numpy as np
import sympy

from gradcalc.compute.evaluate import needed
from gradcalc.graph import Node
from gradcalc.verify.derivative import derivative
from gradcalc.verify.findings import Listing
from gradcalc.verify.formula import Formula, Numbers, Point, Steps
from gradcalc.verify.lower import cost, exact, lower
from gradcalc.verify.notation import text_of
from gradcalc.verify.points import Points
from gradcalc.verify.precision import Range
from gradcalc.verify.structure import positions

KEPT = 200_000  # numbers of points that are kept: the same element of the next leaf has the same
SHOWN = 64  # formulas of one leaf, at the most, where one does not serve for all

ZERO = Formula(sympy.S.Zero)


class Term(NamedTuple):
    """dy_k/dx_j for one element k of one output: its formula, and where to evaluate it."""

    output: str
    element: int  # k, counted through the flat output
    size: int  # of the output
    formula: Formula  # of dy_k/dx_j
    own: Formula  # of y_k itself
    point: Point
    symbol: sympy.Symbol | None  # of x_j; None where y_k does not contain it

    def slope(self, step: Any) -> Any:
        """dy_k/dx_j at x_j + step."""
        return self.formula(self._shifted(step))

    def value(self, step: Any) -> Any:
        """y_k at x_j + step."""
        return self.own(self._shifted(step))

    def _shifted(self, step: Any) -> Numbers | Point:
        if not step or self.symbol is None:
            return self.point
        numbers = self.point.numbers
        Range.note((numbers[self.symbol], step))  # whose sum must be another number
        return {**numbers, self.symbol: numbers[self.symbol] + step}

    @property
    def vanishes(self) -> bool:
        """Is the slope 0 as a formula, whatever the point?"""
        return bool(self.formula.expr == 0)

    @property
    def is_finite(self) -> bool:
        """Are the formulas without infinities?"""
        infinite = (sympy.oo, -sympy.oo, sympy.zoo, sympy.nan)
        return not any(f.expr.has(*infinite) for f in (self.formula, self.own))

    @property
    def identity(self) -> object:
        """What two terms have in common that are computed alike."""
        return self.output, self.element, self.formula.expr, self.own.expr


class Formulas:
    """SymPy's derivatives of ``outputs`` by ``leaves``, wherever the point is.

    Raises TooLargeError (lower.py) and NoFormulaError (derivative.py) where SymPy cannot serve.
    """

    def __init__(self, outputs: Mapping[str, Node], leaves: Mapping[str, Node]) -> None:
        self.outputs, self.leaves = outputs, leaves
        lowered = lower(list(outputs.values()))
        self.pointwise = lowered.pointwise
        self.symbols = lowered.symbols
        self._expressions = dict(zip(outputs, lowered.expressions, strict=True))
        self.steps = Steps()  # of all formulas
        self.slope = cache(self._differentiate)
        self.value = cache(lambda output, k: Formula(self._expression(output, k), self.steps))
        self.containing = cache(self._where_symbols_occur)
        self.behind = {y: set(needed([y], {})) for y in outputs.values()}
        self.listing = cache(self._listing)

    def _listing(self) -> dict[str, dict[str, Listing]]:
        """The formulas as text, by output and leaf: one where it serves for every element."""
        return {
            output: {
                leaf: text for leaf in self.leaves if (text := self._list(output, leaf)) is not None
            }
            for output in self.outputs
        }

    def _list(self, output: str, leaf: str) -> Listing | None:
        node = self.leaves[leaf]
        if node not in self.symbols:
            return "0"
        if self.pointwise:
            return text_of(self.slope(output, 0, self.symbols[node]).expr)
        y, symbols = self.outputs[output], np.asarray(self.symbols[node], dtype=object)
        if y.size * node.size > SHOWN:
            return None
        slopes = [
            [self.slope(output, k, symbol).expr for symbol in symbols.flat] for k in range(y.size)
        ]
        general = sympy.Symbol(leaf, real=True)
        same = {
            slope.xreplace({symbol: general})
            for row in slopes
            for slope, symbol in zip(row, symbols.flat, strict=True)
        }
        if len(same) == 1 and not (same.copy().pop().free_symbols & set(symbols.flat)):
            return text_of(same.pop())
        texts = np.array([[text_of(s) for s in row] for row in slopes], dtype=object)
        nested: list[Any] = texts.reshape(y.shape + node.shape).tolist()
        return nested

    def _expression(self, output: str, k: int) -> Any:
        expression = self._expressions[output]
        return sympy.S.Zero + (expression if self.pointwise else np.ravel(expression)[k])

    def _differentiate(self, output: str, k: int, symbol: sympy.Symbol) -> Formula:
        return Formula(derivative(self._expression(output, k)).by(symbol), self.steps)

    def one(self, output: str, leaf: str) -> Formula | None:
        """The one derivative that serves for every element; None where there is no such one."""
        y, node = self.outputs[output], self.leaves[leaf]
        symbol = self.symbols.get(node)
        if node not in self.behind[y]:
            return ZERO
        if y.shape != node.shape or not (self.pointwise or isinstance(symbol, sympy.Symbol)):
            return None
        return ZERO if symbol is None else self.slope(output, 0, symbol)

    def _where_symbols_occur(self, output: str) -> dict[sympy.Symbol, list[int]]:
        """For each symbol the elements of ``output`` whose expression contains it."""
        return _group(
            (symbol, k)
            for k in range(self.outputs[output].size)
            for symbol in self._expression(output, k).free_symbols
        )


def formulas(outputs: Mapping[str, Node], leaves: Mapping[str, Node]) -> Formulas:
    """The formulas of nodes of one graph, which keeps them."""
    graph = next(iter(outputs.values())).graph
    key = ("formulas", tuple(outputs.items()), tuple(leaves.items()))
    return graph.remember(key, lambda: Formulas(outputs, leaves))


class Jacobian:
    """SymPy's derivatives of ``outputs`` by ``leaves``, at an exact float64 point.

    Raises TooLargeError and NoFormulaError, as ``Formulas``.
    """

    method = "symbolic"

    def __init__(
        self, outputs: Mapping[str, Node], leaves: Mapping[str, Node], points: Points
    ) -> None:
        self.outputs, self.leaves = outputs, leaves
        self.formulas = formulas(outputs, leaves)
        self._numbers = {n: exact(points.values, n) for n in self.formulas.symbols}
        self._flat = {node: np.ravel(number) for node, number in self._numbers.items()}
        near = KEPT // (1 + cost(list(outputs.values())))
        self._point = lru_cache(maxsize=near)(self._point_at)
        self._whole = Point({} if self.formulas.pointwise else self._numbers_of_all())

    def listing(self) -> dict[str, dict[str, Listing]]:
        """The formulas as text, by output and leaf: one where it serves for every element."""
        return self.formulas.listing()

    def terms(self, leaf: str, j: int, *, every: bool = False) -> Iterator[Term]:
        """The terms dy_k/dx_j of element j of ``leaf``: of the y_k that contain it, or of every."""
        node, known = self.leaves[leaf], self.formulas
        symbols = known.symbols.get(node)
        whole = known.pointwise or isinstance(symbols, sympy.Symbol)  # one symbol for all elements
        own = symbols if symbols is None or whole else symbols.flat[j]
        for output, y in self.outputs.items():
            reached = () if own is None else self._reached(output, y, node, j, own)
            for k in range(y.size) if every else reached:
                symbol = own if k in reached else None
                point = self._point(y, k) if known.pointwise else self._whole
                element = 0 if known.pointwise else k  # of the expressions: pointwise there is one
                slope = ZERO if symbol is None else known.slope(output, element, symbol)
                yield Term(output, k, y.size, slope, known.value(output, element), point, symbol)

    def _reached(
        self, output: str, y: Node, leaf: Node, j: int, symbol: sympy.Symbol
    ) -> Sequence[int]:
        """The elements of ``y`` that contain element j of ``leaf``, which is ``symbol``."""
        if not self.formulas.pointwise:
            return self.formulas.containing(output).get(symbol, ())
        if leaf not in self.formulas.behind[y]:
            return ()
        if y.shape == leaf.shape:
            return (j,)
        found: list[int] = np.flatnonzero(positions(leaf.shape, y.shape) == j).tolist()
        return found

    def _point_at(self, y: Node, k: int) -> Point:
        """The numbers of element k of ``y``, which is pointwise."""
        point = {}
        for node, symbol in self.formulas.symbols.items():
            if node in self.formulas.behind[y]:
                place = k if node.shape == y.shape else int(positions(node.shape, y.shape)[k])
                point[symbol] = _exactly(self._flat[node][place])
        return Point(point)

    def _numbers_of_all(self) -> Numbers:
        return {
            symbol: _exactly(number)
            for node, symbols in self.formulas.symbols.items()
            for symbol, number in zip(np.ravel(symbols), np.ravel(self._numbers[node]), strict=True)
        }


def _exactly(number: Any) -> Any:
    """A float64 as mpf; an mpf as it is, whatever precision is set."""
    if isinstance(number, mpmath.mpf):
        return number
    return mpmath.mp.make_mpf(mpmath.libmp.from_float(float(number)))  # mpf() takes twice as long


def _group(pairs: Iterator[tuple[sympy.Symbol, int]]) -> dict[sympy.Symbol, list[int]]:
    result: dict[sympy.Symbol, list[int]] = {}
    for symbol, k in pairs:
        result.setdefault(symbol, []).append(k)
    return result

"""Graph to SymPy: an expression for the outputs, over one symbol a leaf or one an element."""

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import mpmath
import numpy as np
import sympy

from gradcalc.compute.evaluate import evaluate, evaluate_with, needed
from gradcalc.graph import CONSTANT, LEAF, TRUTH, Array, Node, ops, size_of
from gradcalc.language.grammar import CONSTANTS
from gradcalc.primitives.derivatives import Derivative, pulled
from gradcalc.primitives.products import Product
from gradcalc.primitives.reductions import sum_
from gradcalc.primitives.rule import Elementwise, General, Reduction
from gradcalc.primitives.scans import cumsum, exclusive_sum
from gradcalc.verify.arithmetic import Digits, Symbols
from gradcalc.verify.derivative import derivative
from gradcalc.verify.kinks import is_pointwise

SYMBOLS = Symbols()
LONGEST = 10_000  # operations of one element, written out
BEYOND = 10**15  # where lengths, which grow exponentially, need not be told apart any more
WIDEST = 100_000  # operations of all elements of the outputs together
MANY = 1600  # digits of a constant that is computed once for all precisions
PLAIN = 2**20  # largest numerator and denominator of a constant that is written as it is
SMALL = 64  # an exponent up to which a power of constants is written out


class TooLargeError(Exception):
    """The formulas would be longer than SymPy can differentiate in reasonable time."""


@dataclass(frozen=True)
class Lowered:
    """SymPy expressions of ``outputs``.

    pointwise: one expression an output, which holds for every element; each leaf is one symbol.
    Otherwise: an object array of expressions an output; each element of a leaf is a symbol.
    symbols: of each leaf (and, pointwise, of each constant array), a symbol or an array of them.
    """

    pointwise: bool
    expressions: list[Any]
    symbols: dict[Node, Any]


def lower(outputs: Sequence[Node]) -> Lowered:
    """The expressions of ``outputs``; raises TooLargeError where they would be too long."""
    nodes = needed(outputs, {}, SYMBOLS.inputs)
    sources = {n for n in nodes if n.primitive is LEAF}
    pointwise = all(isinstance(n.primitive, Elementwise) or not n.inputs for n in nodes)
    sources |= {n for n in nodes if n.number is not None and not _is_plain(n.number)}
    if pointwise:
        sources |= {n for n in nodes if n.primitive in (CONSTANT, TRUTH) and n.shape}
    sources |= set(_unwieldy(nodes))
    _refuse_large(nodes, outputs, pointwise)
    symbols = {n: _symbol(n) if pointwise or not n.shape else _elements(n) for n in sources}
    formulas = _Formulas(n.inputs[2] for n in nodes if isinstance(n.primitive, Derivative))
    expressions = evaluate_with(formulas, outputs, dict(symbols))
    return Lowered(pointwise, [formulas.written_out(e) for e in expressions], symbols)


class _Formulas(Symbols):
    """Expressions with derivatives inside: what is differentiated by is a symbol of its own.

    It stays one in the derivative, which may in turn be differentiated by it, as in PyTorch.
    """

    def __init__(self, differentiated: Iterable[Node]) -> None:
        super().__init__()
        self.differentiated = set(differentiated)
        self.meant: dict[Node, dict[Any, Any]] = {}  # in creation order: symbol -> expression

    def apply(self, node: Node, inputs: Sequence[Array]) -> Array:
        if isinstance(node.primitive, Derivative):
            return self._derivative(node, *inputs)
        result = super().apply(node, inputs)
        if node not in self.differentiated:
            return result
        symbols = _each(lambda _: sympy.Dummy("x", real=True), result)
        self.meant[node] = dict(zip(np.ravel(symbols), np.ravel(result), strict=True))
        return symbols

    def _derivative(self, node: Node, y: Array, x: Array, along: Array) -> Array:
        """The weighted sum of derivatives of y by x, whose elements are symbols."""
        # Only what was made later than x may depend on it.
        later = [meant for n, meant in self.meant.items() if n.index > node.inputs[2].index]
        inner = {symbol: own for meant in later for symbol, own in meant.items()}
        outputs, symbols = np.ravel(y), np.ravel(x)
        table = [[_total(k, symbol, inner) for symbol in symbols] for k in outputs]
        matrix = np.array(table, dtype=object).reshape(len(outputs), len(symbols))
        sums = np.ravel(along) @ matrix if node.primitive is pulled else matrix @ np.ravel(along)
        return np.asarray(sums, dtype=object).reshape(node.shape)[()]

    def written_out(self, expression: Any) -> Any:
        """``expression`` in the leaves alone."""
        for meant in reversed(self.meant.values()):  # one may contain symbols of earlier ones
            expression = _each(partial(_replaced, meant), expression)
        return expression


def _total(expression: Any, symbol: Any, inner: Mapping[Any, Any]) -> Any:
    """The derivative by ``symbol``, also through inner symbols, which stand for expressions."""
    expression = sympy.S.Zero + expression
    slopes = derivative(expression)
    through = expression.free_symbols & inner.keys()
    return slopes.by(symbol) + sum(
        slopes.by(one) * _total(inner[one], symbol, inner) for one in through
    )


def _replaced(meant: Mapping[Any, Any], expression: Any) -> Any:
    return (sympy.S.Zero + expression).xreplace(meant) if meant else expression


def _each(function: Callable[[Any], Any], array: Any) -> Any:
    return np.frompyfunc(function, 1, 1)(array)


def _unwieldy(nodes: Sequence[Node]) -> Iterator[Node]:
    """Values without leaves that SymPy cannot hold as they are.

    It would write 9**9**9 out, at whatever length, and let infinity absorb its neighbours.
    """
    fixed: dict[Node, None] = {}  # in creation order
    for node in nodes:
        if node.primitive is not LEAF and all(i in fixed for i in node.inputs):
            fixed[node] = None
    for node, value in zip(fixed, evaluate(list(fixed), {}), strict=True):
        exponent = node.inputs[1].number if node.primitive is ops.power else 1.0
        small = exponent is not None and exponent.is_integer() and abs(exponent) <= SMALL
        if not np.all(np.isfinite(value)) or not (small or node.shape):
            yield node


def _is_plain(number: float) -> bool:
    """Is it a short fraction? SymPy would make sqrt(884279719003555) of what is not, such as pi."""
    if not math.isfinite(number):
        return True
    numerator, denominator = number.as_integer_ratio()
    return denominator <= PLAIN and abs(numerator) <= PLAIN


def _name(node: Node) -> str:
    if node.primitive is LEAF:
        return str(node.params[0])
    if node.number is not None:
        for name, value in CONSTANTS.items():
            if value == node.number:
                return name
        text = repr(node.number)
        return f"({text})" if node.number < 0 else text
    return ast.unparse(node.origin) if isinstance(node.origin, ast.AST) else f"constant{node.index}"


def _symbol(node: Node) -> sympy.Symbol:
    # Two constants may be written alike; a leaf is known by its name.
    kind = sympy.Symbol if node.primitive is LEAF else sympy.Dummy
    return kind(_name(node), real=None if node.truth else True)


def _elements(node: Node) -> Array:
    """An array of symbols ``x[0,1]``."""
    result = np.empty(node.shape, dtype=object)
    for index in np.ndindex(node.shape):
        result[index] = sympy.Symbol(f"{_name(node)}[{','.join(map(str, index))}]", real=True)
    return result


def cost(outputs: Sequence[Node]) -> int:
    """How many operations all formulas of the derivatives have, by estimate."""
    return outputs[0].graph.remember(("cost", *outputs), lambda: _cost(outputs))


def _cost(outputs: Sequence[Node]) -> int:
    nodes = needed(outputs, {}, SYMBOLS.inputs)
    length = _lengths(nodes)
    if is_pointwise(outputs):
        return max(length[node] for node in outputs)
    symbols = sum(node.size for node in nodes if node.primitive is LEAF)
    return symbols * sum((length[node] + 1) * node.size for node in outputs)


def _lengths(nodes: Sequence[Node]) -> dict[Node, int]:
    """How many operations one element of each node has, written out."""
    length: dict[Node, int] = {}
    for node in nodes:
        inner = sum(length[i] for i in set(SYMBOLS.inputs(node)))  # y*y is y**2
        counts = isinstance(node.primitive, (Elementwise, Reduction, General))
        length[node] = min(_terms(node) * (inner + counts), BEYOND)
    return length


def _refuse_large(nodes: Sequence[Node], outputs: Sequence[Node], pointwise: bool) -> None:
    """Raises TooLargeError, from the length that each element's expression would have."""
    length = _lengths(nodes)
    if any(count > LONGEST for count in length.values()):
        raise TooLargeError("the formula is too long to write out")
    if not pointwise and sum(length[n] * n.size for n in outputs) > WIDEST:
        raise TooLargeError("there are too many elements to write out a formula for each")


def _terms(node: Node) -> int:
    """How many elements of the input one element of ``node`` combines."""
    if isinstance(node.primitive, Reduction) or node.primitive is sum_:
        return max(1, node.inputs[0].size // max(1, node.size))
    if isinstance(node.primitive, Product):
        return max(1, node.inputs[-1].shape[-2])
    if isinstance(node.primitive, General):
        axes = node.primitive.mixes(node, 0)
        return max(1, size_of(tuple(node.shape[axis] for axis in axes)))
    if isinstance(node.primitive, Derivative):
        return 2
    if node.primitive in (cumsum, exclusive_sum):
        return max(1, node.size)
    return 1


def exact(values: Mapping[Node, Array], node: Node) -> Array:
    """The numbers of a source: float64, or mpf for a constant that float64 cannot hold."""
    if node.primitive in (LEAF, CONSTANT, TRUTH):
        return np.asarray(values[node] if node.primitive is LEAF else node.params[0].array)
    with mpmath.workdps(MANY):
        many = np.asarray(evaluate_with(Digits(), [node], {})[0], dtype=object)
    few = np.asarray(evaluate([node], {})[0])
    isnan = np.asarray(np.frompyfunc(mpmath.isnan, 1, 1)(many), dtype=bool)
    return np.where(isnan, few, many)  # float64 says which infinity log(0) is

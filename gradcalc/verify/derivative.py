"""SymPy's derivative, without a look at every term of a long sum for every symbol."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sympy

LONG = 16  # terms from which a sum is worth an index


class NoFormulaError(Exception):
    """SymPy has no formula: it refused, or its derivative contains something without a number."""


def symbolic(function: Callable[..., Any], *elements: Any) -> Any:
    """``function(*elements)`` by SymPy; raises NoFormulaError where SymPy raises."""
    try:
        return function(*elements)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        raise NoFormulaError(f"SymPy has no formula: {error}") from error


class Derivative:
    """The derivatives of one expression by any of its symbols.

    A long sum s inside the expression e is taken out by the chain rule, de/dx = de/ds ds/dx + the
    rest, and of ds/dx only the terms with x are looked at. SymPy does every differentiation.
    """

    def __init__(self, expr: Any) -> None:
        self.expr = expr
        self.sum = _longest_sum(expr)
        if self.sum is not None:
            self.inner = sympy.Dummy("s", real=True)
            self.outer = expr.xreplace({self.sum: self.inner})
            self.by_sum = symbolic(sympy.diff, self.outer, self.inner)
            self.terms: dict[Any, list[Any]] = {}
            for term in self.sum.args:
                for symbol in term.free_symbols:
                    self.terms.setdefault(symbol, []).append(term)

    def by(self, symbol: Any) -> Any:
        """The derivative by ``symbol``; raises NoFormulaError where SymPy has none."""
        if self.sum is None:
            return symbolic(sympy.diff, self.expr, symbol)
        slope = sum(derivative(term).by(symbol) for term in self.terms.get(symbol, ()))
        rest = symbolic(sympy.diff, self.outer, symbol)
        return symbolic(lambda: (self.by_sum * slope + rest).xreplace({self.inner: self.sum}))


derivative = lru_cache(maxsize=2048)(Derivative)  # of a batch, whose programs may all differ


def _longest_sum(expr: Any) -> Any:
    """The outermost long sum in ``expr``; None where there is none."""
    for part in sympy.preorder_traversal(expr):
        if part.is_Add and len(part.args) > LONG:
            return part
    return None

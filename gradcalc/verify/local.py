"""What SymPy knows of one function alone: its formula, and its derivative by each input."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import sympy

from gradcalc.graph import Node, ops
from gradcalc.primitives.rule import Elementwise
from gradcalc.verify.arithmetic import Symbols
from gradcalc.verify.derivative import symbolic
from gradcalc.verify.formula import Formula

SYMBOLS = Symbols()


class Slope(NamedTuple):
    """The derivative by one input, and the positions of the inputs whose values it needs."""

    formula: Formula
    needs: tuple[int, ...]


class Local(NamedTuple):
    """A function as formulas over one symbol an input; a slope is None where nothing flows."""

    symbols: Sequence[sympy.Symbol]
    value: Formula
    slopes: Sequence[Slope | None]


def local(node: Node, row: Elementwise) -> Local:
    """The formulas of ``node``, whose row is ``row``; raises NoFormulaError where SymPy has none.

    A power's constant exponent is part of its formula: n x**n / x has no value at 0, 2 x has.
    """
    return _of_row(row, node.inputs[1].number if row is ops.power else None)


@lru_cache(maxsize=1024)  # exponents may vary from problem to problem
def _of_row(row: Elementwise, exponent: float | None) -> Local:
    symbols: list[Any] = [
        sympy.Symbol(f"x{i}", real=None if i < row.conditions else True)
        for i in range(len(row.partials))
    ]
    inputs = list(symbols)
    if exponent is not None:
        inputs[1] = SYMBOLS.number(exponent)
    expr = SYMBOLS.elementwise(row, *inputs)
    if row.truth:  # nothing flows into a truth value
        return Local(symbols, Formula(expr), [None] * len(symbols))
    return _formulas(expr, symbols)


@cache
def named(name: str, count: int) -> Local:
    """The formulas of a function that all arithmetics have (arithmetic.py), of so many inputs."""
    symbols = [sympy.Symbol(f"x{i}", real=True) for i in range(count)]
    return _formulas(SYMBOLS.call(getattr(SYMBOLS, name), *symbols), symbols)


def _formulas(expr: Any, symbols: Sequence[sympy.Symbol]) -> Local:
    return Local(symbols, Formula(expr), [_slope(expr, s, symbols) for s in symbols])


def _slope(expr: Any, symbol: sympy.Symbol, symbols: Sequence[sympy.Symbol]) -> Slope | None:
    slope = symbolic(sympy.diff, expr, symbol) if symbol.is_real else sympy.S.Zero
    if slope == 0:
        return None
    return Slope(Formula(slope), tuple(i for i, s in enumerate(symbols) if slope.has(s)))

"""Two further arithmetics for the nodes of a graph: SymPy expressions, and mpmath numbers.

Elementwise rows and reductions bring a twin, written against the names that both arithmetics have;
structured rows are NumPy's own functions, which work on arrays of objects.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import sympy

from gradcalc.graph import CONSTANT, TRUTH, Array, Node
from gradcalc.primitives.rule import Elementwise, Reduction


class NoFormulaError(Exception):
    """SymPy has no formula: it refused, or its derivative contains something without a number."""


class _Whole(sympy.Function):
    """Rounding to whole numbers, with a derivative: SymPy's own has none."""

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sympy.S.Zero


class floor(_Whole):
    """The largest whole number that is not larger."""


class ceil(_Whole):
    """The smallest whole number that is not smaller."""


class trunc(_Whole):
    """The next whole number towards 0."""


class round_(_Whole):
    """The nearest whole number."""


class sign(_Whole):
    """The sign; sympy.sign has a delta for a derivative, or none of what may be complex."""


class maximum(sympy.Function):
    """The larger of two, without sympy.Max's comparisons of everything with everything."""

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        a, b = self.args if argindex == 1 else reversed(self.args)
        return sympy.Heaviside(a - b)


class minimum(sympy.Function):
    """The smaller of two."""

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        a, b = self.args if argindex == 1 else reversed(self.args)
        return sympy.Heaviside(b - a)


class _Objects(ABC):
    """What both share: functions by name, and how a node is computed on object arrays."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        vars(self).update(functions)

    @abstractmethod
    def number(self, value: float) -> Any:
        """The float64 ``value``, exactly."""

    @abstractmethod
    def call(self, function: Callable[..., Any], *elements: Any) -> Any:
        """``function(*elements)``, as this arithmetic means it."""

    def apply(self, node: Node, inputs: Sequence[Array]) -> Array:
        """The value of ``node``: an object array of its shape (0-d: the object)."""
        row = node.primitive
        if row is CONSTANT or row is TRUTH:
            convert = self.number if row is CONSTANT else bool
            return _each(convert, node.params[0].array)
        if isinstance(row, Elementwise):
            twin = row.twin
            if isinstance(twin, str):
                named: Callable[..., Any] = getattr(self, twin)
                return _each(lambda *elements: self.call(named, *elements), *inputs)
            given = twin
            return _each(lambda *elements: self.call(given, self, *elements), *inputs)
        arrays = [np.asarray(i, dtype=object) for i in inputs]
        if isinstance(row, Reduction):
            return np.asarray(row.twin(self, *arrays, *node.params))[()]
        return np.asarray(row.forward(*arrays, *node.params))[()]


class Symbols(_Objects):
    """SymPy expressions over real symbols. float64 constants become exact rationals."""

    def __init__(self) -> None:
        super().__init__(
            exp=sympy.exp,
            log=sympy.log,
            sqrt=sympy.sqrt,
            sin=sympy.sin,
            cos=sympy.cos,
            tan=sympy.tan,
            tanh=sympy.tanh,
            sinh=sympy.sinh,
            cosh=sympy.cosh,
            asin=sympy.asin,
            acos=sympy.acos,
            atan=sympy.atan,
            atan2=sympy.atan2,
            asinh=sympy.asinh,
            acosh=sympy.acosh,
            atanh=sympy.atanh,
            cbrt=sympy.cbrt,
            pi=lambda: sympy.pi,
            sign=sign,
            floor=floor,
            ceil=ceil,
            trunc=trunc,
            round=round_,
            power=sympy.Pow,
            maximum=maximum,
            minimum=minimum,
            where=lambda condition, yes, no: sympy.Piecewise((yes, condition), (no, True)),
            less=sympy.Lt,
            less_equal=sympy.Le,
            greater=sympy.Gt,
            greater_equal=sympy.Ge,
            equal=sympy.Eq,
            not_equal=sympy.Ne,
            logical_and=sympy.And,
            logical_or=sympy.Or,
            logical_not=sympy.Not,
        )

    def call(self, function: Callable[..., Any], *elements: Any) -> Any:
        return symbolic(function, *elements)

    def number(self, value: float) -> sympy.Expr:
        if np.isfinite(value):
            return sympy.Rational(*float(value).as_integer_ratio())
        return sympy.nan if np.isnan(value) else sympy.oo if value > 0 else -sympy.oo


DIGITS: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sqrt": mpmath.sqrt,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "atan2": mpmath.atan2,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "cbrt": mpmath.cbrt,
    "pi": lambda: +mpmath.pi,
    "sign": mpmath.sign,
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
    "trunc": lambda x: mpmath.floor(x) if x >= 0 else mpmath.ceil(x),
    "round": mpmath.nint,
    "power": operator.pow,
    "maximum": lambda a, b: a if a > b or mpmath.isnan(a) else b,
    "minimum": lambda a, b: a if a < b or mpmath.isnan(a) else b,
    "where": lambda condition, yes, no: yes if condition else no,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "logical_and": lambda a, b: bool(a and b),
    "logical_or": lambda a, b: bool(a or b),
    "logical_not": operator.not_,
}


class Digits(_Objects):
    """mpmath reals at the precision that is set (``mpmath.workdps``); nan where there is none."""

    def __init__(self) -> None:
        super().__init__(**DIGITS)

    def number(self, value: float) -> Any:
        return mpmath.mpf(float(value))

    def element(self, value: Any) -> Any:
        """An element of a float64 or bool array."""
        return bool(value) if isinstance(value, np.bool_) else self.number(value)

    def call(self, function: Callable[..., Any], *elements: Any) -> Any:
        return real(function, *elements)


def _each(function: Callable[..., Any], *arrays: Array) -> Array:
    return np.frompyfunc(function, len(arrays), 1)(*arrays)


def symbolic(function: Callable[..., Any], *elements: Any) -> Any:
    """``function(*elements)`` by SymPy; raises NoFormulaError where SymPy raises."""
    try:
        return function(*elements)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        raise NoFormulaError(f"SymPy has no formula: {error}") from error


def real(function: Callable[..., Any], *elements: Any) -> Any:
    """``function(*elements)``; nan where it has no real value or a pole."""
    try:
        value = function(*elements)
    except (ZeroDivisionError, ValueError, OverflowError, mpmath.libmp.ComplexResult):
        return mpmath.nan
    return mpmath.nan if isinstance(value, mpmath.mpc) else value

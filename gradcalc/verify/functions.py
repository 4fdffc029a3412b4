"""SymPy's functions at many digits, each telling where the digits that are set may not suffice."""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import mpmath
import sympy

from gradcalc.verify.arithmetic import (
    DIGITS,
    beta,
    ceil,
    detach,
    erf,
    erfc,
    erfinv,
    floor,
    gamma,
    lgamma,
    maximum,
    minimum,
    polygamma,
    round_,
    sign,
    trunc,
)
from gradcalc.verify.derivative import NoFormulaError
from gradcalc.verify.matrices import eigenvalue, eigenvalue_digits
from gradcalc.verify.precision import Range, bits_of


def _telling(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which tells that it rounds to 1 or 2 what is not: tanh(300), exp(1e-60)."""

    def told(x: Any) -> Any:
        value = function(x)
        if _is_one_or_two(value) and x and mpmath.isfinite(x):
            Range.ask(mpmath.mp.prec)  # which is not enough
        return value

    return told


def _turning(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which has a period: of a large x only the digits behind the point count."""
    telling = _telling(function)

    def told(x: Any) -> Any:
        Range.ask(bits_of(x) or 0)
        return telling(x)

    return told


def _is_one_or_two(value: Any) -> bool:
    """Is it 1, 2, -1 or -2?"""
    _, mantissa, exponent, _ = value._mpf_
    return mantissa == 1 and exponent in (0, 1)


def _sum(*terms: Any) -> Any:
    total = reduce(operator.add, terms)
    Range.note((*terms, total))
    return total


def _power(base: Any, exponent: Any) -> Any:
    if not base and exponent < 0:
        return mpmath.nan
    value = base**exponent
    if type(value) is mpmath.mpf and exponent and _is_one_or_two(value):
        _, mantissa, twos, _ = base._mpf_
        if mantissa != 1 or twos * exponent not in (0, 1):  # else it is that exactly
            Range.ask(mpmath.mp.prec)
    return value


def _piecewise(*pairs: tuple[Any, Any]) -> Any:
    return next((value for value, condition in pairs if condition), mpmath.nan)


class AtJump:
    """What a step is at its jump: None is SymPy's 1/2."""

    value: int | None = None


def _heaviside(x: Any, middle: Any) -> Any:
    if x == 0:
        return middle if AtJump.value is None else mpmath.mpf(AtJump.value)
    return mpmath.mpf(x > 0)


def _dirac(x: Any, *order: Any) -> Any:
    return mpmath.nan if x == 0 else mpmath.mpf(0)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    sympy.Add: _sum,
    sympy.Mul: lambda *factors: reduce(operator.mul, factors),
    sympy.Pow: _power,
    sympy.Piecewise: _piecewise,
    sympy.functions.elementary.piecewise.ExprCondPair: lambda value, condition: (value, condition),
    sympy.Heaviside: _heaviside,
    sympy.DiracDelta: _dirac,
    sympy.Abs: abs,
    maximum: DIGITS["maximum"],
    minimum: DIGITS["minimum"],
    floor: DIGITS["floor"],
    ceil: DIGITS["ceil"],
    trunc: DIGITS["trunc"],
    round_: DIGITS["round"],
    sympy.atan2: DIGITS["atan2"],
    sympy.Lt: operator.lt,
    sympy.Le: operator.le,
    sympy.Gt: operator.gt,
    sympy.Ge: operator.ge,
    sympy.Eq: operator.eq,
    sympy.Ne: operator.ne,
    sympy.ITE: DIGITS["where"],
    sign: DIGITS["sign"],
    sympy.And: lambda *conditions: all(conditions),
    sympy.Or: lambda *conditions: any(conditions),
    sympy.Not: operator.not_,
    detach: DIGITS["detach"],
    **dict.fromkeys((erf, sympy.erf), _telling(DIGITS["erf"])),
    **dict.fromkeys((erfc, sympy.erfc), _telling(DIGITS["erfc"])),
    sympy.tanh: _telling(DIGITS["tanh"]),
    sympy.exp: _telling(DIGITS["exp"]),
    sympy.sin: _turning(DIGITS["sin"]),
    sympy.cos: _turning(DIGITS["cos"]),
    sympy.tan: _turning(DIGITS["tan"]),
    sympy.cosh: _telling(DIGITS["cosh"]),
    sympy.sinc: _turning(DIGITS["sinc"]),
    **dict.fromkeys((erfinv, sympy.erfinv), DIGITS["erfinv"]),
    **dict.fromkeys((gamma, sympy.gamma), DIGITS["gamma"]),
    **dict.fromkeys((lgamma, sympy.loggamma), DIGITS["lgamma"]),
    **dict.fromkeys((polygamma, sympy.polygamma), DIGITS["higher_polygamma"]),
    **dict.fromkeys((beta, sympy.beta), DIGITS["beta"]),
    eigenvalue: eigenvalue_digits,
}


def function_of(expr: sympy.Basic) -> Callable[..., Any]:
    known = FUNCTIONS.get(expr.func)
    if known is None and isinstance(expr, sympy.Function):
        known = getattr(mpmath, expr.func.__name__, None)
    if known is None:
        raise NoFormulaError(f"SymPy's derivative contains {expr.func.__name__}")
    return known

"""A SymPy expression as a list of steps, to be evaluated at many points and precisions."""

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import mpmath
import sympy
from sympy.printing.str import StrPrinter

from gradcalc.verify.arithmetic import (
    DIGITS,
    NOT_REAL,
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
    real,
    round_,
    sign,
    trunc,
)
from gradcalc.verify.derivative import NoFormulaError
from gradcalc.verify.matrices import eigenvalue, eigenvalue_digits

FARTHEST = 10_000  # bits: beyond any precision that is tried


class Range:
    """How many bits the terms of a sum, and the sum, lie apart, at the most since it was last 0.

    1 + exp(-500) is 1 at 50 and at 100 digits, which agree on what is wrong: a precision that does
    not span the range proves nothing.
    """

    bits = 0

    @classmethod
    def note(cls, terms: Iterable[Any]) -> None:
        """Takes the terms of a sum, and it, into account, but for 0 and what is not finite."""
        cls._span([size for term in terms if (size := _bits(term)) is not None])

    @classmethod
    def note_products(cls, lefts: Iterable[Any], rights: Iterable[Any], total: Any) -> None:
        """The same of a sum of products."""
        pairs = zip(map(_bits, lefts), map(_bits, rights), strict=True)
        sizes = [a + b for a, b in pairs if a is not None and b is not None]
        own = _bits(total)
        cls._span(sizes if own is None else [*sizes, own])

    @classmethod
    def _span(cls, sizes: Sequence[int]) -> None:
        if len(sizes) > 1:
            cls.bits = max(cls.bits, min(max(sizes) - min(sizes), FARTHEST))


def _bits(number: Any) -> int | None:
    """The bits before the point; None of 0, and of what is not finite."""
    if type(number) is not mpmath.mpf:
        return None
    _, mantissa, exponent, count = number._mpf_
    return exponent + count if mantissa else None


class Formula:
    """``expr`` ready for evaluation: neither recursion nor generated code."""

    def __init__(self, expr: sympy.Basic) -> None:
        self.expr = expr
        # Functions with their arguments' positions; numbers that are exact; other atoms.
        self.steps: list[Any] = []
        positions: dict[sympy.Basic, int] = {}
        stack = [expr]
        while stack:  # arguments first
            top = stack[-1]
            missing = [a for a in top.args if a not in positions]
            if top in positions:
                stack.pop()
            elif missing and not top.is_Atom:
                stack.extend(missing)
            else:
                positions[stack.pop()] = len(self.steps)
                arguments = tuple(positions[a] for a in top.args)
                self.steps.append(_constant(top) if top.is_Atom else (_function(top), arguments))

    def __call__(self, point: Mapping[sympy.Symbol, Any]) -> Any:
        """The value at ``point`` (mpf by symbol), at the precision that is set; nan if none."""
        values: list[Any] = []
        try:
            for step in self.steps:
                if type(step) is tuple:
                    function, arguments = step
                    values.append(function(*[values[i] for i in arguments]))
                elif type(step) is mpmath.mpf:
                    values.append(step)
                else:
                    values.append(_atom(step, point))
        except (*NOT_REAL, TypeError, AttributeError):  # of complex numbers on the way
            return self._carefully(point)
        return self._carefully(point) if mpmath.mpc in map(type, values) else values[-1]

    def _carefully(self, point: Mapping[sympy.Symbol, Any]) -> Any:
        """The same, where a part has no real value: it may be of a branch that is not taken."""
        values: list[Any] = []
        for step in self.steps:
            if isinstance(step, tuple):
                function, arguments = step
                values.append(real(function, *[values[i] for i in arguments]))
            else:
                values.append(_atom(step, point))
        return values[-1]

    def __str__(self) -> str:
        # A Dirac delta is 0 but at a kink, where a formula is not the whole truth anyway.
        zeros = dict.fromkeys(self.expr.atoms(sympy.DiracDelta), sympy.S.Zero)
        numbers = {n: _as_written(n) for n in self.expr.atoms(sympy.Rational) if _is_float(n)}
        shown = self.expr.xreplace({**zeros, **numbers})
        return str(_Printer({"order": "none"}).doprint(shown))


class _Printer(StrPrinter):
    """SymPy's text in gradcalc's language, with float64 values as people wrote them."""

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:
        *pairs, last = expr.args
        text = self._print(last[0])
        for value, condition in reversed(pairs):
            text = f"where({self._print(condition)}, {self._print(value)}, {text})"
        return str(text)

    def _print_Relational(self, expr: sympy.Rel) -> str:
        return f"{self._print(expr.lhs)} {expr.rel_op} {self._print(expr.rhs)}"

    def _print_And(self, expr: sympy.And) -> str:
        return self._joined(" & ", expr)

    def _print_Or(self, expr: sympy.Or) -> str:
        return self._joined(" | ", expr)

    def _joined(self, operator: str, expr: sympy.Basic) -> str:
        """Conditions, each in parentheses: Python's & and | bind more tightly than comparisons."""
        ordered = sorted(expr.args, key=sympy.default_sort_key)
        return operator.join(f"({self._print(part)})" for part in ordered)

    def _print_Heaviside(self, expr: sympy.Heaviside) -> str:
        return f"where({self._print(expr.args[0])} > 0, 1, 0)"

    def _print_Function(self, expr: sympy.Function) -> str:
        name = expr.func.__name__.removesuffix("_")  # of round_, which shadows nothing so
        return f"{name}({', '.join(self._print(a) for a in expr.args)})"

    def _print_Abs(self, expr: sympy.Abs) -> str:
        return f"abs({self._print(expr.args[0])})"

    def _print_polygamma(self, expr: sympy.polygamma) -> str:
        n, x = expr.args
        return f"digamma({self._print(x)})" if n == 0 else str(self._print_Function(expr))

    def _print_sinc(self, expr: sympy.sinc) -> str:
        return f"sinc({self._print(expr.args[0] / sympy.pi)})"  # NumPy's has pi inside

    def _print_eigenvalue(self, expr: eigenvalue) -> str:
        k, n, *elements = expr.args
        texts = [self._print(element) for element in elements]
        rows = [f"[{', '.join(texts[i : i + int(n)])}]" for i in range(0, len(texts), int(n))]
        return f"eigvalsh([{', '.join(rows)}])[{k}]"

    def _print_Dummy(self, expr: sympy.Dummy) -> str:
        return str(expr.name)

    def _print_Infinity(self, expr: sympy.Expr) -> str:
        return "inf"

    def _print_NegativeInfinity(self, expr: sympy.Expr) -> str:
        return "-inf"

    def _print_ComplexInfinity(self, expr: sympy.Expr) -> str:
        return "inf"


def _is_float(number: sympy.Rational) -> bool:
    """Is it a float64 that is no plain fraction, or an integer of many digits?"""
    return bool((number.q & (number.q - 1) == 0 and number.q > 64) or abs(number.p) >= 10**17)


def _as_written(number: sympy.Rational) -> sympy.Expr:
    """A symbol that is spelled as people would write the number."""
    size = abs(number)
    near = float(size) if size < sympy.Float("1e308") else math.inf
    text = "pi" if near == math.pi else repr(near)
    if math.isinf(near):
        text = str(mpmath.nstr(mpmath.mpf(size.p) / size.q, 17))
    return sympy.sign(number) * sympy.Symbol(text)


def _constant(atom: sympy.Basic) -> Any:
    """A number that has all its digits in binary, as it is; any other atom stays."""
    if atom.is_Rational and atom.q & (atom.q - 1) == 0:
        return mpmath.mp.make_mpf(
            mpmath.libmp.from_man_exp(int(atom.p), 1 - int(atom.q).bit_length())
        )
    return atom


def _atom(value: Any, point: Mapping[sympy.Symbol, Any]) -> Any:
    if isinstance(value, sympy.Symbol):
        return point[value]
    if isinstance(value, mpmath.mpf):
        return value
    if value in (sympy.true, sympy.false):
        return bool(value)
    if value.is_Rational:
        return mpmath.mpf(value.p) / value.q
    if value in (sympy.oo, -sympy.oo):
        return mpmath.inf if value is sympy.oo else -mpmath.inf
    return mpmath.mpf(value.evalf(mpmath.mp.dps)) if value.is_real else mpmath.nan


def _telling(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which tells that it rounds to 1 or 2 what is not: tanh(300), exp(1e-60)."""

    def told(x: Any) -> Any:
        value = function(x)
        if abs(value) in (1, 2) and x != 0 and mpmath.isfinite(x):
            Range.bits = max(Range.bits, mpmath.mp.prec)  # which is not enough
        return value

    return told


def _sum(*terms: Any) -> Any:
    total = sum(terms)
    Range.note((*terms, total))
    return total


def _power(base: Any, exponent: Any) -> Any:
    if base == 0 and exponent < 0:
        return mpmath.nan
    return base**exponent


def _piecewise(*pairs: tuple[Any, Any]) -> Any:
    return next((value for value, condition in pairs if condition), mpmath.nan)


class Step:
    """What a step is at its jump: None is SymPy's 1/2."""

    middle: int | None = None


def _heaviside(x: Any, middle: Any) -> Any:
    if x == 0:
        return middle if Step.middle is None else mpmath.mpf(Step.middle)
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
    sympy.cos: _telling(DIGITS["cos"]),
    sympy.cosh: _telling(DIGITS["cosh"]),
    sympy.sinc: _telling(DIGITS["sinc"]),
    **dict.fromkeys((erfinv, sympy.erfinv), DIGITS["erfinv"]),
    **dict.fromkeys((gamma, sympy.gamma), DIGITS["gamma"]),
    **dict.fromkeys((lgamma, sympy.loggamma), DIGITS["lgamma"]),
    **dict.fromkeys((polygamma, sympy.polygamma), DIGITS["higher_polygamma"]),
    **dict.fromkeys((beta, sympy.beta), DIGITS["beta"]),
    eigenvalue: eigenvalue_digits,
}


def _function(expr: sympy.Basic) -> Callable[..., Any]:
    known = FUNCTIONS.get(expr.func)
    if known is None and isinstance(expr, sympy.Function):
        known = getattr(mpmath, expr.func.__name__, None)
    if known is None:
        raise NoFormulaError(f"SymPy's derivative contains {expr.func.__name__}")
    return known

"""A SymPy expression as a list of steps, to be evaluated at many points and precisions."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import count
from typing import Any, TypeAlias

import mpmath
import sympy

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

Numbers: TypeAlias = Mapping[sympy.Symbol, Any]  # mpf or bool by symbol
Application: TypeAlias = tuple[Callable[..., Any], Sequence[int]]  # and where its arguments are

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


def apart(x: Any, step: Any) -> int:
    """The bits from a number to a step: what a precision must span to tell x + step from x."""
    sizes = [size for number in (x, step) if (size := _bits(number)) is not None]
    return min(max(sizes) - min(sizes), FARTHEST) if sizes else 0


def _bits(number: Any) -> int | None:
    """The bits before the point; None of 0, and of what is not finite."""
    if type(number) is not mpmath.mpf:
        return None
    _, mantissa, exponent, count = number._mpf_
    return exponent + count if mantissa else None


class Steps:
    """The steps of many formulas: equal parts are one step, as equal nodes of a graph are."""

    def __init__(self) -> None:
        # By position. An alarm may stop the work anywhere: a position is given away only once.
        self.functions: dict[int, Application] = {}
        self.atoms: dict[int, Any] = {}  # numbers that are exact, symbols, and others
        self._free = count()
        self._positions: dict[sympy.Basic, int] = {}

    def of(self, expr: sympy.Basic) -> Sequence[int]:
        """The positions of ``expr`` and of all its parts, arguments first."""
        found: dict[sympy.Basic, int] = {}
        stack = [expr]
        while stack:
            top = stack[-1]
            missing = [a for a in top.args if a not in found]
            if top in found:
                stack.pop()
            elif missing and not top.is_Atom:
                stack.extend(missing)
            else:
                found[stack.pop()] = self._position(top)
        return list(found.values())

    def _position(self, part: sympy.Basic) -> int:
        if part not in self._positions:
            place = next(self._free)
            if part.is_Atom:
                self.atoms[place] = _constant(part)
            else:
                arguments = [self._positions[argument] for argument in part.args]
                self.functions[place] = (_function(part), arguments)
            self._positions[part] = place
        return self._positions[part]


class Known(dict[int, Any]):
    """The steps that were computed at one point and precision."""

    def __init__(self, numbers: Numbers, atoms: Mapping[int, Any]) -> None:
        self.numbers, self.atoms = numbers, atoms
        self.bits = 0  # Range.bits of all that was computed

    def __missing__(self, place: int) -> Any:
        number = self[place] = _atom(self.atoms[place], self.numbers)
        return number


class Point:
    """A number for each symbol; what was computed from them is kept."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self._known: dict[tuple[Any, ...], Known] = {}

    def known(self, steps: Steps) -> Known:
        """What is known at the precision that is set."""
        key = (steps, mpmath.mp.prec, Step.middle)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Known(self.numbers, steps.atoms)
        return found


class Formula:
    """``expr`` ready for evaluation: neither recursion nor generated code.

    steps: of other formulas, which are evaluated at the same points.
    """

    def __init__(self, expr: sympy.Basic, steps: Steps | None = None) -> None:
        self.expr = expr
        self.steps = Steps() if steps is None else steps
        *_, self.result = places = self.steps.of(expr)
        self.order = [place for place in places if place in self.steps.functions]

    def __call__(self, point: Numbers | Point) -> Any:
        """The value at ``point``, at the precision that is set; nan if none."""
        steps = self.steps
        known = point.known(steps) if isinstance(point, Point) else Known(point, steps.atoms)
        before, Range.bits = Range.bits, known.bits
        try:
            for place in self.order:
                if place not in known:
                    function, arguments = steps.functions[place]
                    value = function(*[known[argument] for argument in arguments])
                    if type(value) is mpmath.mpc:
                        return self._carefully(known)
                    known[place] = value
        except (*NOT_REAL, TypeError, AttributeError):  # of complex numbers on the way
            return self._carefully(known)
        finally:
            known.bits = Range.bits
            Range.bits = max(before, known.bits)
        return known[self.result]

    def _carefully(self, known: Known) -> Any:
        """The same, where a part has no real value: it may be of a branch that is not taken."""
        values = Known(known.numbers, known.atoms)
        for place in self.order:
            function, arguments = self.steps.functions[place]
            values[place] = real(function, *[values[argument] for argument in arguments])
        return values[self.result]


def _constant(atom: sympy.Basic) -> Any:
    """A number that has all its digits in binary, as it is; any other atom stays."""
    if atom.is_Rational and atom.q & (atom.q - 1) == 0:
        return mpmath.mp.make_mpf(
            mpmath.libmp.from_man_exp(int(atom.p), 1 - int(atom.q).bit_length())
        )
    return atom


def _atom(value: Any, point: Numbers) -> Any:
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
        if _is_one_or_two(value) and x and mpmath.isfinite(x):
            Range.bits = max(Range.bits, mpmath.mp.prec)  # which is not enough
        return value

    return told


def _turning(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which has a period: of a large x only the digits behind the point count."""
    telling = _telling(function)

    def told(x: Any) -> Any:
        Range.bits = max(Range.bits, min(_bits(x) or 0, FARTHEST))
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
            Range.bits = max(Range.bits, mpmath.mp.prec)
    return value


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


def _function(expr: sympy.Basic) -> Callable[..., Any]:
    known = FUNCTIONS.get(expr.func)
    if known is None and isinstance(expr, sympy.Function):
        known = getattr(mpmath, expr.func.__name__, None)
    if known is None:
        raise NoFormulaError(f"SymPy's derivative contains {expr.func.__name__}")
    return known

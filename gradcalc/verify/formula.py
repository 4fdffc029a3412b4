"""A SymPy expression as a list of steps, to be evaluated at many points and precisions."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

import mpmath
import sympy

from gradcalc.verify.arithmetic import NOT_REAL, real
from gradcalc.verify.functions import AtJump, function_of
from gradcalc.verify.precision import Range

Numbers: TypeAlias = Mapping[sympy.Symbol, Any]  # mpf or bool by symbol
Application: TypeAlias = tuple[Callable[..., Any], Sequence[int]]  # and where its arguments are


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
                self.functions[place] = (function_of(part), arguments)
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
        key = (steps, mpmath.mp.prec, AtJump.value)
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

"""Two further arithmetics for the nodes of a graph: SymPy expressions, and mpmath numbers.

Elementwise rows and reductions bring a twin, written against the names that both arithmetics have;
structured rows are NumPy's own functions, which work on arrays of objects.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import mpmath
import numpy as np
import sympy

from gradcalc.graph import CONSTANT, TRUTH, Array, Node, Params, Primitive
from gradcalc.primitives.derivatives import Derivative
from gradcalc.primitives.gamma import HIGHEST_ORDER, LARGEST_ORDER
from gradcalc.primitives.rule import Elementwise, General, Reduction
from gradcalc.verify import matrices
from gradcalc.verify.derivative import symbolic


class _Flat(sympy.Function):
    """What has slope 0, as rounding to whole numbers: SymPy's own functions have no derivative."""

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sympy.S.Zero


class floor(_Flat):
    """The largest whole number that is not larger."""


class ceil(_Flat):
    """The smallest whole number that is not smaller."""


class trunc(_Flat):
    """The next whole number towards 0."""


class round_(_Flat):
    """The nearest whole number."""


class sign(_Flat):
    """The sign; sympy.sign has a delta for a derivative, or none of what may be complex."""


class detach(_Flat):
    """Its argument, as a constant."""


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


class _Kept(sympy.Function):
    """A function that SymPy differentiates, but neither works out nor rewrites.

    Of numbers, 10**6! is long; and in erfc(-x) = 2 - erfc(x) no precision keeps the digits.
    """

    @classmethod
    def eval(cls, *args: Any) -> None:
        """SymPy's hook, by its name: None is "no simpler value"."""


class gamma(_Kept, sympy.gamma):
    """The gamma function."""


class lgamma(_Kept, sympy.loggamma):
    """log(abs(gamma(x)))"""


class polygamma(_Kept, sympy.polygamma):
    """The n-th derivative of digamma; by n, which is a whole number, it has none."""

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        return sympy.S.Zero if argindex == 1 else super().fdiff(argindex)


class beta(_Kept, sympy.beta):
    """The beta function."""


class erf(_Kept, sympy.erf):
    """The error function."""


class erfc(_Kept, sympy.erfc):
    """1 - erf(x)"""


class erfinv(_Kept, sympy.erfinv):
    """The x of which erf is the argument."""


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

    def inputs(self, node: Node) -> Sequence[Node]:
        """What is read of a node: a derivative inside the program is what our own rules made it."""
        return node.inputs[:1] if isinstance(node.primitive, Derivative) else node.inputs

    def elementwise(self, row: Elementwise, *elements: Any) -> Any:
        """The function of ``row``, of one element an input."""
        if isinstance(row.twin, str):
            return self.call(getattr(self, row.twin), *elements)
        return self.call(row.twin, self, *elements)

    def apply(self, node: Node, inputs: Sequence[Array]) -> Array:
        """The value of ``node``: an object array of its shape (0-d: the object)."""
        row = node.primitive
        if row is CONSTANT or row is TRUTH:
            convert = self.number if row is CONSTANT else bool
            return _each(convert, node.params[0].array)
        if isinstance(row, Elementwise):
            return _each(partial(self.elementwise, row), *inputs)
        if isinstance(row, Derivative):
            return inputs[0]
        result = self.combined(row, [np.asarray(i, dtype=object) for i in inputs], node.params)
        return np.broadcast_to(np.asarray(result, dtype=object), node.shape)[()]

    def combined(self, row: Primitive, arrays: Sequence[Array], params: Params) -> Array:
        """The result of a row that is not elementwise, of object arrays."""
        if isinstance(row, (Reduction, General)):
            return self.call(row.twin, self, *arrays, *params)
        return row.forward(*arrays, *params)


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
            erf=erf,
            erfc=erfc,
            erfinv=erfinv,
            gamma=gamma,
            lgamma=lgamma,
            polygamma=polygamma,
            higher_polygamma=polygamma,
            beta=beta,
            sinc=sympy.sinc,
            sign=sign,
            floor=floor,
            ceil=ceil,
            trunc=trunc,
            round=round_,
            detach=detach,
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
            solve=matrices.cramer,
            cholesky=lambda a: matrices.cholesky(sympy.sqrt, a),
            eigenvalues=matrices.eigenvalues,
            eigenvectors=matrices.eigenvectors,
        )

    def call(self, function: Callable[..., Any], *elements: Any) -> Any:
        return symbolic(function, *elements)

    def inputs(self, node: Node) -> Sequence[Node]:
        """SymPy makes the derivatives inside the program itself (lower.py)."""
        return node.inputs[1:] if isinstance(node.primitive, Derivative) else node.inputs

    def number(self, value: float) -> sympy.Expr:
        if np.isfinite(value):
            return sympy.Rational(*float(value).as_integer_ratio())
        return sympy.nan if np.isnan(value) else sympy.oo if value > 0 else -sympy.oo


def _erfc(x: Any) -> Any:
    """mpmath's, which cannot go as far as this, where it is long below any float64."""
    return mpmath.mpf(0) if x > 1e100 else mpmath.erfc(x)


def _lgamma(x: Any) -> Any:
    """log(abs(gamma(x))), which is infinite at the poles."""
    return mpmath.inf if x <= 0 and mpmath.isint(x) else mpmath.loggamma(x).real


def _polygamma(n: Any, x: Any, largest: float = LARGEST_ORDER) -> Any:
    """The n-th derivative of digamma.

    mpmath's own goes from x < 0 upwards, step by step. Here the sum of (x + k)**-(n+1) over all
    whole numbers k, which has period 1, is taken between 0 and 1 (which is 5.15.6 of the DLMF).
    """
    if not (mpmath.isint(n) and 0 <= n <= largest):
        raise ValueError("not an order")
    n = int(n)
    if not x < 0:
        return mpmath.psi(n, x)
    rest = mpmath.ceil(x) - x
    other = mpmath.psi(n, rest) - mpmath.psi(n, 1 - x)
    return mpmath.psi(n, 1 - rest) - (-1) ** n * other


def _beta(a: Any, b: Any) -> Any:
    """Where its integral is finite."""
    if not (a > 0 and b > 0):
        raise ValueError("not positive")
    return mpmath.beta(a, b)


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
    "erf": mpmath.erf,
    "erfc": _erfc,
    "erfinv": mpmath.erfinv,
    "gamma": mpmath.gamma,
    "lgamma": _lgamma,
    "polygamma": _polygamma,
    "higher_polygamma": partial(_polygamma, largest=HIGHEST_ORDER),
    "beta": _beta,
    "sinc": mpmath.sinc,
    "sign": mpmath.sign,
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
    "trunc": lambda x: mpmath.floor(x) if x >= 0 else mpmath.ceil(x),
    "round": mpmath.nint,
    "detach": operator.pos,
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
    "solve": matrices.solve_digits,
    "cholesky": lambda a: matrices.cholesky(mpmath.sqrt, a),
    "eigenvalues": lambda a: matrices.eigh_digits(a)[0],
    "eigenvectors": lambda a: matrices.eigh_digits(a)[1],
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


NOT_REAL = (ZeroDivisionError, ValueError, OverflowError, mpmath.libmp.ComplexResult)


def _each(function: Callable[..., Any], *arrays: Array) -> Array:
    return np.frompyfunc(function, len(arrays), 1)(*arrays)


def real(function: Callable[..., Any], *elements: Any) -> Any:
    """``function(*elements)``; nan where it has no real value or a pole."""
    try:
        value = function(*elements)
    except NOT_REAL:
        return mpmath.nan
    return mpmath.nan if isinstance(value, mpmath.mpc) else value

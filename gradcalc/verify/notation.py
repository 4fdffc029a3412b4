"""SymPy expressions as text, in gradcalc's language."""

import math

import mpmath
import sympy
from sympy.printing.str import StrPrinter

from gradcalc.verify.matrices import eigenvalue


def text_of(expr: sympy.Basic) -> str:
    """The text of ``expr``, with float64 values as people wrote them."""
    # A Dirac delta is 0 but at a kink, where a formula is not the whole truth anyway.
    zeros = dict.fromkeys(expr.atoms(sympy.DiracDelta), sympy.S.Zero)
    numbers = {n: _as_written(n) for n in expr.atoms(sympy.Rational) if _is_float(n)}
    return str(_Printer({"order": "none"}).doprint(expr.xreplace({**zeros, **numbers})))


class _Printer(StrPrinter):
    """SymPy's printer, where gradcalc writes otherwise."""

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

"""The elementwise rows: one primitive a row, its partials beside it.

Partials are written so that they keep their accuracy where the textbook form loses it: tanh' as
4 s(2x) s(-2x), not 1 - tanh(x)**2, which is 0 from x = 19.1 on; (a/b)' by b as -y/b, not -a/b**2.
"""

import operator
from collections.abc import Callable

import numpy as np

from gradcalc.graph import Array, Node
from gradcalc.primitives.rule import Elementwise, elementwise

# Arithmetic: Python's operators, which on float64 scalars are ten times as fast as NumPy's ufuncs.

add: Elementwise = elementwise(
    "add", operator.add, lambda m, a, b: a + b, partials=(lambda a, b, y: 1.0, lambda a, b, y: 1.0)
)
subtract: Elementwise = elementwise(
    "subtract",
    operator.sub,
    lambda m, a, b: a - b,
    partials=(lambda a, b, y: 1.0, lambda a, b, y: -1.0),
)
multiply: Elementwise = elementwise(
    "multiply",
    operator.mul,
    lambda m, a, b: a * b,
    partials=(lambda a, b, y: b, lambda a, b, y: a),
)
divide: Elementwise = elementwise(
    "divide",
    operator.truediv,
    lambda m, a, b: a / b,
    partials=(lambda a, b, y: 1.0 / b, lambda a, b, y: -y / b),
)
negative: Elementwise = elementwise(
    "negative", operator.neg, lambda m, x: -x, partials=(lambda x, y: -1.0,)
)


LARGEST_ODD = 2.0**53


def _power_by_base(a: Node, b: Node, y: Node) -> Node | float:
    """b a**(b-1), and 0 for b = 0 whatever a is.

    b - 1 is exact in float64 from 1/2 (Sterbenz) to 2**53; elsewhere its rounding would be
    multiplied by log(a), or turn odd into even, so b y/a is used where it is finite.
    """
    if b.number is not None and (b.number == 0.0 or 0.5 <= b.number <= LARGEST_ODD):
        exponent = b.number - 1.0
        return b * a if exponent == 1.0 else 0.0 if b.number == 0.0 else b * a**exponent
    exact = (b >= 0.5) & (b <= LARGEST_ODD)
    inexact = ~exact & not_equal(a, 0.0) & less(absolute(a), np.inf)
    return where(equal(b, 0.0), 0.0, b * where(inexact, y / a, a ** (b - 1.0)))


def _power_by_exponent(a: Node, b: Node, y: Node) -> Node:
    """y log(a); at a = 0 its limit 0 for b >= 0; nan for a negative base."""
    return where(equal(a, 0.0) & (b >= 0.0), 0.0, y * log(a))


def is_integer(b: Node) -> bool:
    """Is ``b`` a constant whole number, so that a negative base needs no care?"""
    return b.number is not None and b.number.is_integer()


power: Elementwise = elementwise(
    "power",
    operator.pow,
    "power",
    partials=(_power_by_base, _power_by_exponent),
    domain=lambda a, b: is_integer(b) or (a >= 0.0) | equal(b, round_(b)),
    kinks=lambda a, b: (a,),
)

# Exponentials and logarithms.


def _sigmoid(x: Array) -> Array:
    """1/(1 + exp(-x)) without overflow: exp(min(x, 0)) / (1 + exp(-|x|))."""
    return np.exp(np.minimum(x, 0.0)) / (1.0 + np.exp(-np.abs(x)))


exp: Elementwise = elementwise("exp", np.exp, "exp", partials=(lambda x, y: y,))
log: Elementwise = elementwise(
    "log", np.log, "log", partials=(lambda x, y: 1.0 / x,), domain=lambda x: x >= 0.0
)
sqrt: Elementwise = elementwise(
    "sqrt", np.sqrt, "sqrt", partials=(lambda x, y: 0.5 / y,), domain=lambda x: x >= 0.0
)
sigmoid: Elementwise = elementwise(
    "sigmoid",
    _sigmoid,
    lambda m, x: 1 / (1 + m.exp(-x)),
    partials=(lambda x, y: y * sigmoid(-x),),
)

# Trigonometric and hyperbolic.

sin: Elementwise = elementwise("sin", np.sin, "sin", partials=(lambda x, y: cos(x),))
cos: Elementwise = elementwise("cos", np.cos, "cos", partials=(lambda x, y: -sin(x),))
tan: Elementwise = elementwise("tan", np.tan, "tan", partials=(lambda x, y: 1.0 + y * y,))
tanh: Elementwise = elementwise(
    "tanh",
    np.tanh,
    "tanh",
    partials=(lambda x, y: 4.0 * (sigmoid(2.0 * x) * sigmoid(-2.0 * x)),),
)

# Rows that bend, step or choose. Conventions at the kinks are PyTorch's.

absolute: Elementwise = elementwise(
    "abs", np.abs, lambda m, x: abs(x), partials=(lambda x, y: sign(x),), kinks=lambda x: (x,)
)
sign: Elementwise = elementwise(
    "sign", np.sign, "sign", partials=(lambda x, y: 0.0,), kinks=lambda x: (x,)
)
round_: Elementwise = elementwise(
    "round", np.rint, "round", partials=(lambda x, y: 0.0,), kinks=lambda x: (_to_half(x),)
)


def _to_half(x: Node) -> Node:
    """How far x is from a number half way between two whole ones; exact in float64."""
    return absolute(x - round_(x)) - 0.5


relu: Elementwise = elementwise(
    "relu",
    lambda x: np.maximum(x, 0.0),
    lambda m, x: m.maximum(x, 0),
    partials=(lambda x, y: 1.0,),
    active=(lambda x: ~(x <= 0.0),),
    kinks=lambda x: (x,),
)
# A tie counts half on both sides; nan passes, as in the value.
maximum: Elementwise = elementwise(
    "maximum",
    np.maximum,
    "maximum",
    partials=(lambda a, b, y: _share(a, b), lambda a, b, y: _share(a, b)),
    active=(lambda a, b: ~(a < b), lambda a, b: ~(b < a)),
    kinks=lambda a, b: (a - b,),
)
minimum: Elementwise = elementwise(
    "minimum",
    np.minimum,
    "minimum",
    partials=(lambda a, b, y: _share(a, b), lambda a, b, y: _share(a, b)),
    active=(lambda a, b: ~(a > b), lambda a, b: ~(b > a)),
    kinks=lambda a, b: (a - b,),
)


def _share(a: Node, b: Node) -> Node:
    return where(equal(a, b), 0.5, 1.0)


def _where(condition: Array, a: Array, b: Array) -> Array:
    """np.where, without the copy when ``a`` is taken everywhere: most masks leave nothing out."""
    shape = np.shape(a)  # of the result too, unless the condition or ``b`` is wider
    if np.shape(condition) == shape and np.shape(b) in ((), shape) and np.all(condition):
        return a
    return np.where(condition, a, b)


where: Elementwise = elementwise(
    "where",
    _where,
    "where",
    conditions=1,
    partials=(None, lambda c, a, b, y: 1.0, lambda c, a, b, y: 1.0),
    active=(None, lambda c, a, b: c, lambda c, a, b: ~c),
)

# Truth values: nothing flows through them, and a comparison is a kink where its sides are equal.


def comparison(name: str, forward: Callable[..., Array]) -> Elementwise:
    """A row of the comparisons."""
    return elementwise(
        name, forward, name, truth=True, partials=(None, None), kinks=lambda a, b: (a - b,)
    )


def logical(name: str, forward: Callable[..., Array], arity: int) -> Elementwise:
    """A row of the operations on truth values."""
    return elementwise(name, forward, name, conditions=arity, truth=True, partials=(None,) * arity)


less: Elementwise = comparison("less", operator.lt)
less_equal: Elementwise = comparison("less_equal", operator.le)
greater: Elementwise = comparison("greater", operator.gt)
greater_equal: Elementwise = comparison("greater_equal", operator.ge)
equal: Elementwise = comparison("equal", operator.eq)
not_equal: Elementwise = comparison("not_equal", operator.ne)

logical_and: Elementwise = logical("logical_and", np.logical_and, 2)
logical_or: Elementwise = logical("logical_or", np.logical_or, 2)
logical_not: Elementwise = logical("logical_not", np.logical_not, 1)

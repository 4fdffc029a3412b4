"""The table of callable names, and what each of them says of itself.

A function's annotations say what it takes: ``Node`` is an array of the program; everything else is
plain Python (axes, shapes, flags), known when the graph is made.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gradcalc.graph import PRIMITIVES, Array, Graph, Node
from gradcalc.language.draws import Draws
from gradcalc.primitives.rule import Elementwise

Integers: TypeAlias = tuple[int, ...]
Axes: TypeAlias = Integers | None
Operand: TypeAlias = Node | float  # an array, with a default
Known: TypeAlias = Callable[[Node], Array]  # the value of a node, asked for now
Builder: TypeAlias = Callable[..., Any]  # of a Node, or of a tuple of them
GIVEN = (Graph, Draws, Known)  # what a function has from the running program, not from its call
F = TypeVar("F", bound=Builder)


class Facts(NamedTuple):
    """What a function says of itself beside its signature and docstring.

    example: a call; at: the values of its leaves. Both can be run as they are.
    gradient: by leaf of the example, in the weights ``w``, the result ``y`` and the leaves; empty
        where SymPy writes the derivative (elementwise functions), or where there is none.
    domain, kinks: in words; empty where they follow from the rows (elementwise functions).
    """

    example: str
    at: str = ""
    gradient: Mapping[str, str] = {}
    domain: str = ""
    kinks: str = ""
    convention: str = ""


FUNCTIONS: dict[str, Builder] = {
    name: row
    for name, row in PRIMITIVES.items()
    if isinstance(row, Elementwise) and not name.startswith("_")
}
FACTS: dict[str, Facts] = {}
SPELLINGS = {  # PyTorch's, and others of NumPy and SciPy -> the name here
    "absolute": "abs",
    "acos": "arccos",
    "acosh": "arccosh",
    "amax": "max",
    "amin": "min",
    "as_tensor": "array",
    "asarray": "array",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bmm": "matmul",
    "cat": "concatenate",
    "clamp": "clip",
    "clone": "array",
    "concat": "concatenate",
    "contiguous": "array",
    "copy": "array",
    "cpu": "array",
    "degrees": "rad2deg",
    "div": "divide",
    "double": "array",
    "eq": "equal",
    "expand": "broadcast_to",
    "expit": "sigmoid",
    "fabs": "abs",
    "fix": "trunc",
    "gammaln": "lgamma",
    "ge": "greater_equal",
    "gt": "greater",
    "identity": "eye",
    "item": "array",
    "le": "less_equal",
    "log_sigmoid": "logsigmoid",
    "lt": "less",
    "mm": "matmul",
    "mod": "remainder",
    "movedim": "moveaxis",
    "mul": "multiply",
    "mv": "matmul",
    "ne": "not_equal",
    "neg": "negative",
    "numpy": "array",
    "permute": "transpose",
    "permute_dims": "transpose",
    "pow": "power",
    "psi": "digamma",
    "radians": "deg2rad",
    "repeat_interleave": "repeat",
    "rint": "round",
    "stop_gradient": "detach",
    "sub": "subtract",
    "swapdims": "swapaxes",
    "swish": "silu",
    "t": "transpose",
    "tensor": "array",
    "torch.transpose": "swapaxes",
    "true_divide": "divide",
    "unsqueeze": "expand_dims",
    "view": "reshape",
}
KEYWORDS = {  # of PyTorch or NumPy -> the keyword of a function that has not the first
    "a_max": "high",
    "a_min": "low",
    "axis": "dim",
    "correction": "ddof",
    "ddof": "correction",
    "diagonal": "k",
    "dim": "axis",
    "dims": "axis",
    "fill_value": "value",
    "index": "indices",
    "input": "x",
    "keepdim": "keepdims",
    "keepdims": "keepdim",
    "loc": "mean",
    "max": "high",
    "min": "low",
    "p": "ord",
    "scale": "std",
    "shifts": "shift",
    "steps": "num",
}
HABITS = {
    "arccot": "arccot(x) is arctan(1/x)",
    "cosec": "cosec(x) is 1/sin(x)",
    "cot": "cot(x) is 1/tan(x)",
    "csc": "csc(x) is 1/sin(x)",
    "ctg": "ctg(x) is 1/tan(x)",
    "device": "leave it out",
    "dtype": "leave it out: every value is a float64",
    "fft": "complex numbers are not supported",
    "int": "every value is a float64; trunc(x) leaves out the fraction",
    "lg": "did you mean 'log10', or 'log2'?",
    "ln": "did you mean 'log'? It is the natural logarithm",
    "print": "every name that the program assigns can be shown: --output NAME",
    "range": "range(n) belongs to a for loop; arange(n) makes an array",
    "requires_grad": "leave it out: every leaf has a gradient",
    "sec": "sec(x) is 1/cos(x)",
    "tg": "did you mean 'tan'?",
}


def function(
    example: str,
    at: str = "",
    gradient: str | Mapping[str, str] = "",
    *,
    name: str = "",
    domain: str = "",
    kinks: str = "",
    convention: str = "",
) -> Callable[[F], F]:
    """Makes what follows callable in the language, by default under its own name less an ``_``.

    A gradient that is one text is that of the first leaf of ``at``.
    """

    def add(build: F) -> F:
        first = at.split("=")[0]
        by = gradient if isinstance(gradient, Mapping) else {first: gradient} if gradient else {}
        key = name or build.__name__.removesuffix("_")
        FUNCTIONS[key] = build
        FACTS[key] = Facts(example, at, by, domain, kinks, convention)
        return build

    return add


def resolve(name: str, namespace: str = "") -> str:
    """The name in FUNCTIONS that a spelling means, in a namespace such as ``torch`` if it is given.

    A name that nothing has comes back as it is.
    """
    for one in (f"{namespace}.{name}", name):
        one = SPELLINGS.get(one, one)
        if one in FUNCTIONS:
            return one
    return name


@cache
def parameters(build: Builder) -> tuple[inspect.Parameter, ...]:
    """What a function takes: its signature's parameters, an elementwise row's inputs as Nodes."""
    if isinstance(build, Elementwise):
        kind = inspect.Parameter.POSITIONAL_ONLY
        return tuple(inspect.Parameter(n, kind, annotation=Node) for n in operands(build))
    return tuple(inspect.signature(build).parameters.values())


def operands(row: Elementwise) -> tuple[str, ...]:
    """The names of a row's inputs: those that its own partials give them (n, x of polygamma)."""
    count = len(row.partials)
    for partial in filter(None, row.partials):
        names = tuple(inspect.signature(partial).parameters)
        if len(names) == count + 1:  # and the result
            return names[:count]
    return ("x",) if count == 1 else tuple("abc"[:count])


def usage(name: str) -> str:
    """``sum(x, axis=None, keepdims=False)``"""
    shown = [
        str(p.replace(annotation=inspect.Parameter.empty))
        for p in parameters(FUNCTIONS[name])
        if p.annotation not in GIVEN
    ]
    return f"{name}({', '.join(shown)})"

"""What of Python is in the language, and what it means there."""

import math

OPERATORS = {
    "Add": "add",
    "Sub": "subtract",
    "Mult": "multiply",
    "Div": "divide",
    "Pow": "power",
    "Mod": "remainder",
    "FloorDiv": "floor_divide",
    "MatMult": "matmul",
    "BitAnd": "logical_and",
    "BitOr": "logical_or",
    "USub": "negative",
    "Not": "logical_not",
    "Invert": "logical_not",
    "Lt": "less",
    "LtE": "less_equal",
    "Gt": "greater",
    "GtE": "greater_equal",
    "Eq": "equal",
    "NotEq": "not_equal",
}
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
ATTRIBUTES = ("T", "shape", "ndim", "size")
RESULTS = (
    "gradient",
    "values",
    "indices",
    "sign",
    "logabsdet",
    "eigenvalues",
    "eigenvectors",
)  # of a call
MODULES = {  # what may stand before a function, and whose definition it then has
    "F": "torch",
    "math": "",
    "nn.functional": "torch",
    "np": "",
    "np.linalg": "",
    "np.random": "",
    "numpy": "",
    "numpy.linalg": "",
    "numpy.random": "",
    "scipy.special": "",
    "special": "",
    "torch": "torch",
    "torch.autograd": "torch",
    "torch.linalg": "torch",
    "torch.nn.functional": "torch",
    "torch.special": "torch",
}
TYPES = ("bool", "bfloat", "double", "float", "half", "int", "long")  # of other arrays
TORCHS = {"dim", "keepdim"}  # keywords by which a method is known to be PyTorch's
DERIVATIVES = ("grad", "jvp", "hvp")  # functions whose second argument is a name
ELSEWHERE = ("Math", "cp", "cupy", "jax", "jnp", "keras", "nn", "scipy", "sp", "sympy", "tf")


REFUSED = {
    "FunctionDef": ("a function definition", "write its body out"),
    "Lambda": ("a lambda", "write its body out"),
    "ListComp": ("a comprehension", "work on whole arrays, or use a for loop over range(n)"),
    "NamedExpr": ("':='", "use '=' on a line of its own"),
    "JoinedStr": ("a string", None),
    "Dict": ("a dict", None),
    "Set": ("a set", "use [ ] for an array"),
    "Starred": ("'*'", None),
}


def to_float(number: int | float) -> float:
    """float64; an integer beyond its range becomes infinite."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")

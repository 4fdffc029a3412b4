"""The callable names: every elementwise row, and functions written in primitives.

Names and definitions are NumPy's, https://numpy.org/doc/stable/reference/routines.html; activations
and losses are PyTorch's, https://pytorch.org/docs/stable/nn.functional.html. What does not fit
raises GradcalcError. Importing this package fills the table.
"""

from gradcalc.language.functions import (
    activations,
    derivatives,
    determinants,
    einsum,
    elementwise,
    generators,
    linalg,
    losses,
    reductions,
    selections,
    shapes,
    torch,
)

__all__ = [
    "activations",
    "derivatives",
    "determinants",
    "einsum",
    "elementwise",
    "generators",
    "linalg",
    "losses",
    "reductions",
    "selections",
    "shapes",
    "torch",
]

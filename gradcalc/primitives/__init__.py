"""The rows: importing this package fills ``graph.PRIMITIVES``."""

from gradcalc.primitives import (
    choices,
    derivatives,
    elementwise,
    gamma,
    linalg,
    norms,
    products,
    reductions,
    scans,
    shapes,
    softmax,
    special,
)

__all__ = [
    "choices",
    "derivatives",
    "elementwise",
    "gamma",
    "linalg",
    "norms",
    "products",
    "reductions",
    "scans",
    "shapes",
    "softmax",
    "special",
]

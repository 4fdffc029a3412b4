"""The rows: importing this package fills ``graph.PRIMITIVES``."""

from gradcalc.primitives import choices, elementwise, linalg, reductions, shapes

__all__ = ["choices", "elementwise", "linalg", "reductions", "shapes"]

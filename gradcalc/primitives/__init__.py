"""The rows: importing this package fills ``graph.PRIMITIVES``."""

from gradcalc.primitives import elementwise, linalg, reductions, shapes

__all__ = ["elementwise", "linalg", "reductions", "shapes"]

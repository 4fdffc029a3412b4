"""Products of matrices: bilinear rows, whose pullback is a product again."""

from dataclasses import dataclass

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Array, Cotangent, Node, Params, Shape, as_number, ops
from gradcalc.primitives.rule import Row, broadcast
from gradcalc.primitives.shapes import transpose


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Product(Row):
    """A stack of matrices times a stack of matrices.

    The inputs are ``(a, b)``, or ``(in_a, in_b, a, b)`` where masks say which elements count.
    """

    broadcasts: bool = True

    def infer_shape(self, shapes: tuple[Shape, ...], params: Params) -> Shape:
        a, b = shapes[-2:]
        if a[-1] != b[-2]:
            raise GradcalcError(
                "shape-mismatch",
                f"shapes {a} and {b} do not fit together in '@'",
                f"{a[-1]} columns meet {b[-2]} rows: the two numbers must be equal",
            )
        return (*broadcast("@", a[:-2], b[:-2]), a[-2], b[-1])

    def pullback(self, node: Node, position: int, cotangent: Cotangent) -> Cotangent | None:
        if position < self.conditions:
            return None
        a, b = _operands(node)
        left = position == self.conditions
        result = _product(cotangent, _swap(b)) if left else _product(_swap(a), cotangent)
        return _only(result, (a if left else b).active)


def _masked_matmul(in_a: Array, in_b: Array, a: Array, b: Array) -> Array:
    """sum_k a[i,k] b[k,j] over the k that count in both: what does not count adds no term."""
    a, b = np.where(in_a, a, 0.0), np.where(in_b, b, 0.0)
    product = a @ b
    if a.dtype != object and np.isfinite(product).all():
        return product
    # 0 * inf is nan: only here does the full product of elements have to be written out.
    counts = np.expand_dims(in_a, -1) & np.expand_dims(in_b, -3)
    return np.sum(np.where(counts, a[..., :, :, None] * b[..., None, :, :], 0.0), axis=-2)


matmul = Product(name="matmul", forward=np.matmul)
masked_matmul = Product(name="masked_matmul", forward=_masked_matmul, conditions=2)


def _operands(node: Node) -> tuple[Cotangent, Cotangent]:
    """The two factors, each with the elements that count."""
    if node.primitive is matmul:
        return Cotangent(node.inputs[0]), Cotangent(node.inputs[1])
    in_a, in_b, a, b = node.inputs
    return Cotangent(a, in_a), Cotangent(b, in_b)


def _swap(x: Cotangent) -> Cotangent:
    return Cotangent(swap(x.value), None if x.active is None else swap(x.active))


def swap(x: Node) -> Node:
    """``x`` with its last two axes exchanged."""
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return transpose(x, params=(axes,))


def _product(a: Cotangent, b: Cotangent) -> Cotangent:
    if a.active is None and b.active is None:
        return Cotangent(matmul(a.value, b.value))
    in_a, in_b = _mask(a), _mask(b)
    reached = matmul(as_number(in_a), as_number(in_b)) > 0.0
    return Cotangent(masked_matmul(in_a, in_b, a.value, b.value), reached)


def _mask(x: Cotangent) -> Node:
    return (
        x.active if x.active is not None else x.value.graph.constant(np.ones(x.value.shape, bool))
    )


def _only(result: Cotangent, active: Node | None) -> Cotangent:
    """``result`` where the factor itself counted."""
    if active is None:
        return result
    mask = active if result.active is None else active & result.active
    return Cotangent(ops.where(mask, result.value, 0.0), mask)

"""Derivatives as values of a program, which can be differentiated again (create_graph=True)."""

from gradcalc.compute.evaluate import needed
from gradcalc.derive.forward import jvp as push
from gradcalc.derive.reverse import vjp
from gradcalc.errors import GradcalcError
from gradcalc.graph import LEAF, Cotangent, Node, as_number, ops
from gradcalc.language.functions.registry import function
from gradcalc.primitives import derivatives
from gradcalc.primitives.rule import spread_to


@function("g = grad(x**3, x); g*g", "x=2", "w*36*x**3")
def grad(y: Node, x: Node, weights: Node | None = None) -> Node:
    """w @ dy/dx: the gradient of y by x, which y was computed from (torch.autograd.grad).

    A y of several elements wants weights of its shape, or one number for all.
    """
    y = _computed_from(x, y)
    if weights is None and y.shape:
        raise GradcalcError(
            "weights-needed",
            f"y has shape {y.shape}: a gradient needs one weight an element",
            "grad(sum(y), x) weighs each element 1; else grad(y, x, weights)",
        )
    w = _like(y, y.graph.constant(1.0) if weights is None else weights, "weights", "y")
    found = vjp([(y, _counting(w))], [x])[x]
    if found is None:
        raise _independent()
    return derivatives.pulled(found, y, x, w)


@function("jvp(x*x, x, v)", "x=1,2; v=3,4", {"x": "2*w*v", "v": "2*w*x"})
def jvp(y: Node, x: Node, v: Node) -> Node:
    """dy/dx @ v: the directional derivative of y along a direction v of x."""
    y, direction = _computed_from(x, y), _like(x, v, "direction", "x")
    if x not in needed([y], {}):
        raise _independent()
    return derivatives.pushed(push(y, {x: _counting(direction)}), y, x, direction)


@function("hvp(sum(x**3), x, v)", "x=1,2; v=3,4", {"x": "6*w*v", "v": "6*w*x"})
def hvp(y: Node, x: Node, v: Node) -> Node:
    """The Hessian of y, which is one number, times a direction v of x."""
    return jvp(grad(y, x), x, v)


def _like(node: Node, given: Node, what: str, of: str) -> Node:
    """``given`` as numbers of the node's shape; a single number is spread over it."""
    if given.shape not in ((), node.shape):
        raise GradcalcError(
            "shape-mismatch",
            f"a {what} of shape {given.shape} does not fit '{of}' of shape {node.shape}",
            "the shapes must be equal, or it is one number",
        )
    return spread_to(as_number(given), node.shape)


def _counting(weights: Node) -> Cotangent:
    """A fixed weight of exactly 0 leaves its element out; one that varies is a factor."""
    sources = needed([weights], {})
    fixed = not any(node.primitive in (LEAF, derivatives.named) for node in sources)
    plain = [node.number for node in sources if not node.inputs]
    nonzero = len(sources) <= 2 and all(number not in (None, 0.0) for number in plain)
    return Cotangent(weights, ops.not_equal(weights, 0.0) if fixed and not nonzero else None)


def _computed_from(x: Node, y: Node) -> Node:
    """``y`` as numbers; raises GradcalcError where ``x`` is nothing to differentiate by."""
    y = as_number(y)
    if x.primitive not in (LEAF, derivatives.named):
        raise GradcalcError(
            "independent",
            "only a name can be differentiated by",
            "give the value a name, and compute y from it",
        )
    return y


def _independent() -> GradcalcError:
    return GradcalcError(
        "independent",
        "y does not depend on x",
        "x must be a leaf or a name that y was computed from, before it is assigned again",
    )

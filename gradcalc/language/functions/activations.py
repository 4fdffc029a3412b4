"""Activation functions, as in torch.nn.functional; the slopes at the kinks are PyTorch's."""

from gradcalc.errors import GradcalcError
from gradcalc.graph import Node, ops
from gradcalc.language.functions.registry import Axes, function
from gradcalc.language.functions.shapes import axes_of
from gradcalc.primitives import softmax as rows

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805  # Klambauer et al. 2017


@function("logsigmoid(x)", "x=40")
def logsigmoid(x: Node) -> Node:
    """log(1/(1 + exp(-x)))"""
    return -ops.softplus(-x)


@function("relu6(x)", "x=2", convention="slope 0 at 0 and 6")
def relu6(x: Node) -> Node:
    """x between 0 and 6"""
    return hardtanh(x, 0.0, 6.0)


@function("hardtanh(x)", "x=0.5", convention="slope 0 at both bounds")
def hardtanh(x: Node, min_val: float = -1.0, max_val: float = 1.0) -> Node:
    """x between min_val and max_val"""
    return ops.where(x <= min_val, min_val, ops.where(x >= max_val, max_val, x))


@function("leaky_relu(x)", "x=-2", convention="at 0 the slope of the left side")
def leaky_relu(x: Node, negative_slope: float = 0.01) -> Node:
    """x where x > 0, else negative_slope*x"""
    return ops.where(x > 0.0, x, negative_slope * x)


@function("elu(x)", "x=-2", convention="at 0 the slope of the left side")
def elu(x: Node, alpha: float = 1.0) -> Node:
    """x where x > 0, else alpha*(exp(x) - 1)"""
    return ops.where(x > 0.0, x, alpha * ops.expm1(x))


@function("selu(x)", "x=-2", convention="at 0 the slope of the left side")
def selu(x: Node) -> Node:
    """1.0507...*elu(x, 1.6732...)"""
    return SELU_SCALE * elu(x, SELU_ALPHA)


@function("gelu(x)", "x=1.5")
def gelu(x: Node, approximate: str = "none") -> Node:
    """x times the normal distribution function at x; approximate='tanh' is Hendrycks' formula."""
    if approximate == "none":
        return x * ops.ndtr(x)
    if approximate != "tanh":
        raise GradcalcError("arguments", f"no approximation '{approximate}'", "'none' or 'tanh'")
    return x * ops._tanh_ndtr(x)


@function("silu(x)", "x=1.5")
def silu(x: Node) -> Node:
    """x*sigmoid(x)"""
    return x * ops.sigmoid(x)


@function("mish(x)", "x=1.5")
def mish(x: Node) -> Node:
    """x*tanh(log(1 + exp(x)))"""
    return x * ops.tanh(ops.softplus(x))


@function("softplus(x)", "x=20")
def softplus(x: Node, beta: float = 1.0) -> Node:
    """log(1 + exp(beta*x))/beta, without PyTorch's threshold"""
    return ops.softplus(x) if beta == 1.0 else ops.softplus(beta * x) / beta


@function("softsign(x)", "x=-3")
def softsign(x: Node) -> Node:
    """x/(1 + abs(x))"""
    return ops.softsign(x)


@function("softmax(x)", "x=1,2,3", "y*(w - sum(w*y))")
def softmax(x: Node, axis: Axes = None) -> Node:
    """exp(x)/sum(exp(x)) over ``axis``, by default over all (scipy.special.softmax)."""
    return rows.softmax(x, params=(axes_of(x, axis),))


@function("log_softmax(x)", "x=1,2,3", "w - exp(y)*sum(w)")
def log_softmax(x: Node, axis: Axes = None) -> Node:
    """log(softmax(x, axis)), accurate where a probability is nearly 0 or 1."""
    return rows.log_softmax(x, params=(axes_of(x, axis),))

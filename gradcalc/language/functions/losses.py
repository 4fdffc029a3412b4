"""Loss functions, as in torch.nn.functional, with ``reduction`` 'mean', 'sum' or 'none'."""

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Node, ops
from gradcalc.language.functions.activations import log_softmax, softplus
from gradcalc.language.functions.reductions import mean, norm, sum_
from gradcalc.language.functions.registry import Known, function
from gradcalc.language.functions.selections import whole
from gradcalc.language.functions.shapes import along, picked
from gradcalc.primitives.rule import broadcast

LEAST_LOG = -100.0  # PyTorch's bound on the logarithms of binary_cross_entropy


def _reduced(loss: Node, reduction: str) -> Node:
    if reduction == "none":
        return loss
    if reduction not in ("mean", "sum"):
        raise GradcalcError(
            "arguments", f"there is no reduction '{reduction}'", "'mean', 'sum' or 'none'"
        )
    return mean(loss) if reduction == "mean" else sum_(loss)


def _weighed(loss: Node, weight: Node | None) -> Node:
    return loss if weight is None else loss * weight


@function("mse_loss(x, t)", "x=1,2; t=0,4", {"x": "w*(x - t)", "t": "w*(t - x)"})
def mse_loss(input: Node, target: Node, reduction: str = "mean") -> Node:
    """(x - t)**2"""
    return _reduced((input - target) ** 2.0, reduction)


@function("l1_loss(x, t)", "x=1,2; t=0,4", {"x": "w*sign(x - t)/2", "t": "w*sign(t - x)/2"})
def l1_loss(input: Node, target: Node, reduction: str = "mean") -> Node:
    """abs(x - t)"""
    return _reduced(ops.abs(input - target), reduction)


@function("huber_loss(x, t)", "x=1,2; t=0.5,4", "w*clip(x - t, -1, 1)/2")
def huber_loss(input: Node, target: Node, reduction: str = "mean", delta: float = 1.0) -> Node:
    """(x - t)**2/2 where abs(x - t) < delta, else delta*(abs(x - t) - delta/2)"""
    gap = input - target
    size = ops.abs(gap)
    loss = ops.where(size < delta, 0.5 * (gap * gap), delta * (size - 0.5 * delta))
    return _reduced(loss, reduction)


@function("smooth_l1_loss(x, t)", "x=1,2; t=0.5,4", "w*clip(x - t, -1, 1)/2")
def smooth_l1_loss(input: Node, target: Node, reduction: str = "mean", beta: float = 1.0) -> Node:
    """huber_loss(x, t, delta=beta)/beta"""
    if beta == 0.0:
        return l1_loss(input, target, reduction)
    return huber_loss(input, target, reduction, beta) / beta


@function("binary_cross_entropy(p, t)", "p=0.2,0.9; t=0,1", {"p": "w*(p - t)/(p*(1 - p))/2"})
def binary_cross_entropy(
    input: Node, target: Node, weight: Node | None = None, reduction: str = "mean"
) -> Node:
    """-(t*log(p) + (1 - t)*log(1 - p)), with logarithms of at least -100"""
    yes = ops.maximum(ops.log(input), LEAST_LOG)
    no = ops.maximum(ops.log1p(-input), LEAST_LOG)
    return _reduced(_weighed(-(target * yes + (1.0 - target) * no), weight), reduction)


@function(
    "binary_cross_entropy_with_logits(x, t)",
    "x=-1,2; t=0,1",
    {"x": "w*(sigmoid(x) - t)/2", "t": "-w*x/2"},
)
def binary_cross_entropy_with_logits(
    input: Node,
    target: Node,
    weight: Node | None = None,
    reduction: str = "mean",
    pos_weight: Node | None = None,
) -> Node:
    """(1 - t)*x + log(1 + exp(-x)), binary_cross_entropy(sigmoid(x), t) without overflow"""
    factor = target if pos_weight is None else target * pos_weight
    loss = (1.0 - target) * softplus(input) + factor * softplus(-input)
    return _reduced(_weighed(loss, weight), reduction)


@function("kl_div(x, t)", "x=-1,-2; t=0.5,0.5", {"x": "-w*t/2", "t": "w*(log(t) + 1 - x)/2"})
def kl_div(input: Node, target: Node, reduction: str = "mean", log_target: bool = False) -> Node:
    """t*(log(t) - x), with x the logarithms of probabilities; reduction may be 'batchmean'"""
    if log_target:
        loss = ops.exp(target) * (target - input)
    else:
        loss = ops.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return sum_(loss) / float(loss.shape[0] if loss.ndim else 1)
    return _reduced(loss, reduction)


@function("nll_loss(x, [0, 1])", "x=[[-1,-2],[-3,-4]]", "-w*eye(2)/2")
def nll_loss(
    known: Known,
    input: Node,
    target: Node,
    weight: Node | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Node:
    """-x[t]: of each row (axis 1, or 0 of a vector) of log-probabilities the one of class t."""
    classes = _classes(input)
    wanted = (*input.shape[:classes], *input.shape[classes + 1 :])
    if target.shape != wanted:
        raise GradcalcError(
            "shape-mismatch",
            f"target of shape {target.shape} does not fit input of shape {input.shape}",
            f"{wanted} are the classes that are asked for",
        )
    t = whole(known(target))
    count = input.shape[classes]
    ignored = t == ignore_index
    if np.any(((t < 0) | (t >= count)) & ~ignored):
        raise GradcalcError("index", "there is no such class", f"classes are 0 to {count - 1}")
    places = np.expand_dims(np.where(ignored, 0, t), classes)
    chosen = picked(along(input, classes, places), classes, 0)
    graph = input.graph
    counts = graph.constant(~ignored)
    each = graph.constant(np.ones(t.shape))
    if weight is not None:
        each = picked(weight, 0, np.where(ignored, 0, t))
    each = ops.where(counts, each, 0.0)
    loss = ops.where(counts, -chosen * each, 0.0)
    return sum_(loss) / sum_(each) if reduction == "mean" else _reduced(loss, reduction)


def _classes(x: Node) -> int:
    """The axis of the classes."""
    if not x.ndim:
        raise GradcalcError("shape", "a number is no row of classes", "give one number a class")
    return 0 if x.ndim == 1 else 1


@function("cross_entropy(x, [0, 1])", "x=[[1,2],[3,4]]", "w*(softmax(x, axis=1) - eye(2))/2")
def cross_entropy(
    known: Known,
    input: Node,
    target: Node,
    weight: Node | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Node:
    """-log_softmax(x)[t]; a target of the shape of x holds probabilities instead of classes."""
    classes = _classes(input)
    logs = log_softmax(input, (classes,))
    if target.shape != input.shape:
        loss = nll_loss(known, logs, target, weight, ignore_index, reduction)
        if not label_smoothing:
            return loss
        if weight is not None or np.any(known(target) == ignore_index):
            raise GradcalcError(
                "unsupported",
                "label_smoothing with class weights or ignored classes is not supported",
                "give the smoothed probabilities as target",
            )
        even = _reduced(-mean(logs, (classes,)), reduction)
        return (1.0 - label_smoothing) * loss + label_smoothing * even
    smooth = target
    if label_smoothing:
        each = label_smoothing / max(1, input.shape[classes])
        smooth = (1.0 - label_smoothing) * target + each
    if weight is not None:
        lengths = (*(1,) * classes, weight.size, *(1,) * (input.ndim - classes - 1))
        smooth = smooth * ops.reshape(weight, params=(lengths,))
    return _reduced(-sum_(smooth * logs, (classes,)), reduction)


@function("cosine_similarity(a, b)", "a=1,2; b=3,4", "w*(b/(norm(a)*norm(b)) - y*a/norm(a)**2)")
def cosine_similarity(x1: Node, x2: Node, axis: int | None = None, eps: float = 1e-8) -> Node:
    """sum(a*b)/(norm(a)*norm(b)) along ``axis``: by default 1, or the only one.

    Each norm counts at least eps.
    """
    shape = broadcast("cosine_similarity", x1.shape, x2.shape)
    a, b = (ops.broadcast_to(x, params=(shape,)) for x in (x1, x2))
    along_axis = (min(1, a.ndim - 1) if axis is None else axis,)
    sizes = [ops.maximum(norm(x, None, along_axis, True), eps) for x in (a, b)]
    return sum_((a / sizes[0]) * (b / sizes[1]), along_axis)

"""Loss functions, as in torch.nn.functional, with ``reduction`` 'mean', 'sum' or 'none'."""

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Node, ops
from gradcalc.language.functions.activations import log_softmax, softplus
from gradcalc.language.functions.reductions import mean, norm, sum_
from gradcalc.language.functions.registry import Known, function
from gradcalc.language.functions.selections import whole
from gradcalc.language.functions.shapes import Positions, along, picked
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


@function(
    "mse_loss(input, target)",
    "input=1,2; target=0,4",
    {"input": "w*(input - target)", "target": "w*(target - input)"},
)
def mse_loss(input: Node, target: Node, reduction: str = "mean") -> Node:
    """mean((input - target)**2)"""
    return _reduced((input - target) ** 2.0, reduction)


@function(
    "l1_loss(input, target)",
    "input=1,2; target=0,4",
    {"input": "w*sign(input - target)/2", "target": "w*sign(target - input)/2"},
    kinks="input - target = 0",
    convention="slope 0 where input is target",
)
def l1_loss(input: Node, target: Node, reduction: str = "mean") -> Node:
    """mean(abs(input - target))"""
    return _reduced(ops.abs(input - target), reduction)


@function(
    "huber_loss(input, target)",
    "input=1,2; target=0.5,4",
    {
        "input": "w*clip(input - target, -1, 1)/2",
        "target": "w*clip(target - input, -1, 1)/2",
    },
)
def huber_loss(input: Node, target: Node, reduction: str = "mean", delta: float = 1.0) -> Node:
    """The mean of d*d/2 where d < delta, else delta*(d - delta/2), with d = abs(input - target)."""
    if not delta > 0.0:
        raise GradcalcError("arguments", f"delta is {delta:g}", "it must be positive")
    gap = input - target
    size = ops.abs(gap)
    loss = ops.where(size < delta, 0.5 * (gap * gap), delta * (size - 0.5 * delta))
    return _reduced(loss, reduction)


@function(
    "smooth_l1_loss(input, target)",
    "input=1,2; target=0.5,4",
    {
        "input": "w*clip(input - target, -1, 1)/2",
        "target": "w*clip(target - input, -1, 1)/2",
    },
)
def smooth_l1_loss(input: Node, target: Node, reduction: str = "mean", beta: float = 1.0) -> Node:
    """huber_loss(input, target, delta=beta)/beta"""
    if beta == 0.0:
        return l1_loss(input, target, reduction)
    return huber_loss(input, target, reduction, beta) / beta


@function(
    "binary_cross_entropy(input, target)",
    "input=0.2,0.9; target=0,1",
    {"input": "w*(input - target)/(input*(1 - input))/2"},
    domain="0 <= input <= 1",
    kinks="input = 0, input = 1",
    convention="logarithms count as -100 at least, with slope 0 there",
)
def binary_cross_entropy(
    input: Node, target: Node, weight: Node | None = None, reduction: str = "mean"
) -> Node:
    """-mean(target*log(input) + (1 - target)*log(1 - input)), of probabilities."""
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
    if pos_weight is None:
        loss = ops._logistic_loss(input, target)
    else:
        loss = (1.0 - target) * softplus(input) + target * pos_weight * softplus(-input)
    return _reduced(_weighed(loss, weight), reduction)


@function(
    "kl_div(input, target)",
    "input=-1,-2; target=0.5,0.5",
    {"input": "-w*target/2", "target": "w*(log(target) + 1 - input)/2"},
    domain="target >= 0",
)
def kl_div(input: Node, target: Node, reduction: str = "mean", log_target: bool = False) -> Node:
    """mean(target*(log(target) - input)), where input has logarithms of probabilities.

    reduction may be 'batchmean'.
    """
    if log_target:
        loss = ops.exp(target) * (target - input)
    else:
        loss = ops.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return sum_(loss) / float(loss.shape[0] if loss.ndim else 1)
    return _reduced(loss, reduction)


@function("nll_loss(input, [0, 1])", "input=[[-1,-2],[-3,-4]]", "-w*eye(2)/2")
def nll_loss(
    known: Known,
    input: Node,
    target: Node,
    weight: Node | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Node:
    """-mean(input[target]): log-probabilities (axis 1, or 0 of a vector) of the right classes.

    input: (C,), (N, C) or (N, C, ...); target: classes, of that shape without C. The mean is
    weighed by the weights (C,) of the classes.
    """
    places, each = _classes_of(known, input, target, weight, ignore_index)
    return _over_classes(-_chosen(input, places) * each, each, reduction)


def _axis(x: Node) -> int:
    """The axis of the classes."""
    if not x.ndim:
        raise GradcalcError("shape", "a number is no row of classes", "give one number a class")
    return 0 if x.ndim == 1 else 1


def _classes_of(
    known: Known, input: Node, target: Node, weight: Node | None, ignore_index: int
) -> tuple[Positions, Node]:
    """The class of each row (0 where it is ignored), and the weight of each row (0 there)."""
    axis = _axis(input)
    wanted = (*input.shape[:axis], *input.shape[axis + 1 :])
    if target.shape != wanted:
        raise GradcalcError(
            "shape-mismatch",
            f"target of shape {target.shape} does not fit input of shape {input.shape}",
            f"{wanted} are the classes that are asked for",
        )
    classes, count = whole(known(target)), input.shape[axis]
    ignored = classes == ignore_index
    if np.any(((classes < 0) | (classes >= count)) & ~ignored):
        raise GradcalcError("index", "there is no such class", f"classes are 0 to {count - 1}")
    places = np.where(ignored, 0, classes)
    each = input.graph.constant(np.where(ignored, 0.0, 1.0))
    if weight is not None:
        _check_weight(weight, count)
        each = ops.where(input.graph.constant(~ignored), picked(weight, 0, places), 0.0)
    return places, each


def _check_weight(weight: Node, count: int) -> None:
    if weight.shape != (count,):
        raise GradcalcError(
            "shape-mismatch", f"weight of shape {weight.shape} does not fit {count} classes"
        )


def _chosen(x: Node, places: Positions) -> Node:
    """The element of its own class in each row."""
    axis = _axis(x)
    return picked(along(x, axis, np.expand_dims(places, axis)), axis, 0)


def _over_classes(loss: Node, each: Node, reduction: str) -> Node:
    """``loss`` of each row, where it counts; the mean is weighed by ``each``."""
    loss = ops.where(ops.equal(each, 0.0), 0.0, loss)
    return sum_(loss) / sum_(each) if reduction == "mean" else _reduced(loss, reduction)


@function(
    "cross_entropy(input, [0, 1])",
    "input=[[1,2],[3,4]]",
    "w*(softmax(input, axis=1) - eye(2))/2",
)
def cross_entropy(
    known: Known,
    input: Node,
    target: Node,
    weight: Node | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Node:
    """-mean(log_softmax(input)[target]); a target of the shape of input holds probabilities.

    input: (C,), (N, C) or (N, C, ...); target: classes, as of nll_loss, or probabilities.
    """
    if not 0.0 <= label_smoothing <= 1.0:
        message = f"label_smoothing is {label_smoothing:g}"
        raise GradcalcError("arguments", message, "it is a number from 0 to 1")
    axis = _axis(input)
    count = input.shape[axis]
    logs = log_softmax(input, (axis,))
    if weight is not None:
        _check_weight(weight, count)
        lengths = (*(1,) * axis, count, *(1,) * (input.ndim - axis - 1))
        weight = ops.reshape(weight, params=(lengths,))
    even = -sum_(logs if weight is None else weight * logs, (axis,)) / max(1.0, count)
    if target.shape == input.shape:
        own = target if weight is None else weight * target
        loss = -sum_(own * logs, (axis,))
        return _reduced(_smoothed(loss, even, label_smoothing), reduction)
    flat = None if weight is None else ops.reshape(weight, params=((count,),))
    places, each = _classes_of(known, input, target, flat, ignore_index)
    loss = -_chosen(logs, places) * each
    return _over_classes(_smoothed(loss, even, label_smoothing), each, reduction)


def _smoothed(loss: Node, even: Node, smoothing: float) -> Node:
    return (1.0 - smoothing) * loss + smoothing * even if smoothing else loss


@function(
    "cosine_similarity(x1, x2)",
    "x1=1,2; x2=3,4",
    "w*(x2/(norm(x1)*norm(x2)) - y*x1/norm(x1)**2)",
    kinks="norms of eps",
)
def cosine_similarity(x1: Node, x2: Node, axis: int | None = None, eps: float = 1e-8) -> Node:
    """sum(a*b)/(norm(a)*norm(b)) along ``axis``: by default 1, or the only one.

    Each norm counts at least eps.
    """
    shape = broadcast("cosine_similarity", x1.shape, x2.shape)
    a, b = (ops.broadcast_to(x, params=(shape,)) for x in (x1, x2))
    along_axis = (min(1, a.ndim - 1) if axis is None else axis,)
    sizes = [ops.maximum(norm(x, None, along_axis, True), eps) for x in (a, b)]
    return sum_((a / sizes[0]) * (b / sizes[1]), along_axis)

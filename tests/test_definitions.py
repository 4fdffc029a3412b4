"""Every function that is made of others has the value of its definition, in NumPy or SciPy."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from gradcalc.errors import Source
from gradcalc.language.draws import Draws
from gradcalc.language.functions.registry import FACTS
from gradcalc.language.literals import value

X = np.array([[-2.5, 0.0, 1.5], [0.25, 3.0, -0.75]])
V, W = np.array([0.5, -1.5, 2.0]), np.array([1.0, 4.0, -0.5])
P, T = np.array([0.2, 0.9, 0.5]), np.array([0.0, 1.0, 0.25])
A = np.array([[2.0, -1.0, 0.5], [1.0, 3.0, 1.5], [0.0, 4.0, -2.0]])
S = A @ A.T + np.eye(3)
B = np.stack([A, S])  # a stack of matrices


ARRAYS = {"X": X, "V": V, "W": W, "P": P, "T": T, "A": A, "S": S, "B": B}


def arrays(call: str) -> dict[str, Any]:
    """The arrays that a call names."""
    return {name: value for name, value in ARRAYS.items() if re.search(rf"\b{name}\b", call)}


def huber(x: Any, t: Any, delta: float) -> Any:
    size = np.abs(x - t)
    return np.where(size < delta, size**2 / 2, delta * (size - delta / 2))


def log_softmax(x: Any, axis: Any = None) -> Any:
    return special.log_softmax(x, axis=axis)


def smoothed(x: Any, t: Any, weight: Any, epsilon: float) -> Any:
    """torch.nn.functional.cross_entropy with class weights and label smoothing."""
    logs = log_softmax(x, 1)
    right = sum(-weight[c] * logs[i, c] for i, c in enumerate(t))
    return ((1 - epsilon) * right - epsilon / 3 * np.sum(weight * logs)) / sum(weight[t])


# A call in the language, and the same in NumPy; the names of arrays are those above.
DEFINITIONS: dict[str, list[tuple[str, Callable[[], Any]]]] = {
    "reciprocal": [("reciprocal(V)", lambda: np.reciprocal(V))],
    "square": [("square(X)", lambda: np.square(X))],
    "rsqrt": [("rsqrt(P)", lambda: P**-0.5)],
    "lerp": [("lerp(V, W, P)", lambda: V + P * (W - V))],
    "clip": [
        ("clip(X, -1, 1)", lambda: np.clip(X, -1, 1)),
        ("clamp(X, min=0)", lambda: np.maximum(X, 0)),
        ("X.clip(a_max=0)", lambda: np.minimum(X, 0)),
        ("clip(X, None, V)", lambda: np.clip(X, None, V)),
    ],
    "round": [("round(X)", lambda: np.round(X)), ("round(P*7, 1)", lambda: np.round(P * 7, 1))],
    "divide": [
        ("divide(V, W)", lambda: V / W),
        ("torch.div(V, P, rounding_mode='floor')", lambda: V // P),
        ("torch.div(V, P, rounding_mode='trunc')", lambda: np.trunc(V / P)),
    ],
    "detach": [("X.detach()", lambda: X)],
    "softplus": [
        ("softplus(X)", lambda: np.log1p(np.exp(X))),
        ("softplus(X, beta=2)", lambda: np.log1p(np.exp(2 * X)) / 2),
    ],
    "logsigmoid": [("F.logsigmoid(X)", lambda: np.log(special.expit(X)))],
    "relu6": [("relu6(4*X)", lambda: np.clip(4 * X, 0, 6))],
    "hardtanh": [
        ("hardtanh(X)", lambda: np.clip(X, -1, 1)),
        ("hardtanh(X, -2, 0.5)", lambda: np.clip(X, -2, 0.5)),
    ],
    "leaky_relu": [("leaky_relu(X, 0.2)", lambda: np.where(X > 0, X, 0.2 * X))],
    "elu": [("elu(X, alpha=2)", lambda: np.where(X > 0, X, 2 * np.expm1(X)))],
    "selu": [
        (
            "selu(X)",
            lambda: 1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X)),
        )
    ],
    "gelu": [
        ("gelu(X)", lambda: X * (1 + special.erf(X / math.sqrt(2))) / 2),
        (
            "gelu(X, approximate='tanh')",
            lambda: 0.5 * X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))),
        ),
    ],
    "silu": [("swish(X)", lambda: X / (1 + np.exp(-X)))],
    "mish": [("mish(X)", lambda: X * np.tanh(np.log1p(np.exp(X))))],
    "softsign": [("softsign(X)", lambda: X / (1 + np.abs(X)))],
    "softmax": [
        ("softmax(X)", lambda: special.softmax(X)),
        ("softmax(X, dim=-1)", lambda: special.softmax(X, axis=-1)),
        ("softmax(300*X, 0)", lambda: special.softmax(300 * X, axis=0)),
    ],
    "log_softmax": [
        ("log_softmax(X)", lambda: log_softmax(X)),
        ("torch.log_softmax(300*X, dim=1)", lambda: log_softmax(300 * X, 1)),
    ],
    "mse_loss": [
        ("mse_loss(V, W)", lambda: np.mean((V - W) ** 2)),
        ("mse_loss(V, W, reduction='sum')", lambda: np.sum((V - W) ** 2)),
        ("mse_loss(V, W, reduction='none')", lambda: (V - W) ** 2),
    ],
    "l1_loss": [("l1_loss(V, W)", lambda: np.mean(np.abs(V - W)))],
    "huber_loss": [("huber_loss(V, W, delta=0.7)", lambda: np.mean(huber(V, W, 0.7)))],
    "smooth_l1_loss": [
        ("smooth_l1_loss(V, W, beta=0.7)", lambda: np.mean(huber(V, W, 0.7) / 0.7)),
        ("smooth_l1_loss(V, W, beta=0)", lambda: np.mean(np.abs(V - W))),
    ],
    "binary_cross_entropy": [
        (
            "binary_cross_entropy(P, T, weight=V)",
            lambda: -np.mean(V * (T * np.log(P) + (1 - T) * np.log(1 - P))),
        ),
        ("binary_cross_entropy(array([0.]), array([1.]))", lambda: 100.0),
    ],
    "binary_cross_entropy_with_logits": [
        (
            "binary_cross_entropy_with_logits(V, T, pos_weight=W)",
            lambda: (
                -np.mean(W * T * np.log(special.expit(V)) + (1 - T) * np.log(special.expit(-V)))
            ),
        )
    ],
    "kl_div": [
        ("kl_div(V, T)", lambda: np.mean(special.xlogy(T, T) - T * V)),
        ("kl_div(V, W, log_target=True)", lambda: np.mean(np.exp(W) * (W - V))),
        ("kl_div(X, P, reduction='batchmean')", lambda: np.sum(P * np.log(P) - P * X) / 2),
    ],
    "nll_loss": [
        ("nll_loss(V, 2)", lambda: -2.0),
        ("nll_loss(X, [2, 0], weight=W)", lambda: -(1.5 * -0.5 + 0.25 * 1.0) / (-0.5 + 1.0)),
        ("nll_loss(X, [2, -100])", lambda: -1.5),
        ("nll_loss(X, [2, -100], weight=W, reduction='none')", lambda: [0.75, 0.0]),
        ("nll_loss(X, [2, 0], reduction='none')", lambda: np.array([-1.5, -0.25])),
    ],
    "cross_entropy": [
        ("cross_entropy(X, [2, 0])", lambda: -np.mean(log_softmax(X, 1)[[0, 1], [2, 0]])),
        ("cross_entropy(V, 1)", lambda: -log_softmax(V)[1]),
        (
            "cross_entropy(X, softmax(2*X, axis=1))",
            lambda: -np.mean(np.sum(special.softmax(2 * X, axis=1) * log_softmax(X, 1), axis=1)),
        ),
        (
            "cross_entropy(X, [2, 0], weight=array([1, 4, 0.5]), label_smoothing=0.3)",
            lambda: smoothed(X, [2, 0], np.array([1, 4, 0.5]), 0.3),
        ),
        (
            "cross_entropy(X, [2, 0], label_smoothing=0.3)",
            lambda: (
                -0.7 * np.mean(log_softmax(X, 1)[[0, 1], [2, 0]]) - 0.3 * np.mean(log_softmax(X, 1))
            ),
        ),
    ],
    "grad": [("grad(sum(X**3), X)", lambda: 3 * X**2)],
    "jvp": [("jvp(X**2, X, 2)", lambda: 4 * X)],
    "hvp": [("hvp(sum(X**3), X, X)", lambda: 6 * X**2)],
    "cosine_similarity": [
        (
            "cosine_similarity(V, W)",
            lambda: np.dot(V, W) / np.linalg.norm(V) / np.linalg.norm(W),
        ),
        (
            "cosine_similarity(X, V, dim=1)",
            lambda: X @ V / np.linalg.norm(X, axis=1) / np.linalg.norm(V),
        ),
    ],
    "sum": [
        ("sum(X)", lambda: np.sum(X)),
        ("X.sum(axis=(0, 1), keepdims=True)", lambda: np.sum(X, (0, 1), keepdims=True)),
        ("sum(X > 0, dim=-1)", lambda: np.sum(X > 0, -1)),
    ],
    "mean": [("mean(X, 0)", lambda: np.mean(X, 0))],
    "prod": [
        ("prod(X)", lambda: np.prod(X)),
        ("prod(B, axis=(0, 2))", lambda: np.prod(B, (0, 2))),
        ("prod(X, 1, keepdims=True)", lambda: np.prod(X, 1, keepdims=True)),
        ("prod(array([]))", lambda: 1.0),
    ],
    "max": [("max(X, -1)", lambda: np.max(X, -1)), ("amax(X)", lambda: np.max(X))],
    "min": [("min(X, 0, keepdims=True)", lambda: np.min(X, 0, keepdims=True))],
    "var": [
        ("var(X, 1)", lambda: np.var(X, 1)),
        ("var(X, correction=1)", lambda: np.var(X, ddof=1)),
        ("var(V[:2], ddof=3)", lambda: math.inf),
    ],
    "std": [
        ("np.std(X)", lambda: np.std(X)),
        ("std(X, axis=0, ddof=1)", lambda: np.std(X, axis=0, ddof=1)),
        ("std(array([2.]), ddof=1)", lambda: math.nan),
    ],
    "norm": [
        ("norm(X)", lambda: np.linalg.norm(X)),
        ("norm(V, 3)", lambda: np.linalg.norm(V, 3)),
        ("norm(V, inf)", lambda: np.linalg.norm(V, np.inf)),
        ("norm(V, 0)", lambda: np.linalg.norm(V, 0)),
        ("norm(X, 1, axis=1)", lambda: np.linalg.norm(X, 1, axis=1)),
    ],
    "logsumexp": [
        ("logsumexp(X)", lambda: special.logsumexp(X)),
        ("logsumexp(500*X, 1)", lambda: special.logsumexp(500 * X, axis=1)),
        ("logsumexp(array([-inf, -inf]))", lambda: -math.inf),
    ],
    "cumsum": [
        ("cumsum(X)", lambda: np.cumsum(X)),
        ("cumsum(X, -1)", lambda: np.cumsum(X, -1)),
    ],
    "cumprod": [
        ("cumprod(X)", lambda: np.cumprod(X)),
        ("cumprod(B, 1)", lambda: np.cumprod(B, 1)),
    ],
    "any": [("any(X > 2, axis=1)", lambda: np.any(X > 2, axis=1)), ("any(X)", lambda: 1.0)],
    "all": [("all(X > -1, axis=1)", lambda: np.all(X > -1, axis=1)), ("all(X)", lambda: 0.0)],
    "array": [
        ("array([V, W])", lambda: np.array([V, W])),
        ("torch.tensor([1, 2])", lambda: [1, 2]),
    ],
    "size": [("size(X)", lambda: 6.0), ("X.size(-1)", lambda: 3.0), ("X.size + 0", lambda: 6.0)],
    "len": [("len(X)", lambda: 2.0)],
    "float": [("float('-inf')", lambda: -math.inf), ("float(V)", lambda: V)],
    "masked_fill": [("V.masked_fill(V > 0, -1)", lambda: np.where(V > 0, -1, V))],
    "reshape": [
        ("reshape(X, 3, -1)", lambda: X.reshape(3, -1)),
        ("X.view((3, 2))", lambda: X.reshape(3, 2)),
        ("np.reshape(X, (6,))", lambda: X.reshape(6)),
    ],
    "ravel": [("ravel(X)", lambda: np.ravel(X))],
    "flatten": [
        ("X.flatten()", lambda: X.flatten()),
        ("torch.flatten(B, start_dim=1)", lambda: B.reshape(2, 9)),
    ],
    "squeeze": [("squeeze(X[:, None, :1])", lambda: X[:, 0]), ("V[None].squeeze(0)", lambda: V)],
    "expand_dims": [
        ("expand_dims(X, -1)", lambda: X[..., None]),
        ("V.unsqueeze(0)", lambda: V[None]),
        ("expand_dims(X, (0, -1))", lambda: X[None, ..., None]),
    ],
    "transpose": [
        ("transpose(X)", lambda: X.T),
        ("B.permute(2, 0, 1)", lambda: np.transpose(B, (2, 0, 1))),
        ("B.transpose(-2, -1)", lambda: np.swapaxes(B, -2, -1)),
        ("X.transpose(-2, -1)", lambda: X.T),
        ("np.transpose(B, (1, 0, -1))", lambda: np.transpose(B, (1, 0, 2))),
    ],
    "swapaxes": [
        ("swapaxes(B, 0, -1)", lambda: np.swapaxes(B, 0, -1)),
        ("torch.transpose(B, 0, 1)", lambda: np.swapaxes(B, 0, 1)),
    ],
    "moveaxis": [("moveaxis(B, 0, -1)", lambda: np.moveaxis(B, 0, -1))],
    "broadcast_to": [
        ("broadcast_to(V, (2, 3))", lambda: np.broadcast_to(V, (2, 3))),
        ("V.expand(4, -1)", lambda: np.broadcast_to(V, (4, 3))),
    ],
    "concatenate": [
        ("concatenate([V, W])", lambda: np.concatenate([V, W])),
        ("torch.cat((X, X), dim=1)", lambda: np.concatenate([X, X], 1)),
        ("torch.cat([X, X], -1)", lambda: np.concatenate([X, X], 1)),
    ],
    "stack": [
        ("stack([V, W], axis=-1)", lambda: np.stack([V, W], -1)),
        ("np.stack([V, W], 1)", lambda: np.stack([V, W], 1)),
        ("stack(V > 0, W > 0)", lambda: np.stack([V > 0, W > 0])),
    ],
    "hstack": [
        ("hstack([X, X])", lambda: np.hstack([X, X])),
        ("hstack((V, 1))", lambda: np.hstack([V, 1])),
    ],
    "vstack": [("vstack([V, X])", lambda: np.vstack([V, X]))],
    "split": [
        ("a, b, c = split(X, 3, axis=1); b", lambda: X[:, 1:2]),
        ("np.split(V, [1, 2])[2]", lambda: V[2:]),
        ("np.split(V, [2])[0]", lambda: V[:2]),
    ],
    "repeat": [
        ("repeat(X, 2)", lambda: np.repeat(X, 2)),
        ("repeat(X, [1, 0, 2], axis=1)", lambda: np.repeat(X, [1, 0, 2], axis=1)),
        ("torch.repeat_interleave(V, 2)", lambda: np.repeat(V, 2)),
    ],
    "tile": [
        ("tile(V, 2)", lambda: np.tile(V, 2)),
        ("tile(V, (2, 1))", lambda: np.tile(V, (2, 1))),
        ("tile(B, 2)", lambda: np.tile(B, 2)),
    ],
    "flip": [("flip(X)", lambda: np.flip(X)), ("torch.flip(X, [1])", lambda: np.flip(X, 1))],
    "roll": [
        ("roll(X, 1)", lambda: np.roll(X, 1)),
        ("roll(X, -2, 1)", lambda: np.roll(X, -2, 1)),
        ("torch.roll(X, shifts=(1, 2), dims=(0, 1))", lambda: np.roll(X, (1, 2), (0, 1))),
    ],
    "take": [
        ("take(X, [[0, 5], [1, 1]])", lambda: np.take(X, [[0, 5], [1, 1]])),
        ("take(X, [2, 0], axis=1)", lambda: np.take(X, [2, 0], axis=1)),
        ("take(X, 1, axis=0)", lambda: X[1]),
    ],
    "gather": [
        (
            "torch.gather(X, 1, [[2, 0], [1, 1]])",
            lambda: np.take_along_axis(X, np.array([[2, 0], [1, 1]]), 1),
        ),
        ("gather(X, 0, [[1, 0, 1]])", lambda: np.take_along_axis(X, np.array([[1, 0, 1]]), 0)),
    ],
    "diag": [
        ("diag(A, 1)", lambda: np.diag(A, 1)),
        ("diag(V, -2)", lambda: np.diag(V, -2)),
        ("diag(X, k=-1)", lambda: np.diag(X, -1)),
    ],
    "diagonal": [
        ("diagonal(B, 0, 1, 2)", lambda: np.diagonal(B, 0, 1, 2)),
        ("diagonal(X, 2)", lambda: np.diagonal(X, 2)),
    ],
    "triu": [("triu(A, 1)", lambda: np.triu(A, 1)), ("triu(B)", lambda: np.triu(B))],
    "tril": [("tril(X, -1)", lambda: np.tril(X, -1))],
    "sort": [
        ("sort(X)", lambda: np.sort(X)),
        ("sort(X, 0, descending=True)", lambda: np.sort(X, 0)[::-1]),
        ("np.sort(X, axis=None)", lambda: np.sort(X, None)),
    ],
    "argsort": [("argsort(X, axis=0)", lambda: np.argsort(X, axis=0))],
    "median": [
        ("median(X)", lambda: np.median(X)),
        ("median(X, axis=1, keepdims=True)", lambda: np.median(X, axis=1, keepdims=True)),
        ("median(B, axis=(0, 2))", lambda: np.median(B, axis=(0, 2))),
        ("median(array([1, nan, 2]))", lambda: math.nan),
    ],
    "argmax": [
        ("argmax(X)", lambda: np.argmax(X)),
        ("argmax(X, dim=0, keepdim=True)", lambda: np.argmax(X, 0, keepdims=True)),
    ],
    "argmin": [("argmin(X, 1)", lambda: np.argmin(X, 1))],
    "zeros": [("zeros(2, 3)", lambda: np.zeros((2, 3))), ("zeros((2,))", lambda: np.zeros(2))],
    "ones": [("ones(2)", lambda: np.ones(2))],
    "full": [("full((2, 3), V)", lambda: np.full((2, 3), V))],
    "zeros_like": [("zeros_like(X)", lambda: np.zeros_like(X))],
    "ones_like": [("ones_like(X)", lambda: np.ones_like(X))],
    "eye": [("eye(3)", lambda: np.eye(3)), ("eye(2, 4, k=1)", lambda: np.eye(2, 4, 1))],
    "arange": [
        ("arange(4)", lambda: np.arange(4)),
        ("arange(1, 2, 0.3)", lambda: np.arange(1, 2, 0.3)),
        ("arange(5, 0, -2)", lambda: np.arange(5, 0, -2)),
        ("torch.arange(0, 1, step=0.25)", lambda: np.arange(0, 1, 0.25)),
    ],
    "linspace": [
        ("linspace(0, 1, 7)", lambda: np.linspace(0, 1, 7)),
        ("torch.linspace(V, W, steps=4)", lambda: np.linspace(V, W, 4)),
    ],
    "logspace": [
        ("logspace(0, 2, 5)", lambda: np.logspace(0, 2, 5)),
        ("logspace(0, 3, 4, base=2)", lambda: np.logspace(0, 3, 4, base=2)),
    ],
    "rand": [("rand(2, 3).shape", lambda: (2, 3)), ("(rand(9) < 1).all()", lambda: 1.0)],
    "randn": [("torch.randn(2, 3).shape", lambda: (2, 3))],
    "uniform": [
        ("np.random.uniform(2, 2, 3)", lambda: [2, 2, 2]),
        ("max(uniform(0*V, 1)) > min(uniform(0*V, 1))", lambda: 1.0),
    ],
    "normal": [("np.random.normal(loc=V, scale=0, size=(2, 3))", lambda: np.stack([V, V]))],
    "matmul": [
        ("A @ V", lambda: A @ V),
        ("torch.bmm(B, B)", lambda: B @ B),
        ("V @ W", lambda: V @ W),
    ],
    "dot": [
        ("dot(X, A)", lambda: X @ A),
        ("dot(A, B)", lambda: np.dot(A, B)),
        ("dot(2, V)", lambda: 2 * V),
    ],
    "outer": [("outer(V, W)", lambda: np.outer(V, W)), ("outer(X, V)", lambda: np.outer(X, V))],
    "cross": [
        ("cross(V, W)", lambda: np.cross(V, W)),
        ("cross(X, V)", lambda: np.cross(X, V)),
        ("cross(A, S, axis=0)", lambda: np.cross(A, S, axis=0)),
        ("cross(V[:2], W[:2])", lambda: V[0] * W[1] - V[1] * W[0]),
    ],
    "kron": [("kron(X, V)", lambda: np.kron(X, V)), ("kron(A, X)", lambda: np.kron(A, X))],
    "trace": [("trace(A, 1)", lambda: np.trace(A, 1)), ("trace(X)", lambda: np.trace(X))],
    "det": [
        ("det(A)", lambda: np.linalg.det(A)),
        ("det(B)", lambda: np.linalg.det(B)),
        ("det(stack([A, outer(V, W), zeros(3, 3)]))", lambda: [np.linalg.det(A), 0, 0]),
        ("det(diag([1e-200, 1e200, 1e-200, 1e200]))", lambda: 1.0),
        ("det(array([[0, 1], [1, 0]]))", lambda: -1.0),
        ("det(zeros(3, 3))", lambda: 0.0),
        ("det(outer(V, V))", lambda: 0.0),
        ("det(zeros(0, 0))", lambda: 1.0),
    ],
    "logdet": [("logdet(S)", lambda: np.log(np.linalg.det(S))), ("logdet(-S)", lambda: math.nan)],
    "slogdet": [
        ("slogdet(A).logabsdet", lambda: np.linalg.slogdet(A)[1]),
        ("slogdet(B)[0]", lambda: np.linalg.slogdet(B)[0]),
        ("slogdet(zeros(2, 2))[1]", lambda: -math.inf),
    ],
    "inv": [("np.linalg.inv(B)", lambda: np.linalg.inv(B))],
    "solve": [
        ("solve(A, V)", lambda: np.linalg.solve(A, V)),
        ("solve(B, X.T)", lambda: np.linalg.solve(B, X.T)),
    ],
    "cholesky": [("cholesky(S)", lambda: np.linalg.cholesky(S))],
    "eigvalsh": [("eigvalsh(S)", lambda: np.linalg.eigvalsh(S))],
    "eigh": [
        ("eigh(S)[1]", lambda: np.linalg.eigh(S)[1]),
        ("w, v = eigh(S); v @ diag(w) @ v.T", lambda: S),
    ],
    "matrix_power": [
        ("matrix_power(B, 5)", lambda: np.linalg.matrix_power(B, 5)),
        ("matrix_power(A, -2)", lambda: np.linalg.matrix_power(A, -2)),
        ("matrix_power(A, 0)", lambda: np.eye(3)),
    ],
    "einsum": [
        ("einsum('ij,jk->ik', X, A)", lambda: np.einsum("ij,jk->ik", X, A)),
        ("einsum('ii->i', A)", lambda: np.einsum("ii->i", A)),
        ("einsum('ii', A)", lambda: np.einsum("ii", A)),
        ("einsum('ba', X)", lambda: np.einsum("ba", X)),
        ("einsum('...ij,...j->...i', B, V)", lambda: np.einsum("...ij,...j->...i", B, V)),
        ("einsum('ij,kj,j->ki', X, A, V)", lambda: np.einsum("ij,kj,j->ki", X, A, V)),
        (
            "einsum('iij,j->i', stack([A, A, A]), V)",
            lambda: np.einsum("iij,j->i", np.stack([A, A, A]), V),
        ),
        ("einsum('i,j->', V, W)", lambda: np.einsum("i,j->", V, W)),
        ("einsum('i,i,i->i', V, W, P)", lambda: V * W * P),
        ("einsum(',i->i', 2, V)", lambda: 2 * V),
        ("einsum('...,...', X, X)", lambda: X * X),
    ],
    "torch.std": [
        ("torch.std(X, dim=1)", lambda: np.std(X, axis=1, ddof=1)),
        ("X.std(dim=1)", lambda: np.std(X, axis=1, ddof=1)),
        ("torch.std(X, unbiased=False)", lambda: np.std(X)),
    ],
    "torch.var": [("torch.var(X)", lambda: np.var(X, ddof=1))],
    "torch.max": [
        ("torch.max(X)", lambda: np.max(X)),
        ("v, i = torch.max(X, 1); i", lambda: np.argmax(X, 1)),
        ("torch.max(V, W)", lambda: np.maximum(V, W)),
        ("X.max(dim=1)[0]", lambda: np.max(X, 1)),
        ("torch.max(X, dim=0, keepdim=True).values", lambda: np.max(X, 0, keepdims=True)),
    ],
    "torch.min": [("torch.min(X, -1)[0]", lambda: np.min(X, -1))],
    "torch.median": [
        ("torch.median(X)", lambda: 0.0),
        ("torch.median(array([1, nan, 2]))", lambda: math.nan),
        ("torch.median(X, dim=1).values", lambda: np.median(X, axis=1)),
        ("torch.median(X, 0).indices", lambda: [0, 0, 1]),
    ],
    "torch.norm": [
        ("torch.norm(A, p=1)", lambda: np.sum(np.abs(A))),
        ("torch.norm(X, dim=1)", lambda: np.linalg.norm(X, axis=1)),
    ],
    "torch.grad": [
        ("torch.autograd.grad(sum(X**3), X)[0]", lambda: 3 * X**2),
        (
            "g, = torch.autograd.grad(X**3, inputs=X, grad_outputs=ones_like(X)); g",
            lambda: 3 * X**2,
        ),
    ],
    "torch.softmax": [
        ("F.softmax(X)", lambda: special.softmax(X, axis=1)),
        ("torch.softmax(V, 0)", lambda: special.softmax(V)),
    ],
    "torch.log_softmax": [("F.log_softmax(B)", lambda: log_softmax(B, 0))],
    "torch.sort": [("torch.sort(X, 0).indices", lambda: np.argsort(X, 0))],
    "torch.split": [
        ("torch.split(V, 2)[1]", lambda: V[2:]),
        ("torch.split(X, [1, 2], dim=1)[1]", lambda: X[:, 1:]),
        ("torch.split(V, [3])[0]", lambda: V),
    ],
}


@pytest.mark.parametrize("tile", [1 << 15, 2])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_values_are_those_of_the_definition(
    name: str, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where every array is large enough to be computed tile by tile."""
    monkeypatch.setattr("gradcalc.compute.evaluate.TILE", tile)
    for call, definition in DEFINITIONS[name]:
        given = "; ".join(f"{n} = {v.tolist()}" for n, v in ARRAYS.items())
        found = value(Source(f"{given}; {call}"), Draws(0))
        wanted = np.asarray(definition(), dtype=float)
        assert np.shape(found) == wanted.shape, call
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-14, err_msg=call)


def test_every_composite_has_a_definition() -> None:
    assert set(DEFINITIONS) == set(FACTS)

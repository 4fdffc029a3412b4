"""Elementwise functions that are short formulas in the rows."""

from gradcalc.errors import GradcalcError
from gradcalc.graph import Node, ops
from gradcalc.language.functions.registry import function

MOST_DECIMALS = 300


@function("reciprocal(x)", "x=4")
def reciprocal(x: Node) -> Node:
    """1/x"""
    return 1.0 / x


@function("square(x)", "x=3")
def square(x: Node) -> Node:
    """x*x"""
    return x * x


@function("rsqrt(x)", "x=4")
def rsqrt(x: Node) -> Node:
    """1/sqrt(x)"""
    return 1.0 / ops.sqrt(x)


@function("lerp(a, b, weight)", "a=1; b=5; weight=0.25")
def lerp(a: Node, b: Node, weight: Node) -> Node:
    """a + weight*(b - a)"""
    return a + weight * (b - a)


@function("clip(x, 0, 3)", "x=5", convention="slope 1 at both bounds")
def clip(x: Node, low: Node | None = None, high: Node | None = None) -> Node:
    """x, but at least ``low`` and at most ``high``; None is no bound."""
    bounds = (-float("inf") if low is None else low, float("inf") if high is None else high)
    return ops.clip(x, *bounds)


@function("round(x, 1)", "x=2.718", convention="slope 0, also at the jumps")
def round_(x: Node, decimals: int = 0) -> Node:
    """The nearest number with so many decimals; of two that are as near, the even one."""
    if abs(decimals) > MOST_DECIMALS:
        raise GradcalcError("arguments", f"{decimals} decimals", f"at most {MOST_DECIMALS}")
    scale = 10.0**decimals
    return ops.round(x * scale) / scale if decimals else ops.round(x)


@function("divide(a, b)", "a=1; b=4")
def divide(a: Node, b: Node, rounding_mode: str | None = None) -> Node:
    """a/b; rounding_mode (PyTorch) is 'floor' or 'trunc'."""
    if rounding_mode not in (None, "floor", "trunc"):
        raise GradcalcError("arguments", f"no rounding '{rounding_mode}'", "'floor' or 'trunc'")
    if rounding_mode == "floor":
        return ops.floor_divide(a, b)
    return ops.trunc(a / b) if rounding_mode else a / b


@function("x*detach(x)", "x=3", "detach(x)*w")
def detach(x: Node) -> Node:
    """x as a constant: nothing flows back through it."""
    return ops.detach(x)

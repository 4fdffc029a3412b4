"""Random programs with points on and off kinks, and what mpmath says of their derivatives.

``python tests/survey.py 20000 [SEED]`` checks so many, by both methods, and prints what is wrong.
"""

import random
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import mpmath
import numpy as np

from gradcalc.errors import Source
from gradcalc.problem import Problem
from gradcalc.solver import solve

DIGITS = 400
TINY = mpmath.mpf(10) ** -17  # what rounding may leave of a slope of 0
STEP = mpmath.mpf(10) ** -20  # halved in exponent until two differences agree
VALUES = [0.0, 1.0, -1.0, 0.5, 2.0, -0.3]
Function = Callable[[Mapping[str, Any]], Any]


class Random(NamedTuple):
    """A program, its values, and the same as a function of mpmath numbers."""

    text: str
    at: dict[str, float]
    function: Function


def _real(function: Callable[..., Any], *numbers: Any) -> Any:
    if any(map(mpmath.isnan, numbers)) and function not in SELECTING:
        return mpmath.nan
    try:
        value = function(*numbers)
    except (ZeroDivisionError, ValueError, OverflowError):
        return mpmath.nan
    return mpmath.nan if isinstance(value, mpmath.mpc) else value


def _larger(a: Any, b: Any) -> Any:
    return a if a > b else 2 * b


def _equal(a: Any, b: Any) -> Any:
    return a if a == b else a * b


SELECTING = (_larger, _equal)  # whose result may be a number though an operand is nan
UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sqrt": mpmath.sqrt,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tanh": mpmath.tanh,
    "arctan": mpmath.atan,
    "abs": abs,
    "relu": lambda x: max(x, mpmath.mpf(0)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "sign": mpmath.sign,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "arcsinh": mpmath.asinh,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "{} + {}": lambda a, b: a + b,
    "{} - {}": lambda a, b: a - b,
    "{}*{}": lambda a, b: a * b,
    "{}/{}": lambda a, b: a / b,
    "maximum({}, {})": max,
    "minimum({}, {})": min,
    "hypot({}, {})": lambda a, b: mpmath.sqrt(a * a + b * b),
    "where({0} > {1}, {0}, 2*{1})": _larger,
    "where({0} == {1}, {0}, {0}*{1})": _equal,
    "sum(stack({}, {}))": lambda a, b: a + b,
    "logsumexp(stack({}, {}))": lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)),
    "max(stack({}, {}))": max,
    "prod(stack({}, {}))": lambda a, b: a * b,
    "norm(stack({}, {}))": lambda a, b: mpmath.sqrt(a * a + b * b),
}


def random_program(seed: int) -> Random:
    """A program of up to a dozen operations on a, b and c."""
    draw = random.Random(seed)
    at = {name: draw.choice([*VALUES, draw.uniform(-3, 3)]) for name in "abc"}
    text, function = _expression(draw, draw.randint(1, 4))
    return Random(text, at, function)


def _expression(draw: random.Random, depth: int) -> tuple[str, Function]:
    if depth == 0:
        if draw.random() < 0.2:
            number = draw.choice([2.0, 3.0, 0.5])
            return str(number), lambda point: mpmath.mpf(number)
        name = draw.choice("abc")
        return name, lambda point: point[name]
    if draw.random() < 0.45:
        word, unary = draw.choice(sorted(UNARY.items()))
        text, inner = _expression(draw, depth - 1)
        return f"{word}({text})", lambda point: _real(unary, inner(point))
    if draw.random() < 0.15:
        power = draw.choice([2, 3, -1])
        text, inner = _expression(draw, depth - 1)
        return f"({text})**{power}", lambda point: _real(lambda x: x**power, inner(point))
    template, binary = draw.choice(sorted(BINARY.items()))
    left, f = _expression(draw, depth - 1)
    right, g = _expression(draw, draw.randint(0, depth - 1))
    text = template.format(f"({left})", f"({right})")
    return text, lambda point: _real(binary, f(point), g(point))


def slope(program: Random, name: str) -> Any:
    """The derivative by adaptive central differences; nan where the two sides differ.

    None where the program has no finite value: mpmath knows none of float64's infinities.
    """
    with mpmath.workdps(DIGITS):
        point = {key: mpmath.mpf(value) for key, value in program.at.items()}
        here = program.function(point)
        before = gap = mpmath.nan
        step = STEP
        for _ in range(3):
            if not mpmath.isfinite(here):
                return None
            up = program.function({**point, name: point[name] + step})
            down = program.function({**point, name: point[name] - step})
            right, left = (up - here) / step, (here - down) / step
            # At the end of a domain the one side is all there is.
            right, left = (left if right != right else right), (right if left != left else left)
            both, bend = (right + left) / 2, abs(right - left)
            if not mpmath.isfinite(both) or (bend > gap / 4 and bend > TINY):
                return mpmath.nan  # the sides do not come nearer to each other with the step
            if abs(both - before) <= 1e-15 * abs(both) + TINY:
                return both
            vanishes = abs(both) < abs(before) / 4  # as sqrt(step) does
            before, gap, step = both, bend, step / 2**10
        return mpmath.mpf(0) if vanishes else mpmath.nan


def wrong(program: Random, method: str | None) -> list[str]:
    """What a check says that is not so."""
    at = {name: np.float64(value) for name, value in program.at.items()}
    result = solve(Problem(Source(program.text), at, method=method))
    check = result.check
    if check.checked < check.entries:
        return []
    found = {finding.leaf: finding for finding in check.findings}
    complaints = []
    for name, gradient in result.gradients.items():
        if name in found and found[name].kind == "wrong rule":
            complaints.append(f"{name}: a false alarm")
        if gradient is None or name in found:
            continue
        true = slope(program, name)
        if true is None:
            continue
        if not mpmath.isfinite(true):
            complaints.append(f"{name}: verified where there is no derivative")
            continue
        with mpmath.workdps(DIGITS):
            near = abs(true) * mpmath.mpf(10) ** -(check.digits or 0)
            if abs(mpmath.mpf(float(gradient)) - true) > near + TINY:
                complaints.append(f"{name}: {gradient} is not {mpmath.nstr(true, 20)}")
    return complaints


def main() -> None:
    count, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    bad = 0
    for seed in range(start, start + count):
        program = random_program(seed)
        for method in ("symbolic", "chain"):
            complaints = wrong(program, method)
            bad += bool(complaints)
            if complaints:
                print(seed, method, program.text, program.at, complaints, flush=True)
    print(f"{count} programs, {bad} wrong verdicts")


if __name__ == "__main__":
    main()

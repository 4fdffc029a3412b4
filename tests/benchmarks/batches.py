"""10,000 problems over 10 programs: the batch beside the scripts that people write instead.

Run as a script, it is such a script: ``batches.py torch|sympy PROBLEMS.jsonl``.
"""

import importlib
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The program for gradcalc, and for a module m with PyTorch's or NumPy-like names; leaves; lengths.
Program = tuple[str, Callable[..., Any], str, int]
PROGRAMS: list[Program] = [
    ("y = 3*a + 2*b*b + log(c)", lambda m, a, b, c: 3 * a + 2 * b * b + m.log(c), "abc", 3),
    ("y = tanh(a*b) + c", lambda m, a, b, c: m.tanh(a * b) + c, "abc", 3),
    ("y = exp(-a*a)*sin(b)", lambda m, a, b: m.exp(-a * a) * m.sin(b), "ab", 4),
    ("s = sum(a*b); s*s", lambda m, a, b: m.sum(a * b) ** 2, "ab", 5),
    ("sum(sigmoid(a)*b)", lambda m, a, b: m.sum(m.sigmoid(a) * b), "ab", 8),
    ("y = a/b", lambda m, a, b: a / b, "ab", 2),
    ("mean((a - b)**2)", lambda m, a, b: m.sum((a - b) ** 2) / 10, "ab", 10),
    ("y = sqrt(a*a + b*b)", lambda m, a, b: m.sqrt(a * a + b * b), "ab", 3),
    ("logsumexp(a)", lambda m, a: m.log(m.sum(m.exp(a))), "a", 6),
    ("y = log(1 + exp(a))*b", lambda m, a, b: m.log(1 + m.exp(a)) * b, "ab", 2),
]


def write_problems(path: Path, count: int) -> None:
    """Problems over all programs in turn, at random points."""
    draw = random.Random(0)
    with path.open("w") as file:
        for i in range(count):
            expr, _, names, length = PROGRAMS[i % len(PROGRAMS)]
            at = {name: [round(draw.uniform(0.5, 2), 6) for _ in range(length)] for name in names}
            problem = {"name": f"p{i}", "expr": expr, "at": at}
            if expr.startswith("y"):
                problem["weights"] = [1.0] * length
            file.write(json.dumps(problem) + "\n")


def by_torch(problem: dict[str, Any]) -> dict[str, Any]:
    """What a plain PyTorch script does with a problem."""
    import torch

    function = FUNCTIONS[problem["expr"]]
    at = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for name, value in problem["at"].items()
    }
    y = function(torch, **at)
    weights = problem.get("weights")
    y.backward(None if weights is None else torch.tensor(weights, dtype=torch.float64))
    return {
        "name": problem["name"],
        "outputs": y.tolist(),
        "gradients": {name: leaf.grad.tolist() for name, leaf in at.items()},
    }


class _Formulas:
    """SymPy's functions over NumPy arrays of symbols."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        import numpy as np
        import sympy

        if name == "sum":
            return lambda x: sum(x.flat)
        function = (
            (lambda x: 1 / (1 + sympy.exp(-x))) if name == "sigmoid" else getattr(sympy, name)
        )
        return np.frompyfunc(function, 1, 1)


def by_sympy(problem: dict[str, Any]) -> dict[str, Any]:
    """What a SymPy script does that differentiates each problem."""
    import numpy as np
    import sympy

    at = problem["at"]
    symbols = {
        name: np.array([sympy.Symbol(f"{name}{i}", real=True) for i in range(len(value))])
        for name, value in at.items()
    }
    y = np.atleast_1d(FUNCTIONS[problem["expr"]](_Formulas(), **symbols))
    weighted = sum(w * one for w, one in zip(problem.get("weights", [1]), y, strict=True))
    point = {s: v for name in at for s, v in zip(symbols[name], at[name], strict=True)}
    gradients = {
        name: [float(sympy.diff(weighted, symbol).evalf(subs=point)) for symbol in own]
        for name, own in symbols.items()
    }
    return {"name": problem["name"], "gradients": gradients}


FUNCTIONS = {expr: function for expr, function, _, _ in PROGRAMS}
SCRIPTS = {"torch": by_torch, "sympy": by_sympy}

if __name__ == "__main__":
    library = importlib.import_module(sys.argv[1])
    if sys.argv[1] == "torch":
        library.set_num_threads(1)
    begin = time.perf_counter()  # the import of the library is left out
    with open(sys.argv[2]) as problems:
        for line in problems:
            print(json.dumps(SCRIPTS[sys.argv[1]](json.loads(line))), flush=True)
    print(time.perf_counter() - begin, file=sys.stderr)

"""Figures of speed, each as a ratio to a peer in the same run: ``python tests/benchmarks``."""

import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from batches import write_problems

from gradcalc.errors import Source
from gradcalc.files.values import read_values
from gradcalc.language.draws import Draws
from gradcalc.problem import Problem
from gradcalc.solver import solve

GRADCALC = str(Path(sys.executable).parent / "gradcalc")
EXPR = "y = 3*a + 2*b*b + log(c)"
FIRST = [GRADCALC, "eval", EXPR, "--at", "a=1,2,3", "--at", "b=3,4,5", "--at", "c=6,7,8"]
FIRST += ["--weights", "0.1,1,0.0001"]
LOOP = "y = x\nfor i in range({}):\n    y = sin(y)*1.01"


def seconds(action: Callable[[], object], rounds: int) -> float:
    """The median time of ``action``."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return median(times)


def process(*command: str) -> Callable[[], object]:
    return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def start_up() -> None:
    imports = "import numpy, typer, rich.table"
    for name, ours, theirs in (
        ("first README command", FIRST, f"{imports}, sympy"),
        ("the same, --no-check", [*FIRST, "--no-check"], imports),
    ):
        pairs = [
            (seconds(process(*ours), 1), seconds(process(sys.executable, "-c", theirs), 1))
            for _ in range(21)
        ]
        own, peer = (median(times) for times in zip(*pairs, strict=True))
        report(f"{name} / importing its libraries", own / peer, 1.25, f"{own * 1e3:.0f} ms")


ROSENBROCK = "sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"
JAX = f"""
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
x, v = jnp.linspace(-1, 1, 1000), jnp.ones(1000)
f = lambda x: jnp.{ROSENBROCK}
jax.block_until_ready(jax.jit({{}})(x))
"""


def second_order() -> None:
    """Rosenbrock's function of 1,000 variables: whole processes, compiling included."""
    if importlib.util.find_spec("jax") is None:
        print("for Rosenbrock's function beside JAX: pip install -e '.[bench]'", file=sys.stderr)
        return
    at = ["--at", "x=linspace(-1,1,1000)", "--no-check"]
    for name, ours, theirs in (
        ("gradient", ["eval", ROSENBROCK], "jax.grad(f)"),
        ("Hessian", ["hessian", ROSENBROCK], "jax.hessian(f)"),
        (
            "Hessian times a vector",
            ["hvp", ROSENBROCK, "--along", "x=1"],
            "lambda x: jax.jvp(jax.grad(f), (x,), (v,))[1]",
        ),
    ):
        own = seconds(process(GRADCALC, *ours, *at), 9)
        peer = seconds(process(sys.executable, "-c", JAX.format(theirs)), 9)
        report(f"Rosenbrock: {name} / JAX", own / peer, 0.5, f"{own * 1e3:.0f} ms")


def loop() -> None:
    """Steps of a loop, in process."""

    def run(steps: int) -> Callable[[], object]:
        problem = Problem(Source(LOOP.format(steps)), {"x": np.float64(0.5)}, check=False)
        return lambda: solve(problem)

    pairs = [(seconds(run(100_000), 1), seconds(run(1_000), 21)) for _ in range(5)]
    long, short = (median(times) for times in zip(*pairs, strict=True))
    ratio = long / short / 100
    report("a step of 100,000 / a step of 1,000", ratio, 1.5, f"{long * 10:.0f} µs")


def memory() -> None:
    """Peak memory of whole processes; measured first: a child starts with its parent's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problems.jsonl"
        write_problems(path, 10_000)
        million = f"for i in $(seq 100); do cat {path}; done"
        process("bash", "-c", f"{million} | {GRADCALC} run - --json --no-check")()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    report("peak memory of 1,000,000 problems, MB / 300", peak / 300, 1.0, f"{peak:.0f} MB")
    command = [GRADCALC, "eval", LOOP.format(100_000), "--at", "x=0.5", "--no-check"]
    process(*command)()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    report("peak memory of 100,000 steps, MB / 300", peak / 300, 1.0, f"{peak:.0f} MB")


def million() -> None:
    """The main expression over 1,000,000 elements from an .npz file, value and gradients."""
    random = np.random.default_rng(0)
    names = "abcw"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npz"
        np.savez(path, **{name: random.uniform(0.5, 1.5, 1_000_000) for name in names})
        values = read_values(path, Draws())
    a, b, c, w = (values[name] for name in names)
    at = {name: values[name] for name in "abc"}

    def by_hand() -> object:
        return 3 * a + 2 * b * b + np.log(c), 3 * w, 4 * b * w, w / c

    def ours() -> object:
        return solve(Problem(Source(EXPR), at, [{None: w}], check=False))

    pairs = [(seconds(ours, 1), seconds(by_hand, 1)) for _ in range(41)]
    own, peer = (median(times) for times in zip(*pairs, strict=True))
    report("1,000,000 elements / the formulas in NumPy", own / peer, 2.0, f"{own * 1e3:.1f} ms")


def batch() -> None:
    """10,000 problems, whole process on one core, beside a PyTorch script and a SymPy script."""
    script = str(Path(__file__).parent / "batches.py")

    def script_seconds(library: str, path: Path) -> float:
        command = [sys.executable, script, library, str(path)]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True
        )
        return float(done.stderr.split()[-1])

    with tempfile.TemporaryDirectory() as folder:
        path, few = Path(folder) / "problems.jsonl", Path(folder) / "few.jsonl"
        write_problems(path, 10_000)
        write_problems(few, 1_000)
        run = [GRADCALC, "run", str(path), "--json"]
        if importlib.util.find_spec("torch") is None:
            print("for a batch beside PyTorch: pip install -e '.[bench]'", file=sys.stderr)
        else:
            own = seconds(process(*run, "--no-check"), 5)
            peer = median(script_seconds("torch", path) for _ in range(5))
            report("10,000 problems, --no-check / PyTorch", own / peer, 1.0, f"{own:.2f} s")
        own = seconds(process(*run), 1)
        peer = 10 * script_seconds("sympy", few)
        report("10,000 problems, checked / SymPy", own / peer, 0.1, f"{own:.1f} s")
        million = (
            f"for i in $(seq 100); do cat {path}; done | {' '.join(run[:2])} - --json --no-check"
        )
        process("bash", "-c", million)()
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        report("peak memory of 1,000,000 problems, MB / 300", peak / 300, 1.0, f"{peak:.0f} MB")


def report(what: str, ratio: float, wanted: float, figure: str) -> None:
    print(json.dumps({"what": what, "ratio": round(ratio, 2), "wanted": wanted, "figure": figure}))


if __name__ == "__main__":
    memory()
    start_up()
    second_order()
    loop()
    million()
    batch()

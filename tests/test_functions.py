"""Every function of the language: its example is right, and its derivative is the one it tells."""

import shlex
from typing import Any

import numpy as np
import pytest

from gradcalc.errors import Source
from gradcalc.language.draws import Draws
from gradcalc.language.functions.registry import FACTS, FUNCTIONS, SPELLINGS
from gradcalc.language.literals import bindings
from gradcalc.primitives.rule import Elementwise
from gradcalc.problem import Problem
from gradcalc.reference import Entry, entries
from gradcalc.result import Result
from gradcalc.solver import solve

ENTRIES = entries()


def ran(expr: str, at: dict[str, Any], check: bool = True) -> Result:
    """The result with weights that tell the elements of the output apart."""
    problem = Problem(Source(expr), at, [{None: np.float64(1.0)}], draws=Draws(0), check=False)
    shape = np.shape(next(iter(solve(problem).outputs.values())))
    weights = np.random.default_rng(3).uniform(0.5, 2.0, size=shape)
    return solve(Problem(Source(expr), at, [{None: weights}], draws=Draws(0), check=check))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_example_is_right_and_its_derivative_is_the_one_told(entry: Entry) -> None:
    _, _, expr, _, values, *_ = shlex.split(entry.example)
    assert entry.name.rpartition(".")[2] in expr or entry.name == "matmul"
    at = bindings(Source(values), Draws(0))
    result = ran(expr, at)
    assert result.check.status in ("verified", "unchecked")
    assert result.check.status == "verified" or not any(
        gradient is not None for gradient in result.gradients.values()
    )
    (y,), (w,) = result.outputs.values(), result.passes[0].weights.values()
    told = {leaf: f"w*({text})" for leaf, text in entry.derivative.items()}
    for leaf, text in {**told, **entry.gradient}.items():
        gradient = result.gradients[leaf]
        if gradient is None:
            assert text == "w*(0)"
            continue
        (wanted,) = ran(f"{text} + 0*sum(w)", {**at, "y": y, "w": w}, False).outputs.values()
        np.testing.assert_allclose(gradient, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_gradients_are_the_same_tile_by_tile(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long pointwise stretches of large arrays are computed later than their neighbours."""
    _, _, expr, _, values, *_ = shlex.split(entry.example)
    at = bindings(Source(values), Draws(0))
    program = expr if ";" in expr else f"y = {expr}; y*y"
    plain = ran(program, at, False)
    monkeypatch.setattr("gradcalc.compute.evaluate.TILE", 2)
    tiled = ran(program, at, False)
    for leaf, gradient in plain.gradients.items():
        np.testing.assert_array_equal(tiled.gradients[leaf], gradient)


def test_every_function_tells_its_facts() -> None:
    functions = {n for n, build in FUNCTIONS.items() if not isinstance(build, Elementwise)}
    assert functions == set(FACTS)
    assert all(entry.meaning and (entry.derivative or entry.gradient) for entry in ENTRIES)
    assert set(SPELLINGS.values()) <= set(FUNCTIONS)
    assert not set(SPELLINGS) & set(FUNCTIONS)

"""Inputs with known right values: the worked examples of backward(), and traps for public tools."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ran

from gradcalc.language.syntax import normalize

CASES = Path(__file__).parent / "cases"


def records(name: str) -> list[Any]:
    return [json.loads(line) for line in (CASES / name).read_text().splitlines()]


def arguments(record: dict[str, Any]) -> list[str]:
    """The record as a person would type it."""
    options = ["--json"]
    for name, value in record["at"].items():
        options += ["--at", f"{name}={typed(value)}"]
    for weights in record.get("passes", [record.get("weights")]):
        if isinstance(weights, dict):
            options += ["--weights", "; ".join(f"{k}={typed(v)}" for k, v in weights.items())]
        elif weights is not None:
            options += ["--weights", typed(weights)]
        elif "passes" in record:
            options += ["--weights", record["expr"].split("=")[0].strip()]
    options += ["--expand"] if record.get("expand") else []
    options += ["--zero-grad"] if record.get("zero_grad") else []
    return ["eval", record["expr"], *options]


def typed(value: Any) -> str:
    return json.dumps(value).replace('"', "").replace("Infinity", "inf")


def numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [numbers(one) for one in value]
    return float(value)


@pytest.mark.parametrize(
    "record",
    [*records("backward_examples.jsonl"), *records("traps.jsonl")],
    ids=lambda record: record["name"],
)
def test_known_values(record: dict[str, Any], gradcalc: Callable[..., Ran]) -> None:
    ran = gradcalc(*arguments(record))
    result = json.loads(ran.out)
    if "error" in record["expect"].values():
        assert ran.code == 2
        assert result["status"] == "error"
        return
    assert ran.code == 0, ran.err
    assert result["check"]["status"] in ("verified", "flagged")
    for leaf, wanted in record["expect"].items():
        found = result["gradients"][normalize(leaf)]
        if wanted is None:
            assert found is None
        else:
            assert np.shape(found) == np.shape(wanted)
            rtol = 1e-9 if "lgamma" in record["expr"] else 1e-12
            np.testing.assert_allclose(numbers(found), numbers(wanted), rtol=rtol, atol=1e-320)


def test_the_backward_examples_are_samples(gradcalc: Callable[..., Ran]) -> None:
    ran = gradcalc("run", str(CASES.parent.parent / "samples"), "--json")
    assert ran.code == 0
    results = {r["name"]: r for r in map(json.loads, ran.out.splitlines())}
    for record in records("backward_examples.jsonl"):
        assert results[record["name"]]["expr"].strip() == record["expr"]
        assert results[record["name"]]["status"] == "ok"

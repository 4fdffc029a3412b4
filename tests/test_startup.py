"""A command imports what it needs and no more; size costs no recursion."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import Ran

PROBE = """
import json, sys
sys.argv = ["gradcalc", *json.loads(sys.argv[1])]
from gradcalc.cli.main import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def modules(*arguments: str) -> set[str]:
    """The modules that are loaded after a command."""
    command = [sys.executable, "-c", PROBE, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_without_a_check_neither_sympy_nor_scipy_nor_mpmath_is_imported(
    json_too: list[str],
) -> None:
    at = ["--at", "a=1,2", "--at", "c=3,4", "--weights", "1"]
    expr = "y = 3*a + log(c) + sigmoid(a)*tanh(a)*norm(a)"
    loaded = modules("eval", expr, *at, "--no-check", *json_too)
    assert "numpy" in loaded
    assert not loaded & {"sympy", "scipy", "mpmath"}


def test_help_imports_neither_numpy_nor_sympy() -> None:
    for arguments in (["--help"], ["eval", "--help"], ["run", "--help"]):
        assert not modules(*arguments) & {"numpy", "sympy", "scipy", "mpmath"}


def test_a_sum_of_10_000_terms(gradcalc: Callable[..., Ran]) -> None:
    ran = gradcalc("eval", "+".join(["x"] * 10_000), "--at", "x=2", "--no-check", "--json")
    assert json.loads(ran.out)["gradients"] == {"x": 10_000.0}


def test_a_loop_of_100_000_steps(gradcalc: Callable[..., Ran]) -> None:
    program = "y = x\nfor i in range(100000):\n    y = y*1.00001 + x"
    ran = gradcalc("eval", program, "--at", "x=1", "--no-check", "--json")
    slope = json.loads(ran.out)["gradients"]["x"]
    growth = 1.00001**100_000
    assert slope == pytest.approx(growth + (growth - 1) / 0.00001, rel=1e-9)

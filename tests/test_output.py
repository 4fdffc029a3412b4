"""What is printed: strict JSON, plain lines in a pipe, a table on a terminal, exit codes."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ran

GRADCALC = str(Path(sys.executable).parent / "gradcalc")
MAIN = ["y = 3*a + 2*b*b + log(c)", "--at", "a=1,2,3", "--at", "b=3,4,5", "--at", "c=6,7,8"]
MAIN += ["--weights", "0.1,1,0.0001"]


def strictly(text: str) -> Any:
    """The JSON value of ``text``, which must be RFC 8259: no NaN, no Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_has_the_keys_of_the_schema(gradcalc: Callable[..., Ran]) -> None:
    result = strictly(gradcalc("eval", *MAIN, "--json").out)
    keys = "schema name status expr at outputs weights gradients passes check warnings"
    assert " ".join(result) == keys
    assert result["schema"] == "gradcalc.result/1"
    assert result["check"] == {
        "status": "verified",
        "method": "symbolic",
        "entries": 9,
        "checked": 9,
        "digits": 15.9,
        "jacobian": {"y": {"a": "3", "b": "4*b", "c": "1/c"}},
        "findings": [],
    }


def test_what_is_not_finite_is_spelled_and_read_back(gradcalc: Callable[..., Ran]) -> None:
    out = gradcalc("eval", "log(x)", "--at", "x=0,-1,inf", "--weights", "1", "--json").out
    result = strictly(out)
    assert result["at"]["x"] == [0.0, -1.0, "Infinity"]
    assert result["gradients"]["x"] == ["Infinity", "NaN", 0.0]
    record = json.dumps({"expr": result["expr"], "at": result["at"], "weights": 1})
    again = strictly(gradcalc("run", "-", "--json", stdin=record).out)
    assert again["gradients"] == result["gradients"]


def test_json_never_rounds(gradcalc: Callable[..., Ran]) -> None:
    result = strictly(gradcalc("eval", "x*0.1", "--at", "x=3", "--json").out)
    assert result["outputs"]["out"] == 3 * 0.1
    assert "= 0.3," in gradcalc("eval", "x*0.1", "--at", "x=3").out
    assert "0.30000000000000004" in gradcalc("eval", "x*0.1", "--at", "x=3", "--digits", "17").out


def test_an_error_is_a_record_too(gradcalc: Callable[..., Ran]) -> None:
    ran = gradcalc("eval", "y = 3*a + lgo(c)", "--at", "a=1; c=2", "--json")
    assert ran.code == 2
    assert strictly(ran.out)["error"] == {
        "code": "unknown-function",
        "message": "unknown function 'lgo'",
        "hint": "did you mean 'log'?",
        "span": {"line": 1, "start": 10, "end": 13},
    }


def test_exit_codes(gradcalc: Callable[..., Ran]) -> None:
    assert gradcalc("eval", "abs(x)", "--at", "x=0").code == 0
    assert gradcalc("eval", "abs(x)", "--at", "x=0", "--strict").code == 1
    assert gradcalc("eval", "abs(x)", "--at", "x=1", "--strict").code == 0
    assert gradcalc("eval", "abs(x)").code == 2
    assert gradcalc("run", "-", stdin='{"expr": "x", "at": {"x": 1}, "expect": {"x": 2}}').code == 1
    assert gradcalc("eval").code == 2
    assert gradcalc("--version").code == 0


def test_a_closed_pipe_ends_quietly() -> None:
    many = '{"expr": "x*x", "at": {"x": 1}}\n' * 2000
    command = f"{GRADCALC} run - --no-check --json | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], input=many, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "141"
    assert done.stderr == ""


def on_terminal(columns: int, **environment: str) -> str:
    """What ``gradcalc eval`` shows on a terminal so many columns wide."""
    parent, child = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color", **environment}
    subprocess.run([GRADCALC, "eval", *MAIN], stdout=child, env=env, check=True)
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(parent)
    return shown.decode()


@pytest.mark.parametrize("columns", [80, 200])
def test_a_terminal_shows_a_table_that_fits(columns: int) -> None:
    shown = on_terminal(columns)
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "│ c    │ [6, 7, 8] │" in plain
    assert max(map(len, plain.splitlines())) <= columns


def test_no_color_is_honoured() -> None:
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", on_terminal(80, NO_COLOR="1"))


def test_values_come_from_every_kind_of_file(gradcalc: Callable[..., Ran], tmp_path: Path) -> None:
    x = np.array([1.0, 2.0, 4.0])
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "all.npz", x=x, unused=x)
    (tmp_path / "all.json").write_text('{"x": [1, 2, 4]}')
    (tmp_path / "x.json").write_text("[1, 2, 4]")
    (tmp_path / "all.toml").write_text("x = [1, 2, 4.0]\n")
    (tmp_path / "all.csv").write_text("\ufeffx,y\r\n1,0\r\n2,0\r\n4,0\r\n")
    for option in ("x=@{}/x.npy", "x=@{}/all.npz:x", "@{}/all.npz", "@{}/all.json", "x=@{}/x.json",
                   "@{}/all.toml", "x=@{}/all.csv:x", "@{}/all.csv"):  # fmt: skip
        at = option.format(tmp_path)
        ran = gradcalc("eval", "x*x", "--at", at, "--weights", "1", "--wrt", "x", "--json")
        assert ran.code == 0, ran.err
        assert strictly(ran.out)["gradients"] == {"x": [2.0, 4.0, 8.0]}
    weights = f"@{tmp_path}/x.npy"
    ran = gradcalc("eval", "x*x", "--at", "x=1,1,1", "--weights", weights, "--json")
    assert strictly(ran.out)["gradients"] == {"x": [2.0, 4.0, 8.0]}


def test_a_chosen_seed_is_told_and_gives_the_same_again(gradcalc: Callable[..., Ran]) -> None:
    first = gradcalc("eval", "x*randn()", "--at", "x=uniform()", "--json")
    (warning,) = strictly(first.out)["warnings"]
    seed = warning["message"].split()[-1]
    again = gradcalc("eval", "x*randn()", "--at", "x=uniform()", "--seed", seed, "--json")
    assert strictly(again.out)["gradients"] == strictly(first.out)["gradients"]
    assert strictly(again.out)["warnings"] == []

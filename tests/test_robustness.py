"""No input gives a traceback, a hang, or control of the terminal."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ran

import gradcalc as package

GRADCALC = str(Path(sys.executable).parent / "gradcalc")

REFUSED = [
    "norm(x, ord=[1, 2])",
    "norm(x, ord=x)",
    "linspace(0, 1, [3, 4])",
    "linspace(0, 1, None)",
    "linspace(0, 1, -5)",
    "linspace(0, 1, 10**12)",
    "stack(x, x, axis=[0, 1])",
    "sum(x, axis=0, dim=0)",
    "sum(x, axis=0, axis=0)",
    "sin(x=1)",
    "zeros(None)",
    "zeros(0, 2**53, 2**53)",
    "randn(2**29)",
    "reshape(x, None)",
    f"reshape(x, {'1, ' * 71}3)",
    "x[:[1, 2]]",
    "x[True]",
    "x[x[0] > 0]",
    "x[x[:2] > 0]",
    "x[..., [True, False]]",
    "x[[0, 1], x[:2] > 0]",
    "for i in range([1, 2]): y = x",
    "pass",
    "max(zeros(0))",
    "1" * 5_000,
    "y = x * " + "1" * 30_000 + " z",
    "\n#c" * 100_000,
    "-" * 10_000 + "x",
    "y: float = x",
    "'text'",
    "0xFFp",
    "x.shape.foo",
    "np.linalg",
]

FINE = [
    ("+x", [1, 1, 1]),
    ("exp(300*x[0])*0 + sum(x)", [1, 1, 1]),
    ("max(zeros(0, 3), axis=1).size*x", [0, 0, 0]),
    ("norm(x, ord=0)*sum(x)", [3, 3, 3]),
    ("norm(0*x, ord=3) + sum(x)", [1, 1, 1]),
    ("x[[True, False, True]]", [1, 0, 1]),
    ("where(x > 0, x, zeros(2, 3))[0]**2", [2, 4, 6]),
    ("sum(where(x > 0, x, [[1, 2, 3], [4, 5, 6]]))", [2, 2, 2]),
    (
        "k = 0\nwhile k < 5:\n    t = 0\n    while t < 1:\n        t = t + 1\n    k = k + 1\nk*x",
        [5] * 3,
    ),
    ("y = 0\nfor i in range(3):\n    y = y + x*2**-i\ny", [1.75] * 3),
    ("power = x**2; power**2/4", [1, 8, 27]),
    ("x*randn(3)*0 + x*randn(3)*0 + x", [1, 1, 1]),
]


@pytest.mark.parametrize("expr", REFUSED, ids=lambda expr: expr[:30])
def test_wrong_programs_are_refused_with_a_place(expr: str, gradcalc: Callable[..., Ran]) -> None:
    ran = gradcalc("eval", expr, "--at", "x=1,2,3", "--weights", "1")
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert max(map(len, ran.err.splitlines())) < 200


@pytest.mark.parametrize("expr,gradient", FINE, ids=lambda one: str(one)[:30])
def test_unusual_programs_are_right(
    expr: str, gradient: list[float], gradcalc: Callable[..., Ran]
) -> None:
    ran = gradcalc("eval", expr, "--at", "x=1,2,3", "--weights", "1", "--json", "--seed", "1")
    result = json.loads(ran.out)
    assert result["gradients"]["x"] == gradient
    assert result["check"]["status"] in ("verified", "flagged")


@pytest.mark.parametrize(
    "name,content",
    [
        ("deep.json", b'{"x": ' + b"[" * 900 + b"]" * 900 + b"}"),
        ("axes.json", b'{"x": ' + b"[" * 70 + b"1" + b"]" * 70 + b"}"),
        ("deep.toml", b"x = " + b"[" * 600 + b"]" * 600),
        ("long.toml", b"x = " + b"1" * 5_000),
        ("date.toml", b"x = 1979-05-27"),
        ("cell.csv", b"x\n" + b"1" * 200_000),
        ("twice.csv", b"x,x\n1,2\n"),
        ("npy.npz", b"\x93NUMPY\x01\x00"),
        ("zip.npz", b"PK\x03\x04 and no more"),
        ("bom.json", b"\xef\xbb\xbf{"),
        ("empty.csv", b""),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_damaged_files_are_refused(
    name: str, content: bytes, gradcalc: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    ran = gradcalc("eval", "sum(x)", "--at", f"@{tmp_path / name}")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")


def test_an_archive_with_flipped_bits_is_refused_or_read(
    gradcalc: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.arange(50.0))
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    for _ in range(40):
        damaged = bytearray(whole)
        damaged[random.integers(len(damaged))] ^= 1 << int(random.integers(8))
        path.write_bytes(bytes(damaged))
        assert gradcalc("eval", "sum(x)", "--at", f"@{path}", "--no-check").code in (0, 2)


@pytest.mark.parametrize(
    "record",
    [
        {"seed": -1},
        {"wrt": [1]},
        {"wrt": [["x"]]},
        {"rtol": 10**400, "atol": -1},
        {"rtol": -1},
        {"expect": {"z": 1}},
        {"at": {"x": {}}},
        {"at": 3},
        {"weights": "pass"},
        {"passes": 3},
        {"expr": "@/nowhere"},
        {"output": "\u001b[31m"},
        {"\u001b[31mk": 1},
    ],
    ids=str,
)
def test_a_wrong_record_leaves_the_others_alone(
    record: dict[str, object], gradcalc: Callable[..., Ran]
) -> None:
    good = {"expr": "x*x", "at": {"x": 1}}
    lines = "\n".join(map(json.dumps, (good, {**good, **record}, good)))
    for arguments in (["run", "-"], ["run", "-", "--json"]):
        ran = gradcalc(*arguments, stdin=lines)
        assert ran.code == 2
        assert "\x1b" not in ran.out + ran.err
    statuses = [json.loads(line)["status"] for line in ran.out.splitlines()]
    assert statuses == ["ok", "error", "ok"]


def test_names_do_not_drive_the_terminal(gradcalc: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"x": 1, "\x1b]0;title\x07": 2, "\x9b31m": 3}))
    ran = gradcalc("eval", "x", "--at", f"@{path}")
    assert ran.code == 0
    assert not {"\x1b", "\x07", "\x9b"} & set(ran.out + ran.err)


@pytest.mark.parametrize(
    "redirection,code",
    [(">&-", 2), ("> /dev/full", 2), ("--json > /dev/full", 2), ("2>&-", 0), ("<&-", 0)],
)
def test_streams_may_be_closed_or_full(redirection: str, code: int) -> None:
    command = f"{GRADCALC} eval 'x*x' --at x=3 {redirection}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)


def test_a_closed_standard_input_is_told() -> None:
    done = subprocess.run(["bash", "-c", f"{GRADCALC} eval - <&-"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "standard input is closed" in done.stderr


def test_links_that_lead_back_are_not_followed(
    gradcalc: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "one.json").write_text('{"expr": "x", "at": {"x": 1}}')
    (tmp_path / "back").symlink_to(tmp_path)
    assert gradcalc("run", str(tmp_path)).out.endswith("1 problem: 1 ok\n")


@pytest.mark.parametrize(
    "options",
    [
        {"at": [1.0]},
        {"at": {1: 1.0}},
        {"at": {"x": [[1.0, 2.0], [3.0]]}},
        {"at": {"x": "1"}},
        {"at": {"x": 1.0}, "expect": [2.0]},
        {"at": {"x": 1.0}, "weights": {1: 2.0}},
        {"at": {"x": 1.0}, "passes": 3},
        {"at": {"x": 1.0}, "wrt": 3},
        {"at": {"x": 1.0}, "output": 3},
        {"at": {"x": 1.0}, "method": "magic"},
        {"at": {"\ufb01": 1.0, "fi": 2.0}},
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_are_errors_of_ours(options: dict[str, Any]) -> None:
    with pytest.raises(package.GradcalcError):
        package.solve("x*x", **options)

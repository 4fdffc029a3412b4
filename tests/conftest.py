"""Runs the command line inside the test's process, as a shell would."""

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from gradcalc.cli.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def gradcalc(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """``gradcalc(*arguments, stdin="")``: the exit code and both streams."""

    def run(*arguments: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "argv", ["gradcalc", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            main()
        streams = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0, streams.out, streams.err)

    return run

"""What every command does with its results: prints them, and ends with the right code."""

import os
import sys
from collections.abc import Iterable
from typing import NoReturn

import typer

from gradcalc.errors import GradcalcError
from gradcalc.problem import Result
from gradcalc.render.report import show_result

FAILED, WRONG_INPUT, CLOSED_PIPE = 1, 2, 141


def print_result(result: Result, digits: int, as_json: bool) -> None:
    """Prints one result to standard output, and its warnings to standard error."""
    if as_json:
        from gradcalc.render.record import dumps, result_record

        write(dumps(result_record(result)))
        return
    with Pipe():
        show_result(result, digits)
    for warning in result.warnings:
        print(f"note: {warning.message}", file=sys.stderr)


def write(line: str) -> None:
    """Prints one line to standard output, at once."""
    with Pipe():
        print(line, flush=True)


class Pipe:
    """Ends the program quietly when the reader of standard output has gone."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            return
        if isinstance(error, BrokenPipeError):
            # What is still buffered goes nowhere, so that the interpreter's last flush succeeds.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(CLOSED_PIPE) from None


def fail(error: GradcalcError, as_json: bool) -> NoReturn:
    """Reports a wrong input: for people on standard error, with --json also as the result."""
    print(error, file=sys.stderr)
    if as_json:
        from gradcalc.render.record import dumps, error_record

        write(dumps(error_record(error)))
    raise typer.Exit(WRONG_INPUT)


def finish(results: Iterable[Result], strict: bool) -> None:
    """Ends with 1 when a check or expectation failed; with ``strict``, unless all is verified."""
    for result in results:
        unproven = strict and result.check.status in ("flagged", "unchecked")
        if result.status != "ok" or unproven:
            raise typer.Exit(FAILED)

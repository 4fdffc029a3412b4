"""What every command does with its results: prints them, and ends with the right code."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, NoReturn

import typer

from gradcalc.blocks import Blocks
from gradcalc.cli.codes import CLOSED_PIPE, FAILED, WRONG_INPUT
from gradcalc.errors import GradcalcError
from gradcalc.render.notes import notes
from gradcalc.render.report import show_result
from gradcalc.result import Result

if TYPE_CHECKING:
    from rich.console import Console


def print_result(result: Result, digits: int, as_json: bool) -> None:
    """Prints one result to standard output, and its warnings to standard error."""
    if as_json:
        from gradcalc.render.record import dumps, result_record

        write(dumps(result_record(result)))
        return
    with to_stdout():
        show_result(result, digits)
    note(result)


def note(result: Result | Blocks) -> None:
    """Prints warnings to standard error."""
    if text := notes(result):
        print(text, file=sys.stderr)


def say(message: str) -> None:
    """Prints an error or a note to standard error, in colour on a terminal."""
    if not sys.stderr.isatty():
        with suppress(OSError):  # if nobody can read it, the exit code must do
            print(message, file=sys.stderr, flush=True)
        return
    from rich.text import Text

    text = Text(message)
    text.highlight_regex("^error:", "bold red")
    text.highlight_regex("(?m)^help:", "bold")
    stderr_console().print(text, soft_wrap=True)


@cache
def stderr_console() -> "Console":
    """The one console of standard error: a progress bar makes room for what it prints."""
    from rich.console import Console

    return Console(stderr=True)


def write(line: str) -> None:
    """Prints one line to standard output, at once."""
    with to_stdout():
        print(line)


@contextmanager
def to_stdout() -> Iterator[None]:
    """Ends the program quietly when the reader has gone, with a message when writing fails."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if sys.stdout is not None:
            # What is still buffered goes nowhere, so that the interpreter's last flush succeeds.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(CLOSED_PIPE) from None
        print(f"error: cannot write the result: {(error.strerror or '').lower()}", file=sys.stderr)
        raise typer.Exit(WRONG_INPUT) from None


def fail(error: GradcalcError, as_json: bool) -> NoReturn:
    """Reports a wrong input: for people on standard error, with --json also as the result."""
    say(str(error))
    if as_json:
        from gradcalc.render.record import dumps, error_record

        write(dumps(error_record(error)))
    raise typer.Exit(WRONG_INPUT)


def finish(result: Result | Blocks, strict: bool) -> None:
    """Ends with 1 when a check or expectation failed; with ``strict``, unless all is verified."""
    if result.status != "ok" or (strict and not result.proven):
        raise typer.Exit(FAILED)

"""What a reader of a result should know, as it is told on standard error."""

from collections.abc import Sequence
from typing import Protocol

from gradcalc.errors import printable, underline
from gradcalc.problem import Problem
from gradcalc.result import Note


class Noted(Protocol):
    """A result of any kind."""

    @property
    def problem(self) -> Problem: ...

    @property
    def warnings(self) -> Sequence[Note]: ...


def notes(result: Noted, name: str = "") -> str:
    """The warnings of a result; ``name`` says of which problem."""
    place = f"{name}: " if name else ""
    texts = []
    for warning in result.warnings:
        texts.append(f"note: {place}{warning.message}")
        if warning.span is not None:
            texts += underline(result.problem.expr.text, warning.span)
    return printable("\n".join(texts))

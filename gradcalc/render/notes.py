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


def notes(result: Noted, name: str = "", *, of_many: bool = False) -> str:
    """The warnings of a result; ``name`` says of which problem.

    of_many: of a batch, in which seeds depend on the text alone: they need not be noted.
    """
    place = f"{name}: " if name else ""
    texts = []
    for warning in [one for one in result.warnings if not (of_many and one.code == "seed")]:
        texts.append(f"note: {place}{warning.message}")
        if warning.span is not None:
            texts += underline(result.problem.expr.text, warning.span)
    return printable("\n".join(texts))

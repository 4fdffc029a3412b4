"""What is wrong, where in the text, and how to mend it."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple, Self

REPLACEMENT = "\ufffd"  # for a character that cannot be shown
WINDOW = 72  # characters of a long line that are shown around the caret


class Source(NamedTuple):
    """A text that a person wrote, and what it is called in a message (``--at``, a file's name)."""

    text: str
    label: str = ""


class Span(NamedTuple):
    """A stretch of one line of a source: line from 1, columns from 0, in characters."""

    line: int
    start: int
    end: int


class GradcalcError(Exception):
    """An input that cannot be used: the cause, its place and the mend.

    ``code`` is a stable kebab-case word for programs; ``message`` and ``hint`` are for people.
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str | None = None,
        span: Span | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(code, message, hint, span, source)
        self.code = code
        self.message = message
        self.hint = hint
        self.span = span
        self.source = source
        self.origin: object = None  # of the node that could not be computed: a part of the text

    def located(self, source: Source, span: Span | None = None) -> Self:
        """This error with its place, unless a place nearer to the cause is known already."""
        if self.source is None:
            self.source, self.span = source, span
        return self

    def within(self, place: str) -> Self:
        """This error, of something that stands at ``place`` in a file."""
        if self.source is None:
            self.source = Source("", place)
        elif not self.source.label.startswith(place):
            label = f"{place}, {self.source.label}" if self.source.label else place
            self.source = Source(self.source.text, label)
        return self

    def __str__(self) -> str:
        lines = [f"error: {self._place()}{self.message}"]
        if self.source is not None and self.span is not None:
            lines += underline(self.source.text, self.span)
        if self.hint:
            lines.append(f"help: {self.hint}")
        return "\n".join(printable(line) for line in lines)

    def _place(self) -> str:
        if self.source is None:
            return ""
        many = self.span is not None and len(lines_of(self.source.text.strip())) > 1
        line = f"line {self.span.line}" if many and self.span else ""
        place = ", ".join(part for part in (self.source.label, line) if part)
        return f"{place}: " if place else ""


def lines_of(text: str) -> list[str]:
    """The lines of ``text``, as Python's parser counts them."""
    return re.split(r"\r\n|\r|\n", text)


def whole(text: str, label: str) -> tuple[Source, Span]:
    """The place that is all of a short text, such as an option's value."""
    return Source(text, label), Span(1, 0, len(text))


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the known names nearest to ``name``, or None when none is near."""
    near = get_close_matches(name, list(known), n=2, cutoff=0.65)
    return f"did you mean {' or '.join(repr(n) for n in near)}?" if near else None


def printable(text: str) -> str:
    """``text`` with its control characters replaced, so that no input can drive the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else REPLACEMENT for c in text)


def underline(text: str, span: Span) -> list[str]:
    """The line of ``span``, cut to a window when it is long, and carets below the span."""
    from rich.cells import cell_len  # wide characters take two columns

    line = [*lines_of(text), ""][span.line - 1].replace("\t", " ")
    start = min(span.start, len(line))
    end = max(start + 1, span.end)
    first = max(0, min(start - WINDOW // 2, len(line) - WINDOW))
    last = first + WINDOW
    before, after = "…" if first else "", "…" if last < len(line) else ""
    end = min(end, max(last, start + 1))
    indent = cell_len(printable(before + line[first:start]))
    carets = "^" * max(1, cell_len(printable(line[start:end])))
    return [f"  {before}{line[first:last]}{after}", f"  {' ' * indent}{carets}"]

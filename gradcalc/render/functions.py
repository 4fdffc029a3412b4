"""The reference of functions: a table, one in full, tables for the README, records."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from gradcalc.reference import Entry
from gradcalc.render.layout import Line, show

SCHEMA = "gradcalc.function/1"


def show_entries(entries: Sequence[Entry]) -> None:
    """Prints one row a function to standard output."""
    rows = [(entry.group, entry.signature, entry.meaning) for entry in entries]
    show(("group", "function", "meaning"), rows, [Line("gradcalc functions NAME tells all of one")])


def show_entry(entry: Entry) -> None:
    """Prints all that is known of one function to standard output."""
    show(("function", entry.signature), list(_details(entry)), ())


def markdown(entries: Sequence[Entry]) -> str:
    """Tables for the README, one a group."""
    lines = []
    for group, members in groupby(entries, lambda entry: entry.group):
        lines += [f"| {group} | meaning | derivative | domain, kinks, convention | example |"]
        lines += ["|---|---|---|---|---|"]
        for entry in members:
            cells = (
                _code(entry.signature),
                _cell(entry.meaning),
                "; ".join(map(_code, _derivatives(entry))),
                _cell("; ".join(_notes(entry))),
                _code(_tried(entry)),
            )
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def record(entry: Entry) -> dict[str, Any]:
    """The record of a function; the keys are the fields of ``reference.Entry``."""
    return {"schema": SCHEMA, **entry._asdict()}


def _details(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "meaning", entry.meaning
    for leaf, text in entry.derivative.items():
        yield f"d/d{leaf}", text
    for leaf, text in entry.gradient.items():
        yield f"{leaf}.grad", text
    yield "domain", entry.domain or "everywhere"
    yield "kinks", entry.kinks or "none"
    if entry.convention:
        yield "convention", entry.convention
    if entry.spellings:
        yield "also", ", ".join(entry.spellings)
    yield "example", entry.example


def _derivatives(entry: Entry) -> list[str]:
    """The derivatives or gradients; by leaf where there are several."""
    told = {**entry.derivative, **entry.gradient}
    return [text if len(told) == 1 else f"{leaf}: {text}" for leaf, text in told.items()]


def _tried(entry: Entry) -> str:
    """The example without what every command has: ``softmax(x)`` at ``x=1,2,3``."""
    _, _, expr, _, at, *_ = shlex.split(entry.example)
    return f"{expr}  at {at}"


def _notes(entry: Entry) -> Iterator[str]:
    if entry.domain:
        yield f"domain {entry.domain}"
    if entry.kinks:
        yield f"kinks {entry.kinks}"
    if entry.convention:
        yield entry.convention
    if entry.spellings:
        yield f"also {', '.join(entry.spellings)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""

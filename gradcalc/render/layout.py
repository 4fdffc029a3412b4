"""Rows and lines on a terminal (Rich) or in a pipe (plain, unwrapped)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from gradcalc.errors import printable

STYLES = {
    "verified": "green",
    "ok": "green",
    "flagged": "yellow",
    "unchecked": "yellow",
    "mismatch": "bold red",
    "error": "bold red",
}


class Line(NamedTuple):
    """A line of text, with the word that gives it its colour."""

    text: str
    status: str = ""


def show(headers: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[Line]) -> None:
    """Prints a table and lines below it to standard output."""
    headers = [printable(header) for header in headers]
    rows = [[printable(cell) for cell in row] for row in rows]
    lines = [line._replace(text=printable(line.text)) for line in lines]
    if sys.stdout.isatty():
        _show_rich(headers, rows, lines)
    else:
        sys.stdout.write(_plain(headers, rows, lines))


def _plain(headers: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[Line]) -> str:
    """Columns two spaces apart, one row a line, so that other tools can read them."""
    table = [headers, *([" ".join(cell.split("\n ")) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(headers))]
    texts = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
        if headers
    ]
    return "".join(f"{text}\n" for text in [*texts, *(line.text for line in lines)])


def _show_rich(
    headers: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[Line]
) -> None:
    from rich import box  # a pipe does without Rich, which takes longer to load than all the rest
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    table = Table(box=box.ROUNDED)
    for header in headers:
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_style(cell)) for cell in row))
    if headers:
        console.print(table)
    for line in lines:
        console.print(Text(line.text, style=STYLES.get(line.status, "")), overflow="fold")


def _style(cell: str) -> str:
    return STYLES.get(cell.split(" ")[0], "")

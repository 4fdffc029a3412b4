"""Jacobians, Hessians and products for people: a matrix a block, without its middle if large."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gradcalc.blocks import PRODUCTS, Blocks
from gradcalc.graph import Array, size_of
from gradcalc.render.layout import Line, show
from gradcalc.render.numbers import array, number
from gradcalc.render.report import findings_and_summary, shorter
from gradcalc.verify.findings import Listing

EDGES = range(8, 0, -1)  # rows and columns at either end that stay, as the terminal is wide enough
PIPED = 3  # the same where there is no terminal
FRAME = 3  # columns of a terminal that the frame of a table takes for each cell
LONGEST = 60  # characters of a formula in a matrix


def show_blocks(blocks: Blocks, digits: int) -> None:
    """Prints ``blocks`` to standard output; numbers have so many significant digits."""
    if blocks.kind in PRODUCTS:
        rows = [
            (_product(blocks.kind, name), array(value, digits))
            for name, value in blocks.products.items()
        ]
        show((blocks.kind, "value") if rows else (), rows, ())
    else:
        for row, by in blocks.blocks.items():
            for column, block in by.items():
                _show_block(blocks, row, column, block, digits)
    lines = [Line(f"{name} = {array(value, digits)}") for name, value in blocks.outputs.items()]
    show((), (), [*lines, *findings_and_summary(blocks.check, digits)])


def _product(kind: str, name: str) -> str:
    return f"J v of {name}" if kind == "jvp" else f"H v of {name}"


def _show_block(blocks: Blocks, row: str, column: str, block: Array, digits: int) -> None:
    """One matrix: rows are elements of the output, columns elements of the leaf."""
    leaf = np.shape(blocks.problem.at[column])
    over = block.shape[: block.ndim - len(leaf)]
    matrix = np.reshape(block, (size_of(over), size_of(leaf)))
    corner = f"d{row}/d{column}" if blocks.kind == "jacobian" else f"d2/d{row} d{column}"
    rows, columns = _names(row, over), _names(column, leaf)
    _show_matrix(corner, rows, columns, lambda i, j: number(float(matrix[i, j]), digits))
    listing = ((blocks.check.jacobian or {}).get(row) or {}).get(column)
    if isinstance(listing, str):
        show((), (), [Line(f"formula {shorter(listing)}")])
    elif listing is not None:
        formulas = _formulas(listing, matrix.shape)
        if max((len(text) for line in formulas for text in line), default=0) <= LONGEST:
            _show_matrix(f"{corner} formula", rows, columns, lambda i, j: formulas[i][j], False)


def _names(name: str, shape: tuple[int, ...]) -> list[str]:
    """``a[0,1]`` for each element; the name itself of a number."""
    if not shape:
        return [name]
    return [f"{name}[{','.join(map(str, index))}]" for index in np.ndindex(shape)]


def _formulas(listing: Listing, shape: tuple[int, ...]) -> list[list[str]]:
    flat = iter(np.ravel(np.array(listing, dtype=object)))
    return [[str(next(flat)) for _ in range(shape[1])] for _ in range(shape[0])]


def _show_matrix(
    corner: str,
    rows: Sequence[str],
    columns: Sequence[str],
    text: Callable[[int, int], str],
    always: bool = True,
) -> None:
    """A table with its middle rows and columns left out, so that no line is wrapped.

    One that cannot be narrow enough is left out unless it is ``always`` shown.
    """
    edge = PIPED
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        fitting = (e for e in EDGES if _width(_table(corner, rows, columns, text, e)) <= room)
        found = next(fitting, None)
        if found is None and not always:
            show((), (), [Line(f"{corner}: wider than the terminal (--json)")])
            return
        edge = found or EDGES[-1]
    headers, *lines = _table(corner, rows, columns, text, edge)
    show(headers, lines, ())


def _table(
    corner: str,
    rows: Sequence[str],
    columns: Sequence[str],
    text: Callable[[int, int], str],
    edge: int,
) -> list[list[str]]:
    down, across = list(_ends(len(rows), edge)), list(_ends(len(columns), edge))
    table = [[corner, *("…" if j is None else columns[j] for j in across)]]
    for i in down:
        cells = ["…" if i is None or j is None else text(i, j) for j in across]
        table.append(["…" if i is None else rows[i], *cells])
    return table


def _ends(count: int, edge: int) -> Iterator[int | None]:
    """The first and last positions, with None for those between."""
    if count <= 2 * edge + 1:
        yield from range(count)
        return
    yield from range(edge)
    yield None
    yield from range(count - edge, count)


def _width(table: Sequence[Sequence[str]]) -> int:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return sum(widths) + FRAME * len(widths) + 1

"""Arrays as short text for people."""

import numpy as np

from gradcalc.graph import Array

FULL = 17  # digits that tell all float64 numbers apart
EDGE = 3  # elements or rows that stay on either side when the middle is left out


def number(value: float, digits: int) -> str:
    """``value`` to so many significant digits, without trailing zeros; all 17 are never needed."""
    value += 0.0  # -0 is 0 to people
    return f"{value:.{digits}g}" if digits < FULL else repr(float(value)).removesuffix(".0")


def plural(count: int, noun: str) -> str:
    """``1 problem``, ``2 problems``; of entry, entries."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def array(value: Array | None, digits: int, *, lines: bool = False) -> str:
    """``[1, 2, 3]``; the middle of a long array is left out. None is PyTorch's None.

    lines: put each row of a matrix on a line of its own.
    """
    if value is None:
        return "None"
    return _nested(np.asarray(value), digits, ",\n " if lines else ", ")


def _nested(value: Array, digits: int, between_rows: str) -> str:
    if value.ndim == 0:
        return number(float(value), digits)
    short = len(value) <= 2 * EDGE + 1
    rows = [*value] if short else [*value[:EDGE], None, *value[-EDGE:]]
    parts = ["…" if row is None else _nested(np.asarray(row), digits, ", ") for row in rows]
    return f"[{(between_rows if value.ndim > 1 else ', ').join(parts)}]"

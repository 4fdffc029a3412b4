"""Einstein summation (numpy.einsum): letters name axes, and letters without a result are summed."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Node, as_number, size_of
from gradcalc.language.functions.reductions import sum_
from gradcalc.language.functions.registry import function
from gradcalc.language.functions.shapes import transpose
from gradcalc.primitives import products, shapes

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _Labelled(NamedTuple):
    """An array with a letter for each of its axes, all different."""

    node: Node
    letters: str


@function(
    "einsum('ij,jk->ik', a, b)",
    "a=[[1,2],[3,4]]; b=[[5,6],[7,8]]",
    {"a": "einsum('ik,jk->ij', w, b)", "b": "einsum('ij,ik->jk', a, w)"},
)
def einsum(subscripts: str, *operands: Node) -> Node:
    """Products of elements with equal letters, summed over those that the result has not."""
    inputs, result = _subscripts(subscripts, operands)
    terms = [_diagonal(as_number(x), letters) for x, letters in zip(operands, inputs, strict=True)]
    _check_lengths(terms)
    total = terms[0]
    for position, term in enumerate(terms[1:], 2):
        later = set(result).union(*(t.letters for t in terms[position:]))
        total = _contract(total, term, later)
    total = _summed(total, set(result))
    return _moved(total, result)


def _subscripts(text: str, operands: Sequence[Node]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; ``...`` becomes letters of its own."""
    text = text.replace(" ", "")
    if not re.fullmatch(r"[A-Za-z.,]*(->[A-Za-z.]*)?", text):
        raise _wrong(f"'{text}' is not a subscript", "write letters, as in 'ij,jk->ik'")
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        raise _wrong(f"'{left}' names {len(inputs)} arrays, and {len(operands)} are given")
    free = [letter for letter in LETTERS if letter not in text]
    unnamed = [x.ndim - len(i.replace("...", "")) for x, i in zip(operands, inputs, strict=True)]
    spread = free[: max(0, *unnamed)]
    full = []
    for x, letters, count in zip(operands, inputs, unnamed, strict=True):
        named = letters.replace("...", "".join(spread[len(spread) - count :]) if count > 0 else "")
        if "." in named or len(named) != x.ndim:
            raise _wrong(f"'{letters}' does not fit shape {x.shape}", "one letter an axis")
        full.append(named)
    joined = "".join(full)
    if not arrow:
        once = sorted(c for c in set(joined) - set(spread) if joined.count(c) == 1)
        return full, "".join(spread) + "".join(once)
    result = right.replace("...", "".join(spread))
    if "." in result or len(set(result)) < len(result) or not set(result) <= set(joined):
        raise _wrong(f"'{right}' is no result of '{left}'", "each letter once, and from the inputs")
    return full, result


def _wrong(message: str, hint: str | None = None) -> GradcalcError:
    return GradcalcError("einsum", message, hint)


def _diagonal(x: Node, letters: str) -> _Labelled:
    """A repeated letter is a diagonal."""
    distinct = "".join(dict.fromkeys(letters))
    if len(distinct) == len(letters):
        return _Labelled(x, letters)
    lengths: dict[str, int] = {}
    for letter, n in zip(letters, x.shape, strict=True):
        if lengths.setdefault(letter, n) != n:
            raise _wrong(f"'{letter}' is {lengths[letter]} and {n}", "equal letters, equal lengths")
    grids = dict(zip(distinct, np.ix_(*(np.arange(lengths[c]) for c in distinct)), strict=True))
    index = shapes.Index(tuple(grids[letter] for letter in letters))
    return _Labelled(shapes.index(x, params=(index,)), distinct)


def _check_lengths(terms: Sequence[_Labelled]) -> None:
    lengths: dict[str, int] = {}
    for node, letters in terms:
        for letter, n in zip(letters, node.shape, strict=True):
            known = lengths.get(letter, 1)
            if 1 not in (known, n) and known != n:
                raise _wrong(f"'{letter}' is {known} and {n}", "equal letters want equal lengths")
            lengths[letter] = max(known, n) if 0 not in (known, n) else 0


def _summed(term: _Labelled, keep: set[str]) -> _Labelled:
    """Without the axes that nothing needs any more."""
    axes = tuple(i for i, letter in enumerate(term.letters) if letter not in keep)
    kept = "".join(letter for letter in term.letters if letter in keep)
    return _Labelled(sum_(term.node, axes), kept) if axes else term


def _contract(a: _Labelled, b: _Labelled, later: set[str]) -> _Labelled:
    """The product of two, as matrices: (kept, a's own, summed) @ (kept, summed, b's own)."""
    a = _summed(a, later | set(b.letters))
    b = _summed(b, later | set(a.letters))
    shared = [c for c in a.letters if c in b.letters]
    both = [c for c in shared if c in later]
    inner = [c for c in shared if c not in later]
    left = [c for c in a.letters if c not in shared]
    right = [c for c in b.letters if c not in shared]
    sizes = {c: max(_length(a, c), _length(b, c)) for c in dict.fromkeys(a.letters + b.letters)}
    x = _as_matrix(a, both, left, inner, sizes)
    y = _as_matrix(b, both, inner, right, sizes)
    letters = [*both, *left, *right]
    product = products.matmul(x, y)
    shape = tuple(sizes[letter] for letter in letters)
    return _Labelled(shapes.reshape(product, params=(shape,)), "".join(letters))


def _moved(term: _Labelled, order: Sequence[str]) -> Node:
    """The array with its axes in another order of letters."""
    if not order:
        return term.node
    return transpose(term.node, *(term.letters.index(letter) for letter in order))


def _length(term: _Labelled, letter: str) -> int:
    return term.node.shape[term.letters.index(letter)] if letter in term.letters else 1


def _as_matrix(
    term: _Labelled, batch: list[str], rows: list[str], columns: list[str], sizes: dict[str, int]
) -> Node:
    order = [*batch, *rows, *columns]
    lengths = tuple(sizes[letter] for letter in order)
    spread = shapes.broadcast_to(_moved(term, order), params=(lengths,))
    shape = (
        *(sizes[c] for c in batch),
        size_of(tuple(sizes[c] for c in rows)),
        size_of(tuple(sizes[c] for c in columns)),
    )
    return shapes.reshape(spread, params=(shape,))

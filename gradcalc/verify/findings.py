"""What a check found: plain data, so that to say "off" needs neither SymPy nor mpmath."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

Listing: TypeAlias = str | list[Any]  # a formula, or nested lists of one for each element


WRONG_RULE = "wrong rule"  # the kind that makes a mismatch


class Finding(NamedTuple):
    """An entry that is not plainly right: where, of what kind, and what the true values are.

    output, row: of an entry of a Jacobian, the element of an output whose derivative it is.
    """

    leaf: str
    at: tuple[int, ...]
    kind: str
    autograd: float | None
    true: Any = None
    left: Any = None
    right: Any = None
    output: str | None = None
    row: tuple[int, ...] = ()


class Check(NamedTuple):
    """The verdict on all entries (elements of leaf gradients)."""

    status: str
    method: str | None = None
    entries: int = 0
    checked: int = 0
    digits: float | None = None
    jacobian: Mapping[str, Mapping[str, Listing]] | None = None
    findings: Sequence[Finding] = ()
    reason: str | None = None

"""What a check found: plain data, so that to say "off" needs neither SymPy nor mpmath."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from gradcalc.errors import Span

Listing: TypeAlias = str | list[Any]  # a formula, or nested lists of one for each element


WRONG_RULE = "wrong rule"  # the kind that makes a mismatch


class Finding(NamedTuple):
    """An entry that is not plainly right: where, of what kind, and what the true values are.

    digits: of a value that was rounded badly, how many are right. part: the text of the
    sub-expression that is responsible, where one is known; span: its place in the program.
    output, row: of an entry of a Jacobian, the element of an output whose derivative it is.
    """

    leaf: str
    at: tuple[int, ...]
    kind: str
    autograd: float | None
    true: Any = None
    left: Any = None
    right: Any = None
    digits: float | None = None
    part: str | None = None
    span: Span | None = None
    output: str | None = None
    row: tuple[int, ...] = ()


class Evidence(NamedTuple):
    """How the verdict on one entry was reached.

    autograd: our number; ours: our own gradient at 50 digits; sympy: SymPy's derivative at 50
    digits. finding: what was found, None where they agree to so many ``digits``.
    """

    leaf: str
    at: tuple[int, ...]
    autograd: float
    ours: Any
    sympy: Any
    finding: Finding | None
    digits: float
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
    evidence: Sequence[Evidence] = ()
    interrupted: bool = False

    @property
    def proven(self) -> bool:
        """Was everything verified (or the check left out on purpose)?"""
        return self.status in ("verified", "off")

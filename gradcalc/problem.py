"""A problem: a program, the values of its leaves, and what is asked of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradcalc.errors import Source
from gradcalc.graph import Array
from gradcalc.language.draws import Draws
from gradcalc.language.literals import Weights


@dataclass(frozen=True)
class Problem:
    """A program, the values of its leaves, and what is asked of it.

    at: float64 arrays (or scalars) by leaf name.
    passes: one entry a backward pass, as in one call of PyTorch's ``backward()``.
    zero_grad: clear the gradients between passes; retain_graph: keep the graph for the next pass.
    expand: an output of one element may be spread over longer weights.
    wrt: the leaves whose gradients are wanted (None: all); output: what is differentiated (None:
        what the program assigns last).
    expect: leaf -> gradient (None: no gradient; one number: of every element), compared to
        ``rtol`` and ``atol``.
    numeric: estimate the gradients by differences of values as well.
    check: compare with SymPy's derivative, for at most ``check_seconds``, by ``method``
        (``symbolic`` or ``chain``; None: whichever gets further); explain: keep the evidence.
    """

    expr: Source
    at: Mapping[str, Array] = field(default_factory=dict)
    passes: Sequence[Weights] = ({},)
    name: str | None = None
    zero_grad: bool = False
    retain_graph: bool = True
    expand: bool = False
    wrt: Sequence[str] | None = None
    output: str | None = None
    expect: Mapping[str, Array | None] | None = None
    rtol: float = 1e-9
    atol: float = 0.0
    numeric: bool = False
    draws: Draws = field(default_factory=Draws)
    check: bool = True
    check_seconds: float = 10.0
    method: str | None = None
    explain: bool = False


class InterruptedCheckError(KeyboardInterrupt):
    """Ctrl-C during a check: ``result`` has all that was computed before, and is not verified."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

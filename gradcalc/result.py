"""What comes of a problem: gradients, the verdict on them, and what a reader should know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gradcalc.errors import Span
from gradcalc.graph import Array
from gradcalc.language.draws import Draws
from gradcalc.origins import Origin
from gradcalc.problem import Problem
from gradcalc.verify.findings import Check


class Pass(NamedTuple):
    """One backward pass alone: its weights by output, and what it adds to the leaves."""

    weights: Mapping[str, Array]
    gradients: Mapping[str, Array | None]


class Differences(NamedTuple):
    """A gradient by differences of values (float64, of the leaf's shape), and its likely error."""

    gradient: Array
    error: Array


class Note(NamedTuple):
    """Something that a reader of the result should know; ``span``: about which part of the text."""

    code: str
    message: str
    span: Span | None = None


def unused_notes(names: Sequence[str]) -> list[Note]:
    """Which leaves have a value for nothing."""
    return [Note("unused-leaf", f"the program does not use '{name}'") for name in names]


def seed_notes(draws: Draws) -> list[Note]:
    """How random numbers that were drawn without a seed can be had again."""
    if not (draws.used and draws.chosen):
        return []
    return [Note("seed", f"the random numbers can be had again by --seed {draws.seed}")]


@dataclass(frozen=True)
class Result:
    """The gradients and all that belongs to them.

    outputs: the values of the weighted outputs. gradients: the leaves' state after the last pass;
    None for a leaf that no weighted output depends on. mismatches: leaves that differ from
    ``expect``. unused: leaves that the program does not name. infinite: by leaf, the first element
    of its gradient that is not finite; origins: of that, where it is known. numeric: by leaf, if it
    was asked for.
    """

    problem: Problem
    outputs: Mapping[str, Array]
    gradients: Mapping[str, Array | None]
    passes: Sequence[Pass]
    check: Check
    mismatches: Sequence[str]
    unused: Sequence[str]
    infinite: Mapping[str, tuple[int, ...]]
    origins: Mapping[str, Origin]
    numeric: Mapping[str, Differences] = field(default_factory=dict)

    @property
    def warnings(self) -> Sequence[Note]:
        """What a reader should know: unused leaves, infinite gradients and nan, a chosen seed."""
        found = unused_notes(self.unused)
        for name, index in self.infinite.items():
            where = f" at [{', '.join(map(str, index))}]" if index else ""
            word = "nan" if np.isnan(np.asarray(self.gradients[name])[index]) else "infinite"
            message = f"the gradient of '{name}' is {word}{where}"
            origin = self.origins.get(name)
            if origin is not None:
                message += f": it begins in {origin}"
            span = origin.span if origin else None
            found.append(Note("non-finite-gradient", message, span))
        return [*found, *seed_notes(self.problem.draws)]

    @property
    def proven(self) -> bool:
        """Was everything verified (or the check left out on purpose)?"""
        return self.check.proven

    def differing(self, leaf: str) -> Array:
        """Which elements of a leaf's gradient are not what is expected; of its shape."""
        problem = self.problem
        found: Any = self.gradients[leaf]
        wanted: Any = (problem.expect or {})[leaf]
        return ~np.isclose(found, wanted, problem.rtol, problem.atol, equal_nan=True)

    @property
    def status(self) -> str:
        """``ok``, or ``mismatch`` when the check or the expectation failed."""
        failed = self.mismatches or self.check.status == "mismatch"
        return "mismatch" if failed else "ok"

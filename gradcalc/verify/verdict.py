"""The verdict: our float64 gradient, the same gradient at 50 digits, and SymPy's derivative.

The three tell a wrong rule (ours is wrong at 50 digits too) from a rounded value (right at 50
digits, poor in float64) and from a point where there is no one derivative (the two sides differ).
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import mpmath
import numpy as np

from gradcalc.graph import Array, Node, size_of
from gradcalc.verify.arithmetic import NoFormulaError
from gradcalc.verify.deadline import TimeIsUpError, time_limit
from gradcalc.verify.exact import Exact
from gradcalc.verify.findings import Check, Finding
from gradcalc.verify.jacobian import Jacobian
from gradcalc.verify.kinks import NEAR, outside_domain, ties, to_kinks
from gradcalc.verify.look import FULL, PRECISION, STEP, Look, Reading, agreement, settled
from gradcalc.verify.lower import TooLargeError

GOOD = 14.0  # digits from which an agreement needs no second look
FEW = 1_000  # entries that are always reached: their order does not matter
POOR = 8.0  # digits below which a value is reported as badly rounded


def check(
    outputs: Mapping[str, Node],
    leaves: Mapping[str, Node],
    readings: Sequence[Reading],
    values: Mapping[Node, Array],
    conditions: Sequence[Node],
    seconds: float,
) -> Check:
    """Checks every entry of ``leaves``, or as many as ``seconds`` allow (a seeded sample).

    outputs: the weighted nodes; values: float64 arrays of the leaves; conditions: the nodes whose
    truth decided a branch.
    """
    shapes = {name: leaf.shape for name, leaf in leaves.items()}
    entries = sum(size_of(shape) for shape in shapes.values())
    judge: _Judge | None = None
    formulas = None
    reason = None
    try:
        with time_limit(seconds):
            judge = _Judge(outputs, leaves, readings, values, conditions)
            for entry in _sampled(shapes, entries):
                judge.entry(*entry)
            formulas = judge.jacobian.listing()
    except TimeIsUpError:
        reason = f"the time for the check ({seconds:g} s) was over"
    except (TooLargeError, NoFormulaError) as error:
        return Check("unchecked", None, entries, reason=str(error))
    except RecursionError:
        return Check(
            "unchecked", None, entries, reason="the formula is nested too deeply for SymPy"
        )
    if judge is None or (entries and not judge.checked):
        return Check("unchecked", "symbolic", entries, reason=reason)
    return Check(
        judge.status(),
        "symbolic",
        entries,
        judge.checked,
        math.floor(judge.digits * 10) / 10 if judge.checked > len(judge.findings) else None,
        formulas,
        sorted(judge.findings, key=lambda f: (list(leaves).index(f.leaf), f.index)),
        reason,
    )


def _sampled(shapes: Mapping[str, tuple[int, ...]], entries: int) -> Iterator[tuple[str, int]]:
    """All entries; many of them in a seeded order, so that those reached in time are a sample."""
    ends = list(accumulate(size_of(shape) for shape in shapes.values()))
    names = list(shapes)
    few = entries <= FEW
    for number in range(entries) if few else np.random.default_rng(0).permutation(entries):
        which = bisect_right(ends, number)
        yield names[which], int(number) - (ends[which - 1] if which else 0)


@dataclass
class _Judge:
    """Judges entry by entry and keeps the sum of it."""

    outputs: Mapping[str, Node]
    leaves: Mapping[str, Node]
    readings: Sequence[Reading]
    values: Mapping[Node, Array]
    conditions: Sequence[Node]
    checked: int = 0
    digits: float = FULL
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.jacobian = Jacobian(self.outputs, self.leaves, self.values)
        self.kinks = to_kinks(self.outputs, self.values, self.jacobian.pointwise)
        self.outside = outside_domain(self.outputs, self.values, self.jacobian.pointwise)
        self.undecided = any(map(np.any, ties(self.conditions, self.values)))
        self.exact = Exact(self.values)

    def status(self) -> str:
        if any(finding.kind == "wrong rule" for finding in self.findings):
            return "mismatch"
        return "flagged" if self.findings else "verified"

    def entry(self, leaf: str, j: int) -> None:
        terms = list(self.jacobian.terms(leaf, j))
        distance = min((self.kinks[t.output][t.element] for t in terms), default=math.inf)
        step = STEP * min(distance, 1.0)
        worst: tuple[float, Finding | None] = (FULL, None)
        for number, reading in enumerate(self.readings):
            gradient = reading.gradients[leaf]
            if gradient is None:
                continue
            look = Look(leaf, j, float(np.ravel(gradient)[j]), terms, reading, step)
            verdict = self._judge(look, distance < math.inf, number)
            if verdict[1] is not None or verdict[0] < worst[0]:
                worst = verdict
        self.checked += 1
        digits, finding = worst
        if finding is None:
            self.digits = min(self.digits, digits)
        else:
            index = tuple(int(i) for i in np.unravel_index(j, self.leaves[leaf].shape))
            self.findings.append(replace(finding, index=index))

    def _judge(self, look: Look, special: bool, number: int) -> tuple[float, Finding | None]:
        if self.undecided:
            return 0.0, _finding(look, "branch")
        if math.isnan(look.ours) and any(self.outside[t.output][t.element] for t in look.terms):
            return 0.0, _finding(look, "outside domain")
        with mpmath.workdps(PRECISION):
            true = look.slope(0)
        if abs(true) < STEP and not look.vanishes():
            true = settled(lambda: look.slope(0))  # 0 may be all that cancellation has left
        overflows = mpmath.isfinite(true) and math.isinf(look.ours) and float(true) == look.ours
        if overflows:
            return 0.0, _finding(look, "overflow", true=true)
        if special or not mpmath.isfinite(true) or not math.isfinite(look.ours):
            return _from_both_sides(look)
        digits = agreement(look.ours, true)
        if digits >= GOOD:
            return digits, None
        true = settled(lambda: look.slope(0))
        digits = agreement(look.ours, true)
        if not self._rule_is_right(look, true, number):
            return digits, _finding(look, "wrong rule", true=true)
        return digits, _finding(look, "rounded", true=true) if digits < POOR else None

    def _rule_is_right(self, look: Look, true: Any, number: int) -> bool:
        """Is our own gradient right where it is computed with many digits?"""
        node = self.readings[number].nodes[look.leaf]
        assert node is not None  # a leaf without a gradient has no entries
        for precision in (PRECISION, 2 * PRECISION, 4 * PRECISION):
            with mpmath.workdps(precision):
                ours = self.exact.gradient(node, look.j, precision)
                if mpmath.isfinite(ours) and abs(ours - true) <= abs(true) * STEP:
                    return True
        return bool(true == 0 and abs(ours) < STEP**4)


def _finding(look: Look, kind: str, **values: Any) -> Finding:
    return Finding(look.leaf, (), kind, look.ours, **values)


def _from_both_sides(look: Look) -> tuple[float, Finding | None]:
    """The verdict at a point where a derivative may differ from side to side, or be none."""
    left, right = look.limit(-1), look.limit(1)
    sides = [side for side in (left, right) if not mpmath.isnan(side)]
    if not sides:
        if look.is_inside():
            return 0.0, _finding(look, "undetermined")
        return 0.0, _finding(look, "outside domain" if math.isnan(look.ours) else "wrong rule")
    if not all(mpmath.isfinite(side) for side in sides):
        return 0.0, _finding(look, "pole", left=left, right=right)
    if look.jumps():
        return 0.0, _finding(look, "jump", left=left, right=right)
    low, high = min(sides), max(sides)
    if high - low > abs(high) * STEP:
        between = low - NEAR * abs(low) <= look.ours <= high + NEAR * abs(high)
        return 0.0, _finding(look, "kink" if between else "beyond kink", left=left, right=right)
    digits = agreement(look.ours, low)
    if digits >= POOR:
        return digits, None
    return digits, _finding(look, "removable singularity", true=low)

"""The verdict on one entry: our float64 number, ours at 50 digits, and SymPy's derivative.

The three tell a wrong rule (ours is wrong at 50 digits too) from a rounded value (right at 50
digits, poor in float64) and from a point where there is no one derivative (the two sides differ).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import mpmath
import numpy as np

from gradcalc.compute.evaluate import evaluate, needed
from gradcalc.errors import GradcalcError
from gradcalc.graph import LEAF, Array, Node
from gradcalc.primitives.derivatives import Derivative
from gradcalc.verify.culprit import Culprits
from gradcalc.verify.entry import (
    FULL,
    POOR,
    STEP,
    Claim,
    Entry,
    Term,
    agreement,
    leaps,
)
from gradcalc.verify.exact import CLOSE, DIGITS, TINY, Exact
from gradcalc.verify.findings import WRONG_RULE, Evidence, Finding, Listing
from gradcalc.verify.kinks import NEAR, is_pointwise, tied, to_kinks
from gradcalc.verify.points import Points
from gradcalc.verify.precision import PRECISION, settled

NEXT_TO_0 = 2.0**-6  # 0 is moved as this would be, so that 1 + x is not 1
UNITS = 4096  # in the last place, to see what a program does beside a point
GOOD = 14.0  # digits from which an agreement needs no second look

Verdict: TypeAlias = tuple[float, Finding | None]  # digits that agree, what is special


class Traced(NamedTuple):
    """What a program computed: its weighted outputs, its leaves, and what steered it."""

    text: str  # of the program
    outputs: Mapping[str, Node]
    leaves: Mapping[str, Node]
    values: Mapping[Node, Array]  # of the leaves and the outputs at least, float64
    conditions: Sequence[Node]  # whose values decided a branch, a count or an index


class Derivatives(Protocol):
    """One of the methods: SymPy's derivatives of a traced program."""

    @property
    def method(self) -> str:
        """Its name in reports."""

    def listing(self) -> Mapping[str, Mapping[str, Listing]] | None:
        """The formulas as text, by output and leaf."""

    def terms(self, leaf: str, j: int, *, every: bool = False) -> Iterator[Term]:
        """The terms dy_k/dx_j: of the y_k that contain x_j, or of every."""


Retrace: TypeAlias = Callable[[str, int, float], Traced | None]
Method: TypeAlias = Callable[[Mapping[str, Node], Mapping[str, Node], Points], Derivatives]


@dataclass
class Judge:
    """Judges entry by entry and keeps what it found.

    method: makes SymPy's derivatives. retrace: runs the program again with one leaf element
    changed; None where that fails. explain: keep the evidence of every entry.
    """

    traced: Traced
    claims: Sequence[Claim]
    retrace: Retrace
    method: Method
    explain: bool = False
    checked: int = 0
    digits: float = FULL
    findings: list[Finding] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    at: tuple[str, int] | None = None  # where ``terms`` are of
    terms: dict[tuple[str, int], Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text, outputs, leaves, values, conditions = self.traced
        self.points = points = Points(values)
        self.derivatives = self.method(outputs, leaves, points)
        nodes = list(outputs.values())
        graph = nodes[0].graph
        self.pointwise = graph.remember(("pointwise", *nodes), lambda: is_pointwise(nodes))
        self.kinks = to_kinks(outputs, leaves, values, self.pointwise)
        self.tied = tied(conditions, leaves, values)
        isnan = {name: np.ravel(np.isnan(values[node])) for name, node in outputs.items()}
        self.isnan = {name: array for name, array in isnan.items() if array.any()}
        self.behind = graph.remember(("behind", *nodes), lambda: set(needed(nodes, {})))
        self.derives = graph.remember(
            ("derives", *nodes),
            lambda: any(isinstance(node.primitive, Derivative) for node in self.behind),
        )
        self.exact = Exact(points)
        self.culprits = Culprits(text, outputs, leaves, conditions, points)

    def status(self) -> str:
        """The status of all that was judged so far."""
        if any(finding.kind == WRONG_RULE for finding in self.findings):
            return "mismatch"
        return "flagged" if self.findings else "verified"

    def judge_silent(self) -> None:
        """Where a claim says that a leaf has no gradient, no output may depend on it."""
        for claim in self.claims:
            for leaf in [leaf for leaf, gradient in claim.gradients.items() if gradient is None]:
                if self.traced.leaves.get(leaf) in self.behind and self._depends(leaf, claim):
                    self.findings.append(Finding(leaf, (), WRONG_RULE, None))

    def _depends(self, leaf: str, claim: Claim) -> bool:
        """Has the leaf a slope that is not 0, though it is said to have none?"""
        for j in range(self.traced.leaves[leaf].size):
            entry = Entry(leaf, j, claim, list(self.derivatives.terms(leaf, j)), False, math.inf)
            if not entry.vanishes():
                true = entry.true()
                if mpmath.isfinite(true) and true != 0 and self._is_ordinary(entry):
                    return True
        return False

    def judge(self, leaf: str, j: int) -> None:
        """Judges element j of ``leaf`` in all claims, and keeps the worst of it."""
        terms = list(self.derivatives.terms(leaf, j))
        entries = [
            self._entry(leaf, j, claim, terms)
            for claim in self.claims
            if claim.gradients[leaf] is not None
        ]
        verdicts = [(self._verdict(entry), entry) for entry in entries]
        self._keep(*min(verdicts, key=lambda pair: _severity(pair[0])))

    def judge_row(self, claim: Claim, leaf: str, j: int) -> None:
        """Judges element j of ``leaf`` in a claim on one element of an output."""
        if (leaf, j) != self.at:
            self.at = (leaf, j)
            self.terms = {(t.output, t.element): t for t in self.derivatives.terms(leaf, j)}
        own = self.terms.get(claim.element) if claim.element else None
        entry = self._entry(leaf, j, claim, [own] if own else [])
        self._keep(self._verdict(entry), entry)

    def _entry(self, leaf: str, j: int, claim: Claim, terms: list[Term]) -> Entry:
        on_kink, distance = False, math.inf
        for term in terms if self.kinks else ():
            near = self.kinks.get((term.output, leaf))
            if near is not None:
                on_kink = on_kink or bool(near.on[term.element])
                distance = min(distance, float(near.distance[term.element]))
        return Entry(leaf, j, claim, terms, on_kink, distance)

    def _keep(self, verdict: Verdict, entry: Entry) -> None:
        digits, finding = verdict
        if finding is None:
            self.digits = min(self.digits, digits)
        else:  # kept before the clock can stop the search for its culprit
            finding = finding._replace(**self._place(entry))
            self.findings.append(finding)
        self.checked += 1
        if finding is not None:
            part, span = self.culprits.of(finding.kind, entry)
            finding = self.findings[-1] = finding._replace(part=part, span=span)
        if self.explain:
            evidence = self._evidence(entry)._replace(finding=finding, digits=digits)
            self.evidence.append(evidence._replace(**self._place(entry)))

    def _place(self, entry: Entry) -> dict[str, Any]:
        """Where the entry is: the element of its leaf, and of the output if it is in a row."""
        place: dict[str, Any] = {"at": _index(entry.j, self.traced.leaves[entry.leaf])}
        if entry.claim.element is not None:
            output, k = entry.claim.element
            place |= {"output": output, "row": _index(k, self.traced.outputs[output])}
        return place

    def _evidence(self, entry: Entry) -> Evidence:
        node = entry.claim.node(entry.leaf)
        with mpmath.workdps(PRECISION):
            leaf = self.traced.leaves[entry.leaf]
            ours = mpmath.mpf(0) if node is None else self.exact.gradient(node, leaf, entry.j, 0)
            ours, true = +ours, +entry.true()
        return Evidence(entry.leaf, (), entry.ours, ours, true, None, 0.0)

    def _verdict(self, entry: Entry) -> Verdict:
        nan = any(t.output in self.isnan and self.isnan[t.output][t.element] for t in entry.terms)
        digits, finding = self._found(entry, nan)
        if finding is None and nan:
            return 0.0, _finding(entry, "outside domain")  # of which nothing flows back
        return digits, finding

    def _found(self, entry: Entry, nan: bool) -> Verdict:
        """nan: has an output of the entry no value?"""
        if entry.leaf in self.tied:
            verdict = self._by_branches(entry)
            if verdict is not None:
                return verdict
        if nan:
            steps = (0, -entry.step, entry.step)
            if not any(self._is_real(entry, step) for step in steps):
                return 0.0, _finding(entry, self._without_sides(entry))
        true = entry.true()
        if entry.on_kink or not mpmath.isfinite(true):
            return self._by_sides(entry, entry, entry)
        digits = agreement(entry.ours, true)
        if digits >= GOOD:
            return digits, None
        agrees = self._rule_agrees(entry, 0, true, DIGITS[:1])
        if not agrees:
            true = settled(entry.slope)
            digits = agreement(entry.ours, true)
            agrees = self._rule_agrees(entry, 0, true)
        if agrees:
            if digits >= POOR:
                return digits, None
            if not math.isfinite(entry.ours):
                return digits, _finding(entry, "overflow", true=true)
            kind = "underflow" if self.culprits.underflows(entry) else "rounded"
            return digits, _finding(entry, kind, true=true, digits=math.floor(digits))
        if agrees is None or entry.distance < math.inf or not math.isfinite(entry.ours):
            return self._by_sides(entry, entry, entry)
        return digits, self._wrong(entry, true)

    def _wrong(self, entry: Entry, true: Any) -> Finding:
        """Our rule differs from SymPy's, which proves something at an ordinary point only."""
        low, high = entry.conventions()
        if low < high and low <= entry.ours <= high:  # at a kink that another element could leave
            return _finding(entry, "kink", left=low, right=high)
        if mpmath.isfinite(true) and self._is_ordinary(entry) and not self._is_apart(entry, 0):
            return _finding(entry, WRONG_RULE, true=true)
        return _finding(entry, "undetermined")

    def _is_ordinary(self, entry: Entry) -> bool:
        """Is everything behind the entry finite: inputs, what is computed from them, formulas?"""
        numbers: list[Any] = []
        for name, y in self.traced.outputs.items():
            elements = {term.element for term in entry.terms if term.output == name}
            for array in evaluate(needed([y], {}), dict(self.traced.values)):
                if self.pointwise:
                    spread = np.broadcast_to(array, y.shape)
                    numbers += [spread.flat[k] for k in elements]
                else:  # a formula may have lost what it depends on: 0*log(x)
                    numbers += list(np.ravel(array))
        return all(map(math.isfinite, numbers)) and all(term.is_finite for term in entry.terms)

    def _output(self, term: Term) -> float:
        """The float64 value of the output element of a term."""
        value = self.traced.values[self.traced.outputs[term.output]]
        return float(np.asarray(value).flat[term.element])

    def _rule_agrees(
        self, entry: Entry, step: Any, true: Any, digits: Sequence[int] = DIGITS
    ) -> bool | None:
        """Is our own gradient right at x_j + step, computed with many digits? None: it has none."""
        node = entry.claim.node(entry.leaf)
        if node is None:  # nothing flows to it: ours is 0, whatever the precision
            return bool(true == 0)
        leaf = self.traced.leaves[entry.leaf]
        return self.exact.agrees(node, leaf, entry.j, step, true, digits)

    def _is_real(self, entry: Entry, step: Any) -> bool:
        """Have the outputs behind the entry real values at x_j + step?"""
        elements = [(self.traced.outputs[term.output], term.element) for term in entry.terms]
        return self.exact.is_real(elements, self.traced.leaves[entry.leaf], entry.j, step)

    def _by_branches(self, entry: Entry) -> Verdict | None:
        """The verdict where the entry steers the program; None where it does not after all.

        The program is run again with x_j moved a little to either side: by so much that two values
        which are equal at x_j, and move unlike, are not equal any more.
        """
        entry = entry._replace(terms=_terms(self.derivatives, entry), on_kink=True)
        sides = []
        for side in (-1, 1):
            traced = self._beside(entry, side)
            if traced is None:
                return 0.0, _finding(entry, "branch")
            values = {n: value for n, value in traced.values.items() if n.primitive is LEAF}
            for name, leaf in traced.leaves.items():  # at the point itself, not where it was moved
                values[leaf] = self.traced.values[self.traced.leaves[name]]
            moved = self.method(traced.outputs, traced.leaves, Points(values))
            sides.append(entry._replace(terms=_terms(moved, entry)))
        same = [_identities(side) == _identities(entry) for side in sides]
        if all(same):
            return None
        left, right = (
            entry if is_same else side for side, is_same in zip(sides, same, strict=True)
        )
        return self._by_sides(left, entry, right)

    def _beside(self, entry: Entry, side: int) -> Traced | None:
        """The program with x_j moved a little; None where it fails, or its shapes are others."""
        x = np.asarray(self.traced.values[self.traced.leaves[entry.leaf]]).flat[entry.j]
        step = side * UNITS * np.spacing(np.abs(x) if x else NEXT_TO_0)
        traced = self.retrace(entry.leaf, entry.j, float(x + step))
        if traced is None or _shapes(traced) != _shapes(self.traced):
            return None
        return traced

    def _by_sides(self, left: Entry, here: Entry, right: Entry) -> Verdict:
        """The verdict at a point where a derivative may differ from side to side, or be none."""
        limits, lost = {}, set()
        for name, side, entry in (("left", -1, left), ("right", 1, right)):
            step = side * here.step
            limits[name] = entry.limit(side)
            true = settled(partial(entry.slope, step))
            if entry is not here or not mpmath.isfinite(true) or mpmath.isnan(limits[name]):
                continue
            agrees = self._rule_agrees(here, step, true)
            if not agrees and (not self._is_real(here, step) or self._is_apart(here, step)):
                limits[name] = mpmath.nan  # outside the domain, which a formula may have lost
                lost.add(name)
            elif agrees is False:
                return 0.0, self._wrong(here, true)
        for side, name in ((-1, "left"), (1, "right")):
            if mpmath.isnan(limits[name]) and self._blows_up(here, side):
                return 0.0, _finding(here, "jump", **limits)
        sides = [limit for limit in limits.values() if not mpmath.isnan(limit)]
        if not sides:
            return 0.0, _finding(here, self._without_sides(here))
        for name, side, entry in (("left", -1, left), ("right", 1, right)):
            if mpmath.isnan(limits[name]) and name not in lost:
                value = settled(partial(entry.value, side * here.step))
                if not mpmath.isnan(value):  # there is something, and no limit was found
                    return 0.0, _finding(here, "undetermined", **limits)
        if not all(mpmath.isfinite(limit) for limit in sides):
            return 0.0, _finding(here, "pole", **limits)
        if leaps(left, here, right) or self._is_apart(here, 0):
            return 0.0, _finding(here, "jump", **limits)
        low, high = min(sides), max(sides)
        if high - low > abs(high) * STEP:
            between = low - NEAR * abs(low) <= here.ours <= high + NEAR * abs(high)
            return 0.0, _finding(here, "kink" if between else "beyond kink", **limits)
        digits = agreement(here.ours, low)
        if digits >= POOR:
            return digits, None
        off_kinks = left is here and not here.on_kink and here.distance == math.inf
        if off_kinks and math.isfinite(here.ours) and self._is_ordinary(here):
            return digits, _finding(here, WRONG_RULE, true=low)
        return digits, _finding(here, "removable singularity", true=low)

    def _blows_up(self, entry: Entry, side: int) -> bool:
        """Is a value infinite on one side, though it is finite at the point? As 1/trunc(x) at 1."""
        if not all(math.isfinite(self._output(term)) for term in entry.terms):
            return False
        traced = self._beside(entry, side)
        if traced is None:
            return False
        names = list(traced.outputs)
        try:
            arrays = evaluate([traced.outputs[name] for name in names], dict(traced.values))
        except GradcalcError:  # a matrix that is singular there
            return True
        values = dict(zip(names, arrays, strict=True))
        return any(
            math.isinf(np.asarray(values[term.output]).flat[term.element]) for term in entry.terms
        )

    def _is_apart(self, entry: Entry, step: Any) -> bool:
        """Is a value at x_j + step not that of the formula, in which x/x is 1?

        Where the program has derivatives, its value may be wrong by our rules: it tells nothing.
        """
        if self.derives:
            return False
        for term in entry.terms:
            formula, own = partial(term.value, step), partial(self._value, entry, term, step)
            with mpmath.workdps(PRECISION):
                differ = _differ(formula(), own())
            if differ and _differ(settled(formula), settled(own)):
                return True
        return False

    def _value(self, entry: Entry, term: Term, step: Any) -> Any:
        """The program's own value of an output element at x_j + step, at the precision set."""
        here = self.points.at(self.traced.leaves[entry.leaf], entry.j, step)
        return here.take(self.traced.outputs[term.output], [term.element])[0]

    def _without_sides(self, entry: Entry) -> str:
        """What it means that the slope has no limit from either side."""
        if entry.is_inside():
            return "undetermined"
        return "pole" if math.isinf(entry.ours) else "outside domain"


def _differ(formula: Any, own: Any) -> bool:
    """Is a value that the program has not the formula's?"""
    return bool(mpmath.isfinite(own) and abs(formula - own) > abs(own) * CLOSE + TINY)


def _shapes(traced: Traced) -> dict[str, tuple[int, ...]]:
    return {name: output.shape for name, output in traced.outputs.items()}


def _index(flat: int, node: Node) -> tuple[int, ...]:
    return tuple(map(int, np.unravel_index(flat, node.shape)))


def _severity(verdict: Verdict) -> tuple[int, float]:
    """The smaller, the worse."""
    digits, finding = verdict
    return (2 if finding is None else 0 if finding.kind == WRONG_RULE else 1), digits


def _terms(derivatives: Derivatives, entry: Entry) -> list[Term]:
    """The terms of the entry, with those that do not depend on it."""
    return list(derivatives.terms(entry.leaf, entry.j, every=True))


def _identities(entry: Entry) -> list[object]:
    return [term.identity for term in entry.terms]


def _finding(entry: Entry, kind: str, **values: Any) -> Finding:
    return Finding(entry.leaf, (), kind, entry.ours, **values)

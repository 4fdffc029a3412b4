"""The check: which entries are judged, by which method, and for how long."""

import math
import time
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice

import numpy as np

from gradcalc.graph import size_of
from gradcalc.verify.chain import Chain
from gradcalc.verify.deadline import ALONE, TimeIsUpError, time_limit
from gradcalc.verify.derivative import NoFormulaError
from gradcalc.verify.entry import Claim
from gradcalc.verify.findings import Check, Listing
from gradcalc.verify.jacobian import Jacobian
from gradcalc.verify.lower import TooLargeError, cost
from gradcalc.verify.verdict import Judge, Method, Retrace, Traced

METHODS: dict[str, Method] = {"symbolic": Jacobian, "chain": Chain}
HOPELESS = 400_000  # operations that SymPy would need all of the time for
CHEAP = 4_000  # operations of all formulas together that SymPy makes in less than a second
FEW = 1_000  # entries that are always reached: their order does not matter
MANY = 10_000_000  # entries that are all put in order before


def check(
    traced: Traced,
    claims: Sequence[Claim],
    retrace: Retrace,
    seconds: float,
    *,
    method: str | None = None,
    apart: bool = False,
    explain: bool = False,
) -> Check:
    """Checks every entry of the claimed gradients, or as many as ``seconds`` allow.

    retrace: runs the program again with one leaf element changed; None where that fails.
    method: ``symbolic`` or ``chain``; None is formulas where they are short, else the chain, and
        the other one where that gets nowhere.
    apart: the claims are counted and reported one by one, as rows of a Jacobian; else the worst of
        all is the verdict on an element of a leaf.
    explain: keep the evidence of every entry.
    An interrupt ends the check; what was found until then is returned.
    """
    with ALONE:
        run = _Run(traced, claims, retrace, seconds, apart, explain)
        try:
            names = [method] if method else list(METHODS)
            operations = cost(list(traced.outputs.values()))
            hopeless = operations > HOPELESS
            if len(names) > 1 and operations > CHEAP:
                names.reverse()
            for name in names:
                if run.attempt(name, patient=name == names[-1] or (name == "chain" and hopeless)):
                    break
        except KeyboardInterrupt:
            run.reasons, run.interrupted = ["it was interrupted"], True
        return run.result()


class _Run:
    """A check that is under way."""

    def __init__(
        self,
        traced: Traced,
        claims: Sequence[Claim],
        retrace: Retrace,
        seconds: float,
        apart: bool,
        explain: bool,
    ) -> None:
        self.traced, self.claims, self.retrace = traced, claims, retrace
        self.seconds, self.apart, self.explain = seconds, apart, explain
        self.end = time.monotonic() + seconds
        self.shapes = {
            name: leaf.shape
            for name, leaf in traced.leaves.items()
            if apart or any(claim.gradients[name] is not None for claim in claims)
        }
        self.names, self.ends = (
            list(self.shapes),
            list(accumulate(map(size_of, self.shapes.values()))),
        )
        self.rows = len(claims) if apart else 1
        self.count = sum(map(size_of, self.shapes.values())) * self.rows
        self.tried: list[Judge] = []  # one a method
        self.listing: Mapping[str, Mapping[str, Listing]] | None = None
        self.reasons: list[str] = []
        self.interrupted = False

    def attempt(self, name: str, patient: bool) -> bool:
        """Judges by one method; False where another one may get further.

        patient: it may take all the time that is left to begin, not only half of it.
        """
        try:
            with time_limit(self._left() if patient else self._left() / 2) as clock:
                judge = Judge(self.traced, self.claims, self.retrace, METHODS[name], self.explain)
                self.tried.append(judge)
                if not self.apart:  # rows of a Jacobian have zeros where nothing flows
                    judge.judge_silent()
                rest = _sampled(self.count)
                for number in islice(rest, 1):
                    self._judge(judge, number)
                clock.set(self._left())  # it has begun
                for number in rest:
                    self._judge(judge, number)
                    clock.look()
                self.listing = judge.derivatives.listing()
        except TimeIsUpError:
            self.reasons.append(f"the time for the check ({self.seconds:g} s) was over")
            return any(one.checked for one in self.tried)
        except (TooLargeError, NoFormulaError) as error:
            self.reasons.append(str(error))
        except RecursionError:
            self.reasons.append("the formula is nested too deeply for SymPy")
        except MemoryError:
            self.reasons.append("the numbers of the check do not fit into memory")
        return any(one.checked == self.count for one in self.tried)

    def _left(self) -> float:
        return self.end - time.monotonic()

    def _judge(self, judge: Judge, number: int) -> None:
        element, row = divmod(number, self.rows)
        place = bisect(self.ends, element)
        leaf, j = self.names[place], element - (self.ends[place - 1] if place else 0)
        try:
            if self.apart:
                judge.judge_row(self.claims[row], leaf, j)
            else:
                judge.judge(leaf, j)
        except NoFormulaError as error:  # of this entry, which says nothing of the others
            if str(error) not in self.reasons:
                self.reasons.append(str(error))

    def result(self) -> Check:
        """What was found so far: by the method that found a wrong rule, or else got furthest."""
        reasons = self.reasons
        judge = max(
            self.tried,
            key=lambda one: (one.status() == "mismatch", one.checked),
            default=None,
        )
        if not self.count:
            reasons = ["there is nothing to differentiate by"]
        elif judge is not None and judge.checked == self.count:
            reasons = []  # only to list the formulas took too long
        reason = "; ".join(dict.fromkeys(reasons)) or None
        done = Check(
            "unchecked",
            None,
            self.count,
            reason=reason,
            interrupted=self.interrupted,
            jacobian=self.listing,
        )
        if judge is None or not (judge.checked or judge.findings):
            return done
        order = list(self.traced.leaves)
        findings = sorted(judge.findings, key=lambda f: (order.index(f.leaf), f.at, f.row))
        agreed = judge.checked > len(findings)
        return done._replace(
            status=judge.status(),
            method=judge.derivatives.method,
            checked=judge.checked,
            digits=math.floor(judge.digits * 10) / 10 if agreed else None,
            findings=findings,
            evidence=judge.evidence,
        )


def _sampled(entries: int) -> Iterator[int]:
    """All entries; many of them in a seeded order, so that those reached in time are a sample."""
    if entries <= FEW:
        yield from range(entries)
        return
    draw = np.random.default_rng(0)
    if entries <= MANY:
        yield from map(int, draw.permutation(entries))
        return
    seen: set[int] = set()
    while len(seen) < entries:
        number = int(draw.integers(entries))
        if number not in seen:
            seen.add(number)
            yield number

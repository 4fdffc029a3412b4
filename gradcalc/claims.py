"""Is a derivative that was found by hand right? By SymPy for all values, else at many points."""

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcalc.errors import GradcalcError, Source, whole
from gradcalc.graph import Array, Node, as_number, size_of
from gradcalc.graphs import moved, no_leaf
from gradcalc.language.compiler import compile_program, compile_tree
from gradcalc.language.draws import Draws
from gradcalc.language.grammar import CONSTANTS
from gradcalc.language.interpreter import run
from gradcalc.language.program import Program
from gradcalc.language.syntax import parse, python_text, span_of
from gradcalc.language.trace import Trace
from gradcalc.passes import output_name

if TYPE_CHECKING:
    from gradcalc.verify.entry import Term
    from gradcalc.verify.verdict import Derivatives

CLAIM = "write leaf = derivative, such as 'b = 4*b'"
SIMPLE = (1.0, 2.0, -1.0, 0.5, 3.0, -2.0)  # values that a counter-example may well have
MANY = 200  # points of the domain
FEW = 8  # points at which what is proven must have a value
BESIDE = 2.0**-20  # relative step to either side of a hole
TRIES = 2_000  # points that are tried to find so many
MOST_SIMPLE = 216  # combinations of simple values
ELEMENTS = 8  # of one leaf that are compared at one point
LONGEST = 1_000  # operations of a formula that SymPy is asked to simplify
OUTSIDE = ("singular", "not-positive-definite", "not-symmetric", "no-convergence", "too-long")


class Claim(NamedTuple):
    """A formula that is said to be the derivative by a leaf."""

    leaf: str
    text: str
    program: Program


class Example(NamedTuple):
    """A point at which a claim is wrong: float64 values of the leaves, and both derivatives."""

    at: Mapping[str, Array]
    element: tuple[int, ...]
    claimed: float
    true: float


@dataclass(frozen=True)
class Verdict:
    """What is known of one claim.

    status: ``proven`` for all values, ``holds`` at so many ``points`` of the domain, or ``wrong``;
    ``open`` as long as it is not known.
    true: the derivative as a formula, where there is one. factor, term: by which the claim is off.
    """

    claim: Claim
    status: str
    points: int = 0
    true: str | None = None
    factor: str | None = None
    term: str | None = None
    example: Example | None = None


def claims_of(texts: Sequence[str], leaves: frozenset[str] = frozenset()) -> list[Claim]:
    """The claims of texts such as ``b = 4*b; c = 1/c``; raises GradcalcError."""
    found: dict[str, Claim] = {}
    for text in texts:
        source = Source(text, "--claim")
        for statement in parse(source, CLAIM).body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
                raise GradcalcError(
                    "claim",
                    "this is no claim",
                    CLAIM,
                    span_of(text, statement),
                    source,
                )
            if target.id in found:
                span = span_of(text, target)
                message = f"there are two claims on '{target.id}'"
                raise GradcalcError("name-collision", message, None, span, source)
            program = compile_tree(ast.Module([statement], []), source, leaves)
            written = ast.get_source_segment(python_text(text), statement.value)
            found[target.id] = Claim(target.id, written or text, program)
    if not found:
        raise GradcalcError("claim", "nothing is claimed", "--claim 'b = 4*b'")
    return list(found.values())


def judge_claims(
    expr: Source,
    texts: Sequence[str],
    at: Mapping[str, Array],
    *,
    output: str | None = None,
    seed: int = 0,
    rtol: float = 1e-9,
    seconds: float = 10.0,
) -> list[Verdict]:
    """The verdicts on claims about the derivative of (the sum of) what ``expr`` computes.

    at: float64 values by leaf, which give the shapes too; a leaf without one is a number. Raises
    GradcalcError for whatever is wrong with the texts, and where no point of the domain is found.
    """
    claims = claims_of(texts, frozenset(at))
    program = compile_program(expr, frozenset(at))
    names = dict.fromkeys([*at, *_free(program)])
    for claim in claims:
        if claim.leaf not in names:
            source, span = whole(claim.program.source.text, "--claim")
            raise no_leaf(claim.leaf, names).located(source, span)
    from gradcalc.verify.deadline import ALONE

    with ALONE:
        return _Judge(program, output, list(names), at, seed, rtol).verdicts(claims, seconds)


def _free(program: Program) -> Iterator[str]:
    """The names that a program reads before it assigns them, without constants."""
    assigned: set[str] = set()
    for op, argument, _ in program.code:
        if op == "load" and argument not in assigned and argument not in CONSTANTS:
            yield argument
        elif op in ("store", "bind"):
            assigned.add(argument)


@dataclass
class _Judge:
    program: Program
    output: str | None
    leaves: Sequence[str]
    at: Mapping[str, Array]
    seed: int
    rtol: float

    def verdicts(self, claims: Sequence[Claim], seconds: float) -> list[Verdict]:
        """One verdict a claim: by formulas first, by points where they do not tell."""
        from gradcalc.verify.deadline import TimeIsUpError, time_limit

        done = {claim.leaf: Verdict(claim, "open") for claim in claims}
        with suppress(TimeIsUpError), time_limit(seconds / 2) as clock:
            for claim in claims if clock.alarms else ():  # what SymPy does must be stopped
                done[claim.leaf] = self._by_formula(claim)
        counts = dict.fromkeys((claim.leaf for claim in claims), 0)
        try:
            self._try_points(claims, counts, done, seconds / 2)
        except TimeIsUpError:
            if not min(counts.values()) and not any(one.example for one in done.values()):
                raise GradcalcError(
                    "time",
                    f"the time for the check ({seconds:g} s) was over before a point was compared",
                    "allow more: --check-time",
                ) from None
        return [self._finished(claim, done[claim.leaf], counts[claim.leaf]) for claim in claims]

    def _try_points(
        self,
        claims: Sequence[Claim],
        counts: dict[str, int],
        done: dict[str, Verdict],
        seconds: float,
    ) -> None:
        """Tries points until enough is known of each claim; raises TimeIsUpError."""
        from gradcalc.verify.deadline import time_limit

        with time_limit(seconds) as clock:
            for point in self._points():
                clock.look()
                open_ones = [c for c in claims if self._is_open(done[c.leaf], counts[c.leaf])]
                if not open_ones:
                    break
                self._try(point, open_ones, counts, done)

    @staticmethod
    def _is_open(verdict: Verdict, points: int) -> bool:
        """Is there still something that a point could tell? Of a proof, whether it has values."""
        wanted = FEW if verdict.status == "proven" else MANY
        return verdict.example is None and points < wanted

    def _finished(self, claim: Claim, verdict: Verdict, points: int) -> Verdict:
        if verdict.status == "wrong":
            return replace(verdict, points=points)
        if not points:
            raise GradcalcError(
                "domain",
                f"no point was found at which the derivative by '{claim.leaf}' could be compared",
                "give values that are in the domain: --at",
            )
        if verdict.status == "proven":
            return replace(verdict, points=points)
        return replace(verdict, status="holds", points=points, factor=None, term=None)

    # By formulas

    def _by_formula(self, claim: Claim) -> Verdict:
        """Proven or wrong where SymPy can tell; else open."""
        import sympy

        from gradcalc.verify.derivative import NoFormulaError, symbolic
        from gradcalc.verify.notation import text_of

        pair = self._formulas(claim)
        if pair is None:
            return Verdict(claim, "open")
        claimed, true = pair
        text = text_of(true)
        try:
            difference = symbolic(sympy.simplify, claimed - true)
            ratio = symbolic(sympy.simplify, claimed / true) if true != 0 else None
        except (NoFormulaError, RecursionError):
            return Verdict(claim, "open", true=text)
        if difference == 0:
            return Verdict(claim, "proven", true=text)
        if difference.has(sympy.nan, sympy.zoo, sympy.oo) or difference.atoms(sympy.Dummy):
            return Verdict(claim, "open", true=text)
        simple = ratio is not None and (
            ratio.is_number or ratio.count_ops() < difference.count_ops()
        )
        if simple and ratio != 0:
            return Verdict(claim, "open", true=text, factor=text_of(ratio))
        return Verdict(claim, "open", true=text, term=text_of(difference))

    def _formulas(self, claim: Claim) -> tuple[Any, Any] | None:
        """The claim and the derivative as SymPy expressions, where one serves for all values."""
        from gradcalc.verify.derivative import NoFormulaError
        from gradcalc.verify.jacobian import formulas
        from gradcalc.verify.lower import TooLargeError, cost, lower

        for point in self._points():
            try:
                trace, own = self._run(point), self._run_claim(claim, point)
                break
            except GradcalcError as error:
                if error.code not in OUTSIDE:
                    raise
        else:
            return None
        y = self._result(trace)
        if trace.conditions or claim.leaf not in trace.leaves or cost([y]) > LONGEST:
            return None
        try:
            true = formulas({"y": y}, trace.leaves).one("y", claim.leaf)
            lowered = lower([as_number(own.names[claim.leaf])])
        except (NoFormulaError, TooLargeError, RecursionError):
            return None
        if true is None or not lowered.pointwise:
            return None
        return _as_written(lowered.expressions[0]), _as_written(true.expr)

    # By points

    def _points(self) -> Iterator[dict[str, Array]]:
        """Values of all leaves: those that were given, simple ones, and seeded random ones."""
        shapes = {name: np.shape(self.at.get(name, 0.0)) for name in self.leaves}
        if self.at and all(name in self.at for name in self.leaves):
            yield dict(self.at)
        simple = sorted(
            islice(product(range(len(SIMPLE)), repeat=len(shapes)), MOST_SIMPLE),
            key=lambda places: (max(places, default=0), sum(places)),
        )
        for places in simple:
            yield {
                name: np.full(shape, SIMPLE[place])[()] + np.arange(size_of(shape)).reshape(shape)
                for (name, shape), place in zip(shapes.items(), places, strict=True)
            }
        draw = np.random.default_rng(self.seed)
        for _ in range(TRIES):
            yield {
                name: (
                    draw.choice([-1.0, 1.0, 1.0], shape)
                    * np.exp(draw.normal(0.0, draw.choice([0.5, 1.5, 5.0]), shape))
                )[()]
                for name, shape in shapes.items()
            }

    def _try(
        self,
        point: dict[str, Array],
        claims: Sequence[Claim],
        counts: dict[str, int],
        done: dict[str, Verdict],
    ) -> None:
        """Compares the claims with the derivatives at one point, if it is in the domain."""
        try:
            trace = self._run(point)
            derivatives = _derivatives(self._result(trace), trace)
            traces = [self._run_claim(claim, point) for claim in claims]
        except GradcalcError as error:
            if error.code in OUTSIDE:
                return
            raise
        for claim, own in zip(claims, traces, strict=True):
            node = as_number(own.names[claim.leaf])
            shape = np.shape(point[claim.leaf])
            if node.shape not in ((), shape):
                raise GradcalcError(
                    "claim",
                    f"the claim has shape {node.shape}, the leaf '{claim.leaf}' has {shape}",
                    "a derivative has the leaf's shape, or is one number",
                ).located(claim.program.source)
            for j in range(min(size_of(shape), ELEMENTS)):
                terms = derivatives.terms(claim.leaf, j) if claim.leaf in trace.leaves else ()
                true = _slope(list(terms))
                if true is None:
                    continue
                claimed = _number(node, own, j if node.shape else 0)
                if np.isnan(float(claimed)) and self._has_value_beside(claim, point, j):
                    continue  # a hole in the claim, as of (x*x - 1)/(x - 1) at 1
                counts[claim.leaf] += j == 0
                if not abs(claimed - true) <= abs(true) * self.rtol:
                    element = tuple(map(int, np.unravel_index(j, shape)))
                    example = Example(point, element, float(claimed), float(true))
                    done[claim.leaf] = replace(done[claim.leaf], status="wrong", example=example)
                    break

    def _has_value_beside(self, claim: Claim, point: Mapping[str, Array], j: int) -> bool:
        """Has the claim a value with element j of its leaf moved a little to either side?"""
        x = float(np.ravel(point[claim.leaf])[j])
        for side in (-BESIDE, BESIDE):
            own = self._run_claim(claim, moved(point, claim.leaf, j, x + side * (abs(x) or 1.0)))
            node = as_number(own.names[claim.leaf])
            if not np.isnan(float(_number(node, own, j if node.shape else 0))):
                return True
        return False

    def _run(self, point: Mapping[str, Array]) -> Trace:
        return run(self.program, point, Draws(self.seed))

    def _run_claim(self, claim: Claim, point: Mapping[str, Array]) -> Trace:
        return run(claim.program, point, Draws(self.seed))

    def _result(self, trace: Trace) -> Node:
        return as_number(trace.names[output_name(trace, None, self.output)])


def _derivatives(y: Node, trace: Trace) -> "Derivatives":
    """SymPy's, by the chain rule; by formulas where the program has derivatives of its own."""
    from gradcalc.verify.chain import Chain
    from gradcalc.verify.derivative import NoFormulaError
    from gradcalc.verify.jacobian import Jacobian
    from gradcalc.verify.points import Points

    points = Points(trace.values)
    try:
        return Chain({"y": y}, trace.leaves, points)
    except NoFormulaError:
        return Jacobian({"y": y}, trace.leaves, points)


def _slope(terms: Sequence["Term"]) -> Any:
    """sum_k dy_k/dx_j at an ordinary point; None on a kink and outside the domain."""
    import mpmath

    from gradcalc.verify.entry import STEP
    from gradcalc.verify.precision import settled

    def slope(step: Any) -> Any:
        return mpmath.fsum(term.slope(step) for term in terms)

    if any(not mpmath.isfinite(settled(partial(term.value, 0))) for term in terms):
        return None
    here, beside = (settled(partial(slope, step)) if terms else 0 for step in (0, STEP))
    if not mpmath.isfinite(here) or abs(here - beside) > abs(here) * mpmath.mpf(10) ** -15:
        return None
    return here


def _number(node: Node, trace: Trace, k: int) -> Any:
    """An element of a claim, to 30 digits; nan where it has no value."""
    import mpmath

    from gradcalc.verify.points import Points
    from gradcalc.verify.precision import settled

    float64 = float(np.ravel(trace.value(node))[k])
    if math.isinf(float64):  # of more digits than mpmath should write out
        return mpmath.mpf(float64)
    points = Points(trace.values)
    return settled(lambda: points.at(node, 0, 0).take(node, [k])[0])


def _as_written(expression: Any) -> Any:
    """Constants that stand for a float64 number, as the decimal fractions that people wrote."""
    import sympy

    named = {"pi": sympy.pi, "e": sympy.E}
    meant = {}
    for dummy in expression.atoms(sympy.Dummy):
        text = dummy.name.strip("()")
        if text in named:
            meant[dummy] = named[text]
        else:
            with suppress(ValueError, TypeError):
                meant[dummy] = sympy.Rational(text)
    return expression.xreplace(meant)

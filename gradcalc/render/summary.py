"""The outcomes of a batch for people: a row a problem, what mismatched in full, and a count."""

from collections.abc import Sequence

from gradcalc.batch import Outcome
from gradcalc.errors import GradcalcError
from gradcalc.problem import Result
from gradcalc.render.layout import Line, show
from gradcalc.render.numbers import plural
from gradcalc.render.report import lines, named

WORDS = {0: "ok", 1: "mismatch", 2: "error"}


def show_all(outcomes: Sequence[Outcome], digits: int) -> None:
    """Prints ``outcomes`` to standard output."""
    rows = []
    below: list[Line] = []
    for name, result in outcomes:
        if isinstance(result, GradcalcError):  # told in full on standard error already
            rows.append((name, "error", "", result.message))
            continue
        rows.append((name, result.status, result.check.status, named(result.gradients, digits)))
        if result.status != "ok":
            below += [Line(f"{name}:"), *lines(result, digits)]
    show(("problem", "status", "check", "gradients"), rows, [*below, _count(outcomes)])


def _count(outcomes: Sequence[Outcome]) -> Line:
    worst = max((outcome.exit_code for outcome in outcomes), default=0)
    counts = [(WORDS[code], sum(o.exit_code == code for o in outcomes)) for code in WORDS]
    unproven = sum(isinstance(o.result, Result) and not o.result.proven for o in outcomes)
    listed = [f"{count} {word}" for word, count in counts if count]
    listed += [f"{unproven} not verified"] if unproven else []
    return Line(f"{plural(len(outcomes), 'problem')}: {', '.join(listed) or 'none'}", WORDS[worst])

"""The outcomes of a batch for people: a row a problem, the failures in full, and a count."""

from collections.abc import Sequence

from gradcalc.batch import Outcome
from gradcalc.errors import GradcalcError, printable
from gradcalc.render.layout import Line, show
from gradcalc.render.report import lines, named

WORDS = {0: "ok", 1: "mismatch", 2: "error"}


def show_all(outcomes: Sequence[Outcome], digits: int) -> None:
    """Prints ``outcomes`` to standard output."""
    rows = []
    below: list[Line] = []
    for name, result in outcomes:
        if isinstance(result, GradcalcError):
            rows.append((printable(name), "error", "", result.message))
            below += [Line(f"{printable(name)}:")]
            below += [Line(line, "error") for line in str(result).split("\n")]
        else:
            gradients = named(result.gradients, digits)
            rows.append((printable(name), result.status, result.check.status, gradients))
            if result.status != "ok":
                below += [Line(f"{printable(name)}:"), *lines(result, digits)]
    show(("problem", "status", "check", "gradients"), rows, [*below, _count(outcomes)])


def _count(outcomes: Sequence[Outcome]) -> Line:
    worst = max((outcome.exit_code for outcome in outcomes), default=0)
    counts = [(WORDS[code], sum(o.exit_code == code for o in outcomes)) for code in WORDS]
    listed = ", ".join(f"{count} {word}" for word, count in counts if count)
    return Line(f"{len(outcomes)} problems: {listed or 'none'}", WORDS[worst])

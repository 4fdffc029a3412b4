"""The outcomes of a batch: lines of JSON, or a table, what failed in full, and a count."""

from collections import Counter
from typing import Any, NamedTuple

from gradcalc.batch import Outcome
from gradcalc.errors import GradcalcError
from gradcalc.render.layout import Line, show
from gradcalc.render.notes import notes
from gradcalc.render.numbers import plural
from gradcalc.render.record import dumps, error_record, result_record
from gradcalc.render.report import lines, named

WORDS = {0: "ok", 1: "mismatch", 2: "error"}
MOST_ROWS = 1_000  # of problems that are ok


class Done(NamedTuple):
    """All that is printed of one outcome.

    code: of the exit. said: for standard error. row, below: of the table, and in full below it.
    record: a line of JSON.
    """

    name: str
    code: int
    proven: bool
    said: str = ""
    row: tuple[str, ...] = ()
    below: tuple[Line, ...] = ()
    record: str = ""


def done(outcome: Outcome, digits: int, as_json: bool, key: str | None = None) -> Done:
    """What is printed of ``outcome``; key: tells records of one input from those of others."""
    result = outcome.result
    name = " ".join(outcome.record.name.split())  # in one line, whatever it is
    if isinstance(result, GradcalcError):
        told = error_record(result, outcome.record.name, outcome.record.place) if as_json else {}
        record = line_of(told, key) if as_json else ""
        row = () if as_json else (name, "error", "", result.message)
        return Done(name, 2, True, str(result), row, (), record)
    status = (name, outcome.exit_code, outcome.proven)
    if as_json:
        return Done(*status, record=line_of(result_record(result), key))
    row = (name, result.status, result.check.status, named(result.gradients, digits))
    below = (Line(f"{name}:"), *lines(result, digits)) if outcome.exit_code else ()
    return Done(*status, notes(result, name, of_many=True), row, below)


def line_of(record: dict[str, Any], key: str | None) -> str:
    """One line of JSON."""
    return dumps(record if key is None else {**record, "input": key})


class Summary:
    """What is printed for people when a batch is over."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.unproven = 0
        self.rows: list[tuple[str, ...]] = []
        self.below: list[Line] = []

    def add(self, one: Done) -> None:
        """Counts an outcome, and keeps what is printed of it."""
        self.counts[one.code] += 1
        self.unproven += one.code == 0 and not one.proven
        if one.row and (one.code or len(self.rows) < MOST_ROWS):
            self.rows.append(one.row)
        self.below += one.below

    @property
    def failed(self) -> int:
        """How many problems are not ok."""
        return self.counts.total() - self.counts[0]

    def exit_code(self, strict: bool) -> int:
        """The worst of all outcomes; with ``strict``, what is not verified has failed."""
        return max([*self.counts, int(strict and self.unproven > 0)], default=0)

    def show(self) -> None:
        """Prints the table, and what is below it, to standard output."""
        hidden = self.counts.total() - len(self.rows) if self.rows else 0
        more = [Line(f"… and {plural(hidden, 'problem')} more that are ok")] if hidden else []
        headers = ("problem", "status", "check", "gradients") if self.rows else ()
        show(headers, self.rows, [*more, *self.below, self._count()])

    def _count(self) -> Line:
        listed = [
            f"{self.counts[code]} {word}" for code, word in WORDS.items() if self.counts[code]
        ]
        listed += [f"{self.unproven} not verified"] if self.unproven else []
        total = plural(self.counts.total(), "problem")
        return Line(f"{total}: {', '.join(listed) or 'none'}", WORDS[self.exit_code(False)])

"""Many problems, one after the other, each with its result or what is wrong with it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gradcalc.errors import GradcalcError
from gradcalc.files.problems import Record, problem_of
from gradcalc.problem import Result, solve


class Outcome(NamedTuple):
    """One record and what became of it."""

    name: str
    result: Result | GradcalcError

    @property
    def exit_code(self) -> int:
        """0 fine, 1 a check or an expectation failed, 2 the record is wrong."""
        if isinstance(self.result, GradcalcError):
            return 2
        return 0 if self.result.status == "ok" else 1


def exit_code(outcomes: Sequence[Outcome], strict: bool) -> int:
    """The worst of all outcomes; with ``strict``, what is not verified has failed."""
    unproven = any(isinstance(o.result, Result) and not o.result.proven for o in outcomes)
    return max([o.exit_code for o in outcomes] + [int(strict and unproven)])


def solve_all(records: Iterable[Record], *, check: bool, check_seconds: float) -> Iterator[Outcome]:
    """The outcomes of ``records``, in their order; an error ends its own problem only."""
    for record in records:
        given = record.data.get("name") if isinstance(record.data, dict) else None
        name = given if isinstance(given, str) else record.place
        try:
            problem = replace(problem_of(record), check=check, check_seconds=check_seconds)
            yield Outcome(name, solve(problem))
        except GradcalcError as error:
            yield Outcome(name, error.within(record.place))

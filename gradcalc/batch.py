"""Many problems, each with its result or what is wrong with it."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gradcalc import __version__
from gradcalc.errors import GradcalcError
from gradcalc.files.problems import Record, problem_of
from gradcalc.graphs import Graphs
from gradcalc.result import Result
from gradcalc.solver import solve


class Outcome(NamedTuple):
    """One record and what became of it."""

    record: Record
    result: Result | GradcalcError

    @property
    def exit_code(self) -> int:
        """0 fine, 1 a check or an expectation failed, 2 the record is wrong."""
        if isinstance(self.result, GradcalcError):
            return 2
        return 0 if self.result.status == "ok" else 1

    @property
    def proven(self) -> bool:
        """Was everything verified (or the check left out on purpose)?"""
        return isinstance(self.result, GradcalcError) or self.result.proven


def solve_record(record: Record, how: Mapping[str, Any], graphs: Graphs) -> Outcome:
    """The outcome of one record; an error ends its own problem only.

    how: options of the check, as fields of a Problem. graphs: of the records before.
    """
    try:
        return Outcome(record, solve(problem_of(record, how), graphs))
    except GradcalcError as error:
        return Outcome(record, error if record.is_file else error.within(record.title))
    except RecursionError:
        wrong = GradcalcError("nesting", "the problem is nested too deeply")
    except MemoryError:
        wrong = GradcalcError("out-of-memory", "the values do not fit into memory")
    return Outcome(record, wrong.within(record.title))


def lost(record: Record, exit_code: int | None) -> Outcome:
    """The outcome of a record whose process ended before it was solved."""
    how = f"killed by signal {-exit_code}" if exit_code and exit_code < 0 else f"exit {exit_code}"
    error = GradcalcError("worker-died", f"the process that worked on it ended ({how})")
    return Outcome(record, error.within(record.title))


def _contents(record: Record, how: Mapping[str, Any]) -> str:
    """What the files say that a record may name."""
    try:
        problem = problem_of(record, how)
    except GradcalcError as error:
        return str(error)
    values = [*problem.at.items(), *(item for one in problem.passes for item in one.items())]
    values += (problem.expect or {}).items()
    arrays = [(name, None if v is None else np.asarray(v).tolist()) for name, v in values]
    return json.dumps([problem.expr.text, arrays])


def fingerprint(record: Record, how: Mapping[str, Any]) -> str:
    """What two records with the same result have in common, as 16 hexadecimal digits."""
    import hashlib  # for files of results only

    data = str(record.data) if isinstance(record.data, GradcalcError) else record.data
    text = json.dumps([__version__, data, dict(how)], sort_keys=True, default=str)
    if "@" in text:
        text += _contents(record, how)
    return hashlib.sha256(text.encode()).hexdigest()[:16]

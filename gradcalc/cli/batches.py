"""A batch on the command line: where its results go, how it is interrupted, what it shows."""

import signal
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from gradcalc.batch import fingerprint, lost, solve_record
from gradcalc.cli.codes import INTERRUPTED
from gradcalc.cli.output import say, to_stdout, write
from gradcalc.errors import GradcalcError
from gradcalc.files.problems import Record, records_of
from gradcalc.files.results import Results
from gradcalc.graphs import Graphs
from gradcalc.render.outcomes import Done, Summary, done
from gradcalc.workers import Ready, ordered_map


class Job(NamedTuple):
    """A record, and the key of its input where results are kept."""

    record: Record
    key: str | None


def work(how: Mapping[str, Any], graphs: Graphs, digits: int, as_json: bool, job: Job) -> Done:
    """What is printed of a job; it is done in whichever process has time."""
    return done(solve_record(job.record, how, graphs), digits, as_json, job.key)


class Batch:
    """The problems of ``paths``, and all that was asked for with them."""

    def __init__(
        self,
        paths: Sequence[str],
        expr: str | None,
        how: Mapping[str, Any],
        *,
        jobs: int,
        only: str,
        output: str | None,
        resume: bool,
        digits: int,
        as_json: bool,
    ) -> None:
        self.paths, self.expr, self.how, self.jobs, self.only = paths, expr, how, jobs, only
        self.digits, self.as_json = digits, as_json
        self.results = Results(Path(output), paths, resume=resume) if output is not None else None
        self.interrupt = _Interrupt()
        self.summary = Summary()

    def run(self, most_errors: int | None, strict: bool) -> int:
        """Solves all, and prints as it goes; the exit code."""
        as_json = self.as_json or self.results is not None
        outcomes: Generator[Done, None, None] = ordered_map(
            partial(work, self.how, Graphs(), self.digits, as_json),
            self._jobs(),
            self.jobs,
            lambda job, code: done(lost(job.record, code), self.digits, as_json, job.key),
        )
        finished = False
        try:
            with self.interrupt, self._progress() as advance:
                for one in outcomes:
                    self._tell(one)
                    advance()
                    if most_errors is not None and self.summary.failed >= most_errors:
                        break
                else:
                    finished = not self.interrupt.wanted
        finally:
            outcomes.close()
            if self.results is not None:
                self.results.close(finished)
        if self.only and not self.summary.counts and not self.interrupt.wanted:
            message = f"no problem has a name that contains '{self.only}'"
            raise GradcalcError("filter", message, "leave out --filter to see all names")
        if not self.as_json:
            with to_stdout():
                self.summary.show()
        return INTERRUPTED if self.interrupt.wanted else self.summary.exit_code(strict)

    def _jobs(self) -> Iterator[Job | Ready]:
        """The records that are to be solved, and the results that are known."""
        for record in self.interrupt.until(records_of(self.paths, self.expr)):
            if self.only not in record.name:
                continue
            if self.results is None:
                yield Job(record, None)
                continue
            key = fingerprint(record, self.how)
            known = self.results.take(key)
            if known is None:
                yield Job(record, key)
            else:
                line, proven = known
                yield Ready(Done(record.name, 0, proven, record=line))

    def _tell(self, one: Done) -> None:
        """Prints one outcome, or writes it to the file."""
        if self.results is not None:
            self.results.write(one.record)
        elif self.as_json:
            write(one.record)
        if one.said:
            say(one.said)
        self.summary.add(one)

    def _progress(self) -> Any:
        """A bar on a terminal that is not busy with the results themselves."""
        if not sys.stderr.isatty() or (self.as_json and sys.stdout.isatty()):
            return nullcontext(lambda: None)
        from gradcalc.cli.progress import progress

        return progress(self.paths, not self.only)


class _Interrupt:
    """Ctrl-C: the record under way is finished; while none is, or a second time, all stops."""

    def __init__(self) -> None:
        self.wanted = False
        self._idle = False
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:  # as it is behind a script's &
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.wanted or self._idle:
            self.wanted = True
            raise KeyboardInterrupt
        self.wanted = True

    def until(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records until an interrupt."""
        source = iter(records)
        while not self.wanted:
            try:
                self._idle = True  # the next record may be long in coming
                record = next(source)
            except (StopIteration, KeyboardInterrupt):
                return
            finally:
                self._idle = False
            yield record

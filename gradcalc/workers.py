"""A function of many items, in several processes: in order, and whatever becomes of a process."""

import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from gradcalc.errors import GradcalcError

if TYPE_CHECKING:  # one process does without
    from multiprocessing.connection import Connection

T = TypeVar("T")
R = TypeVar("R")

QUICK = 0.02  # seconds: a worker that needs less for all it got is given more at a time
MOST = 64  # items that a worker is given at a time
AHEAD = 256  # results a worker that may wait for an earlier one


class Ready(NamedTuple):
    """An item whose result is known already."""

    result: Any


def ordered_map(
    function: Callable[[T], R],
    items: Iterable[T | Ready],
    jobs: int,
    died: Callable[[T, int | None], R],
) -> Generator[R, None, None]:
    """``function`` of each item, in order, by so many processes; one is this process itself.

    died: the result of an item whose process ended, with its exit code, before the result came.
    Items are taken as they are needed: of an endless stream only some are held at a time.
    """
    if jobs == 1:
        for item in items:
            yield item.result if isinstance(item, Ready) else function(item)
        return
    pool = _Pool(function, jobs, died)
    try:
        yield from pool.run(iter(items))
    finally:
        pool.close()


class _Worker(Generic[T]):
    """A process, the pipe to it, and what it was given and has not answered."""

    def __init__(self, function: Callable[[T], Any], others: Sequence["_Worker[T]"]) -> None:
        import multiprocessing

        self.pipe, theirs = multiprocessing.Pipe()
        inherited = [self.pipe, *(other.pipe for other in others)]
        arguments = (function, theirs, inherited)
        self.process = multiprocessing.Process(target=_serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.given: deque[tuple[int, T]] = deque()
        self.size = 1
        self.since = 0.0

    def give(self, chunk: list[tuple[int, T]]) -> None:
        self.pipe.send([item for _, item in chunk])
        self.given.extend(chunk)
        self.since = time.monotonic()

    def answered(self) -> None:
        """Takes note of a result; what was quick comes in larger portions next time."""
        self.given.popleft()
        if not self.given:
            quick = time.monotonic() - self.since < QUICK
            self.size = min(MOST, 2 * self.size) if quick else max(1, self.size // 2)


def _serve(
    function: Callable[[Any], Any], pipe: "Connection", inherited: list["Connection"]
) -> None:
    """The life of a worker: it ends when the other end of its pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    for other in inherited:  # else one worker would keep the pipes of the others open
        other.close()
    try:
        while True:
            for item in pipe.recv():
                pipe.send(function(item))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass


class _Pool(Generic[T, R]):
    def __init__(
        self, function: Callable[[T], R], jobs: int, died: Callable[[T, int | None], R]
    ) -> None:
        self.function, self.jobs, self.died = function, jobs, died
        self.workers: list[_Worker[T]] = []  # as many as there was work for
        self.done: dict[int, R] = {}  # results that wait for an earlier one
        self.taken = 0  # items
        self.next = 0  # the result that is to come

    def run(self, items: Iterator[T | Ready]) -> Iterator[R]:
        from multiprocessing.connection import wait

        more = True
        while more or self.taken > self.next:
            while more and len(self.done) < self._most() and (worker := self._idle()):
                chunk, more = self._chunk(items, worker.size)
                if chunk:
                    self._give(worker, chunk)
                yield from self._ready()
            busy = [worker for worker in self.workers if worker.given]
            if busy:
                answering = wait([worker.pipe for worker in busy])
                for worker in [worker for worker in busy if worker.pipe in answering]:
                    self._hear(worker)
            yield from self._ready()

    def _most(self) -> int:
        """How many results may wait for an earlier one."""
        return AHEAD * self.jobs

    def _idle(self) -> _Worker[T] | None:
        """A worker without work; a new one, if there may be more; else None."""
        idle = next((worker for worker in self.workers if not worker.given), None)
        if idle is None and len(self.workers) < self.jobs:
            idle = self._start()
        return idle

    def _start(self) -> _Worker[T]:
        try:
            worker = _Worker(self.function, self.workers)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            message = f"cannot start process {len(self.workers) + 1} of {self.jobs}: {reason}"
            raise GradcalcError("jobs", message, "ask for fewer: --jobs") from None
        self.workers.append(worker)
        return worker

    def _chunk(self, items: Iterator[T | Ready], size: int) -> tuple[list[tuple[int, T]], bool]:
        chunk: list[tuple[int, T]] = []
        while len(chunk) < size and len(self.done) < self._most():
            try:
                item = next(items)
            except StopIteration:
                return chunk, False
            if isinstance(item, Ready):
                self.done[self.taken] = item.result
            else:
                chunk.append((self.taken, item))
            self.taken += 1
        return chunk, True

    def _ready(self) -> Iterator[R]:
        while self.next in self.done:
            self.next += 1
            yield self.done.pop(self.next - 1)

    def _give(self, worker: _Worker[T], chunk: list[tuple[int, T]]) -> None:
        while True:
            try:
                worker.give(chunk)
                return
            except (BrokenPipeError, ConnectionResetError):  # it died while it had no work
                self._drop(worker)
                worker = self._start()

    def _hear(self, worker: _Worker[T]) -> None:
        try:
            result = worker.pipe.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        self.done[worker.given[0][0]] = result
        worker.answered()

    def _bury(self, worker: _Worker[T]) -> None:
        """The item that a worker died of is lost; a new worker takes what else it had."""
        self._drop(worker)
        index, item = worker.given.popleft()
        self.done[index] = self.died(item, worker.process.exitcode)
        if worker.given:
            self._give(self._start(), list(worker.given))

    def _drop(self, worker: _Worker[T]) -> None:
        worker.process.join()
        worker.pipe.close()
        self.workers.remove(worker)

    def close(self) -> None:
        """Ends all workers, whatever they do."""
        for worker in self.workers:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()

"""A limit on time that really stops what runs."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeIsUpError(Exception):
    """The time allowed is over."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stops what runs inside after ``seconds``, wherever it is (where the system has alarms)."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeIsUpError

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

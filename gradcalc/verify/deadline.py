"""A limit on time that really stops what runs."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SHORTEST, LONGEST = 1e-3, 1e8  # seconds that a timer can be set to; 0 would switch it off
AGAIN = 0.1  # seconds until what survived the alarm is stopped once more


class TimeIsUpError(Exception):
    """The time allowed is over."""


@contextmanager
def time_limit(seconds: float) -> Iterator[Callable[[], None]]:
    """Raises TimeIsUpError inside after ``seconds``, wherever it is.

    Signals reach the main thread only; elsewhere the yielded function raises when it is called.
    """
    seconds = min(seconds, LONGEST) if seconds > SHORTEST else SHORTEST
    end = time.monotonic() + seconds

    def look() -> None:
        if time.monotonic() > end:
            raise TimeIsUpError

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeIsUpError

    if not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield look
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield look
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

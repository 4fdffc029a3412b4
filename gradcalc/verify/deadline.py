"""A limit on time that really stops what runs."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SHORTEST, LONGEST = 1e-3, 1e8  # seconds that a timer can be set to; 0 would switch it off
AGAIN = 0.1  # seconds until what survived the alarm is stopped once more


ALONE = threading.RLock()  # precision belongs to the process: threads check one after the other


class TimeIsUpError(Exception):
    """The time allowed is over."""


class Clock:
    """Runs down: by an alarm, but signals reach the main thread only; else it is to be looked at.

    seconds: until it has run down. alarms: is there an alarm that can be set?
    """

    def __init__(self, seconds: float, alarms: bool) -> None:
        self.alarms = alarms
        self.set(seconds)

    def set(self, seconds: float) -> None:
        """Lets it run down ``seconds`` from now."""
        seconds = min(seconds, LONGEST) if seconds > SHORTEST else SHORTEST
        self.end = time.monotonic() + seconds
        if self.alarms:
            signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)

    def look(self) -> None:
        """Raises TimeIsUpError if it has run down."""
        if time.monotonic() > self.end:
            raise TimeIsUpError


@contextmanager
def time_limit(seconds: float) -> Iterator[Clock]:
    """Raises TimeIsUpError inside after ``seconds``, wherever it is.

    A timer that was set before goes on afterwards; it does not ring inside.
    """
    inside = True

    def stop(number: int, frame: FrameType | None) -> None:
        if inside:
            raise TimeIsUpError

    if not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield Clock(seconds, alarms=False)
        return
    begin = time.monotonic()
    rest, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    handler = signal.signal(signal.SIGALRM, stop)
    try:
        yield Clock(seconds, alarms=True)
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if rest:
            rest = max(rest - (time.monotonic() - begin), SHORTEST)
            signal.setitimer(signal.ITIMER_REAL, rest, interval)

"""The lines of a stream of bytes, one after the other: a long file never has to be held."""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from gradcalc.errors import GradcalcError
from gradcalc.files.texts import decode

LONGEST = 2**26  # bytes of a line


class Line(NamedTuple):
    """A line and its number; ``whole``: was it ended, as all but the last one are?"""

    number: int
    text: str | GradcalcError
    whole: bool


def lines_in(file: BinaryIO, name: str) -> Iterator[Line]:
    """The lines of ``file``, called ``name``, without their ends; blank ones are left out.

    What is wrong with a line is in its place: the others still come. Raises GradcalcError where
    the file cannot be read on.
    """
    number = 0
    while True:
        number += 1
        try:
            data = file.readline(LONGEST + 1)
            whole = data.endswith(b"\n")
            if len(data) > LONGEST and not whole:
                yield Line(number, _too_long(file), True)
                continue
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise GradcalcError("file", f"cannot read '{name}': {reason}") from None
        if not data:
            return
        try:
            text = decode(data.rstrip(b"\r\n"), f"{name}:{number}")
        except GradcalcError as error:
            yield Line(number, error, whole)
            continue
        if text.strip():
            yield Line(number, text, whole)


def _too_long(file: BinaryIO) -> GradcalcError:
    """The error of a line of which no more is read, after its rest was passed over."""
    while True:
        data = file.readline(LONGEST)
        if not data or data.endswith(b"\n"):
            break
    message = f"the line is longer than {LONGEST >> 20} MiB"
    return GradcalcError("too-large", message, "write one problem a line, large values in files")

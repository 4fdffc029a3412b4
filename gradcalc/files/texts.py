"""Texts in files, on standard input, or on the command line itself."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gradcalc.errors import GradcalcError, Source, did_you_mean, whole
from gradcalc.language.syntax import place

LARGEST_FILE = 2**30  # bytes


@contextmanager
def within(label: str, text: str) -> Iterator[None]:
    """Errors inside that have no place yet get ``text``, called ``label``, as a whole."""
    try:
        yield
    except GradcalcError as error:
        raise error.located(*whole(text, label)) from None


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; raises GradcalcError that names it where it cannot be read."""
    with opened(path) as file:
        try:
            return _limited(file, str(path))
        except OSError as error:
            raise unreadable(path, error) from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file to read bytes from; raises GradcalcError that names it where that cannot be."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:  # a NUL in the name
        raise GradcalcError("file", f"'{path}' is not a file's name: {error}") from None
    with file:
        yield file


def unreadable(path: Path, error: OSError) -> GradcalcError:
    """The error of a file that the system does not let be read."""
    reason = (error.strerror or str(error)).lower()
    return GradcalcError("file", f"cannot read '{path}': {reason}", _nearest(path))


def _nearest(path: Path) -> str | None:
    """A hint with the files beside a missing one that are called nearly like it."""
    try:
        if path.exists():
            return None
        return did_you_mean(path.name, [sibling.name for sibling in path.parent.iterdir()])
    except OSError:
        return None


def stdin() -> BinaryIO:
    """Standard input, as bytes."""
    if sys.stdin is None:
        raise GradcalcError("file", "standard input is closed")
    return sys.stdin.buffer


def read_stdin() -> bytes:
    """All of standard input."""
    return _limited(stdin(), "standard input")


def _limited(file: BinaryIO, name: str) -> bytes:
    data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise GradcalcError("too-large", f"'{name}' is larger than {LARGEST_FILE >> 20:,} MiB")
    return data


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without a byte order mark and with plain line ends."""
    return decode(read_bytes(path), str(path))


def decode(data: bytes, name: str) -> str:
    """``data`` as UTF-8 text; ``name`` is what an error calls it."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig")
        shown = before + data[error.start :].decode(errors="replace")
        raise GradcalcError(
            "encoding",
            f"the byte 0x{data[error.start]:02x} is not UTF-8",
            "save the text as UTF-8",
            place(shown, len(before), len(before) + 1),
            Source(shown, name),
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_program(argument: str) -> Source:
    """The program that a command names: the text itself, @FILE, or - for standard input."""
    if argument == "-":
        return Source(decode(read_stdin(), "standard input"), "standard input")
    if argument.startswith("@"):
        with within("", argument):
            return Source(read_text(Path(argument[1:])), argument[1:])
    return Source(argument)

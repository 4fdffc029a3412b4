"""Texts in files, on standard input, or on the command line itself."""

import sys
from pathlib import Path

from gradcalc.errors import GradcalcError, Source


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; raises GradcalcError that names it where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GradcalcError("file", f"cannot read '{path}': {reason}") from None
    except ValueError as error:  # a NUL in the name
        raise GradcalcError("file", f"'{path}' is not a file's name: {error}") from None


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without a byte order mark and with plain line ends."""
    return decode(read_bytes(path), str(path))


def decode(data: bytes, name: str) -> str:
    """``data`` as UTF-8 text; ``name`` is what an error calls it."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GradcalcError(
            "encoding",
            f"'{name}' is not UTF-8: line {line} has the byte 0x{data[error.start]:02x}",
            "save it as UTF-8",
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_program(argument: str) -> Source:
    """The program that a command names: the text itself, @FILE, or - for standard input."""
    if argument == "-":
        return Source(decode(sys.stdin.buffer.read(), "standard input"), "standard input")
    if argument.startswith("@"):
        return Source(read_text(Path(argument[1:])), argument[1:])
    return Source(argument)

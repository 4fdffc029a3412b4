"""A file of results, one line of JSON each, that is whole up to its last line whatever happens."""

import json
import os
import re
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from gradcalc.errors import GradcalcError
from gradcalc.files.problems import is_readable

PROVEN = ("verified", "off")  # statuses of a check
START = b'{"schema": "gradcalc.result/'  # of every line that is a result


class Results:
    """Lines that are written in order; what an earlier run left can be taken over.

    path: the file. inputs: paths of the problems, which it must not be among. resume: keep the
    file's own lines as far as they are those of this run too; else it begins empty.
    Raises GradcalcError where the file cannot be written.
    """

    def __init__(self, path: Path, inputs: Iterable[str], *, resume: bool) -> None:
        self.path = path
        self.left: list[Path] = []  # parts of killed runs, which are taken over
        # By the key of its input, where the line of a result that is ok begins, in which file, and
        # whether that is proven.
        self.known: dict[str, tuple[BinaryIO, int, bool]] = {}
        self._files = ExitStack()
        try:
            self._refuse(inputs)
            self.is_file = path.is_file() or not path.exists()  # else a pipe or a device
            if resume and self.is_file:
                self._index(path)
                for part in _parts(path):
                    self._index(part)
                    self.left.append(part)
            mode = "r+b" if resume and path.is_file() else "w+b" if self.is_file else "wb"
            self.file: Any = self._files.enter_context(path.open(mode, buffering=0))
        except OSError as error:
            raise self._error(error) from None
        self.part: Path | None = None  # into which it is written anew
        self.size = 0  # bytes that are right

    def _refuse(self, inputs: Iterable[str]) -> None:
        for name in [name for name in inputs if name != "-"]:
            source = Path(name)
            same = source.exists() and self.path.exists() and source.samefile(self.path)
            inside = source.is_dir() and source.resolve() in self.path.resolve().parents
            if same or (inside and is_readable(self.path, "")):
                raise GradcalcError(
                    "output", f"'{self.path}' is one of the inputs", "write to another file"
                )
        if self.path.is_dir():
            raise GradcalcError("output", f"'{self.path}' is a folder", "name a file in it")

    def _index(self, path: Path) -> None:
        if not path.exists():
            return
        file = self._files.enter_context(path.open("rb"))
        begin = 0
        for line in file:
            whole = line.endswith(b"\n")
            if not (line.startswith(START) or (not whole and START.startswith(line))):
                raise GradcalcError(
                    "output",
                    f"'{path}' has a line that is no result: it is not written over",
                    "name a file that --output or --resume has written",
                )
            if whole:
                record = _object(line)
                if record.get("status") == "ok" and isinstance(record.get("input"), str):
                    check = record.get("check")
                    proven = isinstance(check, dict) and check.get("status") in PROVEN
                    self.known.setdefault(record["input"], (file, begin, proven))
            begin += len(line)

    def take(self, key: str) -> tuple[str, bool] | None:
        """The line of an earlier run for the same input, if that was ok; and is it proven?"""
        if key not in self.known:
            return None
        file, begin, proven = self.known[key]
        file.seek(begin)
        return file.readline().decode().rstrip("\n"), proven

    def write(self, line: str) -> None:
        """Appends a line, wholly or not at all; raises GradcalcError."""
        data = f"{line}\n".encode()
        try:
            if self.is_file and self.part is None:
                here = self.file.read(len(data))
                if here == data:  # it stands there already
                    self.size += len(data)
                    return
                if b"\n" not in here and not self.file.read(1):
                    self.file.truncate(self.size)  # the end, or a line that was cut off there
                    self.file.seek(self.size)
                else:
                    self._begin_anew()
            self._append(data)
        except OSError as error:
            raise self._error(error) from None

    def _begin_anew(self) -> None:
        """Other lines follow, which must not be lost: what is right so far is copied."""
        numbers = count(1)
        while (part := self.path.with_name(f"{self.path.name}.part-{next(numbers)}")).exists():
            pass
        fresh = self._files.enter_context(part.open("x+b", buffering=0))
        self.file.seek(0)
        left = self.size
        while left:
            block = self.file.read(min(left, 1 << 20))
            fresh.write(block)
            left -= len(block)
        self.file, self.part = fresh, part

    def _append(self, data: bytes) -> None:
        written = 0
        try:
            while written < len(data):
                written += self.file.write(data[written:]) or 0
        except OSError:
            if self.is_file:
                self.file.truncate(self.size)
            raise
        self.size += len(data)

    def close(self, finished: bool) -> None:
        """Ends the file; if all was done, what it held besides goes."""
        try:
            if finished and self.part is not None:
                os.replace(self.part, self.path)
            elif finished and self.is_file:
                self.file.truncate(self.size)
            for old in self.left if finished else ():
                old.unlink(missing_ok=True)
        except OSError as error:
            raise self._error(error) from None
        finally:
            self._files.close()

    def _error(self, error: OSError) -> GradcalcError:
        reason = (error.strerror or str(error)).lower()
        return GradcalcError("output", f"cannot write '{self.path}': {reason}")


def _parts(path: Path) -> list[Path]:
    """What killed runs left of files that were to be ``path``."""
    pattern = re.compile(re.escape(path.name) + r"\.part-\d+")
    siblings = path.parent.iterdir() if path.parent.is_dir() else ()
    return sorted(one for one in siblings if pattern.fullmatch(one.name))


def _object(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}

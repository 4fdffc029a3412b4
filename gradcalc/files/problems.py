"""Problems in .toml, .json, .jsonl and .csv files, and in folders of them."""

import csv
import json
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gradcalc.errors import GradcalcError, Source, did_you_mean
from gradcalc.files.arrays import add
from gradcalc.files.columns import check_names
from gradcalc.files.json_values import NUMBERS, array_of, parse_json, parse_toml, values_of
from gradcalc.files.lines import lines_in
from gradcalc.files.texts import opened, read_program, read_text, stdin, unreadable
from gradcalc.files.values import names_of, read_at, read_expect, read_weights
from gradcalc.graph import Array
from gradcalc.language import literals
from gradcalc.language.draws import Draws
from gradcalc.language.grammar import to_float
from gradcalc.language.syntax import normalize
from gradcalc.problem import Problem

KEYS = (
    "name",
    "expr",
    "at",
    "weights",
    "passes",
    "zero_grad",
    "retain_graph",
    "expand",
    "wrt",
    "output",
    "expect",
    "rtol",
    "atol",
    "seed",
)


class Record(NamedTuple):
    """One problem as a file has it: its place, and its data or what is wrong with them."""

    place: str
    data: dict[str, Any] | GradcalcError
    named: str | None = None  # where the data are wrong, and yet a name is known
    is_file: bool = False  # is it all of a file, which an error of it names already?

    @property
    def name(self) -> str:
        """What the problem is called: by itself, else by its place."""
        return self.place if self._given is None else self._given

    @property
    def title(self) -> str:
        """Its place, and its name where it has one: what an error begins with."""
        return self.place if self._given is None else f"{self.place} ({self._given})"

    @property
    def _given(self) -> str | None:
        given = self.data.get("name") if isinstance(self.data, dict) else self.named
        return given if isinstance(given, str) else None


def records_of(paths: Iterable[str], expr: str | None = None) -> Iterator[Record]:
    """The problems of files and folders, in order; ``-`` is JSONL on standard input.

    expr: the program of each row of a .csv file. A file that cannot be read is a record of its
    own, with what is wrong.
    """
    for path in paths:
        try:
            if path == "-":
                yield from _jsonl(stdin(), "-")
            else:
                yield from _read(Path(path), expr, frozenset())
        except (GradcalcError, OSError) as error:
            yield _unreadable(Path(path), error)


def _unreadable(path: Path, error: GradcalcError | OSError) -> Record:
    wrong = unreadable(path, error) if isinstance(error, OSError) else error
    return Record(str(path), wrong, is_file=True)


def _read(path: Path, expr: str | None, above: frozenset[Path]) -> Iterator[Record]:
    """The problems of a file or, by name, of a folder, which is in the folders ``above``."""
    if path.is_dir():
        above |= {path.resolve()}
        children = [child for child in _inside(path) if _is_listed(child, above, expr)]
        if not children:
            raise GradcalcError("file", f"'{path}' has no problems", KINDS)
        for child in children:
            try:
                yield from _read(child, expr, above)
            except (GradcalcError, OSError) as error:
                yield _unreadable(child, error)
        return
    kind = path.suffix.lower()
    if kind == ".jsonl":
        with opened(path) as file:
            yield from _jsonl(file, str(path))
    elif kind == ".csv":
        with opened(path) as file:
            yield from _csv(file, str(path), expr)
    else:
        text = read_text(path)  # a missing file is told first
        if kind not in WHOLE:
            raise GradcalcError("file", f"'{path}' is of no known kind", KINDS)
        if not text.strip():
            raise GradcalcError("empty", f"'{path}' is empty")
        yield from WHOLE[kind](text, str(path))


def _inside(folder: Path) -> list[Path]:
    """What a folder holds, by name; raises GradcalcError where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from None


def _is_listed(child: Path, above: frozenset[Path], expr: str | None) -> bool:
    """Is it a file of problems, or a folder, to which no link leads back?"""
    try:
        if child.is_dir():
            return child.resolve() not in above
        return child.is_file() and is_readable(child, expr)
    except OSError:  # it may not be looked at, as is told when it is read
        return is_readable(child, expr)


def is_readable(path: Path, expr: str | None) -> bool:
    """Is it a kind of file that has problems? A .csv file is one only with a program for it."""
    kind = path.suffix.lower()
    return kind in (".jsonl", *WHOLE) or (kind == ".csv" and expr is not None)


def _jsonl(file: BinaryIO, name: str) -> Iterator[Record]:
    """One problem a line."""
    for number, line, whole in lines_in(file, name):
        place = f"{name}:{number}"
        if isinstance(line, GradcalcError):
            yield Record(place, line)
            continue
        try:
            yield _record(place, parse_json(line, place))
        except GradcalcError as error:
            if not whole and error.code == "json":
                error.hint = error.hint or "is the last line cut off?"
            yield Record(place, error, _name_in(line))


def _name_in(line: str) -> str | None:
    """The name in an object that is JSON at least, such as one that has a key twice."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    name = data.get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) else None


def _csv(file: BinaryIO, name: str, expr: str | None) -> Iterator[Record]:
    """One problem a row: its cells are the values of the leaves that the first row names."""
    if expr is None:
        raise GradcalcError(
            "csv", f"'{name}' has values, but no program", "give it one: --expr 'y = a*b'"
        )
    lines = lines_in(file, name)
    first = next(lines, None)
    if first is None:
        raise GradcalcError("csv", f"'{name}' is empty", "the first row names the leaves")
    try:
        header = [normalize(cell) for cell in _cells(first.text)]
    except GradcalcError as error:
        raise error.within(f"{name}:{first.number}") from None
    check_names(header, name)
    for number, text, _ in lines:
        yield Record(f"{name}:{number}", _row(header, text, expr))


def _cells(text: str | GradcalcError) -> list[str]:
    """The cells of a line; raises GradcalcError, or the line's own."""
    if isinstance(text, GradcalcError):
        raise text
    try:
        (cells,) = csv.reader([text], strict=True)
    except csv.Error as error:
        raise GradcalcError("csv", str(error), "each row is one line") from None
    return [cell.strip() for cell in cells]


def _row(header: list[str], text: str | GradcalcError, expr: str) -> dict[str, Any] | GradcalcError:
    """The data of a row, or what is wrong with it."""
    try:
        cells = _cells(text)
    except GradcalcError as error:
        return error
    if len(cells) != len(header):
        return GradcalcError(
            "ragged",
            f"{len(cells)} cell{'s' * (len(cells) != 1)} for {len(header)} columns",
            "give each line as many cells as the first",
        )
    if "" in cells:
        return GradcalcError("number", f"'{header[cells.index('')]}' has no value")
    return {"expr": expr, "at": dict(zip(header, map(_cell, cells), strict=True))}


def _cell(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # such as pi/4


def _json_records(text: str, name: str) -> Iterator[Record]:
    """One problem, or a list of them."""
    data = parse_json(text, name)
    if not isinstance(data, list):
        yield _record(name, data)
        return
    for index, one in enumerate(data):
        yield _record(f"{name}[{index}]", one)


def _toml_records(text: str, name: str) -> Iterator[Record]:
    """The ``[[problem]]`` tables."""
    data = parse_toml(text, name)
    problems = data.get("problem", [])
    if not isinstance(problems, list) or set(data) - {"problem"} or not problems:
        raise GradcalcError("toml", f"'{name}' is not made of [[problem]] tables")
    lines = [text.count("\n", 0, found.start()) + 1 for found in HEADER.finditer(text)]
    for index, one in enumerate(problems):
        told = len(lines) == len(problems)  # else a text contains what looks like one
        yield _record(f"{name}:{lines[index]}" if told else f"{name}[{index}]", one)


HEADER = re.compile(r"^[ \t]*\[\[[ \t]*problem[ \t]*\]\]", re.MULTILINE)
WHOLE: dict[str, Callable[[str, str], Iterator[Record]]] = {
    ".toml": _toml_records,
    ".json": _json_records,
}
KINDS = "problems are read from .toml .json .jsonl, and with --expr from .csv"


def _record(place: str, data: Any) -> Record:
    if isinstance(data, dict):
        return Record(place, data)
    return Record(place, GradcalcError("record", "a problem is an object of keys and values"))


def problem_of(record: Record, how: Mapping[str, Any]) -> Problem:
    """The problem of a record, whose keys are eval's options; raises GradcalcError.

    how: further fields of the problem.
    """
    if isinstance(record.data, GradcalcError):
        raise record.data
    data = record.data
    for key in data:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"the keys are {', '.join(KEYS)}"
            raise GradcalcError("unknown-key", f"unknown key '{key}'", hint)
    if "expr" not in data:
        raise GradcalcError("record", "the problem has no 'expr'")
    if "weights" in data and "passes" in data:
        raise GradcalcError("record", "'weights' and 'passes' exclude one another")
    seed = _get(data, "seed", None, int)
    if seed is not None and seed < 0:
        raise GradcalcError("record", "'seed' must not be negative")
    draws = Draws(seed, partial(_seed, data))
    passes = _get(data, "passes", [data.get("weights")], list)
    if not passes:
        raise GradcalcError("record", "'passes' is empty", "leave it out, or give one pass: [null]")
    given = _get(data, "at", {}, dict, str)
    at = read_at([given], draws) if isinstance(given, str) else values_of(given, draws)
    expect = _get(data, "expect", None, dict, str)
    wrt = _get(data, "wrt", None, str, list)
    if isinstance(wrt, list):
        wrt = ",".join(_get({"wrt": name}, "wrt", "", str) for name in wrt)
    output = _get(data, "output", None, str)
    text = _get(data, "expr", "", str)
    expr = read_program(text) if text.startswith("@") else Source(text, record.title)
    return Problem(
        expr=expr,
        at=at,
        passes=[_pass(one, draws) for one in passes],
        name=_get(data, "name", None, str),
        zero_grad=_get(data, "zero_grad", False, bool),
        retain_graph=_get(data, "retain_graph", True, bool),
        expand=_get(data, "expand", False, bool),
        wrt=None if wrt is None else names_of(wrt),
        output=None if output is None else normalize(output),
        expect=_expectations(expect, draws, at),
        rtol=_tolerance(data, "rtol", Problem.rtol),
        atol=_tolerance(data, "atol", Problem.atol),
        draws=draws,
        **how,
    )


def _seed(data: dict[str, Any]) -> int:
    """A seed for a problem without one: the same whenever it is solved."""
    return zlib.crc32(json.dumps(data, sort_keys=True, default=str).encode())


WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def _get(data: Mapping[str, Any], key: str, default: Any, *kinds: type) -> Any:
    """The value of a key, which must be of one of ``kinds``."""
    value = data.get(key)
    if value is None:
        return default
    if type(value) not in kinds:
        wanted = " or ".join(WORDS[kind] for kind in kinds if (kind, kinds) != (int, (int, float)))
        raise GradcalcError("record", f"'{key}' must be {wanted}")
    return value


def _tolerance(data: Mapping[str, Any], key: str, default: float) -> float:
    value = to_float(_get(data, key, default, int, float))
    if not 0 <= value < math.inf:
        raise GradcalcError("record", f"'{key}' must be a finite number that is not negative")
    return value


def _pass(value: Any, draws: Draws) -> literals.Weights:
    """The weights of one pass: null, a number or lists, a text as after --weights, or by output."""
    if value is None:
        return {}
    if isinstance(value, str) and value.lower() not in NUMBERS:
        return read_weights(value, draws)
    if isinstance(value, dict):
        named: dict[str | None, Array | None] = {}
        named.update(_arrays(value, draws))
        return named
    return {None: array_of(value, draws, "weights")}


def _expectations(
    value: Any, draws: Draws, at: Mapping[str, Array]
) -> dict[str, Array | None] | None:
    """The expected gradients: a text as after --expect, or arrays by name."""
    if value is None:
        return None
    return read_expect([value], draws, at) if isinstance(value, str) else _arrays(value, draws, at)


def _arrays(
    data: Mapping[str, Any], draws: Draws, at: Mapping[str, Array] | None = None
) -> dict[str, Array | None]:
    """Arrays by name; None for null, and for "None", since TOML has no null."""
    result: dict[str, Array | None] = {}
    for name, one in data.items():
        none = one in (None, "None")
        add(result, {normalize(name): None if none else array_of(one, draws, f"'{name}'", at)})
    return result

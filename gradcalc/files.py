"""Values and problems in and out of files: TOML, JSON, JSONL, CSV, NPY and NPZ."""

from __future__ import annotations

import csv
import json
import math
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradcalc.errors import GradcalcError, Source, Span, did_you_mean
from gradcalc.graph import Array
from gradcalc.language import literals
from gradcalc.language.draws import Draws
from gradcalc.language.syntax import normalize
from gradcalc.problem import Problem

NUMBERS = {
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
}
KEYS = [
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
]


# Texts


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


# Values


def read_bindings(option: str, draws: Draws) -> dict[str, Array]:
    """The leaf values of one ``--at``: ``a=1,2``, ``a=@points.csv:price`` or ``@values.json``."""
    if option.startswith("@"):
        return read_values(Path(option[1:]), draws)
    name, equals, rest = option.partition("=")
    if equals and rest.lstrip().startswith("@"):
        return {normalize(name.strip()): read_array(rest.strip()[1:], draws)}
    return literals.bindings(Source(option, "--at"), draws)


def read_weights(option: str, draws: Draws) -> literals.Weights:
    """The weights of one ``--weights``: ``0.1,1``, ``y=0.1,1; z``, ``@w.npy`` or ``y=@w.npy``."""
    name, equals, rest = option.rpartition("=")
    if rest.lstrip().startswith("@"):
        return {normalize(name.strip()) if equals else None: read_array(rest.strip()[1:], draws)}
    return literals.weights(Source(option, "--weights"), draws)


def merge(parts: Iterable[Mapping[str, Array]]) -> dict[str, Array]:
    """All values by name; raises GradcalcError for a name that has two."""
    result: dict[str, Array] = {}
    for part in parts:
        for name, value in part.items():
            if name in result:
                raise GradcalcError(
                    "name-collision", f"'{name}' has two values", "give each leaf one value"
                )
            result[name] = value
    return result


def read_values(path: Path, draws: Draws) -> dict[str, Array]:
    """The named values of a .json, .toml, .npz or .csv file."""
    kind = path.suffix.lower()
    if kind == ".npz":
        return _normalized(_load(path))
    if kind == ".csv":
        return _normalized(_columns(path))
    if kind in (".json", ".toml"):
        data = parse_json(read_text(path), str(path)) if kind == ".json" else _toml(path)
        if not isinstance(data, dict):
            raise GradcalcError("file", f"'{path}' has no names: an object of values is wanted")
        return values_of(data, draws, str(path))
    raise GradcalcError(
        "file", f"'{path}' is of no known kind", "values are read from .json .toml .npz .npy .csv"
    )


def read_array(text: str, draws: Draws) -> Array:
    """One array: ``x.npy``, a ``.json`` list, or a named part: ``x.npz:a``, ``x.csv:price``."""
    name, colon, part = text.rpartition(":")
    path = Path(name) if colon and not Path(text).exists() else Path(text)
    if path == Path(text):
        if path.suffix.lower() == ".npy":
            return _float64(_load(path), str(path))
        if path.suffix.lower() == ".json":
            return array_of(parse_json(read_text(path), text), draws, text)
        raise (
            GradcalcError("file", f"which values of '{path}'?", f"name a part of it: @{path}:NAME")
            if path.exists()
            else GradcalcError("file", f"cannot read '{path}': no such file")
        )
    values = read_values(path, draws)
    if normalize(part) not in values:
        hint = did_you_mean(part, values) or f"it has {', '.join(values)}"
        raise GradcalcError("file", f"'{path}' has no '{part}'", hint)
    return values[normalize(part)]


def _load(path: Path) -> Any:
    """What NumPy reads from a .npy or .npz file; pickles, which run code, are refused."""
    try:
        loaded = np.load(path, allow_pickle=False)
        return dict(loaded) if path.suffix.lower() == ".npz" else loaded
    except OSError as error:
        reason = (error.strerror or "it is no NumPy file").lower()
        raise GradcalcError("file", f"cannot read '{path}': {reason}") from None
    except (ValueError, EOFError, KeyError, __import__("zipfile").BadZipFile) as error:
        raise GradcalcError("file", f"cannot read '{path}': {error}") from None


def _columns(path: Path) -> dict[str, Any]:
    """The columns of a CSV file with a header."""
    rows = list(csv.reader(read_text(path).splitlines()))
    if not rows:
        raise GradcalcError("file", f"'{path}' is empty", "the first line names the columns")
    header, body = rows[0], [row for row in rows[1:] if row]
    for number, row in enumerate(body, 2):
        if len(row) != len(header):
            raise GradcalcError(
                "ragged", f"'{path}', row {number}: {len(row)} cells for {len(header)} columns"
            )
    return {
        name.strip(): [_cell(row[i], path, name) for row in body] for i, name in enumerate(header)
    }


def _cell(text: str, path: Path, column: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise GradcalcError(
            "number", f"'{path}', column '{column}': '{text}' is not a number"
        ) from None


def _normalized(values: Mapping[str, Any]) -> dict[str, Array]:
    return merge({normalize(name): _float64(value, name)} for name, value in values.items())


def _float64(value: Any, name: str) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise GradcalcError("number", f"'{name}' is not made of real numbers")
    return array.astype(np.float64)[()]


# JSON values


def parse_json(text: str, name: str) -> Any:
    """The JSON value of ``text``; raises GradcalcError with the place of what is wrong."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, name))
    except json.JSONDecodeError as error:
        span = Span(error.lineno, error.colno - 1, error.colno)
        raise GradcalcError("json", error.msg.lower(), None, span, Source(text, name)) from None
    except RecursionError:
        raise GradcalcError("json", f"'{name}' is nested too deeply") from None
    except ValueError as error:  # an integer of very many digits
        raise GradcalcError("json", f"'{name}': {error}") from None


def _object(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise GradcalcError("duplicate-key", f"'{name}' has the key '{twice}' twice in one object")
    return result


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise GradcalcError("toml", f"'{path}': {error}") from None


def values_of(data: Mapping[str, Any], draws: Draws, name: str) -> dict[str, Array]:
    """The arrays that a JSON or TOML object gives to names."""
    return merge(
        {normalize(key): array_of(value, draws, f"{name}, '{key}'")} for key, value in data.items()
    )


def array_of(value: Any, draws: Draws, name: str) -> Array:
    """The float64 array of a JSON value: a number, nested lists, or a text such as "pi/4"."""
    if isinstance(value, str) and value.lower() not in NUMBERS:
        return literals.value(Source(value, name), draws)
    try:
        return np.array(_plain(value, name), dtype=np.float64)[()]
    except ValueError:
        raise GradcalcError(
            "ragged", f"{name}: the rows of the nested list differ in length", "make them equal"
        ) from None


def _plain(value: Any, name: str) -> Any:
    """Nested lists of floats; "NaN" and "Infinity" are numbers that JSON cannot spell."""
    if isinstance(value, list):
        return [_plain(one, name) for one in value]
    if isinstance(value, str) and value.lower() in NUMBERS:
        return NUMBERS[value.lower()]
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    raise GradcalcError("number", f"{name}: {json.dumps(value)} is not a number")


# Problems


class Record(NamedTuple):
    """One problem as a file has it: its place, and its data or what is wrong with them."""

    place: str
    data: dict[str, Any] | GradcalcError


def read_records(path: Path) -> Iterator[Record]:
    """The problems of a file or, in the order of names, of a folder; raises GradcalcError."""
    if path.is_dir():
        for child in sorted(path.iterdir()):
            if child.is_dir() or child.suffix.lower() in READERS:
                yield from read_records(child)
        return
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        read_bytes(path)  # a missing file is told first
        raise GradcalcError(
            "file", f"'{path}' is of no known kind", "problems are read from .toml .json .jsonl"
        )
    yield from reader(read_text(path), str(path))


def records_of(paths: Iterable[str]) -> Iterator[Record]:
    """The problems of files and folders, in order; ``-`` is JSONL on standard input."""
    for path in paths:
        if path == "-":
            yield from _jsonl_records(decode(sys.stdin.buffer.read(), "standard input"), "-")
        else:
            yield from read_records(Path(path))


def _jsonl_records(text: str, name: str) -> Iterator[Record]:
    """One problem a line."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{name}:{number}"
            try:
                yield Record(place, _mapping(parse_json(line, place), place))
            except GradcalcError as error:
                yield Record(place, error)


def _json_records(text: str, name: str) -> Iterator[Record]:
    """One problem, or a list of them."""
    data = parse_json(text, name)
    for number, one in enumerate(data if isinstance(data, list) else [data], 1):
        place = f"{name}:{number}" if isinstance(data, list) else name
        yield Record(place, _mapping(one, place))


def _toml_records(text: str, name: str) -> Iterator[Record]:
    """The ``[[problem]]`` tables."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GradcalcError("toml", f"'{name}': {error}") from None
    problems = data.get("problem", [])
    if not isinstance(problems, list) or set(data) - {"problem"} or not problems:
        raise GradcalcError("toml", f"'{name}' is not made of [[problem]] tables")
    for number, one in enumerate(problems, 1):
        yield Record(f"{name}:{number}", _mapping(one, name))


READERS: dict[str, Callable[[str, str], Iterator[Record]]] = {
    ".toml": _toml_records,
    ".json": _json_records,
    ".jsonl": _jsonl_records,
}


def _mapping(data: Any, place: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise GradcalcError("record", f"{place}: a problem is an object of keys and values")
    return data


def problem_of(record: Record, check: bool) -> Problem:
    """The problem of a record, whose keys are eval's options; raises GradcalcError."""
    if isinstance(record.data, GradcalcError):
        raise record.data
    data, place = record.data, record.place
    for key in data:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"the keys are {', '.join(KEYS)}"
            raise GradcalcError("unknown-key", f"{place}: unknown key '{key}'", hint)
    if "expr" not in data:
        raise GradcalcError("record", f"{place}: the problem has no 'expr'")
    if "weights" in data and "passes" in data:
        raise GradcalcError("record", f"{place}: 'weights' and 'passes' exclude one another")
    get = _Reader(data, place)
    draws = Draws(get("seed", int, None))
    passes = get("passes", list, None) or [data.get("weights")]
    at, expect = get("at", dict, {}), get("expect", dict, None)
    wrt = get("wrt", (str, list), None)
    return Problem(
        expr=Source(get("expr", str, ""), place),
        at=values_of(at, draws, place),
        passes=[_pass(one, draws, place) for one in passes],
        name=get("name", str, None),
        zero_grad=get("zero_grad", bool, False),
        retain_graph=get("retain_graph", bool, True),
        expand=get("expand", bool, False),
        wrt=names_of(wrt) if isinstance(wrt, str) else wrt,
        output=get("output", str, None),
        expect=None if expect is None else _expected(expect, draws, place),
        rtol=float(get("rtol", (int, float), Problem.rtol)),
        atol=float(get("atol", (int, float), Problem.atol)),
        draws=draws,
        check=check,
    )


def names_of(text: str) -> list[str]:
    """The names in ``a,b``."""
    return [normalize(name.strip()) for name in text.split(",")]


class _Reader:
    """Reads the keys of a record and their types."""

    def __init__(self, data: Mapping[str, Any], place: str) -> None:
        self.data, self.place = data, place

    def __call__(self, key: str, kind: type | tuple[type, ...], default: Any) -> Any:
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            wanted = " or ".join(_WORDS[one] for one in kinds)
            raise GradcalcError("record", f"{self.place}: '{key}' must be {wanted}")
        return value


_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def _pass(value: Any, draws: Draws, place: str) -> literals.Weights:
    """The weights of one pass: null, a number or lists, a text as after --weights, or by output."""
    if value is None:
        return {}
    if isinstance(value, str) and value.lower() not in NUMBERS:
        return literals.weights(Source(value, place), draws)
    if isinstance(value, dict):
        return {
            normalize(name): None if one is None else array_of(one, draws, f"{place}, '{name}'")
            for name, one in value.items()
        }
    return {None: array_of(value, draws, f"{place}, weights")}


def _expected(data: Mapping[str, Any], draws: Draws, place: str) -> dict[str, Array | None]:
    return {
        normalize(name): None if one is None else array_of(one, draws, f"{place}, expect '{name}'")
        for name, one in data.items()
    }

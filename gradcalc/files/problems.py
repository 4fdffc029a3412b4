"""Problems in .toml, .json and .jsonl files, and in folders of them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gradcalc.errors import GradcalcError, Source, did_you_mean
from gradcalc.files.json_values import NUMBERS, array_of, parse_json, parse_toml, values_of
from gradcalc.files.texts import decode, read_bytes, read_text
from gradcalc.files.values import names_of
from gradcalc.graph import Array
from gradcalc.language import literals
from gradcalc.language.draws import Draws
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
    data = parse_toml(text, name)
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

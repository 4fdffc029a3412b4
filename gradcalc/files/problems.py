"""Problems in .toml, .json and .jsonl files, and in folders of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gradcalc.errors import GradcalcError, Source, did_you_mean
from gradcalc.files.json_values import NUMBERS, array_of, parse_json, parse_toml, values_of
from gradcalc.files.texts import decode, read_program, read_stdin, read_text
from gradcalc.files.values import names_of, read_at, read_weights
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


def records_of(paths: Iterable[str]) -> Iterator[Record]:
    """The problems of files and folders, in order; ``-`` is JSONL on standard input.

    A file that cannot be read is a record of its own, with what is wrong.
    """
    for path in paths:
        if path == "-":
            yield from _records(path, _read_standard_input)
        else:
            yield from _records(path, partial(_read, Path(path)))


def _read_standard_input() -> Iterator[Record]:
    yield from _jsonl_records(decode(read_stdin(), "standard input"), "-")


def _records(place: str, read: Callable[[], Iterator[Record]]) -> Iterator[Record]:
    try:
        yield from read()
    except GradcalcError as error:
        yield Record(place, error)


def _read(path: Path, above: frozenset[Path] = frozenset()) -> Iterator[Record]:
    """The problems of a file or, by name, of a folder, which is in the folders ``above``."""
    if path.is_dir():
        above |= {path.resolve()}
        children = [
            child
            for child in sorted(path.iterdir())
            if (child.is_dir() and child.resolve() not in above)  # a link may lead back
            or (child.is_file() and child.suffix.lower() in READERS)
        ]
        if not children:
            raise GradcalcError(
                "file", f"'{path}' has no problems", "problems are read from .toml .json .jsonl"
            )
        for child in children:
            yield from _records(str(child), partial(_read, child, above))
        return
    reader = READERS.get(path.suffix.lower())
    text = read_text(path)  # a missing file is told first
    if reader is None:
        raise GradcalcError(
            "file", f"'{path}' is of no known kind", "problems are read from .toml .json .jsonl"
        )
    yield from reader(text, str(path))


def _jsonl_records(text: str, name: str) -> Iterator[Record]:
    """One problem a line."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{name}:{number}"
            try:
                yield Record(place, _mapping(parse_json(line, place)))
            except GradcalcError as error:
                yield Record(place, error)


def _json_records(text: str, name: str) -> Iterator[Record]:
    """One problem, or a list of them."""
    data = parse_json(text, name)
    for number, one in enumerate(data if isinstance(data, list) else [data], 1):
        place = f"{name}:{number}" if isinstance(data, list) else name
        yield Record(place, _mapping(one))


def _toml_records(text: str, name: str) -> Iterator[Record]:
    """The ``[[problem]]`` tables."""
    data = parse_toml(text, name)
    problems = data.get("problem", [])
    if not isinstance(problems, list) or set(data) - {"problem"} or not problems:
        raise GradcalcError("toml", f"'{name}' is not made of [[problem]] tables")
    for number, one in enumerate(problems, 1):
        yield Record(f"{name}:{number}", _mapping(one))


READERS: dict[str, Callable[[str, str], Iterator[Record]]] = {
    ".toml": _toml_records,
    ".json": _json_records,
    ".jsonl": _jsonl_records,
}


def _mapping(data: Any) -> dict[str, Any] | GradcalcError:
    if isinstance(data, dict):
        return data
    return GradcalcError("record", "a problem is an object of keys and values")


def problem_of(record: Record) -> Problem:
    """The problem of a record, whose keys are eval's options; raises GradcalcError."""
    if isinstance(record.data, GradcalcError):
        raise record.data
    return _problem(record.data, record.place)


def _problem(data: dict[str, Any], place: str) -> Problem:
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
    draws = Draws(seed)
    passes = _get(data, "passes", [data.get("weights")], list)
    if not passes:
        raise GradcalcError("record", "'passes' is empty", "leave it out, or give one pass: [null]")
    given = _get(data, "at", {}, dict, str)
    at = read_at([given], draws) if isinstance(given, str) else values_of(given, draws)
    expect = _get(data, "expect", None, dict)
    wrt = _get(data, "wrt", None, str, list)
    if isinstance(wrt, list):
        wrt = ",".join(_get({"wrt": name}, "wrt", "", str) for name in wrt)
    output = _get(data, "output", None, str)
    text = _get(data, "expr", "", str)
    expr = read_program(text) if text.startswith("@") else Source(text, place)
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
        expect=None if expect is None else _arrays(expect, draws, at),
        rtol=_tolerance(data, "rtol", Problem.rtol),
        atol=_tolerance(data, "atol", Problem.atol),
        draws=draws,
    )


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
    if not value >= 0:
        raise GradcalcError("record", f"'{key}' must not be negative")
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


def _arrays(
    data: Mapping[str, Any], draws: Draws, at: Mapping[str, Array] | None = None
) -> dict[str, Array | None]:
    """Arrays by name; None for null, and for "None", since TOML has no null."""
    return {
        normalize(name): None if one in (None, "None") else array_of(one, draws, f"'{name}'", at)
        for name, one in data.items()
    }

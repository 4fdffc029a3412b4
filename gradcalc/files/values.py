"""Values of leaves and weights: as text, or from .json, .toml, .npz, .npy and .csv files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gradcalc.errors import GradcalcError, Source, did_you_mean
from gradcalc.files.texts import read_bytes, read_text, within
from gradcalc.graph import Array
from gradcalc.language import literals
from gradcalc.language.draws import Draws
from gradcalc.language.syntax import normalize


def read_bindings(option: str, draws: Draws) -> dict[str, Array]:
    """The leaf values of one ``--at``: ``a=1,2``, ``a=@points.csv:price`` or ``@values.json``."""
    with within("--at", option):
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
        with within("--weights", option):
            return {
                normalize(name.strip()) if equals else None: read_array(rest.strip()[1:], draws)
            }
    return literals.weights(Source(option, "--weights"), draws)


def read_at(options: Iterable[str], draws: Draws) -> dict[str, Array]:
    """The leaf values of all ``--at``."""
    result: dict[str, Array] = {}
    for option in options:
        with within("--at", option):
            add(result, read_bindings(option, draws))
    return result


def add(values: dict[str, Array], more: Mapping[str, Array]) -> None:
    """Adds ``more`` to ``values``; raises GradcalcError for a name that has two values."""
    for name, value in more.items():
        if name in values:
            raise GradcalcError(
                "name-collision", f"'{name}' has two values", "give each leaf one value"
            )
        values[name] = value


def read_values(path: Path, draws: Draws) -> dict[str, Array]:
    """The named values of a .json, .toml, .npz or .csv file."""
    kind = path.suffix.lower()
    if kind == ".npz":
        return _normalized(_load(path))
    if kind == ".csv":
        return _normalized(_columns(path))
    if kind in (".json", ".toml"):
        from gradcalc.files.json_values import parse_json, parse_toml, values_of

        parse = parse_json if kind == ".json" else parse_toml
        data = parse(read_text(path), str(path))
        if not isinstance(data, dict):
            raise GradcalcError("file", f"'{path}' has no names: an object of values is wanted")
        return values_of(data, draws)
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
            from gradcalc.files.json_values import array_of, parse_json

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
    from io import BytesIO
    from zipfile import BadZipFile

    data = BytesIO(read_bytes(path))
    try:
        loaded = np.load(data, allow_pickle=False)
        return dict(loaded) if path.suffix.lower() == ".npz" else np.asarray(loaded)
    except (ValueError, TypeError, EOFError, OSError, BadZipFile):
        raise GradcalcError("file", f"'{path}' is no NumPy file of numbers") from None


def _columns(path: Path) -> dict[str, Any]:
    """The columns of a CSV file with a header."""
    import csv

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
    result: dict[str, Array] = {}
    for name, value in values.items():
        add(result, {normalize(name): _float64(value, name)})
    return result


def _float64(value: Any, name: str) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise GradcalcError("number", f"'{name}' is not made of real numbers")
    return array.astype(np.float64)[()]


def names_of(text: str) -> list[str]:
    """The names in ``a,b``."""
    return [normalize(name.strip()) for name in text.split(",")]

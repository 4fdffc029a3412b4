"""Values of leaves and weights: as text, or from .json, .toml, .npz, .npy and .csv files."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gradcalc.errors import GradcalcError, Source, did_you_mean
from gradcalc.files.arrays import add, float64
from gradcalc.files.columns import check_names
from gradcalc.files.texts import read_bytes, read_text, within
from gradcalc.graph import Array
from gradcalc.language import literals
from gradcalc.language.draws import Draws
from gradcalc.language.syntax import normalize


def read_bindings(option: str, draws: Draws, label: str = "--at") -> dict[str, Array]:
    """The leaf values of one ``--at``: ``a=1,2``, ``a=@points.csv:price`` or ``@values.json``."""
    with within(label, option):
        if option.startswith("@"):
            return read_values(Path(option[1:]), draws)
        name, equals, rest = option.partition("=")
        if equals and rest.lstrip().startswith("@"):
            return {normalize(name.strip()): read_array(rest.strip()[1:], draws)}
    return literals.bindings(Source(option, label), draws)


def read_weights(option: str, draws: Draws) -> literals.Weights:
    """The weights of one ``--weights``: ``0.1,1``, ``y=0.1,1; z``, ``@w.npy`` or ``y=@w.npy``."""
    name, equals, rest = option.rpartition("=")
    if rest.lstrip().startswith("@"):
        with within("--weights", option):
            return {
                normalize(name.strip()) if equals else None: read_array(rest.strip()[1:], draws)
            }
    return literals.weights(Source(option, "--weights"), draws)


def read_expect(
    options: Iterable[str], draws: Draws, at: Mapping[str, Array]
) -> dict[str, Array | None]:
    """The gradients of all ``--expect``: numbers, None, a file, or formulas in the leaves."""
    result: dict[str, Array | None] = {}
    for option in options:
        with within("--expect", option):
            _, equals, rest = option.partition("=")
            if option.startswith("@") or (equals and rest.lstrip().startswith("@")):
                found: Mapping[str, Array | None] = read_bindings(option, draws, "--expect")
            else:
                found = literals.expectations(Source(option, "--expect"), draws, at)
            add(result, found)
    return result


def read_at(options: Iterable[str], draws: Draws, label: str = "--at") -> dict[str, Array]:
    """The leaf values of all ``--at``, or the directions of all ``--along``."""
    result: dict[str, Array] = {}
    for option in options:
        with within(label, option):
            add(result, read_bindings(option, draws, label))
    return result


def read_values(path: Path, draws: Draws) -> dict[str, Array]:
    """The named values of a .json, .toml, .npz or .csv file."""
    kind = path.suffix.lower()
    if kind in (".json", ".toml"):
        from gradcalc.files.json_values import parse_json, parse_toml, values_of

        parse = parse_json if kind == ".json" else parse_toml
        data = parse(read_text(path), str(path))
        if isinstance(data, dict):
            return values_of(data, draws)
        raise GradcalcError(
            "file", f"'{path}' has no names", f"give it to one leaf: --at NAME=@{path}"
        )
    arrays = _arrays(path)
    result: dict[str, Array] = {}
    for name in arrays:
        add(result, {normalize(name): arrays[name]()})
    return result


def read_array(text: str, draws: Draws) -> Array:
    """One array: ``x.npy``, a ``.json`` list, or a named part: ``x.npz:a``, ``x.csv:price``."""
    if Path(text).suffix.lower() == ".npy":
        return float64(_load(Path(text)), text)
    name, colon, part = text.rpartition(":")
    if not colon or Path(text).exists():
        return _whole_file(Path(text), draws)
    path = Path(name)
    if path.suffix.lower() in (".json", ".toml"):
        values = read_values(path, draws)
        found: dict[str, Callable[[], Array]] = {k: partial(values.get, k) for k in values}
    else:
        found = {normalize(key): make for key, make in _arrays(path).items()}
    if normalize(part) not in found:
        hint = did_you_mean(part, found) or f"it has {', '.join(found)}"
        raise GradcalcError("file", f"'{path}' has no '{part}'", hint)
    return found[normalize(part)]()


def _whole_file(path: Path, draws: Draws) -> Array:
    """All of a file as one array; only a .json list is one."""
    if path.suffix.lower() == ".json":
        from gradcalc.files.json_values import array_of, parse_json

        data = parse_json(read_text(path), str(path))
        if not isinstance(data, dict):
            return array_of(data, draws, str(path))
    read_bytes(path)  # a missing file is told first
    if path.suffix.lower() in (".json", ".toml", ".npz", ".csv"):
        raise GradcalcError("file", f"which values of '{path}'?", f"name a part: @{path}:NAME")
    raise _unknown_kind(path)


def _arrays(path: Path) -> dict[str, Callable[[], Array]]:
    """The parts of an .npz or .csv file by name; each is converted only when it is asked for."""
    kind = path.suffix.lower()
    if kind == ".npz":
        loaded = _load(path)
        return {name: partial(float64, loaded[name], name) for name in loaded}
    if kind == ".csv":
        return _columns(path)
    read_bytes(path)
    raise _unknown_kind(path)


def _unknown_kind(path: Path) -> GradcalcError:
    hint = "files of values end in .json .toml .npz .csv, or .npy for one leaf (a=@x.npy)"
    return GradcalcError("file", f"'{path}' is of no known kind", hint)


def _load(path: Path) -> Any:
    """What NumPy reads from a .npy or .npz file; pickles, which run code, are refused."""
    import zlib
    from io import BytesIO
    from tokenize import TokenError
    from zipfile import BadZipFile

    # Whatever NumPy lets through, by the place where the bytes are damaged.
    damaged = (ValueError, TypeError, EOFError, OSError, SyntaxError, NotImplementedError)
    archive = path.suffix.lower() == ".npz"
    data = BytesIO(read_bytes(path))
    try:
        loaded = np.load(data, allow_pickle=False)
        if archive == hasattr(loaded, "files"):
            return dict(loaded) if archive else loaded
    except MemoryError:
        raise GradcalcError("out-of-memory", f"'{path}' does not fit into memory") from None
    except (*damaged, TokenError, BadZipFile, zlib.error):
        pass
    raise GradcalcError("file", f"'{path}' is no NumPy file of numbers")


def _columns(path: Path) -> dict[str, Callable[[], Array]]:
    """The columns of a CSV file, whose first line names them."""
    import csv

    try:
        reader = csv.reader(read_text(path).splitlines())
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise GradcalcError("file", f"cannot read '{path}': {error}") from None
    if not rows:
        raise GradcalcError("file", f"'{path}' is empty", "the first line names the columns")
    (_, header), *body = rows
    for line, row in body:
        if len(row) != len(header):
            raise GradcalcError(
                "ragged",
                f"'{path}', line {line}: {len(row)} cells for {len(header)} columns",
                "give each line as many cells as the first",
            )
    names = [name.strip() for name in header]
    check_names(names, path)

    def column(i: int) -> Array:
        return np.array([_cell(row[i], path, line, names[i]) for line, row in body])

    return {name: partial(column, i) for i, name in enumerate(names)}


def _cell(text: str, path: Path, line: int, column: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"'{path}', line {line}, column '{column}': '{text}' is not a number"
        raise GradcalcError("number", message, "write 1.5, 1e-3, inf or nan") from None


def names_of(text: str) -> list[str]:
    """The names in ``a,b``."""
    return [normalize(name.strip()) for name in text.split(",")]

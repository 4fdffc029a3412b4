"""JSON and TOML, as the arrays that they spell."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcalc.errors import GradcalcError, Source, Span
from gradcalc.files.arrays import add
from gradcalc.graph import MOST_AXES, Array
from gradcalc.language import literals
from gradcalc.language.draws import Draws
from gradcalc.language.grammar import to_float
from gradcalc.language.syntax import normalize

NUMERIC = frozenset((float,))  # what needs no second look: an int may be too large
NUMBERS = {
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
}


def parse_json(text: str, name: str) -> Any:
    """The JSON value of ``text``; raises GradcalcError with the place of what is wrong."""
    try:
        return DECODER.decode(text.rstrip())
    except json.JSONDecodeError as error:
        span = Span(error.lineno, error.colno - 1, error.colno)
        message = re.sub(r" (starting )?at$", "", error.msg.lower())
        raise GradcalcError("json", message, None, span, Source(text, name)) from None
    except RecursionError:
        raise GradcalcError("json", "the JSON is nested too deeply") from None
    except ValueError as error:  # an integer of very many digits
        raise GradcalcError("json", str(error).lower()) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise GradcalcError("duplicate-key", f"the key '{twice}' stands twice in one object")
    return result


DECODER = json.JSONDecoder(object_pairs_hook=_object)


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """The TOML table of ``text``; raises GradcalcError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise GradcalcError("toml", f"'{name}' is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or an integer of very many digits
        raise GradcalcError("toml", f"'{name}': {str(error).lower()}") from None


def values_of(data: Mapping[str, Any], draws: Draws) -> dict[str, Array]:
    """The arrays that a JSON or TOML object gives to names."""
    result: dict[str, Array] = {}
    for key, value in data.items():
        add(result, {normalize(key): array_of(value, draws, f"'{key}'")})
    return result


def array_of(value: Any, draws: Draws, name: str, at: Mapping[str, Array] | None = None) -> Array:
    """The float64 array of a JSON value: a number, nested lists, or a text such as "pi/4".

    at: leaves that the text may contain.
    """
    if isinstance(value, str) and value.lower() not in NUMBERS:
        if value.startswith("@"):
            from gradcalc.files.values import read_array

            return read_array(value[1:], draws)
        return literals.value(Source(value, name), draws, at)
    try:
        flat = isinstance(value, list) and NUMERIC.issuperset(map(type, value))
        return np.array(value if flat else _plain(value, name), dtype=np.float64)[()]
    except ValueError:
        raise GradcalcError(
            "ragged", f"{name}: the rows of the nested list differ in length", "make them equal"
        ) from None


def _plain(value: Any, name: str, depth: int = 0) -> Any:
    """Nested lists of floats; "NaN" and "Infinity" are numbers that JSON cannot spell."""
    if isinstance(value, list):
        if depth == MOST_AXES:
            raise GradcalcError("number", f"{name}: lists are nested more than {MOST_AXES} deep")
        return [_plain(one, name, depth + 1) for one in value]
    if isinstance(value, str) and value.lower() in NUMBERS:
        return NUMBERS[value.lower()]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return to_float(value)
    shown = json.dumps(value, default=str)
    raise GradcalcError("number", f"{name}: {shown} is not a number")

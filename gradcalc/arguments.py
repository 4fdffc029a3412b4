"""What Python programs pass, as the engine takes it; what does not fit is a GradcalcError."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from gradcalc.errors import GradcalcError, Source
from gradcalc.graph import Array
from gradcalc.language.literals import Weights
from gradcalc.language.syntax import normalize

Values: TypeAlias = Mapping[str, Any]  # array-likes by name
Given: TypeAlias = Any  # weights: None, a number, an array-like, or by output (None: 1)


def method_of(name: Any) -> str | None:
    """The method of a check; None is whichever suits the program."""
    if name in (None, "symbolic", "chain"):
        return None if name is None else str(name)
    raise GradcalcError("type", "this is no method of the check", "symbolic or chain")


def expected_of(given: Values) -> dict[str, Array | None]:
    """Gradients that are expected, float64 by leaf; None is no gradient."""
    none = {normalize(name): None for name, value in given.items() if value is None}
    return {**values_of({n: v for n, v in given.items() if v is not None}), **none}


def names_of(names: Any) -> list[str] | None:
    """Names of leaves, in a list or separated by commas; raises GradcalcError."""
    listed = names.split(",") if isinstance(names, str) else names
    if listed is None:
        return None
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise GradcalcError("type", "these are no names", "as ['a', 'b']")
    return [normalize(name.strip()) for name in listed]


def name_of(name: Any) -> str | None:
    """The name of an output, as the parser spells it; None stays None."""
    if name is None or isinstance(name, str):
        return None if name is None else normalize(name)
    raise GradcalcError("type", "this is no name of an output", "as 'y'")


def source_of(expr: str | Source) -> Source:
    """A program's text."""
    if isinstance(expr, str):
        return Source(expr)
    if isinstance(expr, Source):
        return expr
    raise GradcalcError("type", "a program is a text", "as 'y = a*b'")


def values_of(given: Values | None) -> dict[str, Array]:
    """Array-likes as float64; raises GradcalcError for what is no array of numbers."""
    named = isinstance(given or {}, Mapping) and all(isinstance(name, str) for name in given or {})
    if not named:
        raise GradcalcError("type", "values are given by name", "as {'a': [1.0, 2.0]}")
    return {normalize(name): array_of(value, name) for name, value in (given or {}).items()}


def weights_of(given: Given) -> Weights:
    """The weights of one backward pass, float64 by output."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {
            None if name is None else normalize(name): None if w is None else array_of(w, "weights")
            for name, w in given.items()
        }
    return {None: array_of(given, "weights")}


def array_of(value: Any, name: str) -> Array:
    """A float64 copy; raises GradcalcError for what is no array of numbers."""
    try:
        array = np.array(value)
    except ValueError:  # ragged
        array = np.array(None)
    if array.dtype.kind not in "fiub":
        raise GradcalcError("number", f"the value of {name} is not an array of numbers")
    return array.astype(np.float64)[()]

"""What Python programs pass, as the engine takes it; what does not fit is a GradcalcError."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from gradcalc.errors import GradcalcError, Source
from gradcalc.files.arrays import add, float64
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
    return {name: _or_none(value, name) for name, value in _named(given, "expectations").items()}


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
    named = _named({} if given is None else given, "values")
    return {name: array_of(value, name) for name, value in named.items()}


def passes_of(given: Any) -> list[Weights]:
    """The weights of every backward pass; raises GradcalcError for what is no list of them."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise GradcalcError("type", "passes are a list of weights", "as [1.0, [0.5, 2.0]]")
    return [weights_of(one) for one in given] or [{}]


def weights_of(given: Given) -> Weights:
    """The weights of one backward pass, float64 by output."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return {None: array_of(given, "weights")}
    named = _named({name: w for name, w in given.items() if name is not None}, "weights")
    result: dict[str | None, Array | None] = {n: _or_none(w, n) for n, w in named.items()}
    if None in given:
        result[None] = _or_none(given[None], "weights")
    return result


def array_of(value: Any, name: str) -> Array:
    """A float64 copy; raises GradcalcError for what is no array of numbers."""
    try:
        return float64(value, name)
    except ValueError:
        raise GradcalcError("ragged", f"the rows of '{name}' differ in length") from None


def _or_none(value: Any, name: str) -> Array | None:
    return None if value is None else array_of(value, name)


def _named(given: Any, what: str) -> dict[str, Any]:
    """A mapping by names as the parser spells them, of which no two may be one."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise GradcalcError("type", f"{what} are given by name", "as {'a': [1.0, 2.0]}")
    result: dict[str, Any] = {}
    for name, value in given.items():
        add(result, {normalize(name): value})
    return result

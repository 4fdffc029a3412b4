"""Calls: the given arguments matched with what a function takes, and converted to it."""

import inspect
from collections.abc import Sequence
from types import UnionType
from typing import Any, get_args

import numpy as np

from gradcalc.errors import GradcalcError, did_you_mean
from gradcalc.graph import Graph, Node
from gradcalc.language.draws import Draws
from gradcalc.language.functions.registry import (
    FUNCTIONS,
    GIVEN,
    HABITS,
    KEYWORDS,
    SPELLINGS,
    Integers,
    parameters,
    usage,
)
from gradcalc.language.trace import Listing, Trace


def not_callable(name: str, shadowed: bool) -> GradcalcError:
    """Why ``name`` cannot be called: a value has the name, or nothing has."""
    if shadowed:
        return GradcalcError(
            "not-callable",
            f"'{name}' is a value and cannot be called",
            f"write a product with *: {name}*(...)",
        )
    lower = name.lower()
    hint = HABITS.get(lower) or did_you_mean(lower, FUNCTIONS) or did_you_mean(lower, SPELLINGS)
    hint = hint or "gradcalc functions lists them"
    return GradcalcError("unknown-function", f"unknown function '{name}'", hint)


def bind(
    trace: Trace,
    draws: Draws,
    name: str,
    given: Sequence[Any],
    words: Sequence[tuple[str, Any]],
) -> tuple[list[Any], dict[str, Any]]:
    """``given`` and ``words`` matched with what the function takes, and converted to it."""
    takes = parameters(FUNCTIONS[name])
    named = _named(name, [parameter.name for parameter in takes], words)
    variadic = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in takes)
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    rest = list(given)
    for parameter in takes:
        key, kind = parameter.name, parameter.kind
        if parameter.annotation in GIVEN:
            arguments.append(_given(trace, draws, parameter.annotation))
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            if key in named and not rest:
                rest = [named.pop(key)]
            several, rest = _several(trace, rest, parameter)
            arguments.extend(several)
        elif rest:
            value = _convert(trace, rest.pop(0), parameter)
            if kind is inspect.Parameter.KEYWORD_ONLY:  # behind a list of arrays: cat([a, b], 1)
                options[key] = value
            else:
                arguments.append(value)
        elif key in named and kind is not inspect.Parameter.POSITIONAL_ONLY:
            value = _convert(trace, named.pop(key), parameter)
            if variadic and kind is not inspect.Parameter.KEYWORD_ONLY:
                arguments.append(value)  # before those of any number
            else:
                options[key] = value
        elif parameter.default is inspect.Parameter.empty:
            raise GradcalcError("arguments", f"{name}() needs '{key}'", f"it is {usage(name)}")
    if rest or named:
        raise _too_much(name, next(iter(named), None), [parameter.name for parameter in takes])
    return arguments, options


def _named(name: str, known: Sequence[str], words: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The arguments given by name, under the names that the function has for them."""
    named: dict[str, Any] = {}
    for word, value in words:
        key = word if word in known else KEYWORDS.get(word, word)
        key = key if key in known else word
        if key in named:
            raise GradcalcError("arguments", f"{name}() got '{word}' twice", "give it once")
        named[key] = value
    return named


def _too_much(name: str, word: str | None, known: Sequence[str]) -> GradcalcError:
    what = "got too many arguments"
    if word is not None:
        what = f"got '{word}' twice" if word in known else f"has no argument '{word}'"
    hint = HABITS.get(word or "") or f"it is {usage(name)}"
    return GradcalcError("arguments", f"{name}() {what}", hint)


def _given(trace: Trace, draws: Draws, wanted: Any) -> Any:
    """What a function has from the running program."""
    return trace.graph if wanted is Graph else draws if wanted is Draws else trace.steering


def _several(
    trace: Trace, values: list[Any], parameter: inspect.Parameter
) -> tuple[list[Any], list[Any]]:
    """Any number of arrays or whole numbers, one by one or as one list; and what is left."""
    if parameter.annotation is int:
        whole = [int(n) for value in values for n in np.ravel(trace.integers(value))]
        return whole, []
    listed = bool(values) and isinstance(values[0], Listing)
    one_list = len(values) == 1 or (len(values) == 2 and _is_number(values[1]))
    arrays, rest = (list(values[0]), values[1:]) if listed and one_list else (values, [])
    return [_convert(trace, value, parameter) for value in arrays], rest


def _is_number(value: Any) -> bool:
    return isinstance(value, Node) and value.number is not None


def _convert(trace: Trace, value: Any, parameter: inspect.Parameter) -> Any:
    """``value`` as what a parameter takes: a node, or plain Python known now."""
    annotation = parameter.annotation
    takes = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    if value is None and type(None) in takes:
        return None
    if str in takes and isinstance(value, str):
        return value
    if Node in takes:
        return trace.array(value)
    if bool in takes:
        return trace.truth(value)
    if Integers in takes:
        whole = trace.integers(value)
        single = int in takes and not whole.ndim
        return int(whole) if single else tuple(int(i) for i in np.ravel(whole))
    if int in takes:
        return trace.integer(value)
    if float in takes:
        return trace.number(value)
    raise GradcalcError("type", f"'{parameter.name}' is not a text", "write it in quotes")

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
    HABITS,
    KEYWORDS,
    SPELLINGS,
    Integers,
    Known,
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
    hint = HABITS.get(name) or did_you_mean(lower, FUNCTIONS) or did_you_mean(lower, SPELLINGS)
    hint = hint or "gradcalc functions lists them"
    return GradcalcError("unknown-function", f"unknown function '{name}'", hint)


def named(name: str, words: Sequence[str], values: list[Any]) -> dict[str, Any]:
    """The arguments given by name, under NumPy's names."""
    names = [KEYWORDS.get(word, word) for word in words]
    for word in names:
        if names.count(word) > 1:
            raise GradcalcError("arguments", f"{name}() got '{word}' twice", "give it once")
    return dict(zip(names, values, strict=True))


def bind(
    trace: Trace,
    draws: Draws,
    name: str,
    given: Sequence[Any],
    words: dict[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    """``given`` and ``words`` matched with what the function takes, and converted to it."""
    build = FUNCTIONS[name]
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    rest = list(given)
    for parameter in parameters(build):
        takes, key = parameter.annotation, parameter.name
        if takes is Graph:
            arguments.append(trace.graph)
        elif takes is Draws:
            arguments.append(draws)
        elif takes is Known:
            arguments.append(trace.steering)
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            if key in words and not rest:
                rest = [words.pop(key)]
            if len(rest) == 1 and takes is Node and isinstance(rest[0], Listing):
                rest = list(rest[0])
            if takes is int:  # lengths, one by one or as one tuple
                arguments.extend(int(n) for value in rest for n in np.ravel(trace.integers(value)))
            else:
                arguments.extend(_convert(trace, value, parameter) for value in rest)
            rest = []
        elif rest and parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            arguments.append(_convert(trace, rest.pop(0), parameter))
        elif key in words and parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
            options[key] = _convert(trace, words.pop(key), parameter)
        elif parameter.default is inspect.Parameter.empty:
            raise GradcalcError("arguments", f"{name}() needs '{key}'", f"it is {usage(name)}")
    if rest or words:
        unknown = next(iter(words), None)
        what = f"has no argument '{unknown}'" if unknown else "got too many arguments"
        raise GradcalcError("arguments", f"{name}() {what}", f"it is {usage(name)}")
    return arguments, options


def _convert(trace: Trace, value: Any, parameter: inspect.Parameter) -> Any:
    """``value`` as what a parameter takes: a node, or plain Python known now."""
    annotation = parameter.annotation
    takes = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    if value is None and type(None) in takes:
        return None
    if Node in takes:
        return trace.array(value)
    if str in takes and isinstance(value, str):
        return value
    if bool in takes:
        return trace.truth(value)
    if int in takes:
        return trace.integer(value)
    if Integers in takes:
        return tuple(int(i) for i in np.ravel(trace.integers(value)))
    if float in takes:
        return trace.number(value)
    raise GradcalcError("type", f"'{parameter.name}' is not a text", "write it in quotes")

"""The texts after ``--at`` and ``--weights``: the same language, with no leaves."""

import ast
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from gradcalc.errors import GradcalcError, Source
from gradcalc.graph import Array
from gradcalc.language.compiler import compile_tree
from gradcalc.language.draws import Draws
from gradcalc.language.grammar import CONSTANTS
from gradcalc.language.interpreter import run
from gradcalc.language.syntax import parse, span_of
from gradcalc.language.trace import Trace

# By output; the key None is the program's result, the value None a scalar's weight of 1.
Weights: TypeAlias = Mapping[str | None, Array | None]

NUMBERS = "write numbers, such as 1,2,3"
WEIGHTS = "write 0.1,1 or 'y=0.1,1; z'"


def bindings(source: Source, draws: Draws) -> dict[str, Array]:
    """The float64 values that a text such as ``a=pi/4; b=randn(3)`` gives to names.

    Raises GradcalcError for whatever is not an assignment.
    """
    statements = _assignments(
        source,
        "a value without a name",
        "write name=value, such as a=1,2,3; several are separated by ;",
    )
    trace = _run(source, ast.Module([*statements], []), draws)
    return {name: _numbers(trace, name) for name in trace.names}


def value(source: Source, draws: Draws, at: Mapping[str, Array] | None = None) -> Array:
    """The float64 value of a text such as ``1,2,3``, or of a formula in the leaves ``at``."""
    trace = _run(source, parse(source, NUMBERS), draws, at)
    return _numbers(trace, trace.output)


def weights(source: Source, draws: Draws) -> dict[str | None, Array | None]:
    """The weights of one backward pass, from ``0.1,1`` or ``y=0.1,1; z``."""
    tree = parse(source, WEIGHTS)
    _check_collisions(tree, source)
    result: dict[str | None, Array | None] = {}
    for statement in tree.body:
        if not isinstance(statement, (ast.Assign, ast.Expr)):
            raise GradcalcError(
                "weights",
                "these are no weights",
                WEIGHTS,
                span_of(source.text, statement),
                source,
            )
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name):
            name = statement.value.id
            if name not in CONSTANTS:
                result[name] = None
                continue
        trace = _run(source, ast.Module([statement], []), draws)
        if isinstance(statement, ast.Expr):
            if None in result:
                raise GradcalcError(
                    "weights",
                    "two weights without the name of an output",
                    "several outputs are named: --weights 'y=0.1,1; z=1'",
                    span_of(source.text, statement.value),
                    source,
                )
            result[None] = _numbers(trace, trace.output)
        else:
            result.update({name: _numbers(trace, name) for name in trace.names})
    return result


def expectations(source: Source, draws: Draws, at: Mapping[str, Array]) -> dict[str, Array | None]:
    """The values by name of a text such as ``a=0.3,3; b=4*b; c=None``, with the leaves ``at``.

    Raises GradcalcError for whatever is not an assignment.
    """
    result: dict[str, Array | None] = {}
    for statement in _assignments(
        source,
        "an expectation without a name",
        "write leaf=gradient, such as a=0.3,3 or 'b=4*b'; several are separated by ;",
    ):
        none = isinstance(statement.value, ast.Constant) and statement.value.value is None
        if none and isinstance(statement.targets[0], ast.Name):
            result[statement.targets[0].id] = None
            continue
        trace = _run(source, ast.Module([statement], []), draws, at)
        result.update({name: _numbers(trace, name) for name in trace.names})
    return result


def _assignments(source: Source, message: str, hint: str) -> list[ast.Assign]:
    """The statements, which must be assignments, each to other names; raises GradcalcError."""
    tree = parse(source, hint)
    _check_collisions(tree, source)
    found = []
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            span = span_of(source.text, statement)
            raise GradcalcError("binding", message, hint, span, source)
        found.append(statement)
    return found


def _check_collisions(tree: ast.Module, source: Source) -> None:
    """The parser normalises names (NFKC), so that two spellings may turn out to be one name."""
    seen: set[str] = set()
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name):
                if target.id in seen:
                    raise GradcalcError(
                        "name-collision",
                        f"'{target.id}' has two values",
                        "give each name one value",
                        span_of(source.text, target),
                        source,
                    )
                seen.add(target.id)


def _run(
    source: Source, tree: ast.Module, draws: Draws, at: Mapping[str, Array] | None = None
) -> Trace:
    try:
        return run(compile_tree(tree, source, frozenset(at or ())), at or {}, draws)
    except GradcalcError as error:
        if error.code == "missing-value" and at is None:
            error.hint = "a value is a number, or an expression without leaves"
        raise


def _numbers(trace: Trace, name: str | None) -> Array:
    """The value of a name that has been run, as float64."""
    if name is None:
        raise GradcalcError("binding", "this is not a value", None, None, trace.program.source)
    return np.asarray(trace.value(trace.names[name]), dtype=np.float64)[()]

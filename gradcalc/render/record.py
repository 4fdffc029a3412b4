"""A result for programs: one JSON object, RFC 8259, floats in full."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcalc.blocks import Blocks
from gradcalc.errors import GradcalcError
from gradcalc.graph import Array
from gradcalc.result import Note, Result
from gradcalc.verify.findings import Check, Evidence, Finding

SCHEMA = "gradcalc.result/1"
SURROGATE = "\\ud"  # as the encoder spells half of a character, or a half of two
ENCODER = json.JSONEncoder(allow_nan=False)


def dumps(record: Mapping[str, Any]) -> str:
    """One line of strict JSON, which has words for what it cannot spell."""
    try:
        text = ENCODER.encode(record)
        if SURROGATE not in text:
            return text
    except ValueError:  # a number that is not finite
        pass
    return ENCODER.encode(_spelled(record))


def _spelled(value: Any) -> Any:
    """``value`` with a text for each number that is not finite, and no half of a character."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else _word(value)
    if isinstance(value, Mapping):
        return {key: _spelled(one) for key, one in value.items()}
    return [_spelled(one) for one in value] if isinstance(value, list) else value


def result_record(result: Result) -> dict[str, Any]:
    """The record of a result; the keys are described in README, "JSON"."""
    problem = result.problem
    return {
        "schema": SCHEMA,
        "name": problem.name,
        "status": result.status,
        "expr": problem.expr.text,
        "at": arrays_record(problem.at),
        "outputs": arrays_record(result.outputs),
        "weights": arrays_record(result.passes[-1].weights),
        "gradients": arrays_record(result.gradients),
        "passes": [
            {"weights": arrays_record(one.weights), "gradients": arrays_record(one.gradients)}
            for one in result.passes
        ],
        "check": _check(result.check),
        **_expected(result),
        **_numeric(result),
        "warnings": [_warning(warning) for warning in result.warnings],
    }


def _expected(result: Result) -> dict[str, Any]:
    """What was expected, and of which leaves it was not found."""
    if result.problem.expect is None:
        return {}
    return {"expect": arrays_record(result.problem.expect), "mismatches": list(result.mismatches)}


def _numeric(result: Result) -> dict[str, Any]:
    """The gradients by differences, if they were asked for, and their likely errors."""
    if not result.problem.numeric:
        return {}
    return {
        "numeric": {
            name: {"gradient": _array(found.gradient), "error": _array(found.error)}
            for name, found in result.numeric.items()
        }
    }


def _warning(note: Note) -> dict[str, Any]:
    record = {"code": note.code, "message": note.message}
    return record if note.span is None else {**record, "span": note.span._asdict()}


def blocks_record(blocks: Blocks) -> dict[str, Any]:
    """The record of a Jacobian, a Hessian, or a product: its kind is the key of the numbers."""
    along = {"along": arrays_record(blocks.along)} if blocks.along else {}
    matrices = {row: arrays_record(by) for row, by in blocks.blocks.items()}
    return {
        "schema": f"gradcalc.{blocks.kind}/1",
        "status": blocks.status,
        "expr": blocks.problem.expr.text,
        "at": arrays_record(blocks.problem.at),
        **along,
        "outputs": arrays_record(blocks.outputs),
        blocks.kind: matrices or arrays_record(blocks.products),
        "check": _check(blocks.check),
        "warnings": [_warning(warning) for warning in blocks.warnings],
    }


def error_record(
    error: GradcalcError, name: str | None = None, place: str | None = None
) -> dict[str, Any]:
    """The record of an input that could not be used; ``place``: the file and line it stands at."""
    span = error.span
    return {
        "schema": SCHEMA,
        "name": name,
        "status": "error",
        **({} if place is None else {"place": place}),
        "error": {
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "span": None if span is None else span._asdict(),
        },
    }


def _check(check: Check) -> dict[str, Any]:
    record = {
        "status": check.status,
        "method": check.method,
        "entries": check.entries,
        "checked": check.checked,
        "digits": check.digits,
        "jacobian": check.jacobian,
        "findings": [_finding(finding) for finding in check.findings],
    }
    if check.evidence:
        record["evidence"] = [_evidence(one) for one in check.evidence]
    return record if check.reason is None else {**record, "reason": check.reason}


def _evidence(one: Evidence) -> dict[str, Any]:
    from mpmath import nstr  # the check imported it already

    return {
        **_place(one),
        "verdict": "agrees" if one.finding is None else one.finding.kind,
        "digits": one.digits,
        "autograd": one.autograd,
        "ours": nstr(one.ours, 50),
        "sympy": nstr(one.sympy, 50),
    }


def _place(entry: Finding | Evidence) -> dict[str, Any]:
    place = {"leaf": entry.leaf, "index": list(entry.at)}
    if entry.output is None:
        return place
    return {**place, "output": entry.output, "row": list(entry.row)}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        **_place(finding),
        "kind": finding.kind,
        "autograd": finding.autograd,
        "true": _exact(finding.true),
        "left": _exact(finding.left),
        "right": _exact(finding.right),
        "digits": finding.digits,
        "part": finding.part,
        "span": None if finding.span is None else finding.span._asdict(),
    }


def arrays_record(values: Mapping[str, Array | None]) -> dict[str, Any]:
    """Nested lists of numbers by name; None stays None."""
    return {name: None if value is None else _array(value) for name, value in values.items()}


def _array(value: Array) -> Any:
    return np.asarray(value).tolist()


def _word(value: float) -> float | str:
    """JSON has no spelling for what is not finite."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _exact(value: Any) -> float | str | None:
    """An mpmath number as the nearest float64; as text where it is beyond float64's range."""
    if value is None:
        return None
    near = float(value)
    beyond = (math.isinf(near) or near == 0.0) and near != value
    return str(value) if beyond else near

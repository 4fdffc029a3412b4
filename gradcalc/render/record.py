"""A result for programs: one JSON object, RFC 8259, floats in full."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcalc.batch import Outcome
from gradcalc.blocks import Blocks
from gradcalc.errors import GradcalcError
from gradcalc.graph import Array
from gradcalc.problem import Note, Result
from gradcalc.verify.findings import Check, Finding

SCHEMA = "gradcalc.result/1"


def dumps(record: Mapping[str, Any]) -> str:
    """One line of strict JSON."""
    return json.dumps(record, allow_nan=False)


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    """The record of a result, or of an error."""
    if isinstance(outcome.result, GradcalcError):
        return error_record(outcome.result, outcome.name)
    return result_record(outcome.result)


def result_record(result: Result) -> dict[str, Any]:
    """The record of a result; the keys are described in README, "JSON"."""
    problem = result.problem
    return {
        "schema": SCHEMA,
        "name": problem.name,
        "status": result.status,
        "expr": problem.expr.text,
        "at": _arrays(problem.at),
        "outputs": _arrays(result.outputs),
        "weights": _arrays(result.passes[-1].weights),
        "gradients": _arrays(result.gradients),
        "passes": [
            {"weights": _arrays(one.weights), "gradients": _arrays(one.gradients)}
            for one in result.passes
        ],
        "check": _check(result.check),
        "warnings": [_warning(warning) for warning in result.warnings],
    }


def _warning(note: Note) -> dict[str, Any]:
    record = {"code": note.code, "message": note.message}
    return record if note.span is None else {**record, "span": note.span._asdict()}


def blocks_record(blocks: Blocks) -> dict[str, Any]:
    """The record of a Jacobian, a Hessian, or a product: its kind is the key of the numbers."""
    along = {"along": _arrays(blocks.along)} if blocks.along else {}
    matrices = {row: _arrays(by) for row, by in blocks.blocks.items()}
    return {
        "schema": f"gradcalc.{blocks.kind}/1",
        "status": blocks.status,
        "expr": blocks.problem.expr.text,
        "at": _arrays(blocks.problem.at),
        **along,
        "outputs": _arrays(blocks.outputs),
        blocks.kind: matrices or _arrays(blocks.products),
        "check": _check(blocks.check),
        "warnings": [_warning(warning) for warning in blocks.warnings],
    }


def error_record(error: GradcalcError, name: str | None = None) -> dict[str, Any]:
    """The record of an input that could not be used."""
    span = error.span
    return {
        "schema": SCHEMA,
        "name": name,
        "status": "error",
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
    return record if check.reason is None else {**record, "reason": check.reason}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "leaf": finding.leaf,
        "index": list(finding.at),
        **({} if finding.output is None else {"output": finding.output, "row": list(finding.row)}),
        "kind": finding.kind,
        "autograd": None if finding.autograd is None else _float(finding.autograd),
        "true": _exact(finding.true),
        "left": _exact(finding.left),
        "right": _exact(finding.right),
    }


def _arrays(values: Mapping[str, Array | None]) -> dict[str, Any]:
    return {name: None if value is None else _array(value) for name, value in values.items()}


def _array(value: Array) -> Any:
    if np.all(np.isfinite(value)):
        return np.asarray(value).tolist()
    if np.ndim(value):
        return [_array(row) for row in value]
    return _float(float(value))


def _float(value: float) -> float | str:
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
    return str(value) if beyond else _float(near)

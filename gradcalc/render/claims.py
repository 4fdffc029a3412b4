"""Verdicts on claimed derivatives, for people and for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradcalc.claims import Verdict
from gradcalc.render.layout import Line, show
from gradcalc.render.numbers import array, number, plural
from gradcalc.render.record import arrays_record
from gradcalc.render.report import shorter

LONGEST = 60  # characters of a factor or a term that says something
WORDS = {"proven": "right for all values", "holds": "right", "wrong": "wrong"}
STATUS = {"proven": "verified", "holds": "verified", "wrong": "mismatch"}


def show_claims(verdicts: Sequence[Verdict], digits: int) -> None:
    """Prints verdicts to standard output; numbers have so many significant digits."""
    rows = [(v.claim.leaf, v.claim.text, shorter(v.true or ""), _word(v)) for v in verdicts]
    lines = [line for verdict in verdicts for line in _lines(verdict, digits)]
    show(("leaf", "claimed", "true", "verdict"), rows, lines)


def _word(verdict: Verdict) -> str:
    at = f" at {plural(verdict.points, 'point')}" if verdict.status == "holds" else ""
    return f"{WORDS[verdict.status]}{at}"


def _lines(verdict: Verdict, digits: int) -> Iterator[Line]:
    """What is wrong with a claim."""
    name, example = verdict.claim.leaf, verdict.example
    if verdict.factor is not None and len(verdict.factor) <= LONGEST:
        yield Line(f"{name}: off by the factor {verdict.factor}", "mismatch")
    if verdict.term is not None and len(verdict.term) <= LONGEST:
        yield Line(f"{name}: off by the term {verdict.term}", "mismatch")
    if example is not None:
        at = ", ".join(f"{leaf}={array(value, digits)}" for leaf, value in example.at.items())
        element = f"[{', '.join(map(str, example.element))}]" if example.element else ""
        claimed, true = number(example.claimed, digits), number(example.true, digits)
        yield Line(f"{name}{element}: at {at} claimed {claimed}, true {true}", "mismatch")


def claims_record(expr: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """One JSON object for all claims on an expression."""
    wrong = any(verdict.status == "wrong" for verdict in verdicts)
    return {
        "schema": "gradcalc.verify/1",
        "status": "mismatch" if wrong else "ok",
        "expr": expr,
        "claims": [_record(verdict) for verdict in verdicts],
    }


def _record(verdict: Verdict) -> dict[str, Any]:
    example = verdict.example
    return {
        "leaf": verdict.claim.leaf,
        "claimed": verdict.claim.text,
        "status": verdict.status,
        "true": verdict.true,
        "points": verdict.points,
        "factor": verdict.factor,
        "term": verdict.term,
        "example": None
        if example is None
        else {
            "at": arrays_record({name: np.asarray(v) for name, v in example.at.items()}),
            "index": list(example.element),
            "claimed": example.claimed,
            "true": example.true,
        },
    }

"""A result for people: a row a leaf, what is unusual about it, and one line of verdict."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gradcalc.graph import Array
from gradcalc.problem import Result
from gradcalc.render.layout import Line, show
from gradcalc.render.numbers import array, number, plural
from gradcalc.verify.findings import WRONG_RULE, Check, Finding, Listing

MOST_FINDINGS = 10
LONGEST = 200  # characters of one formula
LONGEST_LIST = 60  # of a list of formulas


def show_result(result: Result, digits: int) -> None:
    """Prints ``result`` to standard output; numbers have so many significant digits."""
    rows = [
        (
            leaf,
            array(result.problem.at[leaf], digits, lines=True),
            array(gradient, digits, lines=True),
            _formula(result.check, leaf),
            _leaf_verdict(result.check, leaf, gradient),
        )
        for leaf, gradient in result.gradients.items()
    ]
    show(
        ("leaf", "value", "gradient", "formula", "check") if rows else (),
        rows,
        [*lines(result, digits)],
    )


def lines(result: Result, digits: int) -> Iterator[Line]:
    """All that is said about a result below its table; the verdict comes last."""
    for name, value in result.outputs.items():
        weights = result.passes[-1].weights.get(name)
        weighted = "" if weights is None else f", weighted {array(weights, digits)}"
        yield Line(f"{name} = {array(value, digits)}{weighted}")
    if len(result.passes) > 1:
        yield from _passes(result, digits)
    yield from _findings(result.check, digits)
    for name in result.mismatches:
        expected = array((result.problem.expect or {})[name], digits)
        found = array(result.gradients.get(name), digits)
        yield Line(f"{name}: expected {expected}, found {found}", "mismatch")
    yield Line(_summary(result.check), result.check.status)


def _passes(result: Result, digits: int) -> Iterator[Line]:
    """What each pass gave, and the leaves after it."""
    state: dict[str, Array | None] = {}
    for count, one in enumerate(result.passes, 1):
        for leaf, gradient in one.gradients.items():
            before = None if result.problem.zero_grad else state.get(leaf)
            kept = before if gradient is None else gradient
            state[leaf] = kept if before is None or gradient is None else before + gradient
        weights, gave = named(one.weights, digits), named(one.gradients, digits)
        yield Line(f"pass {count}: weights {weights} gave {gave}; then {named(state, digits)}")


def findings_and_summary(check: Check, digits: int) -> Iterator[Line]:
    """What a check found, and its verdict."""
    yield from _findings(check, digits)
    yield Line(_summary(check), check.status)


def _findings(check: Check, digits: int) -> Iterator[Line]:
    findings = check.findings
    for finding in findings[:MOST_FINDINGS]:
        yield Line(_finding(finding, digits), "flagged")
    if len(findings) > MOST_FINDINGS:
        yield Line(f"… and {len(findings) - MOST_FINDINGS} more (--json lists all)", "flagged")


def named(values: Mapping[str, Array | None], digits: int) -> str:
    """``a=[1, 2], b=None``"""
    return ", ".join(f"{name}={array(value, digits)}" for name, value in values.items())


def _formula(check: Check, leaf: str) -> str:
    """The formulas of the derivatives by ``leaf``, by output where there are several."""
    rows = [(output, by[leaf]) for output, by in (check.jacobian or {}).items() if leaf in by]
    texts = [(output, shorter(formula)) for output, formula in rows]
    return "; ".join(text if len(texts) == 1 else f"{output}: {text}" for output, text in texts)


def shorter(formula: Listing) -> str:
    """A formula, or the formulas of all elements, as far as there is room."""
    if isinstance(formula, str):
        return formula if len(formula) <= LONGEST else f"{formula[:LONGEST]}… (--json)"
    text = str(formula).replace("'", "")
    return text if len(text) <= LONGEST_LIST else f"{np.size(formula)} formulas (--json)"


def _leaf_verdict(check: Check, leaf: str, gradient: Array | None) -> str:
    if gradient is None or check.status == "off":
        return ""
    found = [finding for finding in check.findings if finding.leaf == leaf]
    if any(finding.kind == WRONG_RULE for finding in found):
        return "mismatch"
    if found:
        return f"flagged ({len(found)})"
    if check.checked < check.entries:
        return "sampled" if check.checked else "unchecked"
    return "verified" if check.checked else ""


def _summary(check: Check) -> str:
    """``verified: 9 of 9 entries, SymPy agrees to 15.9 digits``"""
    if check.status == "off":
        return "not checked (--no-check)"
    count = f"{len(check.findings) or check.checked} of {plural(check.checked, 'entry')}"
    if check.checked < check.entries:
        count += f" looked at, of {check.entries} in all"
    parts = [count] if check.checked or not check.reason else []
    if check.digits is not None:
        others = "on the others " if check.findings else ""
        parts.append(f"SymPy agrees {others}to {check.digits} digits")
    if check.reason:
        parts.append(check.reason)
    return f"{check.status}: {', '.join(parts)}"


def _finding(finding: Finding, digits: int) -> str:
    place = _element(finding.leaf, finding.at)
    if finding.output is not None:
        place = f"{_element(finding.output, finding.row)} by {place}"
    parts = [f"{place}: {finding.kind}, gradient {_ours(finding, digits)}"]
    for word, value in (("true", finding.true), ("left", finding.left), ("right", finding.right)):
        if value is not None:
            parts.append(f"{word} {_exact(value, digits)}")
    return ", ".join(parts)


def _element(name: str, at: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, at))}]" if at else name


def _ours(finding: Finding, digits: int) -> str:
    return "None" if finding.autograd is None else number(finding.autograd, digits)


def _exact(value: Any, digits: int) -> str:
    """A number of more digits or range than float64 has."""
    near = float(value)
    if (near != 0.0 and math.isfinite(near)) or near == value or math.isnan(near):
        return number(near, digits)
    import mpmath  # a finding has one only if the check imported it already

    return str(mpmath.nstr(value, digits)).replace(".0e", "e")

"""A result for people: a row a leaf, what is unusual about it, and one line of verdict."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradcalc.graph import Array
from gradcalc.render.layout import Line, show
from gradcalc.render.numbers import FULL, array, number, plural
from gradcalc.result import Result
from gradcalc.verify.findings import WRONG_RULE, Check, Evidence, Finding, Listing

MOST_FINDINGS = 10
MOST_EVIDENCE = 100  # entries whose verdict is explained
LONGEST = 200  # characters of one formula
LONGEST_LIST = 60  # of a list of formulas


def show_result(result: Result, digits: int) -> None:
    """Prints ``result`` to standard output; numbers have so many significant digits."""
    rows = [
        (
            leaf,
            array(result.problem.at[leaf], digits, lines=True),
            array(gradient, digits, lines=True),
            *_numeric(result, leaf, digits),
            _formula(result.check, leaf),
            _leaf_verdict(result.check, leaf, gradient),
        )
        for leaf, gradient in result.gradients.items()
    ]
    numeric = ("numeric", "its error") if result.problem.numeric else ()
    headers = ("leaf", "value", "gradient", *numeric, "formula", "check")
    show(headers if rows else (), rows, [*lines(result, digits)])


def _numeric(result: Result, leaf: str, digits: int) -> Iterator[str]:
    """The gradient by differences, and how far off it is likely to be."""
    if result.problem.numeric:
        found = result.numeric.get(leaf)
        yield "" if found is None else array(found.gradient, digits, lines=True)
        yield "" if found is None else array(found.error, 2, lines=True)


def lines(result: Result, digits: int) -> Iterator[Line]:
    """All that is said about a result below its table; the verdict comes last."""
    for name, value in result.outputs.items():
        weights = result.passes[-1].weights.get(name)
        weighted = "" if weights is None else f", weighted {array(weights, digits)}"
        yield Line(f"{name} = {array(value, digits)}{weighted}")
    if len(result.passes) > 1:
        yield from _passes(result, digits)
    yield from _findings(result.check, digits)
    yield from _evidence(result.check)
    for name in result.mismatches:
        yield from _side_by_side(result, name)
    yield Line(_summary(result.check, result.mismatches), result.check.status)


def _side_by_side(result: Result, leaf: str) -> Iterator[Line]:
    """What was expected of a leaf and what was found, in full, for the elements that differ."""
    expected = (result.problem.expect or {})[leaf]
    found = result.gradients.get(leaf)
    if found is None or expected is None or np.shape(expected) not in ((), np.shape(found)):
        texts = f"expected {array(expected, FULL)}, found {array(found, FULL)}"
        yield Line(f"{leaf}: {texts}", "mismatch")
        return
    places = [tuple(map(int, at)) for at in np.argwhere(result.differing(leaf))]
    for at in places[:MOST_FINDINGS]:
        wanted, own = float(np.broadcast_to(expected, np.shape(found))[at]), float(found[at])
        texts = f"expected {number(wanted, FULL)}, found {number(own, FULL)}"
        off = f"off by {number(own - wanted, 3)}"
        yield Line(f"{_element(leaf, at)}: {texts}, {off}", "mismatch")
    if len(places) > MOST_FINDINGS:
        yield Line(f"… and {len(places) - MOST_FINDINGS} more elements of {leaf}", "mismatch")


def _evidence(check: Check) -> Iterator[Line]:
    """How the verdict on each entry was reached."""
    for one in check.evidence[:MOST_EVIDENCE]:
        import mpmath  # the check imported it already

        sides = () if one.finding is None else _sides(one.finding)
        agrees = f"agrees to {math.floor(one.digits * 10) / 10} digits"
        word = agrees if one.finding is None else one.finding.kind
        yield Line(f"{_place(one)}: {word}", "verified" if one.finding is None else "flagged")
        yield Line(f"  float64                {one.autograd!r}")
        for name, value in (
            ("our rules at 50 digits", one.ours),
            ("SymPy's at 50 digits", one.sympy),
            *((f"{word} side" if word != "true" else "true value", value) for word, value in sides),
        ):
            yield Line(f"  {name:22} {mpmath.nstr(value, 50, min_fixed=-5, max_fixed=20)}")
    if len(check.evidence) > MOST_EVIDENCE:
        more = len(check.evidence) - MOST_EVIDENCE
        yield Line(f"… and {more} more entries (--json lists all)")


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
    yield from _evidence(check)
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


def _summary(check: Check, unexpected: Sequence[str] = ()) -> str:
    """``verified: 9 of 9 entries, SymPy agrees to 15.9 digits``"""
    if check.status == "off":
        return "; ".join([*_unexpected(unexpected), "not checked"])
    count = f"{len(check.findings) or check.checked} of {plural(check.checked, 'entry')}"
    if check.checked < check.entries:
        count += f" looked at, of {check.entries} in all"
    parts = _unexpected(unexpected)
    parts += [count] if check.checked or not check.reason else []
    if check.digits is not None:
        others = "on the others " if check.findings else ""
        parts.append(f"SymPy agrees {others}to {check.digits} digits")
    if check.reason:
        parts.append(check.reason)
    return f"{check.status}: {', '.join(parts)}"


def _sides(finding: Finding) -> list[tuple[str, Any]]:
    """The true value, or those on either side."""
    named = (("true", finding.true), ("left", finding.left), ("right", finding.right))
    return [(word, value) for word, value in named if value is not None]


def _unexpected(leaves: Sequence[str]) -> list[str]:
    return [f"not as expected ({', '.join(leaves)})"] if leaves else []


def _finding(finding: Finding, digits: int) -> str:
    source = f" in {finding.part}" if finding.part else ""
    parts = [f"{_place(finding)}: {finding.kind}{source}, gradient {_ours(finding, digits)}"]
    parts += [f"{word} {_exact(value, digits)}" for word, value in _sides(finding)]
    if finding.digits is not None:
        parts.append(f"{plural(int(finding.digits), 'digit')} right")
    return ", ".join(parts)


def _place(entry: Finding | Evidence) -> str:
    """``a[1]``, or ``y[0] by a[1]`` of a matrix."""
    place = _element(entry.leaf, entry.at)
    return place if entry.output is None else f"{_element(entry.output, entry.row)} by {place}"


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

"""A result for people: a table of the leaves, what is unusual about them, and one line of verdict."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gradcalc.batch import Outcome
from gradcalc.errors import GradcalcError, printable
from gradcalc.graph import Array
from gradcalc.problem import Result
from gradcalc.render.numbers import array, number
from gradcalc.verify.findings import Check, Finding

STYLES = {
    "verified": "green",
    "ok": "green",
    "flagged": "yellow",
    "unchecked": "yellow",
    "mismatch": "bold red",
    "error": "bold red",
}
MOST_FINDINGS = 10
LONGEST_FORMULA = 60


def show(result: Result, console: Console, digits: int) -> None:
    """Prints ``result``: wrapped to the width of a terminal, plain and unwrapped elsewhere."""
    table = _table(console, "leaf", "value", "gradient", "formula", "check")
    for leaf, gradient in result.gradients.items():
        table.add_row(
            Text(leaf, style="bold"),
            array(result.problem.at[leaf], digits, lines=console.is_terminal),
            array(gradient, digits, lines=console.is_terminal),
            Text(_formula(result.check, leaf)),
            _styled(_leaf_verdict(result.check, leaf, gradient)),
        )
    _print(console, table)
    for line in _lines(result, digits):
        _print(console, line)


def show_all(outcomes: list[Outcome], console: Console, digits: int) -> None:
    """Prints a table of ``outcomes``, the failures in full, and one line that counts them."""
    table = _table(console, "problem", "status", "check", "gradients")
    for outcome in outcomes:
        result = outcome.result
        failed = isinstance(result, GradcalcError)
        table.add_row(
            printable(outcome.name),
            _styled("error" if isinstance(result, GradcalcError) else result.status),
            "" if isinstance(result, GradcalcError) else _styled(result.check.status),
            result.message if isinstance(result, GradcalcError) else _gradients(result, digits),
            style="red" if failed else None,
        )
    _print(console, table)
    for outcome in outcomes:
        if isinstance(outcome.result, GradcalcError):
            _print(console, Text(f"{outcome.name}: {outcome.result}", style="red"))
        elif outcome.result.status != "ok":
            _print(console, Text(f"{outcome.name}:", style="bold"))
            for line in _lines(outcome.result, digits):
                _print(console, line)
    counts = {code: sum(o.exit_code == code for o in outcomes) for code in (0, 1, 2)}
    words = {0: "ok", 1: "mismatch", 2: "error"}
    summary = ", ".join(f"{n} {words[code]}" for code, n in counts.items() if n or not code)
    _print(console, Text(f"{len(outcomes)} problems: {summary}"))


def _table(console: Console, *headers: str) -> Table:
    plain = not console.is_terminal
    table = Table(box=None if plain else box.ROUNDED, pad_edge=not plain, show_edge=not plain)
    for header in headers:
        table.add_column(header, overflow="fold", no_wrap=plain)
    return table


def _print(console: Console, content: Table | Text) -> None:
    """Without a terminal: neither padding nor wrapping, so that other tools can read the lines."""
    if console.is_terminal:
        console.print(content)
        return
    with console.capture() as capture:
        console.print(content, soft_wrap=isinstance(content, Text))
    for line in capture.get().splitlines():
        console.file.write(line.rstrip() + "\n")


def _styled(word: str) -> Text:
    return Text(word, style=STYLES.get(word.split(" ")[0], ""))


def _formula(check: Check, leaf: str) -> str:
    """The formulas of the derivatives by ``leaf``, by output where there are several."""
    rows = [(output, by[leaf]) for output, by in (check.jacobian or {}).items() if leaf in by]
    texts = [(output, f if isinstance(f, str) else _shorter(f)) for output, f in rows]
    return "; ".join(text if len(texts) == 1 else f"{output}: {text}" for output, text in texts)


def _shorter(listing: list[Any]) -> str:
    text = str(listing).replace("'", "")
    return text if len(text) <= LONGEST_FORMULA else f"{np.size(listing)} formulas (--json)"


def _leaf_verdict(check: Check, leaf: str, gradient: Array | None) -> str:
    if gradient is None or check.status == "off":
        return ""
    found = [finding for finding in check.findings if finding.leaf == leaf]
    if any(finding.kind == "wrong rule" for finding in found):
        return "mismatch"
    if found:
        return f"flagged ({len(found)})"
    return "verified" if check.checked else "unchecked"


def _lines(result: Result, digits: int) -> Iterator[Text]:
    for name, value in result.outputs.items():
        weights = result.passes[-1].weights.get(name)
        weighted = "" if weights is None else f", weighted {array(weights, digits)}"
        yield Text(f"{name} = {array(value, digits)}{weighted}")
    if len(result.passes) > 1:
        for count, one in enumerate(result.passes, 1):
            weights = _named(one.weights, digits)
            yield Text(f"pass {count}: weights {weights} gave {_named(one.gradients, digits)}")
    findings = result.check.findings
    for finding in findings[:MOST_FINDINGS]:
        yield Text(_finding(finding, digits), style="yellow")
    if len(findings) > MOST_FINDINGS:
        yield Text(f"… and {len(findings) - MOST_FINDINGS} more (--json lists all)", style="yellow")
    for name in result.mismatches:
        expected = array((result.problem.expect or {})[name], digits)
        found = array(result.gradients.get(name), digits)
        yield Text(f"{name}: expected {expected}, found {found}", style="bold red")
    yield _styled(_summary(result.check))


def _summary(check: Check) -> str:
    """``verified: 9 of 9 entries, SymPy agrees to 15.9 digits``"""
    if check.status == "off":
        return "not checked (--no-check)"
    reason = f": {check.reason}" if check.reason else ""
    if not check.checked and check.status == "unchecked":
        return f"unchecked{reason}"
    digits = "" if check.digits is None else f", SymPy agrees to {check.digits} digits"
    if check.findings:
        digits = (
            f", {len(check.findings)} of them not plainly right{digits and digits + ' elsewhere'}"
        )
    return f"{check.status}: {check.checked} of {check.entries} entries{digits}{reason}"


def _finding(finding: Finding, digits: int) -> str:
    index = f"[{', '.join(map(str, finding.index))}]" if finding.index else ""
    parts = [f"{finding.leaf}{index}: {finding.kind}, gradient {number(finding.autograd, digits)}"]
    for word, value in (("true", finding.true), ("left", finding.left), ("right", finding.right)):
        if value is not None:
            parts.append(f"{word} {_exact(value, digits)}")
    return ", ".join(parts)


def _exact(value: Any, digits: int) -> str:
    """A number of more digits or range than float64 has."""
    import mpmath  # a finding has one only if the check imported it already

    return str(mpmath.nstr(value, digits, strip_zeros=True)).removesuffix(".0")


def _gradients(result: Result, digits: int) -> str:
    return _named(result.gradients, digits)


def _named(values: Mapping[str, Array | None], digits: int) -> str:
    return ", ".join(f"{name}={array(value, digits)}" for name, value in values.items())

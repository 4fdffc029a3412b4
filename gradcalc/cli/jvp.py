"""``gradcalc jvp``: the derivatives of all outputs along a direction."""

from typing import Annotated

import typer

from gradcalc.cli.blocks import Asked, print_blocks
from gradcalc.cli.options import (
    Along,
    At,
    CheckBy,
    CheckTime,
    Digits,
    Explain,
    Expr,
    Json,
    Method,
    NoCheck,
    Seed,
    Strict,
    check_options,
)


def jvp(
    expr: Expr,
    at: At = None,
    along: Along = None,
    output: Annotated[
        str | None,
        typer.Option(help="Names to differentiate: y,z; by default those that no other uses."),
    ] = None,
    seed: Seed = None,
    check: CheckBy = Method.AUTO,
    check_time: CheckTime = 10.0,
    no_check: NoCheck = False,
    explain: Explain = False,
    strict: Strict = False,
    digits: Digits = 10,
    as_json: Json = False,
) -> None:
    """Print the derivatives of all outputs along a direction, checked against SymPy."""
    how = check_options(check, check_time, no_check, explain)
    asked = Asked(expr, at, along, None, output, seed, how)
    print_blocks("jvp", asked, strict, digits, as_json)

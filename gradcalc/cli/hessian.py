"""``gradcalc hessian``: the second derivatives of a number, in blocks between leaves."""

from typing import Annotated

import typer

from gradcalc.cli.blocks import Asked, print_blocks
from gradcalc.cli.options import (
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
    Wrt,
    check_options,
)


def hessian(
    expr: Expr,
    at: At = None,
    wrt: Wrt = None,
    output: Annotated[
        str | None, typer.Option(help="The name to differentiate; by default the last one.")
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
    """Print the second derivatives of a scalar output, each checked against SymPy."""
    how = check_options(check, check_time, no_check, explain)
    asked = Asked(expr, at, None, wrt, output, seed, how)
    print_blocks("hessian", asked, strict, digits, as_json)

"""``gradcalc hvp``: a Hessian times a direction."""

from typing import Annotated

import typer

from gradcalc.cli.blocks import Asked, print_blocks
from gradcalc.cli.options import (
    Along,
    At,
    CheckTime,
    Digits,
    Expr,
    Json,
    NoCheck,
    Seed,
    Strict,
    Wrt,
)


def hvp(
    expr: Expr,
    at: At = None,
    along: Along = None,
    wrt: Wrt = None,
    output: Annotated[
        str | None, typer.Option(help="The name to differentiate; by default the last one.")
    ] = None,
    seed: Seed = None,
    check_time: CheckTime = 10.0,
    no_check: NoCheck = False,
    strict: Strict = False,
    digits: Digits = 10,
    as_json: Json = False,
) -> None:
    """Print the Hessian of a scalar output times a direction, checked against SymPy."""
    asked = Asked(expr, at, along, wrt, output, seed, check_time, no_check)
    print_blocks("hvp", asked, strict, digits, as_json)

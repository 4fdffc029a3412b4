"""``gradcalc eval``: one expression, its values and weights, its gradients."""

from typing import Annotated

import typer

from gradcalc.cli.options import (
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
from gradcalc.errors import GradcalcError


def evaluate(
    expr: Expr,
    at: At = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(help="Weights of one backward pass: 0.1,1 or 'y=0.1,1; z'. Repeatable."),
    ] = None,
    zero_grad: Annotated[
        bool, typer.Option("--zero-grad", help="Clear the gradients between passes.")
    ] = False,
    no_retain_graph: Annotated[
        bool, typer.Option("--no-retain-graph", help="Free the graph after the first pass.")
    ] = False,
    expand: Annotated[
        bool, typer.Option("--expand", help="Spread an output of one element over the weights.")
    ] = False,
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
    """Print the gradients of an expression and check them against SymPy."""
    from gradcalc import api
    from gradcalc.cli.output import fail, finish, print_result
    from gradcalc.files.texts import read_program
    from gradcalc.files.values import names_of, read_at, read_weights
    from gradcalc.language.draws import Draws
    from gradcalc.language.syntax import normalize

    try:
        draws = Draws(seed)
        result = api.solve(
            read_program(expr),
            read_at(at or (), draws),
            passes=[read_weights(option, draws) for option in weights or ()] or [None],
            zero_grad=zero_grad,
            retain_graph=not no_retain_graph,
            expand=expand,
            wrt=None if wrt is None else names_of(wrt),
            output=None if output is None else normalize(output),
            draws=draws,
            check=not no_check,
            check_seconds=check_time,
        )
    except GradcalcError as error:
        fail(error, as_json)
    print_result(result, digits, as_json)
    finish(result, strict)

"""``gradcalc eval``: one expression, its values and weights, its gradients."""

from enum import StrEnum
from typing import Annotated

import typer

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
    finite,
)
from gradcalc.errors import GradcalcError


class Against(StrEnum):
    """What --against can be."""

    NUMERIC = "numeric"


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
    expect: Annotated[
        list[str] | None,
        typer.Option(help="Gradients that are expected: a=0.3,3 or 'b=4*b; c=None'. Repeatable."),
    ] = None,
    rtol: Annotated[
        float,
        typer.Option(help="Relative tolerance of what is expected.", min=0.0, callback=finite),
    ] = 1e-9,
    atol: Annotated[
        float, typer.Option(help="Absolute tolerance of it.", min=0.0, callback=finite)
    ] = 0.0,
    against: Annotated[
        Against | None, typer.Option(help="Print another estimate of the gradients beside them.")
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
    """Print the gradients of an expression and check them against SymPy."""
    from gradcalc import api
    from gradcalc.cli.output import fail, finish, print_result
    from gradcalc.files.texts import read_program
    from gradcalc.files.values import names_of, read_at, read_expect, read_weights
    from gradcalc.language.draws import Draws
    from gradcalc.language.syntax import normalize
    from gradcalc.problem import InterruptedCheckError

    try:
        draws = Draws(seed)
        values = read_at(at or (), draws)
        result = api.solve(
            read_program(expr),
            values,
            passes=[read_weights(option, draws) for option in weights or ()] or [None],
            zero_grad=zero_grad,
            retain_graph=not no_retain_graph,
            expand=expand,
            wrt=None if wrt is None else names_of(wrt),
            output=None if output is None else normalize(output),
            draws=draws,
            expect=read_expect(expect, draws, values) if expect else None,
            rtol=rtol,
            atol=atol,
            numeric=against is Against.NUMERIC,
            **check_options(check, check_time, no_check, explain),
        )
    except InterruptedCheckError as stopped:
        print_result(stopped.result, digits, as_json)
        raise
    except GradcalcError as error:
        fail(error, as_json)
    print_result(result, digits, as_json)
    finish(result, strict)

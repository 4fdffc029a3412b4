"""``gradcalc verify``: is a derivative that was found by hand right?"""

from typing import Annotated

import typer

from gradcalc.cli.options import At, CheckTime, Digits, Expr, Json, finite
from gradcalc.errors import GradcalcError


def verify(
    expr: Expr,
    claim: Annotated[
        list[str] | None,
        typer.Option(help="What the derivative is said to be: 'b = 4*b; c = 1/c'. Repeatable."),
    ] = None,
    at: At = None,
    output: Annotated[
        str | None, typer.Option(help="The name to differentiate; by default the last one.")
    ] = None,
    rtol: Annotated[
        float, typer.Option(help="Relative tolerance at points.", min=0.0, callback=finite)
    ] = 1e-9,
    seed: Annotated[int, typer.Option(help="Seed of the points that are tried.", min=0)] = 0,
    check_time: CheckTime = 10.0,
    digits: Digits = 10,
    as_json: Json = False,
) -> None:
    """Compare derivatives found by hand with SymPy's: for all values, or at many points."""
    from gradcalc import api
    from gradcalc.cli.codes import FAILED
    from gradcalc.cli.output import fail, to_stdout, write
    from gradcalc.files.texts import read_program
    from gradcalc.files.values import read_at
    from gradcalc.language.draws import Draws
    from gradcalc.language.syntax import normalize
    from gradcalc.render.claims import claims_record, show_claims
    from gradcalc.render.record import dumps

    try:
        source = read_program(expr)
        verdicts = api.verify_claims(
            source,
            claim or (),
            read_at(at or (), Draws(seed)),
            output=None if output is None else normalize(output),
            rtol=rtol,
            seed=seed,
            seconds=check_time,
        )
    except GradcalcError as error:
        fail(error, as_json)
    if as_json:
        write(dumps(claims_record(source.text, verdicts)))
    else:
        with to_stdout():
            show_claims(verdicts, digits)
    if any(verdict.status == "wrong" for verdict in verdicts):
        raise typer.Exit(FAILED)

"""``gradcalc run``: the problems of files and folders, in order."""

from typing import Annotated

import typer

from gradcalc.cli.options import CheckTime, Digits, Json, NoCheck, Strict
from gradcalc.errors import GradcalcError


def run(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Files (.toml .json .jsonl), folders, or - (JSONL).", metavar="PATH..."
        ),
    ],
    check_time: CheckTime = 10.0,
    no_check: NoCheck = False,
    strict: Strict = False,
    digits: Digits = 10,
    as_json: Json = False,
) -> None:
    """Solve every problem of files or folders; exit with 1 if any fails its check or its expect."""
    from gradcalc.batch import exit_code, solve_all
    from gradcalc.cli.output import note, print_error, to_stdout, write
    from gradcalc.files.problems import records_of
    from gradcalc.render.record import dumps, outcome_record
    from gradcalc.render.summary import show_all

    outcomes = []
    for outcome in solve_all(records_of(paths), check=not no_check, check_seconds=check_time):
        if as_json:
            write(dumps(outcome_record(outcome)))
        if isinstance(outcome.result, GradcalcError):
            print_error(outcome.result)
        elif not as_json:
            note(outcome.result, outcome.name)
        outcomes.append(outcome)
    if not as_json:
        with to_stdout():
            show_all(outcomes, digits)
    raise typer.Exit(exit_code(outcomes, strict))

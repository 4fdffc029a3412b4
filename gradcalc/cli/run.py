"""``gradcalc run``: the problems of files, folders and pipes, in order."""

from typing import Annotated

import typer

from gradcalc.cli.options import (
    CheckBy,
    CheckTime,
    Digits,
    Json,
    Method,
    NoCheck,
    Strict,
    check_options,
)
from gradcalc.errors import GradcalcError

MOST_JOBS = 1_000


def run(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Files (.toml .json .jsonl .csv), folders, or - (JSONL).", metavar="PATH..."
        ),
    ],
    expr: Annotated[
        str | None, typer.Option(help="The program of every row of .csv files.", metavar="EXPR")
    ] = None,
    output: Annotated[
        str | None, typer.Option(help="Write JSON, one line a problem, to this file.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(help="As --output, but keep what the file has of the same problems."),
    ] = None,
    jobs: Annotated[
        str, typer.Option(help="How many processes work: a number, or auto (one a core).")
    ] = "1",
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first problem that is not ok.")
    ] = False,
    max_errors: Annotated[
        int | None, typer.Option(help="Stop when so many problems are not ok.", min=1)
    ] = None,
    only: Annotated[
        str, typer.Option("--filter", help="Only problems whose name contains this text.")
    ] = "",
    check: CheckBy = Method.AUTO,
    check_time: CheckTime = 10.0,
    no_check: NoCheck = False,
    strict: Strict = False,
    digits: Digits = 10,
    as_json: Json = False,
) -> None:
    """Solve every problem of files or folders; exit with 1 if any fails its check or its expect."""
    from gradcalc.cli.batches import Batch
    from gradcalc.cli.output import fail

    try:
        if fail_fast and max_errors is not None:
            raise GradcalcError(
                "options", "--fail-fast is --max-errors 1", "leave out one of the two"
            )
        if resume is not None and only:
            raise GradcalcError(
                "options",
                "--resume with --filter would lose the other results",
                "leave out one of the two",
            )
        how = check_options(check, check_time, no_check, explain=False)
        batch = Batch(
            paths,
            expr,
            how,
            jobs=_jobs(jobs),
            only=only,
            output=_output(output, resume),
            resume=resume is not None,
            digits=digits,
            as_json=as_json,
        )
        code = batch.run(1 if fail_fast else max_errors, strict)
    except GradcalcError as error:
        fail(error, as_json)
    raise typer.Exit(code)


def _output(output: str | None, resume: str | None) -> str | None:
    if output is not None and resume is not None and output != resume:
        raise GradcalcError("output", "--output and --resume name two files", "leave out --output")
    return resume if output is None else output


def _jobs(text: str) -> int:
    """The number of processes."""
    import os

    if text == "auto":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MOST_JOBS:
        return int(text)
    raise GradcalcError(
        "jobs",
        f"'{text}' is no number of processes",
        f"--jobs 4 (at most {MOST_JOBS}), or --jobs auto",
    )

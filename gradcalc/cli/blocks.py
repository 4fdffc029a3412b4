"""What ``jacobian``, ``hessian``, ``jvp`` and ``hvp`` share: reading, and printing."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import typer

from gradcalc.errors import GradcalcError


class Asked(NamedTuple):
    """The options of a command, as they were typed."""

    expr: str
    at: Sequence[str] | None
    along: Sequence[str] | None
    wrt: str | None
    output: str | None
    seed: int | None
    check_time: float
    no_check: bool


def print_blocks(kind: str, asked: Asked, strict: bool, digits: int, as_json: bool) -> None:
    """Prints the matrices of one kind, and ends with 1 when the check failed."""
    from gradcalc.cli.output import FAILED, fail, note, to_stdout, write
    from gradcalc.render.blocks import show_blocks
    from gradcalc.render.record import blocks_record, dumps

    try:
        blocks = _derived(kind, asked)
    except GradcalcError as error:
        fail(error, as_json)
    if as_json:
        write(dumps(blocks_record(blocks)))
    else:
        with to_stdout():
            show_blocks(blocks, digits)
        note(blocks)
    if blocks.status != "ok" or (strict and not blocks.proven):
        raise typer.Exit(FAILED)


def _derived(kind: str, asked: Asked) -> Any:
    from gradcalc import api
    from gradcalc.files.texts import read_program
    from gradcalc.files.values import names_of, read_at
    from gradcalc.language.draws import Draws
    from gradcalc.language.syntax import normalize

    draws = Draws(asked.seed)
    options: dict[str, Any] = {
        "wrt": None if asked.wrt is None else names_of(asked.wrt),
        "output": None if asked.output is None else normalize(asked.output),
        "draws": draws,
        "check": not asked.no_check,
        "check_seconds": asked.check_time,
    }
    expr, at = read_program(asked.expr), read_at(asked.at or (), draws)
    match kind:
        case "jacobian":
            return api.jacobian(expr, at, **options)
        case "hessian":
            return api.hessian(expr, at, **options)
        case "jvp":
            del options["wrt"]
            return api.jvp(expr, at, read_at(asked.along or (), draws, "--along"), **options)
        case _:
            return api.hvp(expr, at, read_at(asked.along or (), draws, "--along"), **options)

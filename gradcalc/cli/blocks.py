"""What ``jacobian``, ``hessian``, ``jvp`` and ``hvp`` share: reading, and printing."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gradcalc.errors import GradcalcError


class Asked(NamedTuple):
    """The options of a command, as they were typed."""

    expr: str
    at: Sequence[str] | None
    along: Sequence[str] | None
    wrt: str | None
    output: str | None
    seed: int | None
    check: Mapping[str, Any]


def print_blocks(kind: str, asked: Asked, strict: bool, digits: int, as_json: bool) -> None:
    """Prints the matrices of one kind, and ends with 1 when the check failed."""
    from gradcalc.cli.output import fail, finish
    from gradcalc.problem import InterruptedCheckError

    try:
        blocks = _derived(kind, asked)
    except GradcalcError as error:
        fail(error, as_json)
    except InterruptedCheckError as stopped:
        _print(stopped.result, digits, as_json)
        raise
    _print(blocks, digits, as_json)
    finish(blocks, strict)


def _print(blocks: Any, digits: int, as_json: bool) -> None:
    from gradcalc.cli.output import note, to_stdout, write
    from gradcalc.render.blocks import show_blocks
    from gradcalc.render.record import blocks_record, dumps

    if as_json:
        write(dumps(blocks_record(blocks)))
        return
    with to_stdout():
        show_blocks(blocks, digits)
    note(blocks)


def _derived(kind: str, asked: Asked) -> Any:
    from gradcalc import api
    from gradcalc.files.texts import read_program
    from gradcalc.files.values import names_of, read_at
    from gradcalc.language.draws import Draws
    from gradcalc.language.syntax import normalize

    draws = Draws(asked.seed)
    options: dict[str, Any] = {
        "output": None if asked.output is None else normalize(asked.output),
        "draws": draws,
        **asked.check,
    }
    if asked.wrt is not None:
        options["wrt"] = names_of(asked.wrt)
    given = [read_at(asked.at or (), draws)]
    if asked.along is not None or kind in ("jvp", "hvp"):
        given.append(read_at(asked.along or (), draws, "--along"))
    return getattr(api, kind)(read_program(asked.expr), *given, **options)

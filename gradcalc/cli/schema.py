"""``gradcalc schema``: the JSON Schema of results, or of problems."""

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """What there is a schema of."""

    RESULT = "result"
    PROBLEM = "problem"


def schema(kind: Annotated[Kind, typer.Argument(help="result or problem.")]) -> None:
    """Print the JSON Schema (2020-12) of results, or of the problems of gradcalc run."""
    from importlib.resources import files

    from gradcalc.cli.output import write

    write((files("gradcalc") / "schemas" / f"{kind}.json").read_text("utf-8").rstrip("\n"))

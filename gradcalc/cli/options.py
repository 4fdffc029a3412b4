"""The options that commands share."""

from typing import Annotated, TypeAlias

import typer

CheckTime: TypeAlias = Annotated[
    float, typer.Option("--check-time", help="Seconds that one check may take.", min=0.0)
]
NoCheck: TypeAlias = Annotated[bool, typer.Option("--no-check", help="Do not check against SymPy.")]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Exit with 1 unless everything is verified.")
]
Digits: TypeAlias = Annotated[
    int, typer.Option("--digits", help="Significant digits that are shown.", min=1, max=17)
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object a problem.")]

"""The options that commands share."""

import math
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import typer


class Method(StrEnum):
    """What --check can be."""

    AUTO = "auto"
    SYMBOLIC = "symbolic"
    CHAIN = "chain"
    OFF = "off"


def check_options(method: Method, seconds: float, no_check: bool, explain: bool) -> dict[str, Any]:
    """The options of a check as the functions of api.py call them."""
    check = not no_check and method is not Method.OFF
    if explain and not check:
        raise typer.BadParameter("There is no check to explain.", param_hint="--explain-check")
    return {
        "check": check,
        "check_seconds": seconds,
        "method": None if method in (Method.AUTO, Method.OFF) else str(method),
        "explain": explain,
    }


def finite(value: float) -> float:
    """An option's number, which must be one."""
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


Expr: TypeAlias = Annotated[
    str, typer.Argument(help="The program, @FILE, or - for standard input.", metavar="EXPR")
]
At: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Leaf values: a=1,2 or 'a=[[1,2],[3,4]]; b=pi' or a=@FILE or @FILE. Repeatable."
    ),
]
Along: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="The direction by leaf: 'a=1,0,0; b=0.5', or as --at. Repeatable."),
]
Wrt: TypeAlias = Annotated[str | None, typer.Option(help="Only by these leaves: a,b.")]
Seed: TypeAlias = Annotated[int | None, typer.Option(help="Seed of random numbers.", min=0)]
CheckTime: TypeAlias = Annotated[
    float,
    typer.Option("--check-time", help="Seconds that one check may take.", min=0.0, callback=finite),
]
CheckBy: TypeAlias = Annotated[
    Method,
    typer.Option(
        "--check",
        help="By formulas, by the chain rule, by what suits the program, or not at all.",
    ),
]
Explain: TypeAlias = Annotated[
    bool, typer.Option("--explain-check", help="Print how each verdict was reached.")
]
NoCheck: TypeAlias = Annotated[bool, typer.Option("--no-check", help="Do not check against SymPy.")]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Exit with 1 unless everything is verified.")
]
Digits: TypeAlias = Annotated[
    int, typer.Option("--digits", help="Significant digits that are shown.", min=1, max=17)
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object a problem.")]

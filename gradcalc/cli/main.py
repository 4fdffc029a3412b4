"""The program ``gradcalc``: its commands, and what each way of ending means to a shell."""

import gc
import io
import sys
from typing import Annotated, NoReturn

import typer

from gradcalc import __version__
from gradcalc.cli.codes import INTERRUPTED, WRONG_INPUT
from gradcalc.cli.eval import evaluate
from gradcalc.cli.expressions import ExpressionCommand
from gradcalc.cli.functions import functions
from gradcalc.cli.hessian import hessian
from gradcalc.cli.hvp import hvp
from gradcalc.cli.jacobian import jacobian
from gradcalc.cli.jvp import jvp
from gradcalc.cli.run import run
from gradcalc.cli.schema import schema
from gradcalc.cli.verify import verify
from gradcalc.errors import printable

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Gradients of expressions, with PyTorch's semantics, each number checked by SymPy.",
)
app.command("eval", cls=ExpressionCommand)(evaluate)
app.command("jacobian", cls=ExpressionCommand)(jacobian)
app.command("hessian", cls=ExpressionCommand)(hessian)
app.command("jvp", cls=ExpressionCommand)(jvp)
app.command("hvp", cls=ExpressionCommand)(hvp)
app.command("verify", cls=ExpressionCommand)(verify)
app.command("run")(run)
app.command("functions")(functions)
app.command("schema")(schema)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gradcalc {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> NoReturn:
    """Runs the command line and ends the process: 0, 1, 2, 130 or 141 (README, "Exit codes")."""
    gc.set_threshold(200_000)  # graphs are many small objects without cycles; the default rescans
    if sys.stderr is None:  # closed: what is said there is lost
        sys.stderr = io.TextIOWrapper(io.BytesIO())
    if sys.stdout is None:
        print("error: standard output is closed", file=sys.stderr)
        sys.exit(WRONG_INPUT)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a narrow encoding must not end in a traceback
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        message = printable(" ".join(error.format_message().split()))
        if message:  # without a command, the help has been printed
            print(f"error: {message}", file=sys.stderr)
            print("help: --help after a command lists its options", file=sys.stderr)
        code = WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    sys.exit(code)

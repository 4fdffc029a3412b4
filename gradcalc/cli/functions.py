"""``gradcalc functions``: what each function of the language is, and how it is differentiated."""

from typing import Annotated

import typer

from gradcalc.cli.options import Json
from gradcalc.errors import GradcalcError


def functions(
    name: Annotated[
        str | None, typer.Argument(help="One function, in any spelling: log, torch.std.")
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables of the README.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the functions of the language, or print all that is known of one."""
    from gradcalc.cli.output import fail, to_stdout, write
    from gradcalc.reference import entries, entry
    from gradcalc.render.functions import markdown as tables
    from gradcalc.render.functions import record, show_entries, show_entry
    from gradcalc.render.record import dumps

    try:
        found = entries() if name is None else [entry(name)]
    except GradcalcError as error:
        fail(error, as_json)
    if as_json:
        for one in found:
            write(dumps(record(one)))
    elif markdown:
        write(tables(found))
    else:
        with to_stdout():
            if name is None:
                show_entries(found)
            else:
                show_entry(found[0])

"""A command whose argument is an expression, which may begin with a minus sign."""

import re
from typing import Any

from typer.core import TyperCommand

OPTION = re.compile(r"--[A-Za-z][A-Za-z-]*(=.*)?", re.DOTALL)


class ExpressionCommand(TyperCommand):
    """Reads ``-x**2`` as an argument: only ``--word`` is an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Moves expressions behind ``--``, where the parser takes them as they are."""
        with_value = {
            name
            for parameter in self.params
            if parameter.param_type_name == "option" and not getattr(parameter, "is_flag", False)
            for name in parameter.opts
        }
        options: list[str] = []
        expressions: list[str] = []
        rest = iter(args)
        for arg in rest:
            if arg == "--":
                expressions.extend(rest)
            elif arg.startswith("-") and OPTION.fullmatch(arg):
                options.append(arg)
                if arg in with_value:
                    value = next(rest, None)
                    if value is None:
                        return super().parse_args(ctx, args)  # which says that it is missing
                    options.append(value)
            else:
                expressions.append(arg)
        return super().parse_args(ctx, [*options, "--", *expressions])

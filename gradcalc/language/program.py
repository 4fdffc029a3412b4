"""A program: a flat list of instructions for a stack machine (interpreter.py).

Flat, so that neither depth of nesting nor length of a sum costs recursion.
"""

import ast
from typing import Any, NamedTuple

from gradcalc.errors import GradcalcError, Source
from gradcalc.language.syntax import span_of


class Instruction(NamedTuple):
    """One step of the stack machine: what, with which argument, and for which part of the text."""

    op: str
    argument: Any
    node: ast.AST


class Call(NamedTuple):
    """The argument of a call: a name, where it is from, and the arguments on the stack.

    namespace: "" for a bare name, "." for a method, else the module before it.
    """

    name: str
    namespace: str
    given: int  # arguments, without those by name
    words: tuple[str, ...]


class Program(NamedTuple):
    """A compiled text: its instructions, and names by what it does with them."""

    source: Source
    code: list[Instruction]
    assigned: frozenset[str]
    read: frozenset[str]
    differentiated: frozenset[str]  # names that it differentiates by

    def error(self, error: GradcalcError, node: ast.AST) -> GradcalcError:
        """``error`` with its place: an operation's operator, else the whole of ``node``."""
        return error.located(self.source, span_of(self.source.text, node))

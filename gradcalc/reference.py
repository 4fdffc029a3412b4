"""What there is to know of each function of the language, from its row and its facts."""

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradcalc.compute.evaluate import needed
from gradcalc.errors import Source
from gradcalc.graph import LEAF, PRIMITIVES, Graph, Node, as_number
from gradcalc.language.calls import not_callable
from gradcalc.language.compiler import compile_program
from gradcalc.language.draws import Draws
from gradcalc.language.functions.registry import (
    FACTS,
    FUNCTIONS,
    SPELLINGS,
    Facts,
    operands,
    resolve,
    usage,
)
from gradcalc.language.grammar import MODULES
from gradcalc.language.interpreter import run
from gradcalc.language.literals import bindings
from gradcalc.language.trace import Trace
from gradcalc.primitives.rule import Elementwise, Row
from gradcalc.verify.jacobian import formulas
from gradcalc.verify.kinks import kinks
from gradcalc.verify.lower import lower
from gradcalc.verify.notation import text_of

ROWS = "elementwise"  # the group of all rows, and of short formulas in them
GROUPS = (ROWS, "activations", "losses", "reductions", "shapes", "selections", "linalg")


class Entry(NamedTuple):
    """One function.

    meaning: a formula, or a sentence. derivative: of what is elementwise, by operand; gradient: of
    all else, in the weights ``w`` and the result ``y`` of the example. domain: where it is real.
    kinks: where the derivative jumps. example: a command.
    """

    name: str
    spellings: Sequence[str]
    group: str
    signature: str
    meaning: str
    derivative: Mapping[str, str]
    gradient: Mapping[str, str]
    domain: str
    kinks: str
    convention: str
    example: str


def entries() -> list[Entry]:
    """All functions, by group."""
    order = {group: place for place, group in enumerate(GROUPS)}
    return sorted(map(entry, FUNCTIONS), key=lambda one: order.get(one.group, len(order)))


def entry(spelling: str) -> Entry:
    """The function that a name or another spelling of it means; raises GradcalcError."""
    namespace, dot, bare = spelling.rpartition(".")
    name = resolve(bare, MODULES.get(namespace, ""))
    if name not in FUNCTIONS or (dot and namespace not in MODULES):
        raise not_callable(bare if namespace in MODULES else spelling, False)
    build, row = FUNCTIONS[name], PRIMITIVES.get(name)
    facts = FACTS.get(name) or _facts_of(name)
    trace = run(
        compile_program(Source(facts.example)), bindings(Source(facts.at), Draws(0)), Draws(0)
    )
    meaning = " ".join((build.__doc__ or "").split("\n\n")[0].replace("``", "").split())
    inside, bends = _domain_and_kinks(trace)
    return Entry(
        name,
        [one for one, meant in SPELLINGS.items() if meant == name],
        _group(name),
        usage(name),
        _formula(build) if isinstance(build, Elementwise) else meaning,
        {} if facts.gradient else _derivative(trace),
        facts.gradient,
        facts.domain or inside,
        facts.kinks or bends,
        facts.convention or (row.convention if isinstance(row, Row) else ""),
        _command(facts, trace),
    )


def _group(name: str) -> str:
    build = FUNCTIONS[name]
    if isinstance(build, Elementwise):
        return ROWS
    module: str = build.__module__.rpartition(".")[2]
    return "linalg" if module in ("determinants", "einsum") else module


def _facts_of(name: str) -> Facts:
    """A row's example as a call and the values of its leaves."""
    row = FUNCTIONS[name]
    assert isinstance(row, Elementwise)  # every other function has facts
    names = operands(row)
    at = "; ".join(f"{n}={value:g}" for n, value in zip(names, row.example, strict=True))
    return Facts(f"{name}({', '.join(names)})", at)


def _command(facts: Facts, trace: Trace) -> str:
    weights = " --weights 1" if _result(trace).shape else ""
    return f"gradcalc eval {shlex.quote(facts.example)} --at {shlex.quote(facts.at)}{weights}"


def _result(trace: Trace) -> Node:
    assert trace.output is not None  # an example has a result
    return as_number(trace.names[trace.output])


def _derivative(trace: Trace) -> Mapping[str, str]:
    """SymPy's, of what is elementwise."""
    found = formulas({"y": _result(trace)}, trace.leaves)
    if not found.pointwise:
        return {}
    return {leaf: str(text) for leaf, text in found.listing()["y"].items()}


def _formula(row: Elementwise) -> str:
    return _text(row(*_operands(row)))


def _domain_and_kinks(trace: Trace) -> tuple[str, str]:
    """Where all rows behind an elementwise result are real, and where one of them bends."""
    rows = [node for node in needed([_result(trace)], {}) if node.inputs]
    if not all(isinstance(node.primitive, Elementwise) for node in rows):
        return "", ""
    domains: dict[str, None] = {}  # in order, and each once
    bends: dict[str, None] = {}
    for node in rows:
        assert isinstance(node.primitive, Elementwise)
        inside = node.primitive.domain(*node.inputs)
        if isinstance(inside, Node):
            domains[_text(inside)] = None
        for kink in kinks(node):
            if any(n.primitive is LEAF for n in needed([kink], {})):
                bends[f"{_text(kink)} = 0"] = None
    return " and ".join(domains), ", ".join(bends)


def _operands(row: Elementwise) -> list[Node]:
    graph = Graph()
    return [graph.leaf(name, ()) for name in operands(row)]


def _text(node: Node) -> str:
    return text_of(lower([node]).expressions[0])

"""Whole matrices of derivatives, and their products with a direction, each entry checked.

A Hessian is the Jacobian of the gradient; a product with a direction v is the derivative by s of
what the program computes at x + s v, at s = 0. So all four are Jacobians, to compute and to check.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradcalc.derive.matrices import jacobian
from gradcalc.derive.reverse import seed, vjp
from gradcalc.errors import GradcalcError, did_you_mean, whole
from gradcalc.graph import Array, Node, as_number
from gradcalc.language.compiler import compile_program
from gradcalc.language.draws import Draws
from gradcalc.language.functions.derivatives import grad
from gradcalc.language.interpreter import ALONG, run
from gradcalc.language.program import Program
from gradcalc.language.trace import Trace
from gradcalc.problem import (
    Note,
    Problem,
    collector_paused,
    moved,
    seed_notes,
    wanted_leaves,
)
from gradcalc.verify.findings import Check

if TYPE_CHECKING:
    pass

MOST = 2**26  # entries of all blocks together: half a GiB
PRODUCTS = ("jvp", "hvp")  # kinds that have a direction


@dataclass(frozen=True)
class Blocks:
    """Derivatives of several things by several others.

    kind: ``jacobian``, ``hessian``, ``jvp`` or ``hvp``. outputs: the values of the outputs.
    blocks: float64 by row name and column name, of the row's shape followed by the column's. Rows
    are outputs (of a Hessian: leaves), columns are leaves (of products: the direction, of shape
    ()). along: the direction, by leaf.
    """

    problem: Problem
    kind: str
    outputs: Mapping[str, Array]
    blocks: Mapping[str, Mapping[str, Array]]
    along: Mapping[str, Array]
    check: Check

    @property
    def warnings(self) -> Sequence[Note]:
        """What a reader should know: a chosen seed."""
        return seed_notes(self.problem.draws)

    @property
    def status(self) -> str:
        """``ok``, or ``mismatch`` when the check failed."""
        return "mismatch" if self.check.status == "mismatch" else "ok"

    @property
    def proven(self) -> bool:
        """Was everything verified (or the check left out on purpose)?"""
        return self.check.status in ("verified", "off")


class _View(NamedTuple):
    """What is differentiated by what, in one run of the program."""

    rows: Mapping[str, Node]
    columns: Mapping[str, Node]


def derive_blocks(problem: Problem, kind: str, along: Mapping[str, Array] | None = None) -> Blocks:
    """The Jacobian, the Hessian, or a product, of the outputs that the problem asks for.

    problem.output: names, separated by commas; None is every name that no other one uses (of a
    Hessian or a Hessian's product: the result). problem.wrt: the leaves (None: all).
    Raises GradcalcError for whatever is wrong with the text, the values or the direction.
    """
    direction = _checked(problem, along or {}) if kind in PRODUCTS else {}
    with collector_paused():
        trace = run(_compiled(problem), problem.at, problem.draws, direction)
        view = _view(problem, kind, trace)
        size = sum(r.size * c.size for r in view.rows.values() for c in view.columns.values())
        if size > MOST:
            raise GradcalcError(
                "too-large",
                f"the {kind} would have {size:,} entries",
                f"the most is {MOST:,}: take fewer leaves (--wrt), or a product (jvp, hvp)",
            )
        columns = list(view.columns.values())
        blocks = {
            name: dict(zip(view.columns, jacobian(row, columns, trace.values), strict=True))
            for name, row in view.rows.items()
        }
        names = _outputs(problem, kind, trace)
        values = trace.compute([as_number(trace.names[name]) for name in names])
    check = (
        _verify(problem, kind, trace, view, blocks, direction) if problem.check else Check("off")
    )
    return Blocks(problem, kind, dict(zip(names, values, strict=True)), blocks, direction, check)


def _compiled(problem: Problem) -> Program:
    return compile_program(problem.expr, frozenset(problem.at))


def _checked(problem: Problem, along: Mapping[str, Array]) -> dict[str, Array]:
    """A direction for each leaf that is given one, in the leaf's shape."""
    direction = {}
    for name, given in along.items():
        if name not in problem.at:
            hint = did_you_mean(name, problem.at) or f"the leaves are {', '.join(problem.at)}"
            error = GradcalcError("unknown-leaf", f"'{name}' is not a leaf of the program", hint)
            raise error.located(*whole(name, "along"))
        shape = np.shape(problem.at[name])
        if np.shape(given) not in ((), shape):
            raise GradcalcError(
                "direction",
                f"a direction of shape {np.shape(given)} does not fit '{name}' of shape {shape}",
                "it has the leaf's shape, or is one number",
            )
        if not np.all(np.isfinite(given)):
            raise GradcalcError("direction", f"the direction of '{name}' is not finite")
        direction[name] = np.broadcast_to(np.asarray(given, dtype=np.float64), shape)[()]
    if not direction:
        raise GradcalcError("direction", "no direction is given", "--along 'a=1,0,0; b=0.5'")
    return direction


def _outputs(problem: Problem, kind: str, trace: Trace) -> list[str]:
    """The names that are differentiated."""
    if trace.output is None:
        raise GradcalcError(
            "no-output", "the program has no result", "let it assign a name or end with a value"
        )
    if problem.output is None:
        return _last_ones(trace) if kind in ("jacobian", "jvp") else [trace.output]
    names = [name.strip() for name in problem.output.split(",")]
    for name in names:
        if name not in trace.names:
            hint = did_you_mean(name, trace.names) or f"it assigns {', '.join(trace.names)}"
            error = GradcalcError("unknown-output", f"the program assigns no '{name}'", hint)
            raise error.located(*whole(name, "output"))
    return names


def _last_ones(trace: Trace) -> list[str]:
    """The names whose values no other name is computed from."""
    used: set[Node] = set()
    for node in reversed(trace.graph.nodes):
        if node in used or node in trace.names.values():
            used.update(node.inputs)
    return [name for name, node in trace.names.items() if node not in used]


def _view(problem: Problem, kind: str, trace: Trace) -> _View:
    leaves = {n: leaf for n, leaf in wanted_leaves(problem, trace).items() if leaf is not None}
    outputs = {name: as_number(trace.names[name]) for name in _outputs(problem, kind, trace)}
    columns = leaves
    if kind in PRODUCTS:
        along = trace.leaves.get(ALONG)
        columns = {} if along is None else {ALONG: along}
    if kind in ("jacobian", "jvp"):
        return _View(outputs, columns)
    ((name, output),) = outputs.items()
    if output.shape:
        error = GradcalcError(
            "not-scalar",
            f"'{name}' has shape {output.shape}: a Hessian is that of one number",
            "sum it, or take the jacobian of a gradient: grad(y, x, weights)",
        )
        raise trace.error(error, name)
    found = vjp([(output, seed(output, np.float64(1.0)))], list(leaves.values()))
    rows = {n: grad(output, leaf) for n, leaf in leaves.items() if found[leaf] is not None}
    return _View(rows, columns)


def _verify(
    problem: Problem,
    kind: str,
    trace: Trace,
    view: _View,
    blocks: Mapping[str, Mapping[str, Array]],
    direction: Mapping[str, Array],
) -> Check:
    """The verdict on every entry of every block."""
    from gradcalc.verify.entry import Claim
    from gradcalc.verify.verdict import Traced, check

    claims = []
    for name, row in view.rows.items():
        for k in range(row.size):
            gradients = {
                column: block.reshape(row.size, *view.columns[column].shape)[k]
                for column, block in blocks[name].items()
            }
            claims.append(Claim((), gradients, _row_node(row, k, view.columns), (name, k)))
    nodes = list(view.rows.values())
    values = {**trace.values, **dict(zip(nodes, trace.compute(nodes), strict=True))}

    def again(leaf: str, j: int, value: float) -> Traced | None:
        at, along = moved(problem.at, leaf, j, value) if leaf != ALONG else problem.at, direction
        try:
            other = run(_compiled(problem), at, Draws(problem.draws.seed), along)
            if leaf == ALONG:
                other.values[other.leaves[ALONG]] = np.float64(value)
            rows, columns = _view(problem, kind, other)
        except (GradcalcError, KeyError):
            return None
        return Traced(rows, columns, other.values, other.conditions)

    traced = Traced(view.rows, view.columns, values, trace.conditions)
    return check(traced, claims, again, problem.check_seconds, apart=True)


def _row_node(row: Node, k: int, columns: Mapping[str, Node]) -> Callable[[str], Node | None]:
    """The nodes of one row of the Jacobian, made when they are asked for."""

    @cache
    def node(column: str) -> Node | None:
        unit = np.zeros(row.size)
        unit[k] = 1.0
        leaf = columns[column]
        return vjp([(row, seed(row, unit.reshape(row.shape)))], [leaf])[leaf]

    return node

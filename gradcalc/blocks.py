"""Whole matrices of derivatives, and their products with a direction, each entry checked.

A Hessian is the Jacobian of the gradient. For the check, a product with a direction v is the
derivative by s of what the program computes at x + s v, at s = 0: all four are Jacobians there.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from gradcalc.compute.jacobian import jacobian
from gradcalc.derive.forward import jvp
from gradcalc.derive.reverse import seed, vjp
from gradcalc.errors import GradcalcError, whole
from gradcalc.graph import Array, Node, as_number, ops
from gradcalc.graphs import collector_paused, compiled, moved, no_leaf, wanted_leaves
from gradcalc.language.interpreter import ALONG, run
from gradcalc.language.trace import Trace
from gradcalc.passes import output_name
from gradcalc.primitives.derivatives import pulled
from gradcalc.problem import InterruptedCheckError, Problem
from gradcalc.result import Note, seed_notes, unused_notes
from gradcalc.verify.findings import Check

MOST = 2**26  # entries of all blocks together: half a GiB
STEP = 2.0**-30  # along a direction, to see the other branch
PRODUCTS = ("jvp", "hvp")  # kinds that have a direction

Numbers = Mapping[str, Mapping[str, Array]]


@dataclass(frozen=True)
class Blocks:
    """Derivatives of several things by several others.

    kind: ``jacobian``, ``hessian``, ``jvp`` or ``hvp``. outputs: the values of the outputs.
    blocks: float64 by output (of a Hessian: by leaf) and by leaf, of the shape of the one followed
    by that of the other. products: of a jvp or hvp instead, float64 by output or by leaf, of its
    shape. along: the direction, by leaf. unused: leaves that the program does not name.
    """

    problem: Problem
    kind: str
    outputs: Mapping[str, Array]
    check: Check
    blocks: Numbers = field(default_factory=dict)
    products: Mapping[str, Array] = field(default_factory=dict)
    along: Mapping[str, Array] = field(default_factory=dict)
    unused: Sequence[str] = ()

    @property
    def warnings(self) -> Sequence[Note]:
        """What a reader should know: unused leaves, a chosen seed."""
        return [*unused_notes(self.unused), *seed_notes(self.problem.draws)]

    @property
    def status(self) -> str:
        """``ok``, or ``mismatch`` when the check failed."""
        return "mismatch" if self.check.status == "mismatch" else "ok"

    @property
    def proven(self) -> bool:
        """Was everything verified (or the check left out on purpose)?"""
        return self.check.proven


def derive_blocks(problem: Problem, kind: str, along: Mapping[str, Array] | None = None) -> Blocks:
    """The Jacobian, the Hessian, or a product, of the outputs that the problem asks for.

    problem.output: names, separated by commas; None is every name that no other one uses (of a
    Hessian or a Hessian's product: the result). problem.wrt: the leaves (None: all).
    Raises GradcalcError for whatever is wrong with the text, the values or the direction, and
    InterruptedCheckError.
    """
    direction = direction_of(problem, along or {}) if kind in PRODUCTS else {}
    with collector_paused():
        trace = run(compiled(problem), problem.at, problem.draws)
        unused = [name for name in problem.at if name not in trace.program.read]
        names = _outputs(problem, kind, trace)
        values = trace.compute([as_number(trace.names[name]) for name in names])
        if kind in PRODUCTS:
            products = products_of(problem, kind, trace, direction)
            numbers: Numbers = {name: {ALONG: value} for name, value in products.items()}
            blocks: Numbers = {}
        else:
            products = {}
            numbers = blocks = blocks_of(problem, kind, trace)
    check = _verify(problem, kind, numbers, direction) if problem.check else Check("off")
    outputs = dict(zip(names, values, strict=True))
    result = Blocks(problem, kind, outputs, check, blocks, products, direction, unused)
    if check.interrupted:
        raise InterruptedCheckError(result)
    return result


def blocks_of(problem: Problem, kind: str, trace: Trace) -> Numbers:
    """The blocks of a Jacobian or Hessian, by row and column."""
    rows, columns = _rows(problem, kind, trace), _leaves(problem, trace)
    size = sum(row.size for row in rows.values()) * sum(leaf.size for leaf in columns.values())
    if size > MOST:
        raise GradcalcError(
            "too-large",
            f"the {kind} would have {size:,} entries",
            f"the most is {MOST:,}: take fewer leaves (--wrt), or a product (jvp, hvp)",
        )
    leaves = list(columns.values())
    try:
        return {
            name: dict(zip(columns, jacobian(row, leaves, trace.values), strict=True))
            for name, row in rows.items()
        }
    except GradcalcError as error:
        raise trace.placed(error) from None


def products_of(
    problem: Problem, kind: str, trace: Trace, direction: Mapping[str, Array]
) -> Mapping[str, Array]:
    """J v by output, or H v by leaf; an element of v that is exactly 0 is left out."""
    moved_ones = _leaves(problem, trace, direction)
    tangents = {leaf: seed(leaf, direction[name]) for name, leaf in moved_ones.items()}
    nodes = {name: jvp(row, tangents) for name, row in _rows(problem, kind, trace).items()}
    return dict(zip(nodes, trace.compute(list(nodes.values())), strict=True))


def direction_of(problem: Problem, along: Mapping[str, Array]) -> dict[str, Array]:
    """The direction of each leaf that is given one, in the leaf's shape; raises GradcalcError."""
    direction = {}
    for name, given in along.items():
        if name not in problem.at:
            raise no_leaf(name, problem.at).located(*whole(name, "along"))
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
    result = output_name(trace, None, None)
    if problem.output is None:
        return _last_ones(trace) if kind in ("jacobian", "jvp") else [result]
    asked = [name.strip() for name in problem.output.split(",")]
    return [output_name(trace, None, name) for name in asked if name]


def _last_ones(trace: Trace) -> list[str]:
    """The names whose values no other name is computed from, but for those that only count."""
    code = trace.program.code
    loops = {i.argument for i in code if i.op == "bind"} - {
        i.argument for i in code if i.op == "store"
    }
    named = set(trace.names.values())
    used: set[Node] = set()
    for node in reversed(trace.graph.nodes):
        if node in used or node in named:
            used.update(node.inputs)
    last = [name for name, node in trace.names.items() if node not in used and name not in loops]
    return last or [output_name(trace, None, None)]


def _leaves(
    problem: Problem, trace: Trace, only: Mapping[str, Array] | None = None
) -> dict[str, Node]:
    """The leaves that are asked for; one that the run never read is made now: nothing uses it."""
    found = {}
    for name, leaf in wanted_leaves(problem, trace, only).items():
        if leaf is None:
            leaf = trace.graph.leaf(name, np.shape(problem.at[name]))
            trace.values[leaf] = problem.at[name]
        found[name] = leaf
    return found


def _rows(problem: Problem, kind: str, trace: Trace) -> dict[str, Node]:
    """What is differentiated: the outputs, or the gradient of the one output by leaf."""
    outputs = {name: as_number(trace.names[name]) for name in _outputs(problem, kind, trace)}
    if kind in ("jacobian", "jvp"):
        return outputs
    if len(outputs) != 1:
        raise GradcalcError(
            "not-scalar", f"a Hessian is that of one output, not of {len(outputs)}", "--output NAME"
        )
    ((name, output),) = outputs.items()
    if output.shape:
        error = GradcalcError(
            "not-scalar",
            f"'{name}' has shape {output.shape}: a Hessian is that of one number",
            "sum it, or take the jacobian of a gradient: grad(y, x, weights)",
        )
        raise trace.error(error, name)
    leaves, one = _leaves(problem, trace), output.graph.constant(1.0)
    found = vjp([(output, seed(output, np.float64(1.0)))], leaves.values())
    rows = {}
    for name, leaf in leaves.items():
        gradient = found[leaf]
        if gradient is None:
            rows[name] = ops.broadcast_to(output.graph.constant(0.0), params=(leaf.shape,))
        else:
            rows[name] = pulled(gradient, output, leaf, one)
    return rows


def _verify(problem: Problem, kind: str, numbers: Numbers, direction: Mapping[str, Array]) -> Check:
    """The verdict on every entry: of what the program computes at, and along, the point."""
    from gradcalc.verify.check import check
    from gradcalc.verify.verdict import Traced

    def traced(at: Mapping[str, Array], s: float) -> Traced:
        trace = run(compiled(problem), at, problem.draws.again(), direction, s)
        columns = {ALONG: trace.leaves[ALONG]} if direction else _leaves(problem, trace)
        rows = _rows(problem, kind, trace)
        nodes = list(rows.values())
        values = {**trace.values, **dict(zip(nodes, trace.compute(nodes), strict=True))}
        return Traced(problem.expr.text, rows, columns, values, trace.conditions)

    def again(leaf: str, j: int, value: float) -> Traced | None:
        try:
            if leaf == ALONG:  # a step that changes x, which one from 0 on does not
                return traced(problem.at, math.copysign(STEP, value))
            return traced(moved(problem.at, leaf, j, value), 0.0)
        except (GradcalcError, KeyError):
            return None

    here = traced(problem.at, 0.0)
    claims = _RowClaims(here.outputs, here.leaves, numbers)
    found = check(
        here,
        claims,
        again,
        problem.check_seconds,
        method=problem.method,
        apart=True,
        explain=problem.explain,
    )
    if not direction:
        return found
    # The step along the direction is ours alone: it has no name, and no formula that says anything.
    findings = [finding._replace(leaf="direction") for finding in found.findings]
    evidence = [one._replace(leaf="direction") for one in found.evidence]
    return found._replace(findings=findings, evidence=evidence, jacobian=None)


class _RowClaims(Sequence[Any]):
    """A claim for each row of the blocks, made when it is asked for: there may be millions."""

    def __init__(
        self, rows: Mapping[str, Node], columns: Mapping[str, Node], numbers: Numbers
    ) -> None:
        self.rows, self.columns, self.numbers = rows, columns, numbers

    def __len__(self) -> int:
        return sum(row.size for row in self.rows.values())

    def __getitem__(self, number: Any) -> Any:
        from gradcalc.verify.entry import Claim

        for name, row in self.rows.items():
            if number < row.size:
                gradients = {
                    column: np.reshape(block, (row.size, *self.columns[column].shape))[number]
                    for column, block in self.numbers[name].items()
                }
                return Claim((), gradients, self._node(row, number), (name, number))
            number -= row.size
        raise IndexError(number)

    def _node(self, row: Node, k: int) -> Callable[[str], Node | None]:
        """The nodes of one row, made when they are asked for."""

        @cache
        def node(column: str) -> Node | None:
            unit = np.zeros(row.size)
            unit[k] = 1.0
            leaf = self.columns[column]
            return vjp([(row, seed(row, unit.reshape(row.shape)))], [leaf])[leaf]

        return node

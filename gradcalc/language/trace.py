"""What a program did: its graph, its names, and the values that were asked for on the way."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from gradcalc.compute.evaluate import evaluate
from gradcalc.errors import GradcalcError
from gradcalc.graph import Array, Graph, Node, as_truth
from gradcalc.language.functions.shapes import stack
from gradcalc.language.program import Program


class Listing(tuple[Any, ...]):
    """The elements of ``[a, b]``, or the results of a call, and the part of the text they are.

    names: of the results, where they have any (``torch.sort(x).values``).
    """

    node: ast.AST
    names: tuple[str, ...]

    @classmethod
    def of(cls, elements: Iterable[Any], node: ast.AST) -> Self:
        """The elements that ``node`` lists."""
        listing = cls(elements)
        listing.node = node
        listing.names = getattr(elements, "_fields", ())
        return listing


@dataclass
class Trace:
    """The state of a program while it runs, and what is left of it.

    Its methods turn what the program computes with (nodes, listings, plain Python) into what an
    operation needs; they raise GradcalcError where it is something else.
    """

    program: Program
    graph: Graph = field(default_factory=Graph)
    names: dict[str, Node] = field(default_factory=dict)
    places: dict[str, ast.AST] = field(default_factory=dict)  # where each name got its value
    leaves: dict[str, Node] = field(default_factory=dict)
    read: dict[str, Node] = field(default_factory=dict)  # what the program reads of each leaf
    values: dict[Node, Array] = field(default_factory=dict)
    conditions: list[Node] = field(default_factory=list)  # whose values steered the program
    output: str | None = None  # the name that was assigned last

    def elsewhere(self, at: Mapping[str, Array]) -> Self:
        """The same trace with other values of its leaves, none of which steered it."""
        other = copy(self)
        other.values = {leaf: np.asarray(at[name])[()] for name, leaf in self.leaves.items()}
        return other

    def error(self, error: GradcalcError, name: str) -> GradcalcError:
        """``error`` with the place where ``name`` got its value."""
        return self.program.error(error, self.places[name]) if name in self.places else error

    def value(self, node: Node) -> Array:
        """The value of ``node``, computed now and kept."""
        return self.compute([node], keep=True)[0]

    def compute(self, nodes: Sequence[Node], *, keep: bool = False) -> list[Array]:
        """The values of ``nodes``; raises GradcalcError with the place of what has none."""
        try:
            return evaluate(nodes, self.values, keep=keep)
        except GradcalcError as error:
            raise self.placed(error) from None

    def placed(self, error: GradcalcError) -> GradcalcError:
        """``error`` with the place of the operation that has no value, if it is one."""
        if isinstance(error.origin, ast.AST):
            return self.program.error(error, error.origin)
        return error

    def array(self, value: Any) -> Node:
        """``value`` as an array: a sequence is stacked."""
        if isinstance(value, Node):
            return value
        if isinstance(value, Listing) and value.names:
            raise GradcalcError(
                "several",
                f"this has several results: {', '.join(value.names)}",
                f"take one: .{value.names[0]}, or {', '.join(n[0] for n in value.names)} = ...",
            )
        if isinstance(value, Listing):
            parts = [self.array(one) for one in value]
            mixed = dict.fromkeys(str(part.shape) for part in parts)
            if len(mixed) > 1:
                error = GradcalcError(
                    "ragged",
                    f"a list mixes elements of shapes {' and '.join(mixed)}",
                    "make all rows equally long",
                )
                raise self.program.error(error, value.node)
            return stack(*parts) if parts else self.graph.constant(np.zeros(0))
        if isinstance(value, bool):
            return self.graph.constant(value)
        raise GradcalcError("type", f"{value!r} is not a number or an array")

    def truth(self, value: Any) -> bool:
        """The truth of one element, for a branch or a loop."""
        node = as_truth(self.array(value))
        if node.size != 1:
            raise GradcalcError(
                "ambiguous-truth",
                f"the truth of {node.size} elements (shape {node.shape}) is not one truth",
                "choose element by element: where(condition, a, b); combine with & and |",
            )
        return bool(np.all(self.steering(node)))

    def steering(self, node: Node) -> Array:
        """The value of a node that decides what the program does next."""
        self.conditions.append(node)
        return self.value(node)

    def integers(self, value: Any) -> np.ndarray[Any, np.dtype[np.intp]]:
        """``value`` as whole numbers, known now (an axis, a length, an index)."""
        number = np.asarray(self.steering(self.array(value)), dtype=np.float64)
        if not np.all(np.isfinite(number)) or np.any(number != np.rint(number)):
            found = np.ravel(number)[0] if number.size else "nothing"
            hint = f"this is {found:.10g}" if number.size else "this is an empty array"
            raise GradcalcError("integer", "a whole number is wanted here", hint)
        if np.any(np.abs(number) > 2**53):
            raise GradcalcError("integer", "this number is too large here", f"at most {2**53}")
        return number.astype(np.intp)

    def integer(self, value: Any) -> int:
        """``value`` as one whole number, known now."""
        return int(self.single(self.integers(value)))

    def single(self, array: Array) -> Any:
        """The element of an array of one."""
        if np.size(array) != 1:
            raise GradcalcError("single", f"one number is wanted here, not shape {np.shape(array)}")
        return np.ravel(array)[0]

    def number(self, value: Any) -> float:
        """``value`` as one number, known now."""
        return float(self.single(self.steering(self.array(value))))

"""The graph: nodes that are made once, in topological order, and never changed.

A node says *what* is computed, not its value. Equal nodes are one node (hash-consing), so work that
is shared in the text, or between a value and its gradient, is shared here. Nodes are light: a loop
of 100,000 steps is several hundred thousand of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from gradcalc.errors import GradcalcError

Shape: TypeAlias = tuple[int, ...]
Params: TypeAlias = tuple[Any, ...]
Array: TypeAlias = Any  # np.float64 or np.ndarray: float64, bool, or objects (mpmath, SymPy)

T = TypeVar("T")

LARGEST = 2**28  # elements of one node: 2 GiB of float64
MOST_AXES = 32  # that NumPy broadcasts
MOST_NODES = 8_000_000  # of one graph: some 2 GiB
HASHED = 64  # constants of up to so many elements are compared by value


class Cotangent(NamedTuple):
    """What flows backward into a node: dL/dnode, and which of its elements count (None: all).

    Both have the node's shape.

    An element that does not count is exactly 0 in ``value``, and is masked in whatever follows.
    """

    value: Node
    active: Node | None = None


class Primitive(ABC):
    """What the graph asks of a row: a name, a forward function, a shape and a pullback."""

    name: str
    forward: Callable[..., Array]
    conditions: int = 0  # how many leading inputs are truth values
    truth: bool | None = False  # is the result one? None: as the first input

    @abstractmethod
    def infer_shape(self, shapes: tuple[Shape, ...], params: Params) -> Shape:
        """The shape of the result; raises GradcalcError when the inputs do not fit."""

    @abstractmethod
    def pullback(self, node: Node, position: int, cotangent: Cotangent) -> Cotangent | None:
        """The cotangent's share for the input at ``position``; None where nothing flows."""

    def __call__(self, *inputs: Node | float, params: Params = ()) -> Node:
        """The node that applies this primitive; numbers become constants."""
        graph = next(i.graph for i in inputs if isinstance(i, Node))
        return graph.apply(
            self, tuple(i if isinstance(i, Node) else graph.constant(i) for i in inputs), params
        )

    def __repr__(self) -> str:
        return self.name


PRIMITIVES: dict[str, Primitive] = {}  # every row, by name: filled by gradcalc.primitives


class _Operations:
    """The primitives as functions of nodes: ``ops.cos(x)``."""

    def __getattr__(self, name: str) -> Primitive:
        return PRIMITIVES[name]


ops = _Operations()


class Value:
    """An array as part of a node's identity: a small one by its bits, a large one by itself."""

    __slots__ = ("_key", "array")

    def __init__(self, array: Array) -> None:
        # Bits, not ==: 0.0 and -0.0 are two constants, and nan is one.
        self.array = array
        small = np.size(array) <= HASHED
        self._key: Any = (
            (np.shape(array), array.dtype.char, array.tobytes()) if small else id(array)
        )

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._key == other._key


class Source(Primitive):
    """A primitive without inputs: a leaf (named) or a constant (its value)."""

    def __init__(self, name: str, truth: bool = False) -> None:
        self.name = name
        self.truth = truth
        self.forward = lambda value: value.array

    def infer_shape(self, shapes: tuple[Shape, ...], params: Params) -> Shape:
        return params[-1] if self is LEAF else np.shape(params[0].array)

    def pullback(self, node: Node, position: int, cotangent: Cotangent) -> None:
        return None


LEAF = Source("leaf")
CONSTANT = Source("constant")
TRUTH = Source("truth", truth=True)  # a constant of booleans


class Node:
    """One value to be computed: a primitive, its inputs and its parameters.

    Operators make further nodes of the same graph; ``==`` and hashing are by identity.
    """

    __slots__ = ("graph", "index", "inputs", "origin", "params", "primitive", "shape", "truth")

    def __init__(
        self,
        graph: Graph,
        index: int,
        primitive: Primitive,
        inputs: tuple[Node, ...],
        params: Params,
        shape: Shape,
        truth: bool,
        origin: object,
    ) -> None:
        self.graph = graph
        self.index = index  # creation order: an input's index is smaller
        self.primitive = primitive
        self.inputs = inputs
        self.params = params
        self.shape = shape
        self.truth = truth
        self.origin = origin  # the place in the text, for reports

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return size_of(self.shape)

    @property
    def number(self) -> float | None:
        """The value of a 0-d constant; None for any other node."""
        if self.primitive is CONSTANT and not self.shape:
            return float(self.params[0].array)
        return None

    def __repr__(self) -> str:
        inputs = ", ".join(f"%{node.index}" for node in self.inputs)
        return f"%{self.index} = {self.primitive}({inputs}) {self.shape}"

    def __add__(self, other: Node | float) -> Node:
        return ops.add(self, other)

    def __radd__(self, other: float) -> Node:
        return ops.add(other, self)

    def __sub__(self, other: Node | float) -> Node:
        return ops.subtract(self, other)

    def __rsub__(self, other: float) -> Node:
        return ops.subtract(other, self)

    def __mul__(self, other: Node | float) -> Node:
        return ops.multiply(self, other)

    def __rmul__(self, other: float) -> Node:
        return ops.multiply(other, self)

    def __truediv__(self, other: Node | float) -> Node:
        return ops.divide(self, other)

    def __rtruediv__(self, other: float) -> Node:
        return ops.divide(other, self)

    def __pow__(self, other: Node | float) -> Node:
        return ops.power(self, other)

    def __neg__(self) -> Node:
        return ops.negative(self)

    def __lt__(self, other: Node | float) -> Node:
        return ops.less(self, other)

    def __le__(self, other: Node | float) -> Node:
        return ops.less_equal(self, other)

    def __gt__(self, other: Node | float) -> Node:
        return ops.greater(self, other)

    def __ge__(self, other: Node | float) -> Node:
        return ops.greater_equal(self, other)

    def __and__(self, other: Node) -> Node:
        return ops.logical_and(self, other)

    def __or__(self, other: Node) -> Node:
        return ops.logical_or(self, other)

    def __invert__(self) -> Node:
        return ops.logical_not(self)


class Graph:
    """An append-only set of nodes. ``origin`` is stamped on each node as it is made."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.origin: object = None
        self._memory: dict[Hashable, Any] = {}
        # Two levels, so that a node's own ``inputs`` tuple is the key and none is stored twice.
        self._tables: dict[tuple[Primitive, Params], dict[tuple[Any, ...], Node]] = {}

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` returned when ``key`` was first asked for: what holds at all points."""
        if key not in self._memory:
            self._memory[key] = make()
        found: T = self._memory[key]
        return found

    def leaf(self, name: str, shape: Shape) -> Node:
        """The input called ``name``; its value is given when the graph is evaluated."""
        return self.apply(LEAF, (), (name, shape))

    def constant(self, value: Array) -> Node:
        """A fixed number or array, float64 or bool."""
        array = np.asarray(value)
        if array.dtype == bool:
            return self.apply(TRUTH, (), (Value(array[()]),))
        return self.apply(CONSTANT, (), (Value(array.astype(np.float64, copy=False)[()]),))

    def apply(self, primitive: Primitive, inputs: tuple[Node, ...], params: Params = ()) -> Node:
        """The node for ``primitive`` of ``inputs``: the one that exists, or a new one.

        Raises GradcalcError when shapes do not fit or the result would be too large to hold.
        """
        if primitive.truth is not None and inputs:
            inputs = _typed(primitive, inputs)
        # One table for all constants: they differ in nothing but their parameters.
        table = self._tables.setdefault((primitive, params if inputs else ()), {})
        key = inputs or params
        node = table.get(key)
        if node is None:
            shape = primitive.infer_shape(tuple([i.shape for i in inputs]), params)
            # Also an array of no elements must not be too long along its other axes.
            unfit = len(shape) > MOST_AXES or size_of(tuple([n or 1 for n in shape])) > LARGEST
            if unfit or len(self.nodes) >= MOST_NODES:
                raise _too_large(primitive, shape, len(self.nodes))
            truth = primitive.truth if primitive.truth is not None else inputs[0].truth
            node = Node(self, len(self.nodes), primitive, inputs, params, shape, truth, self.origin)
            self.nodes.append(node)  # first: an alarm may stop the work between the two
            table[key] = node
        return node


def size_of(shape: Shape) -> int:
    """The number of elements of an array of this shape."""
    size = 1
    for length in shape:
        size *= length
    return size


def _typed(primitive: Primitive, inputs: tuple[Node, ...]) -> tuple[Node, ...]:
    """``inputs`` with truth values where the primitive wants them and numbers elsewhere."""
    for position, node in enumerate(inputs):
        if node.truth != (position < primitive.conditions):
            break
    else:
        return inputs
    return tuple(
        (as_truth if position < primitive.conditions else as_number)(node)
        for position, node in enumerate(inputs)
    )


def as_number(node: Node) -> Node:
    """A truth value as 1.0 or 0.0; a number as it is."""
    return ops.where(node, 1.0, 0.0) if node.truth else node


def as_truth(node: Node) -> Node:
    """A number as "is not zero"; a truth value as it is."""
    return node if node.truth else ops.not_equal(node, 0.0)


def _too_large(primitive: Primitive, shape: Shape, count: int) -> GradcalcError:
    if count >= MOST_NODES:
        return GradcalcError(
            "too-long",
            f"the program makes more than {MOST_NODES:,} operations",
            "does a loop end? work on vectors instead of one element at a time",
        )
    return GradcalcError(
        "too-large",
        f"'{primitive}' would make an array of {size_of(shape):,} elements on {len(shape)} axes",
        f"the most is {LARGEST:,} elements on {MOST_AXES} axes",
    )

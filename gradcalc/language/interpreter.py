"""Program to graph: a stack machine whose values are nodes.

A condition asks for its value, and only the nodes behind it are computed; everything else stays
symbolic. So the graph is dynamic, as in PyTorch: it holds the operations that really ran.
"""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcalc.errors import GradcalcError, did_you_mean
from gradcalc.graph import LEAF, PRIMITIVES, Array, Node, as_number
from gradcalc.language.calls import bind, not_callable
from gradcalc.language.draws import Draws
from gradcalc.language.functions.linalg import matmul
from gradcalc.language.functions.registry import FUNCTIONS, resolve
from gradcalc.language.functions.shapes import transpose
from gradcalc.language.grammar import CONSTANTS, RESULTS, to_float
from gradcalc.language.program import Instruction, Program
from gradcalc.language.trace import Listing, Trace
from gradcalc.primitives import derivatives, shapes

MOST_REPEATS = 200_000  # of all loops together
ALONG = "(along)"  # the leaf that moves all leaves along a direction; no program can name it


def run(
    program: Program,
    at: Mapping[str, Array],
    draws: Draws,
    along: Mapping[str, Array] | None = None,
    step: float = 0.0,
) -> Trace:
    """Runs ``program`` with the leaf values ``at`` (float64 arrays by name).

    along: a direction by leaf: the program reads leaf + ALONG*direction, where ALONG is ``step``.
    Raises GradcalcError, with the place in the text, for whatever the program does wrong.
    """
    draws.begin()
    machine = _Machine(program, at, draws, along or {}, step)
    machine.run()
    return machine.trace


class _Machine:
    def __init__(
        self,
        program: Program,
        at: Mapping[str, Array],
        draws: Draws,
        along: Mapping[str, Array],
        step: float,
    ) -> None:
        self.program = program
        self.at = at
        self.draws = draws
        self.along = along
        self.trace = Trace(program)
        self.graph = self.trace.graph
        self.stack: list[Any] = []
        # Is there a name to differentiate by? Then each is a value of its own.
        self.separate = bool(program.differentiated & program.assigned)
        self.saved: Any = None
        self.counter = 0
        self.repeats = 0
        self.before: tuple[int, dict[str, Node]] = (-1, {})
        if along:
            self._leaf(ALONG, np.float64(step))

    def run(self) -> None:
        try:
            self._run()
        except MemoryError:
            raise GradcalcError("out-of-memory", "the values do not fit into memory") from None

    def _run(self) -> None:
        code = self.program.code
        if not code:  # "pass"
            return
        steps = {name[4:]: getattr(self, name) for name in dir(self) if name.startswith("_do_")}
        self._check_names()
        instruction = code[0]
        try:
            while self.counter < len(code):
                instruction = code[self.counter]
                self.counter += 1
                self.graph.origin = instruction.node
                steps[instruction.op](instruction)
        except GradcalcError as error:
            raise self.program.error(error, instruction.node) from None

    def _check_names(self) -> None:
        """An unknown function is told before anything runs, wherever it is called."""
        for op, argument, node in self.program.code:
            if op == "call" and resolve(argument.name, argument.namespace) not in FUNCTIONS:
                bare, name = argument.namespace == "", argument.name
                is_value = bare and (name in self.at or name in self.program.assigned)
                raise self._uncallable(name, node, is_value)

    def _uncallable(self, name: str, node: ast.AST, is_value: bool) -> GradcalcError:
        assert isinstance(node, ast.Call)
        return self.program.error(not_callable(name, is_value), node.func)

    # Names and constants

    def _do_constant(self, instruction: Instruction) -> None:
        value = instruction.argument
        number = type(value) in (int, float)
        self.stack.append(self.graph.constant(to_float(value)) if number else value)

    def _do_numbers(self, instruction: Instruction) -> None:
        self.stack.append(self.graph.constant(np.array(instruction.argument, dtype=np.float64)))

    def _do_load(self, instruction: Instruction) -> None:
        name = instruction.argument
        node = self.trace.names.get(name) or self.trace.read.get(name)
        self.stack.append(node if node is not None else self._first_read(name))

    def _first_read(self, name: str) -> Node:
        """A name that is read before it is assigned is a leaf; else it may be a constant."""
        if name in self.at:
            value = np.asarray(self.at[name], dtype=np.float64)[()]
            leaf = self._leaf(name, value)
            node = leaf
            if name in self.along:
                moved = leaf + self.trace.leaves[ALONG] * self.graph.constant(self.along[name])
                node = self._named(moved)
            self.trace.read[name] = node
            return node
        if name in CONSTANTS:
            return self.graph.constant(CONSTANTS[name])
        if name in FUNCTIONS:
            mend = f"call it: {name}(x), or give it a value: --at {name}=..."
            raise GradcalcError("missing-value", f"'{name}' is a function", mend)
        hint = did_you_mean(name, self.at)
        if name in self.program.assigned:
            hint = hint or f"assign it first, or give --at {name}=..."
            raise GradcalcError("missing-value", f"'{name}' is read before it has a value", hint)
        hint = hint or f"give one: --at {name}=..."
        raise GradcalcError("missing-value", f"'{name}' has no value", hint)

    def _named(self, node: Node) -> Node:
        """``node`` as a value of its own, that no equal one is; another name for one stays it."""
        if node.primitive in (LEAF, derivatives.named):
            return node
        return derivatives.named(as_number(node), params=(len(self.graph.nodes),))

    def _leaf(self, name: str, value: Array) -> Node:
        leaf = self.graph.leaf(name, np.shape(value))
        self.trace.leaves[name] = leaf
        self.trace.values[leaf] = value
        return leaf

    def _do_store(self, instruction: Instruction) -> None:
        self._do_bind(instruction)
        self.trace.output = instruction.argument

    def _do_bind(self, instruction: Instruction) -> None:
        name, node = instruction.argument, self.trace.array(self.stack.pop())
        if self.separate:
            node = self._named(node)
        self.trace.names[name] = node
        self.trace.places[name] = instruction.node

    def _do_result(self, instruction: Instruction) -> None:
        """A bare expression: the result, under its own name or one that is free."""
        value, name = self.stack.pop(), instruction.argument
        if name is None:
            name = "out"
            while name in self.program.assigned or name in self.program.read:
                name += "_"
        self.trace.names[name] = self.trace.array(value)
        self.trace.places.setdefault(name, instruction.node)
        self.trace.output = name

    # Sequences

    def _do_copy(self, instruction: Instruction) -> None:
        if self.separate and isinstance(self.stack[-1], Node):
            self.stack[-1] = self._named(self.stack[-1])  # one value of two names
        self.stack.append(self.stack[-1])

    def _do_save(self, instruction: Instruction) -> None:
        self.saved = self.stack[-1]

    def _do_recall(self, instruction: Instruction) -> None:
        self.stack.append(self.saved)

    def _do_tuple(self, instruction: Instruction) -> None:
        self.stack.append(Listing.of(self._pop(instruction.argument), instruction.node))

    def _do_unpack(self, instruction: Instruction) -> None:
        value, count = self.stack.pop(), instruction.argument
        if isinstance(value, Node):
            length = value.shape[0] if value.shape else 0
            parts = [self._at(value, (i,)) for i in range(length)] if length == count else []
        else:
            parts = list(value) if isinstance(value, Listing) else []
        if len(parts) != count:
            raise GradcalcError("unpack", f"{count} names want {count} values")
        self.stack.extend(reversed(parts))

    # Control

    def _do_jump(self, instruction: Instruction) -> None:
        self.counter = instruction.argument

    def _do_branch(self, instruction: Instruction) -> None:
        if not self.trace.truth(self.stack.pop()):
            self.counter = instruction.argument

    def _do_keep_if_false(self, instruction: Instruction) -> None:
        if not self.trace.truth(self.stack[-1]):
            self.counter = instruction.argument
        else:
            self.stack.pop()

    def _do_keep_if_true(self, instruction: Instruction) -> None:
        if self.trace.truth(self.stack[-1]):
            self.counter = instruction.argument
        else:
            self.stack.pop()

    def _do_repeat(self, instruction: Instruction) -> None:
        self.repeats += 1
        # Equal values are one node, so names that mean what they meant before go on so for ever.
        stuck = self.before == (instruction.argument, self.trace.names)
        stuck = stuck and not self.draws.used and not self.stack
        if self.repeats & (self.repeats - 1) == 0:  # at powers of two: finds any cycle (Brent)
            self.before = (instruction.argument, dict(self.trace.names))
        if stuck or self.repeats > MOST_REPEATS:
            raise GradcalcError(
                "too-long",
                f"the loop has run {self.repeats:,} times and would not end",
                "does the condition ever become false?",
            )
        self.counter = instruction.argument

    def _do_range(self, instruction: Instruction) -> None:
        count = instruction.argument
        bounds = [self.trace.integer(value) for value in self._pop(count)]
        if not 1 <= count <= 3 or (count == 3 and bounds[2] == 0):
            raise GradcalcError("arguments", "range takes a stop, or a start, a stop and a step")
        self.stack.append(iter(range(*bounds)))

    def _do_next(self, instruction: Instruction) -> None:
        step = next(self.stack[-1], None)
        if step is None:
            self.stack.pop()
            self.counter = instruction.argument
        else:
            self.stack.append(self.graph.constant(float(step)))

    def _do_drop(self, instruction: Instruction) -> None:
        self.stack.pop()

    # Parts of arrays

    def _do_slice(self, instruction: Instruction) -> None:
        bounds = [None if b is None else self.trace.integer(b) for b in self._pop(3)]
        if bounds[2] == 0:
            raise GradcalcError("index", "the step of a slice cannot be 0")
        self.stack.append(slice(*bounds))

    def _do_index(self, instruction: Instruction) -> None:
        items = [self._item(item) for item in self._pop(instruction.argument)]
        value = self.stack.pop()
        if isinstance(value, Listing) and len(items) == 1 and isinstance(items[0], int):
            if not -len(value) <= items[0] < len(value):
                raise GradcalcError("index", f"there is no element {items[0]} of {len(value)}")
            self.stack.append(value[items[0]])
        else:
            self.stack.append(self._at(self.trace.array(value), items))

    def _item(self, item: Any) -> Any:
        if item is None or item is ... or isinstance(item, slice):
            return item
        node = self.trace.array(item)
        if node.truth:
            return np.asarray(self.trace.steering(node))
        whole = self.trace.integers(node)
        return whole if whole.ndim else int(whole)

    def _at(self, x: Node, items: Sequence[Any]) -> Node:
        flat: list[Any] = []
        for item in _spelled_out(items, x.ndim):
            if isinstance(item, np.ndarray) and item.dtype == bool:
                before = [one for one in flat if one is not None]
                masked = x.shape[len(before) : len(before) + item.ndim]
                if item.ndim == 0:
                    raise GradcalcError(
                        "index", "a single truth value is no index", "choose with where, or with if"
                    )
                if item.shape != masked:
                    raise GradcalcError(
                        "index",
                        f"a mask of shape {item.shape} does not fit lengths {masked}",
                        "a mask has a truth value for each element",
                    )
                flat.extend(item.nonzero())
            else:
                flat.append(item)
        return shapes.index(x, params=(shapes.Index(tuple(flat)),))

    def _do_attribute(self, instruction: Instruction) -> None:
        value, name = self.stack.pop(), instruction.argument
        if name in RESULTS:
            if not isinstance(value, Listing) or name not in value.names:
                raise GradcalcError("attribute", f"this value has no '.{name}'")
            self.stack.append(value[value.names.index(name)])
            return
        x = self.trace.array(value)
        match name:
            case "T":
                self.stack.append(transpose(x))
            case "shape":
                lengths = (self.graph.constant(float(n)) for n in x.shape)
                self.stack.append(Listing.of(lengths, instruction.node))
            case "ndim":
                self.stack.append(self.graph.constant(float(x.ndim)))
            case "size":
                self.stack.append(self.graph.constant(float(x.size)))

    # Operations and calls

    def _pop(self, count: int) -> list[Any]:
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values

    def _do_operate(self, instruction: Instruction) -> None:
        name, count = instruction.argument
        build = matmul if name == "matmul" else PRIMITIVES[name]
        self.stack.append(build(*map(self.trace.array, self._pop(count))))

    def _do_call(self, instruction: Instruction) -> None:
        name, namespace, count, words = instruction.argument
        given = self._pop(count + len(words))
        if namespace == "" and (name in self.trace.names or name in self.at):
            raise self._uncallable(name, instruction.node, True)
        function = resolve(name, namespace)
        keywords = list(zip(words, given[count:], strict=True))
        arguments, options = bind(self.trace, self.draws, function, given[:count], keywords)
        result = FUNCTIONS[function](*arguments, **options)
        several = isinstance(result, tuple)
        self.stack.append(Listing.of(result, instruction.node) if several else result)


def _spelled_out(items: Sequence[Any], ndim: int) -> list[Any]:
    """``items`` with ``...`` as the full slices that it stands for."""
    axes = sum(
        item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1
        for item in items
        if item is not None and item is not ...
    )
    full = [slice(None)] * max(0, ndim - axes)
    where = next((i for i, item in enumerate(items) if item is ...), len(items))
    return [*items[:where], *full, *items[where + 1 :]]

"""Program to graph: a stack machine whose values are nodes.

A condition asks for its value, and only the nodes behind it are computed; everything else stays
symbolic. So the graph is dynamic, as in PyTorch: it holds the operations that really ran.
"""

import ast
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from gradcalc.compute.evaluate import evaluate
from gradcalc.errors import GradcalcError, did_you_mean
from gradcalc.graph import PRIMITIVES, Array, Graph, Node, as_truth
from gradcalc.language import functions
from gradcalc.language.draws import Draws
from gradcalc.language.functions import FUNCTIONS, HABITS, KEYWORDS, Axes, Operand
from gradcalc.language.program import CONSTANTS, Instruction, Program, to_float
from gradcalc.primitives import shapes

MOST_REPEATS = 200_000  # of all loops together


@dataclass
class Trace:
    """What a program did: its graph, its names, and the values that were asked for on the way."""

    program: Program
    graph: Graph = field(default_factory=Graph)
    names: dict[str, Node] = field(default_factory=dict)
    places: dict[str, ast.AST] = field(default_factory=dict)  # where each name got its value
    leaves: dict[str, Node] = field(default_factory=dict)
    values: dict[Node, Array] = field(default_factory=dict)
    conditions: list[Node] = field(default_factory=list)  # whose values steered the program
    output: str | None = None  # the name that was assigned last

    def error(self, error: GradcalcError, name: str) -> GradcalcError:
        """``error`` with the place where ``name`` got its value."""
        return self.program.error(error, self.places[name]) if name in self.places else error

    def value(self, node: Node) -> Array:
        """The value of ``node``, computed now and kept."""
        return evaluate([node], self.values, keep=True)[0]


def run(program: Program, at: Mapping[str, Array], draws: Draws) -> Trace:
    """Runs ``program`` with the leaf values ``at`` (float64 arrays by name).

    Raises GradcalcError, with the place in the text, for whatever the program does wrong.
    """
    machine = _Machine(program, at, draws)
    machine.run()
    return machine.trace


class Listing(tuple[Any, ...]):
    """The elements of ``[a, b]`` or ``a, b``, and the node that lists them."""

    node: ast.AST

    @classmethod
    def of(cls, elements: Iterable[Any], node: ast.AST) -> Self:
        """The elements that ``node`` lists."""
        listing = cls(elements)
        listing.node = node
        return listing


class _Machine:
    def __init__(self, program: Program, at: Mapping[str, Array], draws: Draws) -> None:
        self.program = program
        self.at = at
        self.draws = draws
        self.trace = Trace(program)
        self.graph = self.trace.graph
        self.stack: list[Any] = []
        self.saved: Any = None
        self.counter = 0
        self.repeats = 0
        self.names_before: dict[str, Node] = {}

    def run(self) -> None:
        try:
            self._run()
        except MemoryError:
            raise GradcalcError("out-of-memory", "the values do not fit into memory") from None

    def _run(self) -> None:
        code = self.program.code
        steps = {name[4:]: getattr(self, name) for name in dir(self) if name.startswith("_do_")}
        instruction = code[0]
        try:
            while self.counter < len(code):
                instruction = code[self.counter]
                self.counter += 1
                self.graph.origin = instruction.node
                steps[instruction.op](instruction)
        except GradcalcError as error:
            raise self.program.error(error, instruction.node) from None

    # Values

    def array(self, value: Any) -> Node:
        """``value`` as an array: a sequence is stacked."""
        if isinstance(value, Node):
            return value
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
            return functions.stack(*parts) if parts else self.graph.constant(np.zeros(0))
        if isinstance(value, bool):
            return self.graph.constant(value)
        raise GradcalcError("type", f"{value!r} is not a number or an array")

    def value(self, value: Any) -> Array:
        """The numbers behind ``value``, computed now."""
        return self.trace.value(self.array(value))

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
        self.trace.conditions.append(node)
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

    # Names and constants

    def _do_constant(self, instruction: Instruction) -> None:
        value = instruction.argument
        number = type(value) in (int, float)
        self.stack.append(self.graph.constant(to_float(value)) if number else value)

    def _do_numbers(self, instruction: Instruction) -> None:
        self.stack.append(self.graph.constant(np.array(instruction.argument, dtype=np.float64)))

    def _do_load(self, instruction: Instruction) -> None:
        name = instruction.argument
        node = self.trace.names.get(name) or self.trace.leaves.get(name)
        self.stack.append(node if node is not None else self._first_read(name))

    def _first_read(self, name: str) -> Node:
        """A name that is read before it is assigned is a leaf; else it may be a constant."""
        if name in self.at:
            value = self.at[name]
            leaf = self.graph.leaf(name, np.shape(value))
            self.trace.leaves[name] = leaf
            self.trace.values[leaf] = value
            return leaf
        if name in CONSTANTS:
            return self.graph.constant(CONSTANTS[name])
        if name in FUNCTIONS:
            raise GradcalcError("missing-value", f"'{name}' is a function", f"call it: {name}(x)")
        hint = did_you_mean(name, self.at)
        if name in self.program.assigned:
            hint = hint or f"assign it first, or give --at {name}=..."
            raise GradcalcError("missing-value", f"'{name}' is read before it has a value", hint)
        hint = hint or f"give one: --at {name}=..."
        raise GradcalcError("missing-value", f"'{name}' has no value", hint)

    def _do_store(self, instruction: Instruction) -> None:
        self._do_bind(instruction)
        self.trace.output = instruction.argument

    def _do_bind(self, instruction: Instruction) -> None:
        self.trace.names[instruction.argument] = self.array(self.stack.pop())
        self.trace.places[instruction.argument] = instruction.node

    def _do_result(self, instruction: Instruction) -> None:
        """A bare expression: the result, under its own name or one that is free."""
        value, name = self.stack.pop(), instruction.argument
        if name is None:
            name = "out"
            while name in self.program.assigned or name in self.program.read:
                name += "_"
        self.trace.names[name] = self.array(value)
        self.trace.places.setdefault(name, instruction.node)
        self.trace.output = name

    # Sequences

    def _do_copy(self, instruction: Instruction) -> None:
        self.stack.append(self.stack[-1])

    def _do_save(self, instruction: Instruction) -> None:
        self.saved = self.stack[-1]

    def _do_recall(self, instruction: Instruction) -> None:
        self.stack.append(self.saved)

    def _do_tuple(self, instruction: Instruction) -> None:
        count = instruction.argument
        values = Listing.of(self.stack[len(self.stack) - count :], instruction.node)
        del self.stack[len(self.stack) - count :]
        self.stack.append(values)

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
        if not self.truth(self.stack.pop()):
            self.counter = instruction.argument

    def _do_keep_if_false(self, instruction: Instruction) -> None:
        if not self.truth(self.stack[-1]):
            self.counter = instruction.argument
        else:
            self.stack.pop()

    def _do_keep_if_true(self, instruction: Instruction) -> None:
        if self.truth(self.stack[-1]):
            self.counter = instruction.argument
        else:
            self.stack.pop()

    def _do_repeat(self, instruction: Instruction) -> None:
        self.repeats += 1
        # Nodes are shared: names that mean what they meant before lead to the same again, for ever.
        stuck = self.names_before == self.trace.names and not self.draws.used and self.stack == []
        if (
            self.repeats & (self.repeats - 1) == 0
        ):  # at powers of two, which finds cycles too (Brent)
            self.names_before = dict(self.trace.names)
        if stuck or self.repeats > MOST_REPEATS:
            raise GradcalcError(
                "too-long",
                f"the loop has run {self.repeats:,} times and would not end",
                "does the condition ever become false?",
            )
        self.counter = instruction.argument

    def _do_range(self, instruction: Instruction) -> None:
        count = instruction.argument
        bounds = [self.integer(value) for value in self.stack[len(self.stack) - count :]]
        del self.stack[len(self.stack) - count :]
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
        bounds = [None if b is None else self.integer(b) for b in self.stack[-3:]]
        del self.stack[-3:]
        if bounds[2] == 0:
            raise GradcalcError("index", "the step of a slice cannot be 0")
        self.stack.append(slice(*bounds))

    def _do_index(self, instruction: Instruction) -> None:
        count = instruction.argument
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        self.stack.append(self._at(self.array(self.stack.pop()), [self._item(i) for i in items]))

    def _item(self, item: Any) -> Any:
        if item is None or item is ... or isinstance(item, slice):
            return item
        node = self.array(item)
        if node.truth:
            return np.asarray(self.steering(node))
        whole = self.integers(node)
        return whole if whole.ndim else int(whole)

    def _at(self, x: Node, items: Sequence[Any]) -> Node:
        flat: list[Any] = []
        for item in items:
            if isinstance(item, np.ndarray) and item.dtype == bool:
                if item.ndim == 0:
                    raise GradcalcError(
                        "index", "one truth value cannot index", "choose with where, or with if"
                    )
                flat.extend(item.nonzero())
            else:
                flat.append(item)
        return shapes.index(x, params=(shapes.Index(tuple(flat)),))

    def _do_attribute(self, instruction: Instruction) -> None:
        x = self.array(self.stack.pop())
        match instruction.argument:
            case "T":
                self.stack.append(functions.transpose(x))
            case "shape":
                lengths = (self.graph.constant(float(n)) for n in x.shape)
                self.stack.append(Listing.of(lengths, instruction.node))
            case "ndim":
                self.stack.append(self.graph.constant(float(x.ndim)))
            case "size":
                self.stack.append(self.graph.constant(float(x.size)))

    # Calls

    def _do_operate(self, instruction: Instruction) -> None:
        name, count = instruction.argument
        inputs = [self.array(value) for value in self.stack[len(self.stack) - count :]]
        del self.stack[len(self.stack) - count :]
        build = functions.matmul if name == "matmul" else PRIMITIVES[name]
        self.stack.append(build(*inputs))

    def _do_method(self, instruction: Instruction) -> None:
        self._do_call(instruction, method=True)

    def _do_call(self, instruction: Instruction, method: bool = False) -> None:
        name, count, words = instruction.argument
        total = count + len(words)
        given = self.stack[len(self.stack) - total :]
        del self.stack[len(self.stack) - total :]
        build = FUNCTIONS.get(name)
        shadowed = not method and (name in self.trace.names or name in self.at)
        if build is None or shadowed:
            assert isinstance(instruction.node, ast.Call)
            raise self.program.error(self._not_callable(name, shadowed), instruction.node.func)
        arguments, options = self._bind(
            name, build, given[:count], dict(zip(words, given[count:], strict=True))
        )
        self.stack.append(build(*arguments, **options))

    def _not_callable(self, name: str, shadowed: bool) -> GradcalcError:
        if shadowed:
            return GradcalcError(
                "not-callable",
                f"'{name}' is a value and cannot be called",
                f"write a product with *: {name}*(...)",
            )
        hint = HABITS.get(name) or did_you_mean(name, FUNCTIONS) or "the README lists the functions"
        return GradcalcError("unknown-function", f"unknown function '{name}'", hint)

    def _bind(
        self, name: str, build: functions.Builder, given: list[Any], words: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """``given`` and ``words`` matched with what the function takes, and converted to it."""
        arguments: list[Any] = []
        options: dict[str, Any] = {}
        words = {KEYWORDS.get(word, word): value for word, value in words.items()}
        rest = list(given)
        for parameter in functions.parameters(build):
            takes, key = parameter.annotation, parameter.name
            if takes is Graph:
                arguments.append(self.graph)
            elif takes is Draws:
                arguments.append(self.draws)
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                if len(rest) == 1 and takes is Node and isinstance(rest[0], Listing):
                    rest = list(rest[0])
                if takes is int:  # lengths, one by one or as one tuple
                    arguments.extend(n for value in rest for n in self._convert(value, Axes) or ())
                else:
                    arguments.extend(self._convert(value, takes) for value in rest)
                rest = []
            elif rest and parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                arguments.append(self._convert(rest.pop(0), takes))
            elif key in words:
                options[key] = self._convert(words.pop(key), takes)
            elif parameter.default is inspect.Parameter.empty:
                raise GradcalcError("arguments", f"{name}() wants {self._usage(name, build)}")
        if rest or words:
            unknown = next(iter(words), None)
            what = f"has no argument '{unknown}'" if unknown else "got too many arguments"
            raise GradcalcError(
                "arguments", f"{name}() {what}", f"it is {self._usage(name, build)}"
            )
        return arguments, options

    def _usage(self, name: str, build: functions.Builder) -> str:
        hidden = (Graph, Draws)
        shown = [
            str(p.replace(annotation=inspect.Parameter.empty))
            for p in functions.parameters(build)
            if p.annotation not in hidden
        ]
        return f"{name}({', '.join(shown)})"

    def _convert(self, value: Any, takes: Any) -> Any:
        if takes in (Node, Operand):
            return self.array(value)
        if value is None:
            return None
        if takes is int:
            return self.integer(value)
        if takes == Axes:
            return tuple(int(i) for i in np.ravel(self.integers(value)))
        if takes is bool:
            return self.truth(value)
        if isinstance(value, str):
            return value
        return float(self.single(self.steering(self.array(value))))

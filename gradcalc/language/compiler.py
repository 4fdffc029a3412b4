"""Syntax tree to program: an allow-list of nodes, each with the instructions that it means."""

import ast
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from gradcalc.errors import GradcalcError, Source, did_you_mean
from gradcalc.language.functions.registry import FUNCTIONS, resolve
from gradcalc.language.grammar import (
    ATTRIBUTES,
    CONSTANTS,
    DERIVATIVES,
    ELSEWHERE,
    MODULES,
    OPERATORS,
    REFUSED,
    RESULTS,
    TORCHS,
    TYPES,
    to_float,
)
from gradcalc.language.program import Call, Instruction, Program
from gradcalc.language.syntax import parse, span_of


def compile_program(source: Source, leaves: frozenset[str] = frozenset()) -> Program:
    """The program that ``source`` spells; raises GradcalcError with the place of what is wrong.

    leaves: the names that have values, and so are no modules (``np``).
    """
    return compile_tree(parse(source), source, leaves)


def compile_tree(tree: ast.Module, source: Source, leaves: frozenset[str] = frozenset()) -> Program:
    """The program of a tree, or of a part of one, that ``source`` was parsed to."""
    return _Compiler(source, leaves).compile(tree)


class _Compiler:
    """Walks the tree without recursion: a visitor is a generator that yields children to visit."""

    def __init__(self, source: Source, leaves: frozenset[str]) -> None:
        self.source = source
        self.leaves = leaves
        self.code: list[Instruction] = []
        self.assigned: set[str] = set()
        self.read: set[str] = set()
        self.differentiated: set[str] = set()
        self.loops: list[tuple[int, list[int], bool]] = []  # start, jumps to the end, is it a for

    def compile(self, tree: ast.Module) -> Program:
        stack = [self._block(tree.body)]
        while stack:
            child = next(stack[-1], None)
            if child is None:
                stack.pop()
            else:
                stack.append(self._visit(child))
        names = map(frozenset, (self.assigned, self.read, self.differentiated))
        return Program(self.source, self.code, *names)

    def _visit(self, node: ast.AST) -> Iterator[ast.AST]:
        kind = type(node).__name__
        visitor: Callable[[Any], Iterator[ast.AST]] | None = getattr(self, f"_{kind.lower()}", None)
        if visitor is None:
            what, hint = REFUSED.get(kind, ("this", None))
            self._refuse(node, "unsupported", f"{what} is not part of the language", hint)
        return visitor(node)

    def _emit(self, op: str, argument: Any, node: ast.AST) -> int:
        self.code.append(Instruction(op, argument, node))
        return len(self.code) - 1

    def _land(self, *jumps: int) -> None:
        """Let the instructions at ``jumps`` jump to here."""
        for jump in jumps:
            self.code[jump] = self.code[jump]._replace(argument=len(self.code))

    def _refuse(self, node: ast.AST, code: str, message: str, hint: str | None = None) -> NoReturn:
        span = span_of(self.source.text, node)
        raise GradcalcError(code, message, hint, span, self.source)

    # Statements

    def _block(self, body: list[ast.stmt]) -> Iterator[ast.AST]:
        yield from body

    def _expr(self, node: ast.Expr) -> Iterator[ast.AST]:
        yield node.value
        name = node.value.id if isinstance(node.value, ast.Name) else None
        self._emit("result", name, node.value)

    def _assign(self, node: ast.Assign) -> Iterator[ast.AST]:
        yield node.value
        for target in node.targets[:-1]:
            self._emit("copy", None, target)
            self._store(target)
        self._store(node.targets[-1])

    def _store(self, target: ast.expr, op: str = "store") -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            self._emit("unpack", len(target.elts), target)
            for element in target.elts:
                self._store(element, op)
            return
        if isinstance(target, ast.Subscript):
            self._refuse(
                target,
                "item-assignment",
                "an element cannot be assigned to: values do not change",
                "make a new array: where(condition, new, old), or stack(a, b, c)",
            )
        if not isinstance(target, ast.Name):
            self._refuse(target, "syntax", "only a name can be assigned to")
        self.assigned.add(target.id)
        self._emit(op, target.id, target)

    def _augassign(self, node: ast.AugAssign) -> Iterator[ast.AST]:
        if isinstance(node.target, ast.Name):
            yield ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            yield node.value
            self._operate(OPERATORS.get(type(node.op).__name__), 2, node)
        self._store(node.target)

    def _if(self, node: ast.If) -> Iterator[ast.AST]:
        yield node.test
        skip = self._emit("branch", None, node.test)
        yield from node.body
        end = self._emit("jump", None, node)
        self._land(skip)
        yield from node.orelse
        self._land(end)

    def _while(self, node: ast.While) -> Iterator[ast.AST]:
        start = len(self.code)
        yield node.test
        leave = self._emit("branch", None, node.test)
        yield from self._loop(node, start, leave, is_for=False)

    def _for(self, node: ast.For) -> Iterator[ast.AST]:
        call = node.iter
        if not isinstance(call, ast.Call) or _dotted(call.func) != "range" or call.keywords:
            self._refuse(call, "unsupported", "a for loop runs over range(n)")
        yield from call.args
        self._emit("range", len(call.args), call)
        start = self._emit("next", None, node)
        self._store(node.target, "bind")
        yield from self._loop(node, start, start, is_for=True)

    def _loop(
        self, node: ast.While | ast.For, start: int, leave: int, is_for: bool
    ) -> Iterator[ast.AST]:
        self.loops.append((start, [], is_for))
        yield from node.body
        self._emit("repeat", start, node)
        _, breaks, _ = self.loops.pop()
        self._land(leave)
        yield from node.orelse
        self._land(*breaks)

    def _break(self, node: ast.Break) -> Iterator[ast.AST]:
        _, breaks, is_for = self._innermost(node, "break")
        if is_for:
            self._emit("drop", None, node)
        breaks.append(self._emit("jump", None, node))
        yield from ()

    def _continue(self, node: ast.Continue) -> Iterator[ast.AST]:
        start, _, _ = self._innermost(node, "continue")
        self._emit("repeat", start, node)
        yield from ()

    def _innermost(self, node: ast.stmt, word: str) -> tuple[int, list[int], bool]:
        if not self.loops:
            self._refuse(node, "syntax", f"'{word}' outside of a loop")
        return self.loops[-1]

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[ast.AST]:
        """The modules whose functions are known are known already."""
        known = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        if not set(known) <= MODULES.keys() | {"torch.nn"}:
            hint = "leave it out: the functions of numpy, torch and math are known"
            self._refuse(node, "unsupported", "this import is not part of the language", hint)
        yield from ()

    _importfrom = _import

    def _pass(self, node: ast.Pass) -> Iterator[ast.AST]:
        yield from ()

    # Expressions

    def _constant(self, node: ast.Constant) -> Iterator[ast.AST]:
        if isinstance(node.value, complex):
            self._refuse(
                node, "unsupported", "complex numbers are not supported", "values are real"
            )
        if isinstance(node.value, bytes) or node.value is ...:
            self._refuse(node, "unsupported", f"'{node.value!r}' is not a value")
        self._emit("constant", node.value, node)
        yield from ()

    def _name(self, node: ast.Name) -> Iterator[ast.AST]:
        self.read.add(node.id)
        self._emit("load", node.id, node)
        yield from ()

    def _tuple(self, node: ast.Tuple | ast.List) -> Iterator[ast.AST]:
        numbers = [_number(element) for element in node.elts]
        if node.elts and None not in numbers:
            self._emit("numbers", numbers, node)
            return
        yield from node.elts
        self._emit("tuple", len(node.elts), node)

    _list = _tuple

    def _binop(self, node: ast.BinOp) -> Iterator[ast.AST]:
        yield node.left
        yield node.right
        self._operate(OPERATORS.get(type(node.op).__name__), 2, node)

    def _unaryop(self, node: ast.UnaryOp) -> Iterator[ast.AST]:
        number = _number(node)
        if number is not None:
            self._emit("constant", number, node)
            return
        yield node.operand
        if not isinstance(node.op, ast.UAdd):
            self._operate(OPERATORS[type(node.op).__name__], 1, node)

    def _operate(
        self,
        name: str | None,
        count: int,
        node: ast.BinOp | ast.UnaryOp | ast.AugAssign | ast.Compare,
    ) -> None:
        if name is None:
            self._refuse(node, "unsupported", "this operator is not supported")
        self._emit("operate", (name, count), node)

    def _compare(self, node: ast.Compare) -> Iterator[ast.AST]:
        """``a < b < c`` is ``(a < b) & (b < c)``, with ``b`` computed once."""
        yield node.left
        for position, (operator, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            name = OPERATORS.get(type(operator).__name__)
            if name is None:
                self._refuse(
                    node, "unsupported", "'is' and 'in' are not supported", "compare with =="
                )
            if position:
                self._emit("recall", None, node)
            yield right
            if position < len(node.ops) - 1:
                self._emit("save", None, node)
            self._operate(name, 2, node)
            if position:
                self._operate("logical_and", 2, node)

    def _boolop(self, node: ast.BoolOp) -> Iterator[ast.AST]:
        """Short-circuit, on single truth values."""
        ends = []
        for value in node.values[:-1]:
            yield value
            kind = "keep_if_false" if isinstance(node.op, ast.And) else "keep_if_true"
            ends.append(self._emit(kind, None, value))
        yield node.values[-1]
        self._land(*ends)

    def _ifexp(self, node: ast.IfExp) -> Iterator[ast.AST]:
        yield node.test
        other = self._emit("branch", None, node.test)
        yield node.body
        end = self._emit("jump", None, node)
        self._land(other)
        yield node.orelse
        self._land(end)

    def _subscript(self, node: ast.Subscript) -> Iterator[ast.AST]:
        yield node.value
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            if isinstance(part, ast.Constant) and part.value in (None, ...):
                self._emit("constant", part.value, part)
            else:
                yield part
        self._emit("index", len(parts), node)

    def _slice(self, node: ast.Slice) -> Iterator[ast.AST]:
        for bound in (node.lower, node.upper, node.step):
            yield bound if bound is not None else ast.copy_location(ast.Constant(None), node)
        self._emit("slice", None, node)

    def _attribute(self, node: ast.Attribute) -> Iterator[ast.AST]:
        if self._is_module(node.value):
            if node.attr == "newaxis":
                self._emit("constant", None, node)
                return
            if node.attr not in CONSTANTS:
                hint = did_you_mean(node.attr, CONSTANTS)
                if node.attr.rstrip("0123456789") in TYPES:
                    hint = "leave it out: every value is a float64"
                self._refuse(node, "unknown-name", f"unknown constant '{node.attr}'", hint)
            self._emit("constant", CONSTANTS[node.attr], node)
            return
        if node.attr not in (*ATTRIBUTES, *RESULTS):
            self._refuse_attribute(node)
        yield node.value
        self._emit("attribute", node.attr, node)

    def _refuse_attribute(self, node: ast.Attribute) -> NoReturn:
        hints = {
            "grad": "gradients are what gradcalc prints; in a program, grad(y, x) is one",
            "backward": "leave it out: --weights takes what backward() takes",
        }
        self._refuse(
            node,
            "attribute",
            f"'.{node.attr}' cannot be read: values have no such attribute",
            hints.get(node.attr, "there are .T, .shape, .ndim, .size and methods such as .sum()"),
        )

    def _call(self, node: ast.Call) -> Iterator[ast.AST]:
        function, count, namespace = node.func, len(node.args), ""
        if isinstance(function, ast.Attribute):
            name = function.attr
            if self._is_module(function.value):
                namespace = MODULES[_dotted(function.value) or ""] or "np"
            else:
                self._check_method(function)
                yield function.value
                count += 1
                is_torchs = any(keyword.arg in TORCHS for keyword in node.keywords)
                namespace = "torch" if is_torchs else "."
        elif isinstance(function, ast.Name):
            name = function.id
        else:
            self._refuse(
                function, "syntax", "this is a value and cannot be called", _call_instead(function)
            )
        if name in DERIVATIVES:
            by = [
                *node.args[1:2],
                *(word.value for word in node.keywords if word.arg in ("x", "inputs")),
            ]
            self.differentiated.update(one.id for one in by if isinstance(one, ast.Name))
        yield from node.args
        words = []
        for keyword in node.keywords:
            if keyword.arg is None:
                self._refuse(keyword.value, "unsupported", "'**' in a call is not supported")
            words.append(keyword.arg)
            yield keyword.value
        self._emit("call", Call(name, namespace, count, tuple(words)), node)

    def _check_method(self, function: ast.Attribute) -> None:
        """A method of a value, not what PyTorch has for gradients, nor a function of a module."""
        if function.attr.startswith("_") or function.attr in ("backward", "grad"):
            self._refuse_attribute(function)
        path = _dotted(function.value) or ""
        root = path.split(".")[0]
        if root in ELSEWHERE and root not in self.leaves and root not in self.assigned:
            name = resolve(function.attr.lower())
            hint = f"write {name}(...)" if name in FUNCTIONS else did_you_mean(name, FUNCTIONS)
            message = f"'{path}' is not a module of the language"
            self._refuse(function.value, "unknown-module", message, hint)

    def _is_module(self, node: ast.expr) -> bool:
        """Is it ``np``, ``torch.linalg`` and the like, and no leaf or variable of that name?"""
        dotted = _dotted(node)
        root = (dotted or "").split(".")[0]
        return dotted in MODULES and root not in self.leaves and root not in self.assigned


def _number(node: ast.AST) -> float | None:
    """The number that ``node`` spells (with a sign, perhaps); None for anything else."""
    sign = 1.0
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        sign, node = (-sign if isinstance(node.op, ast.USub) else sign), node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return None if isinstance(node.value, bool) else sign * to_float(node.value)
    return None


def _call_instead(function: ast.expr) -> str:
    """The mend for ``nn.ReLU()(x)``, and for ``2(x + 1)``."""
    inner = function.func if isinstance(function, ast.Call) else None
    name = resolve(inner.attr.lower()) if isinstance(inner, ast.Attribute) else ""
    return f"write {name}(...)" if name in FUNCTIONS else "a product is written with *"


def _dotted(node: ast.expr) -> str | None:
    """``np.linalg`` for the nodes that spell it; None for what is no chain of names."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else None

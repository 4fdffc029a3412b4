"""Text to syntax tree: Python's own parser, its complaints in our words, places in the text."""

import ast
import re
import sys
import threading
import unicodedata
import warnings
from keyword import iskeyword

from gradcalc.errors import GradcalcError, Source, Span, lines_of

LONGEST = 60  # characters of a part that is quoted
DEEPEST = 200_000  # levels of syntax (terms of a sum): within the stack below, whatever the text
STATEMENTS = {
    "if",
    "else",
    "elif",
    "for",
    "in",
    "while",
    "break",
    "continue",
    "pass",
    "and",
    "or",
    "not",
}
PROGRAM = "write an expression, such as 'y = 3*a + log(c)'"
NESTED = 200  # brackets inside one another: as many as Python takes
STACK = 512 * 2**20  # bytes, reserved but hardly touched


def normalize(name: str) -> str:
    """``name`` as Python's parser spells it (NFKC), so that the keys of ``--at`` meet the text."""
    return unicodedata.normalize("NFKC", name)


def _check_text(source: Source, hint: str) -> None:
    """Raises GradcalcError for a text that is empty, not Unicode, or has a NUL."""
    text = source.text
    for bad, code, message in (
        ("\0", "nul", "the text contains a NUL character"),
        (r"[\ud800-\udfff]", "encoding", "the text is not valid UTF-8"),
    ):
        if found := re.search(bad, text):
            raise GradcalcError(
                code, message, "remove it", place(text, found.start(), found.end()), source
            )
    deepest = _too_deep_at(text)
    if deepest is not None:
        raise _too_deep(source, place(text, deepest, deepest + 1))
    if all(not line.strip() or line.lstrip().startswith("#") for line in lines_of(text)):
        raise GradcalcError("empty", "the text is empty", hint, None, source)


def _too_deep_at(text: str) -> int | None:
    """Where brackets are nested too deeply, which Python's parser would refuse or crash on."""
    depth = 0
    for found in re.finditer(r"#.*|[(\[{]|[)\]}]", text):
        depth += {"(": 1, "[": 1, "{": 1, "#": 0}.get(found.group()[0], -1)
        if depth > NESTED:
            return found.start()
    return None


def place(text: str, start: int, end: int) -> Span:
    """The span of ``text[start:end]``."""
    before = lines_of(text[:start])
    column = len(before[-1])
    return Span(len(before), column, column + end - start)


def python_text(text: str) -> str:
    """gradcalc's text as Python's: ``^`` is power."""
    return text.replace("^", "**")


def parse(source: Source, hint: str = PROGRAM) -> ast.Module:
    """The tree of ``source``; raises GradcalcError with the place of what is wrong.

    hint: what to write instead of nothing.
    """
    _check_text(source, hint)
    text = python_text(source.text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's advice on "1if x" is not ours
            try:
                return ast.parse(text)
            except RecursionError:
                return _parse_deep(text)
    except SyntaxError as error:
        raise _syntax_error(error, source) from None
    except (RecursionError, MemoryError):
        raise _too_deep(source, None) from None
    except ValueError as error:
        raise GradcalcError("syntax", str(error), None, None, source) from None


def _too_deep(source: Source, span: Span | None) -> GradcalcError:
    return GradcalcError(
        "nesting",
        "the text is nested too deeply",
        "give parts of it names of their own",
        span,
        source,
    )


def _parse_deep(text: str) -> ast.Module:
    """``ast.parse`` on a stack that suffices for a sum of very many terms."""
    result: list[ast.Module | BaseException] = []

    def work() -> None:
        try:
            result.append(ast.parse(text))
        except (SyntaxError, RecursionError, MemoryError) as error:
            result.append(error)

    size, limit = threading.stack_size(STACK), sys.getrecursionlimit()
    sys.setrecursionlimit(DEEPEST)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    except RuntimeError:  # no memory for such a stack
        raise MemoryError from None
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


def _syntax_error(error: SyntaxError, source: Source) -> GradcalcError:
    """Python's complaint in gradcalc's words, with a mend where the habit behind it is known."""
    text = source.text
    rows = lines_of(text)
    line = min(max(error.lineno or 1, 1), len(rows))
    row = rows[line - 1]
    start = min(_column(row, max((error.offset or 1) - 1, 0), "characters"), len(row))
    end = start + 1
    if error.end_lineno == error.lineno and (error.end_offset or 0) > (error.offset or 0):
        end = _column(row, (error.end_offset or 1) - 1, "characters")
    message = (error.msg or "invalid syntax").lower()
    if "integer string conversion" in message:
        message = "this number has too many digits"
        return GradcalcError("syntax", message, "write 1e5000", Span(line, start, end), source)
    if "nested" in message:
        return _too_deep(source, Span(line, start, end))
    window = max(0, start - 40)  # a long line is not searched as a whole
    product = re.search(r"(?<![\w.])(\d+\.?\d*)([^\W\d]\w*|\()", row[window : end + 40])
    if product and ("decimal literal" in message or "invalid syntax" in message):
        number, rest = product.groups()
        return GradcalcError(
            "syntax",
            f"'{product.group()}' is not a product",
            f"write the multiplication: {number}*{rest}",
            Span(line, window + product.start(), window + product.end()),
            source,
        )
    for word in re.finditer(r"(?<![\w.])[^\W\d]\w*", row):
        # The word that Python stumbled over, or the one it would not assign to.
        near = word.start() <= start <= word.end() or "cannot assign" in message
        if near and iskeyword(word.group()) and word.group() not in STATEMENTS:
            return keyword_error(word.group(), Span(line, *word.span()), source)
    hint = "is an operator, a value or a bracket missing?" if "invalid syntax" in message else None
    return GradcalcError("syntax", message, hint, Span(line, start, end), source)


def keyword_error(name: str, span: Span | None, source: Source) -> GradcalcError:
    """A Python keyword stands where a name is wanted."""
    return GradcalcError(
        "keyword",
        f"'{name}' is a keyword of the language and cannot be a name here",
        f"choose another name, such as '{name.lower()}_'",
        span,
        source,
    )


def part_of(text: str, node: ast.AST) -> str:
    """The part of ``text`` that ``node`` is, in Python's spelling, shortened."""
    part = ast.get_source_segment(python_text(text), node) or "this"
    return part if len(part) <= LONGEST else f"{part[:LONGEST]}…"


# Places: the parser counts UTF-8 bytes of the Python text, people count characters of their own.


def _column(row: str, offset: int, unit: str) -> int:
    """The character of ``row`` that stands at ``offset`` of its Python spelling."""
    spelled = 0
    for column, character in enumerate(row):
        if spelled >= offset:
            return column
        spelled += 2 if character == "^" else len(character.encode()) if unit == "bytes" else 1
    return len(row)


def span_of(text: str, node: ast.AST) -> Span | None:
    if isinstance(node, ast.BinOp) and node.left.end_lineno == node.right.lineno:
        line = node.right.lineno
        row = lines_of(text)[line - 1]
        start = _column(row, node.left.end_col_offset or 0, "bytes")
        end = _column(row, node.right.col_offset, "bytes")
        found = re.search(r"[^\s()]+", row[start:end])
        if found:
            return Span(line, start + found.start(), start + found.end())
    if not isinstance(node, (ast.expr, ast.stmt)):
        return None
    row = lines_of(text)[node.lineno - 1]
    begin = node.col_offset
    if isinstance(node, ast.Attribute) and node.value.end_lineno == node.lineno:
        begin = node.value.end_col_offset or begin  # the dot and the name
    start = _column(row, begin, "bytes")
    same = node.end_lineno == node.lineno
    end = _column(row, node.end_col_offset or 0, "bytes") if same else len(row)
    return Span(node.lineno, start, end)

"""The progress of a batch on a terminal: how many problems, how fast, how long still."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from gradcalc.cli.output import stderr_console

BLOCK = 1 << 20


class _Rate(ProgressColumn):
    """Problems a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


@contextmanager
def progress(paths: Sequence[str], every: bool) -> Iterator[Callable[[], None]]:
    """A bar on standard error while inside; the yielded function counts one more problem.

    every: are all problems solved? Else nothing tells how many there will be.
    """
    total = _total(paths) if every else None
    count = TextColumn("{task.completed} problems") if total is None else MofNCompleteColumn()
    left = () if total is None else (TimeRemainingColumn(),)
    bar = Progress(
        count,
        BarColumn(),
        _Rate(),
        *left,
        console=stderr_console(),
        transient=True,
        redirect_stdout=False,  # results go where they belong
    )
    with bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


def _total(paths: Sequence[str]) -> int | None:
    """About how many problems there are, where lines tell it; else None."""
    count = 0
    for path in map(Path, paths):
        kind = path.suffix.lower()
        if kind not in (".jsonl", ".csv") or not path.is_file():
            return None
        try:
            with path.open("rb") as file:
                last = b"\n"
                while block := file.read(BLOCK):
                    count += block.count(b"\n")
                    last = block[-1:]
                count += last != b"\n"
        except OSError:
            return None
        count -= kind == ".csv"
    return count

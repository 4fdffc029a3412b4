"""Console transcripts: ``$ command`` lines, each with what it prints (both streams) below it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Example(NamedTuple):
    command: str
    output: str


def examples(text: str) -> list[Example]:
    """The commands of a transcript with their outputs."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)[1:]
    return [Example(c, out) for c, out in zip(parts[::2], parts[1::2], strict=True)]


def blocks(markdown: str) -> list[str]:
    """The ``console`` blocks of a Markdown text."""
    return re.findall(r"^```console\n(.*?)^```$", markdown, re.DOTALL | re.MULTILINE)


def shell(command: str, folder: Path) -> tuple[str, int]:
    """What ``command`` prints, and its exit code, with the tested gradcalc first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.stdout, done.returncode

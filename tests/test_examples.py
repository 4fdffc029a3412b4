"""Every example of the README is run, and every class of error has a transcript in tests/errors."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from console import blocks, examples, shell

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
ERRORS = sorted((ROOT / "tests" / "errors").glob("*.console"))


@pytest.mark.parametrize("block", blocks(README), ids=lambda block: block.split("\n")[0][:60])
def test_readme_prints_what_it_says(block: str, tmp_path: Path) -> None:
    for command, expected in examples(block):
        printed, _ = shell(command, tmp_path)
        assert printed == expected, command


def test_the_python_of_the_readme_runs() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    lines = ["[0.3 3. ] verified", "5.1", "[1. 2.] [3. 0.]", "[[ 6.  0.]", " [ 0. 12.]]"]
    assert (done.stdout.splitlines(), done.stderr) == (lines, "")


def test_the_reference_is_that_of_the_functions() -> None:
    printed, _ = shell("gradcalc functions --markdown", ROOT)
    assert README.endswith(printed.rstrip() + "\n")


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_an_error_names_the_cause_the_place_and_the_mend(path: Path, tmp_path: Path) -> None:
    for command, expected in examples(path.read_text()):
        printed, code = shell(command, tmp_path)
        assert printed == expected, command
        assert code == (2 if "gradcalc" in command else 0)

"""What the columns of every CSV file have in common."""

from collections.abc import Sequence

from gradcalc.errors import GradcalcError


def check_names(names: Sequence[str], file: object) -> None:
    """Raises GradcalcError where two columns of ``file`` have one name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise GradcalcError("name-collision", f"'{file}' has two columns '{twice}'")

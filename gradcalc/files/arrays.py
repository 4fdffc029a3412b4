"""Named float64 arrays, as every kind of file gives them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcalc.errors import GradcalcError
from gradcalc.graph import Array


def float64(value: Any, name: str) -> Array:
    """``value`` as float64, of any shape; raises GradcalcError for what is no real number."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise GradcalcError("number", f"'{name}' is not made of real numbers")
    with np.errstate(over="ignore"):  # a long double beyond float64 is infinite
        return array.astype(np.float64)[()]


def add(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Adds ``more`` to ``values``; raises GradcalcError for a name that has two values."""
    for name, value in more.items():
        if name in values:
            raise GradcalcError(
                "name-collision", f"'{name}' has two values", "give each leaf one value"
            )
        values[name] = value

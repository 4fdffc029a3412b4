"""A gradient calculator that checks every number: see ``gradcalc.api``, and README.md.

The public names are imported when they are first asked for, so that the command line starts fast.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcalc.api import (
        Blocks,
        GradcalcError,
        Graph,
        Leaf,
        Result,
        hessian,
        hvp,
        jacobian,
        jvp,
        solve,
        trace,
        verify_claims,
    )

__version__ = "0.1.0"
__all__ = ["Blocks", "GradcalcError", "Graph", "Leaf", "Result", "hessian", "hvp", "jacobian"]
__all__ += ["jvp", "solve", "trace", "verify_claims"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gradcalc' has no attribute '{name}'")
    from gradcalc import api

    return getattr(api, name)

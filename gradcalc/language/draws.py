"""Random numbers that can be drawn again: a seed that is given, or chosen and told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # NumPy loads its generators when they are first asked for
    from numpy.random import Generator


class Draws:
    """A source of random numbers.

    seed: fixes what is drawn (NumPy's PCG64). None chooses one, which ``chosen`` tells afterwards.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = int.from_bytes(os.urandom(4)) if seed is None else seed
        self.chosen = seed is None
        self.used = False
        self._generator: Generator | None = None

    @property
    def generator(self) -> Generator:
        """NumPy's generator; to ask for it counts as drawing."""
        self.used = True
        if self._generator is None:
            import numpy as np

            self._generator = np.random.default_rng(self.seed)
        return self._generator

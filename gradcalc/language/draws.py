"""Random numbers that can be drawn again: a seed that is given, or chosen and told."""

import secrets

import numpy as np


class Draws:
    """A source of random numbers.

    seed: fixes what is drawn (NumPy's PCG64). None chooses one, which ``chosen`` tells afterwards.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbelow(2**32) if seed is None else seed
        self.chosen = seed is None
        self.used = False
        self._generator: np.random.Generator | None = None

    @property
    def generator(self) -> np.random.Generator:
        """NumPy's generator; to ask for it counts as drawing."""
        self.used = True
        if self._generator is None:
            self._generator = np.random.default_rng(self.seed)
        return self._generator

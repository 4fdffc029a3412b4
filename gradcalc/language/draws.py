"""Random numbers that can be drawn again: a seed that is given, or chosen and told."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # NumPy loads its generators when they are first asked for
    from numpy.random import Generator


class Draws:
    """A source of random numbers.

    seed: fixes what is drawn (NumPy's PCG64); where it is None, ``choose`` makes one, when it is
    first needed, and ``chosen`` is true.
    """

    def __init__(
        self,
        seed: int | None = None,
        choose: Callable[[], int] = lambda: int.from_bytes(os.urandom(4)),
    ) -> None:
        self._seed = seed
        self._choose = choose
        self.chosen = seed is None
        self.used = False
        self._generator: Generator | None = None
        self._start: Mapping[str, Any] | None = None

    @cached_property
    def seed(self) -> int:
        """The seed that was given or chosen."""
        return self._choose() if self._seed is None else self._seed

    def begin(self) -> None:
        """A program starts to run: from here on its numbers can be drawn again."""
        self._start = None if self._generator is None else self._generator.bit_generator.state

    def again(self) -> Draws:
        """A source of the numbers that the program drew."""
        other = Draws(self.seed)
        if self._start is not None:
            other.generator.bit_generator.state = self._start
        return other

    @property
    def generator(self) -> Generator:
        """NumPy's generator; to ask for it counts as drawing."""
        self.used = True
        if self._generator is None:
            import numpy as np

            self._generator = np.random.default_rng(self.seed)
        return self._generator

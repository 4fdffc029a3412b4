"""A part of the survey of random programs: no false alarm, no bluff (tests/survey.py has more)."""

import pytest
from survey import random_program, wrong


@pytest.mark.parametrize("method", ["symbolic", "chain", None])
@pytest.mark.parametrize("part", range(8))
def test_what_is_verified_is_right(part: int, method: str | None) -> None:
    for seed in range(50 * part, 50 * (part + 1)):
        program = random_program(seed)
        assert wrong(program, method) == [], (seed, program.text, program.at)

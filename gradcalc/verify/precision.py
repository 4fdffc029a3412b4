"""How many digits it takes: to span all numbers on the way, and until two results agree."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mpmath

PRECISION = 50  # decimal digits
MOST = 1600  # digits after which two precisions that still disagree are given up
GUARD = 60  # bits that are to be left of the smallest number
FARTHEST = 10_000  # bits: beyond any precision that is tried


class Range:
    """How many bits the terms of a sum, and the sum, lie apart, at the most since it was last 0.

    1 + exp(-500) is 1 at 50 and at 100 digits, which agree on what is wrong: a precision that does
    not span the range proves nothing.
    """

    bits = 0

    @classmethod
    def ask(cls, bits: int) -> None:
        """The precision must span so many bits."""
        cls.bits = max(cls.bits, min(bits, FARTHEST))

    @classmethod
    def note(cls, numbers: Iterable[Any]) -> None:
        """Takes numbers that are added, and their sum, into account."""
        cls.ask(between(numbers))

    @classmethod
    def note_products(cls, lefts: Iterable[Any], rights: Iterable[Any], total: Any) -> None:
        """The same of a sum of products."""
        pairs = zip(map(bits_of, lefts), map(bits_of, rights), strict=True)
        sizes = [a + b for a, b in pairs if a is not None and b is not None]
        own = bits_of(total)
        cls.ask(_reach(sizes if own is None else [*sizes, own]))


def between(numbers: Iterable[Any]) -> int:
    """The bits from the largest to the smallest, but for 0 and what is not finite."""
    return _reach([size for number in numbers if (size := bits_of(number)) is not None])


def _reach(sizes: Sequence[int]) -> int:
    return max(sizes) - min(sizes) if len(sizes) > 1 else 0


def bits_of(number: Any) -> int | None:
    """The bits before the point; None of 0, and of what is not finite."""
    if type(number) is not mpmath.mpf:
        return None
    _, mantissa, exponent, count = number._mpf_
    return exponent + count if mantissa else None


def settled(compute: Callable[[], Any]) -> Any:
    """``compute()`` at a precision that is doubled until two results agree to 30 digits.

    0 where all digits cancel even at the highest; nan where there is no real value, or no end.
    """
    before = None
    precision = 2 * PRECISION
    while True:
        Range.bits = 0
        with mpmath.workdps(precision):
            value = mpmath.mpf(compute())
            spanned = is_spanned() or precision == MOST
            if mpmath.isnan(value) and spanned:
                return value
            if before is not None and value != 0 and spanned and _same(value, before):
                return value
        if precision == MOST:
            break
        before = value
        needed = math.ceil((Range.bits + GUARD) * math.log10(2))
        most = MOST // 2 if precision < MOST // 2 else MOST  # two that could agree at the end
        precision = min(most, max(2 * precision, needed))
    # Smaller than any float64, and than what rounding leaves of a cancelled sum.
    return mpmath.mpf(0) if abs(value) < mpmath.mpf(10) ** (-MOST // 4) else mpmath.nan


def _same(value: Any, before: Any) -> bool:
    return bool(value == before or abs(value - before) <= abs(value) * mpmath.mpf(10) ** -30)


def is_spanned() -> bool:
    """Does the precision that is set reach from the largest to the smallest number computed?"""
    return bool(Range.bits + GUARD <= mpmath.mp.prec)

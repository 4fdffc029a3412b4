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
    def note(cls, terms: Iterable[Any]) -> None:
        """Takes the terms of a sum, and it, into account, but for 0 and what is not finite."""
        cls._span([size for term in terms if (size := bits_of(term)) is not None])

    @classmethod
    def note_products(cls, lefts: Iterable[Any], rights: Iterable[Any], total: Any) -> None:
        """The same of a sum of products."""
        pairs = zip(map(bits_of, lefts), map(bits_of, rights), strict=True)
        sizes = [a + b for a, b in pairs if a is not None and b is not None]
        own = bits_of(total)
        cls._span(sizes if own is None else [*sizes, own])

    @classmethod
    def _span(cls, sizes: Sequence[int]) -> None:
        if len(sizes) > 1:
            cls.bits = max(cls.bits, min(max(sizes) - min(sizes), FARTHEST))


def apart(x: Any, step: Any) -> int:
    """The bits from a number to a step: what a precision must span to tell x + step from x."""
    sizes = [size for number in (x, step) if (size := bits_of(number)) is not None]
    return min(max(sizes) - min(sizes), FARTHEST) if sizes else 0


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

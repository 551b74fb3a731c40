"""Tolerances that several rooms share, each with its reason."""

import math

__all__ = ["SATISFIED", "TIED", "tied"]

SATISFIED = 1e-9
"""A violation up to this, in the user's units, is none: it is what sums of a few million
weights may lose to rounding, and below what any report prints."""

TIED = 1e-12
"""Objectives this close, relative to one and their size, are equal: sums of the same terms in
another order, as processors add them, differ by no more."""


def tied(best: float) -> float:
    """The least objective that is as good as the best one.

    Examples
    --------
    >>> 0.1 + 0.2 + 0.3 >= tied(0.6), 0.6 >= tied(0.1 + 0.2 + 0.3)
    (True, True)
    """
    return best if math.isinf(best) else best - TIED * (1.0 + abs(best))

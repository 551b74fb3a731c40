"""Tolerances that several rooms share, each with its reason."""

__all__ = ["SATISFIED", "TIED", "tied"]

SATISFIED = 1e-9
"""A violation up to this, in the user's units, is none: it is what sums of a few million
weights may lose to rounding, and below what any report prints."""

TIED = 1e-12
"""Objectives this close, relative to one and their size, are equal: sums of the same terms in
another order, as processors add them, differ by no more."""


def tied(best: float, size: float | None = None) -> float:
    """The least objective that is as good as the best one.

    Parameters
    ----------
    best : float
    size : float, optional
        Of the terms of which objectives are sums, where that is larger.

    Examples
    --------
    >>> 0.1 + 0.2 + 0.3 >= tied(0.6), 0.6 >= tied(0.1 + 0.2 + 0.3)
    (True, True)
    """
    if best in (float("inf"), -float("inf")):
        return best
    return best - TIED * (1.0 + max(abs(best), size or 0.0))

"""Confusions for the tests: from tables, and drawn at random."""

import numpy as np

from setpoint import Goal
from setpoint.counts import Codebook, Confusion, Stratum

CLASSES = ("no", "yes")
ONE = (Stratum(),)


def expression(text):
    return Goal.parse(f"maximize {text}").objective


def confusion(strata, counts, squares=None, rows=None, classes=CLASSES):
    """A confusion of unit rows, unless squares and rows say otherwise."""
    counts = np.asarray(counts, float)
    squares = counts.copy() if squares is None else squares
    rows = counts.sum(axis=2) if rows is None else rows
    smallest = np.where(rows > 0, 1.0, np.inf)
    book = Codebook.of(classes, strata)
    return Confusion(book, counts, squares[None, None], rows.astype(np.int64), smallest)


def binary(prior, tpr, fpr):
    """Shares (1, 3, 2) of one stratum."""
    negative = [(1 - prior) * (1 - fpr), (1 - prior) * fpr]
    return np.array([[negative, [prior * (1 - tpr), prior * tpr], [0.0, 0.0]]])


def grouped(m, prior, tpr, fpr):
    """Strata and shares of m groups of one size; `tpr` a number or one for each."""
    strata = tuple(Stratum(None, (("g", f"v{i:02d}"),)) for i in range(m))
    rates = np.broadcast_to(tpr, (m,))
    return strata, np.concatenate([binary(prior, t, fpr) / m for t in rates])


def deployed(prior, tpr, fpr, changed):
    """Strata by deployed class, and shares; new and deployed rates differ a little."""
    out = np.zeros((2, 3, 2))
    for true, (share, rate) in enumerate([(1 - prior, fpr), (prior, tpr)]):
        before = 0.97 * rate
        gained = min(changed / 2 + (rate - before) / 2, rate)
        lost = gained - (rate - before)
        out[1, true] = share * lost, share * (rate - gained)
        out[0, true] = share * (1 - rate - lost), share * gained
    assert (out >= 0).all()
    return (Stratum(None, (), 0), Stratum(None, (), 1)), out


def drawn(rng, strata, shares, n, weights=None, classes=CLASSES):
    """The confusion of n rows drawn at these shares; weights(rng, entry) weighs them."""
    if weights is None:
        counts = rng.multinomial(n, shares.ravel() / shares.sum()).reshape(shares.shape)
        return confusion(strata, counts, classes=classes)
    entry = rng.choice(shares.size, n, p=shares.ravel() / shares.sum())
    w = weights(rng, entry)
    sums = [np.bincount(entry, x, shares.size).reshape(shares.shape) for x in (w, w * w)]
    rows = np.bincount(entry, minlength=shares.size).reshape(shares.shape).sum(axis=2)
    return confusion(strata, *sums, rows, classes)

"""Margins: how many standard errors a rule lies on the good side of what it has to meet.

The standard error is that of the rows that will be tested, not of those that are looked at: a
margin says what the test of such a rule will find. Where that is an exact binomial test, the
margin is the normal quantile of its p-value at the counts to be expected: a perfect record of few
rows is not mistaken for a safe rule. Elsewhere it is the slack over the standard error, with
one row of the worst sort added to each population, as the test does.

A path of rules is ordered by margins. They promise nothing themselves.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, ndtri

from setpoint.array_types import Floats
from setpoint.guarantees.requirements import Every, Part, Requirement
from setpoint.inference.profiles import CountedRates
from setpoint.inference.trials import added_by, share_needed
from setpoint.program.backend import backend
from setpoint.program.functions import Affine, Node, RateFunction

__all__ = ["margins_of", "slack_and_error"]

INF = float("inf")
_BLOCK = 8192
"""Rules at a time."""

_SMALLEST = 1e-300
"""A smaller p-value is this one: 37 standard errors are as good as more."""


def margins_of(part: Part, counted: CountedRates, counts: Floats, times: Floats) -> Floats:
    """The margins (m,) of some rules."""
    if isinstance(part, Requirement):
        return np.concatenate(
            [
                _margins(part, counted, counts[:, i : i + _BLOCK], times)
                for i in range(0, counts.shape[1], _BLOCK)
            ]
        )
    every = isinstance(part, Every)
    out = np.full(counts.shape[1], INF if every else -INF)
    for inner in part.parts:
        own = margins_of(inner, counted, counts, times)
        out = np.minimum(out, own) if every else np.maximum(out, own)
    return out


def _margins(x: Requirement, counted: CountedRates, counts: Floats, times: Floats) -> Floats:
    exact = _of_binomial(x, counted, counts, times)
    if exact is not None:
        return exact
    slack, error = slack_and_error(x, counted, counts, times)
    with np.errstate(all="ignore"):
        out = np.where(error > 0, slack / error, np.sign(slack) * INF)
    return np.where(np.isnan(out), -INF, out)


def _of_binomial(
    x: Requirement, counted: CountedRates, counts: Floats, times: Floats
) -> Floats | None:
    """Normal quantiles (m,) of the exact p-values to be expected; None for other tests."""
    weights, weight = counted.fraction_of_entries(x.function), counted.weight_of_rows(x.function)
    if weights is None or weight is None:
        return None
    above, below = (part.ravel() for part in weights)
    added = added_by(above, below, x.level, x.sign)
    share = share_needed(added)
    if share is None:
        return None
    rows = counts / (times * weight)[:, None]
    k, f = rows[added > 0].sum(axis=0), rows[added < 0].sum(axis=0)
    tail = np.where(k > 0.0, betainc(np.maximum(k, 1e-300), f + 1.0, share), 1.0)
    return np.asarray(-ndtri(np.maximum(tail, _SMALLEST)))


def slack_and_error(
    x: Requirement, counted: CountedRates, counts: Floats, times: Floats
) -> tuple[Floats, Floats]:
    """How far a statement is met by some rules (m,), and the standard errors (m,) of that."""
    index = sorted(x.function.features)
    event, given = counted.event(index), counted.given(index)
    # Of a mean of a column the sums lie in other tables than the rows it is a mean over.
    seen = np.flatnonzero(given.any(axis=0) | event.any(axis=0))
    event, given, counts, times = event[:, seen], given[:, seen], counts[seen], times[seen]
    unit = counted.row_weights[seen]
    with np.errstate(all="ignore"):
        _, influence = _influence(x.function, counted, index, event, given, counts)
        worst = counts.copy()
        for rows in np.unique(given != 0, axis=0):
            inside = np.where(rows[:, None], x.sign * influence, INF)
            at = np.argmin(inside, axis=0)
            worst[at, np.arange(counts.shape[1])] += unit[at]
        value, influence = _influence(x.function, counted, index, event, given, worst)
        error = np.sqrt(((unit * times)[:, None] * worst * influence**2).sum(axis=0))
    return x.sign * (value - x.level), error


def _influence(
    x: RateFunction,
    counted: CountedRates,
    index: list[int],
    event: Floats,
    given: Floats,
    N: Floats,
) -> tuple[Floats, Floats]:
    """Values (m,) of a function, and the influence (entries, m) of a unit of weight."""
    norms = given @ N
    own = (event @ N) / norms
    v = np.zeros((N.shape[1], len(counted.features)))
    v[:, index] = own.T
    slope = slopes(x, v)[:, index].T / norms
    return np.asarray(x.value(v)), event.T @ slope - given.T @ (slope * own)


def slopes(x: RateFunction, v: Floats) -> Floats:
    """Gradients (m, d) of a function at several points (m, d)."""
    if isinstance(x, Affine) or not isinstance(x, Node):
        return np.broadcast_to(x.gradient(v[0]), v.shape)
    xs = [c.value(v) for c in x.children]
    out = np.zeros(v.shape)
    for partial, child in zip(x.partials(backend(v), xs), x.children, strict=True):
        if child.features:
            out += np.asarray(partial)[..., None] * slopes(child, v)
    return out

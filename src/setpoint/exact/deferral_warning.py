"""Warnings where the best answer is to defer everybody, or nobody; and when that changes."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from setpoint.exact.cutoff_pairs import CutoffPairs
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.goals.errors import ShapeError
from setpoint.goals.expressions import Metric
from setpoint.goals.populations import DEFER
from setpoint.program.accepted_rates import fraction_of
from setpoint.program.functions import Affine
from setpoint.program.program import Program, ProgramConstraint
from setpoint.search.linear_program import UnfinishedError
from setpoint.search.master import InfeasibleMasterError
from setpoint.search.mixtures import best_mixture
from setpoint.search.outcome import Outcome, warn_constant
from setpoint.tolerances import SATISFIED

__all__ = ["least_price", "warn_deferral"]

_ROUNDS = 60
_NOBODY, _SAME = 1e-12, 1e-12
_DEFER_ALL = 2
"""The place among the constants of pairs."""


def warn_deferral(pairs: CutoffPairs, program: Program, outcome: Outcome) -> None:
    """Warn where deferring everybody or nobody is as good as the rule that was found.

    Also where one class for everyone is, as for other goals.
    """
    best = program.score_at(outcome.v)
    warn_constant(pairs, program, outcome, partial(_when, pairs, program, best))


def _when(pairs: CutoffPairs, program: Program, best: float, everybody: bool) -> str:
    """At what price, or bound, that changes; empty where neither is known."""
    goal = program.goal.objective
    if not isinstance(goal, Metric):
        return ""
    priced = not program.constraints and goal.name in _PRICED
    if priced and isinstance(program.score, Affine):
        price = least_price(pairs, program, best, everybody=everybody)
        if not np.isfinite(price):
            return ""
        less, what = ("more", "decided") if everybody else ("less", "deferred")
        now = _price_of(goal)
        then = f"{price:.4g} {less}"
        if now is not None:
            then = f"{now + (price if everybody else -price):.4g} instead of {now:.4g}"
        return f": rows are {what} once deferring a row costs {then}"
    if goal.name != "deferral_rate":
        return ""
    texts = []
    for i, c in enumerate(program.constraints):
        value = _decided_at_best(pairs, c) if everybody else _kept_without(pairs, program, i)
        if value is not None and abs(value - c.level) > SATISFIED:
            relation = ">=" if c.sign > 0 else "<="
            texts.append(f"{c.side} {relation} {value:.6g}")
    if not texts:
        return ""
    if everybody:
        return f": rows are decided only with bounds as loose as {' or '.join(texts)}"
    return f": rows are deferred only with bounds stricter than {' or '.join(texts)}"


_PRICED = ("cost", "value", "profit")


def _price_of(goal: Metric) -> float | None:
    """What deferring any row costs; None where rows differ."""
    entries: Any = dict(goal.params).get("costs", ())
    prices = [x for (_, decided), x in entries if decided == DEFER]
    same = len(prices) > 1 and all(isinstance(x, float) and x == prices[0] for x in prices)
    return float(prices[0]) if same else None


def least_price(pairs: CutoffPairs, program: Program, best: float, *, everybody: bool) -> float:
    """By how much less, or more, deferring a row would cost where some row is decided otherwise.

    The least ratio of what a choice of pairs falls short by to the share of rows that it
    decides otherwise, by Dinkelbach's method: each round is one pass over pairs.

    Parameters
    ----------
    pairs : CutoffPairs
    program : Program
        With an affine score and no constraints.
    best : float
        The best score.
    everybody : bool
        Whether everybody is deferred at present, else nobody.

    Returns
    -------
    float
        Infinite where no price changes it.
    """
    score = program.score
    assert isinstance(score, Affine)
    slopes, total = score.gradient(np.zeros(pairs.d)), float(pairs.evidence.segment_weights.sum())
    n_plain, sign = pairs.evidence.codebook.n_plain, -1.0 if everybody else 1.0

    def at(price: float) -> tuple[float, float]:
        """Score and share decided otherwise of the best choice at a price."""
        value, other = score.const, 1.0 if everybody else 0.0
        for segment in pairs.segments:
            plain = np.array([c < n_plain for c, _ in segment.curve.kinds], np.float64) / total
            k, _ = segment.best(slopes, sign * price * plain)
            i, j = segment.pair(k)
            value += float(slopes @ segment.features(np.array([k]))[0])
            other += sign * float(plain @ (segment.curve.counts[:, j] - segment.curve.counts[:, i]))
        return value, other

    price = np.inf
    trial = 1.0 + 2.0 * float(np.abs(slopes).sum() + abs(best))
    for _ in range(_ROUNDS):
        value, other = at(trial)
        if other <= _NOBODY:
            break
        ratio = max(best - value, 0.0) / other
        if ratio >= price * (1.0 - _SAME):
            break
        price = trial = ratio
    return price


def _decided_at_best(pairs: CutoffPairs, c: ProgramConstraint) -> float | None:
    """The best value of a ratio among choices that decide some of its rows; None for the rest."""
    parts = fraction_of(c.function)
    if parts is None:
        return None
    above, below, offset = parts
    value: float | None = None
    for v in pairs.features_of_constants()[:_DEFER_ALL]:
        if float(below.value(v)) > _NOBODY:
            now = float(c.function.value(v))
            value = now if value is None or c.sign * (now - value) > 0.0 else value
    for _ in range(_ROUNDS):
        if value is None:
            return None
        form = above.plus(below.scaled(offset - value)).scaled(c.sign)
        columns = pairs.price(form.gradient(np.zeros(pairs.d))).columns
        v = pairs.features([{int(k): 1.0} for k in columns])
        now = float(c.function.value(v))
        if float(below.value(v)) <= _NOBODY or c.sign * (now - value) <= _SAME:
            break
        value = now
    return value


def _kept_without(pairs: CutoffPairs, program: Program, i: int) -> float | None:
    """The strictest value of a bound that thresholds meet, which defer nobody; None if unknown."""
    c = program.constraints[i]
    cuts = CutoffSet(program.table, pairs.evidence)
    strictest = program.without(i).changed(c.function, sense=c.sign)
    with suppress(InfeasibleMasterError, UnfinishedError, ShapeError):
        return float(c.function.value(best_mixture(cuts, strictest).v))
    return None

"""Concave objectives over mixtures: linear rows where they have them, else tangents."""

from __future__ import annotations

import numpy as np

from setpoint.exact.master import MasterResult
from setpoint.exact.mixed import Mixed, mixed_of
from setpoint.exact.region import Region, nearest_trusted, tangent
from setpoint.goals.atoms import Affine, Bound
from setpoint.goals.rows import NotLinearError

__all__ = ["maximize_concave"]

INF = float("inf")
_GAP = 1e-10
_ROUNDS = 300


def maximize_concave(
    region: Region, score: Bound, *, gap: float = _GAP, rounds: int = _ROUNDS
) -> Mixed:
    """The mixture with the largest value of a concave function, to a relative gap."""
    try:
        return _by_rows(region, score)
    except NotLinearError:
        return _by_tangents(region, score, gap, rounds)


def _by_rows(region: Region, score: Bound) -> Mixed:
    """A piecewise linear objective: maximise t under the rows of score >= t."""
    t = region.builder.auxiliary()
    start = len(region.builder.rows)
    try:
        region.builder.at_least(score, t)
        rows = region.builder.rows[start:]
    finally:
        del region.builder.rows[start:]
    found = region.maximize(t, rows)
    return mixed_of(region.problem, score, found.choice, found.bound, "linear program")


def _by_tangents(region: Region, score: Bound, gap: float, rounds: int) -> Mixed:
    """Cutting planes: tangents bound a concave objective from above (Kelley 1960)."""
    t = region.builder.auxiliary()
    highest = score.high if np.isfinite(score.high) else 1e6
    cuts = [t.plus(-highest), _under(t, tangent(score, region.inner))]
    best: MasterResult | None = None
    value = -INF
    bound = INF
    for _ in range(rounds):
        found = region.maximize(t, cuts)
        bound = min(bound, found.bound)
        now = float(score.value(found.v))
        if now > value or best is None:
            best, value = found, now
        if np.isfinite(value) and bound - value <= gap * (1 + abs(value)):
            break
        before = len(cuts)
        # One tangent where the master stands, one nearer the best point: fewer rounds.
        for at in (found.v, 0.5 * (found.v + best.v)):
            cut = tangent(score, nearest_trusted(score, at, region.inner))
            if float(cut.value(found.v)) < found.value - 1e-13:
                cuts.append(_under(t, cut))
        if len(cuts) == before:
            break
    assert best is not None
    return mixed_of(region.problem, score, best.choice, bound, "cutting planes")


def _under(t: Affine, cut: Affine) -> Affine:
    return t.plus(cut.scaled(-1.0))

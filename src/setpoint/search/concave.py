"""Concave objectives over mixtures: linear rows where they have them, else tangents."""

from __future__ import annotations

import numpy as np

from setpoint.goals.atoms import Affine, Bound
from setpoint.goals.rows import NotLinearError
from setpoint.search.generation import Step, as_it_is
from setpoint.search.master import MasterResult
from setpoint.search.region import Region, nearest_trusted, tangent

__all__ = ["ConcaveSearch", "LinearSearch", "concave_search"]

INF = float("inf")
_ROUNDS = 300


class LinearSearch:
    """An affine objective, or one that linear rows describe: one linear program a step.

    Raises
    ------
    NotLinearError
        If it is neither.
    """

    method = "linear program"
    smooths = True
    certain = True

    def __init__(self, region: Region, score: Bound) -> None:
        self.region = region
        self.score = score
        self.rows: list[Affine] = []
        if isinstance(score, Affine):
            self.target = score
            return
        self.target = region.builder.auxiliary()
        start = len(region.builder.rows)
        try:
            region.builder.at_least(score, self.target)
            self.rows = region.builder.rows[start:]
        finally:
            del region.builder.rows[start:]

    def step(self, gap: float) -> Step:
        """Solve the program over the columns at hand."""
        found = self.region.solve(self.target, self.rows)
        return Step(found.choice, found.v, float(self.score.value(found.v)), found, as_it_is)


class ConcaveSearch:
    """Cutting planes: tangents bound a concave objective from above (Kelley 1960).

    Tangents hold for every mixture, so they stay when columns join.
    """

    method = "cutting planes"
    smooths = True
    certain = True

    def __init__(self, region: Region, score: Bound, rounds: int = _ROUNDS) -> None:
        self.region = region
        self.score = score
        self.rounds = rounds
        self.t = region.builder.auxiliary()
        highest = score.high if np.isfinite(score.high) else 1e6
        self.cuts = [self.t.plus(-highest), self._under(tangent(score, region.inner))]
        self.best: MasterResult | None = None
        self.value = -INF

    def _under(self, cut: Affine) -> Affine:
        return self.t.plus(cut.scaled(-1.0))

    def step(self, gap: float) -> Step:
        """Add tangents until the program and the function agree to within `gap`."""
        for _ in range(self.rounds):
            found = self.region.solve(self.t, self.cuts)
            now = float(self.score.value(found.v))
            if now > self.value or self.best is None:
                self.best, self.value = found, now
            near = gap * (1 + abs(self.value))
            if np.isfinite(self.value) and found.value - self.value <= near:
                break
            if not self._cut(found, self.best):
                break
        assert self.best is not None
        return Step(self.best.choice, self.best.v, self.value, found, as_it_is)

    def _cut(self, found: MasterResult, best: MasterResult) -> bool:
        before = len(self.cuts)
        # One tangent where the master stands, one nearer the best point: fewer rounds.
        for at in (found.v, 0.5 * (found.v + best.v)):
            cut = tangent(self.score, nearest_trusted(self.score, at, self.region.inner))
            if float(cut.value(found.v)) < found.value - 1e-13:
                self.cuts.append(self._under(cut))
        return len(self.cuts) > before


def concave_search(region: Region, score: Bound) -> LinearSearch | ConcaveSearch:
    """The search for a concave score: by rows where it has them."""
    try:
        return LinearSearch(region, score)
    except NotLinearError:
        return ConcaveSearch(region, score)

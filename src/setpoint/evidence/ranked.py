"""Rows ranked by how far one answer leads: what each place of a cut adds to some sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setpoint.array_types import Floats

if TYPE_CHECKING:
    from setpoint.evidence.evidence import Evidence

__all__ = ["RankedAnswers", "RankedCuts", "effects_of"]


class RankedCuts:
    """The cuts along the lead of one answer over the best other one, in one segment."""

    def __init__(self, leads: Floats, gains: Floats) -> None:
        order = np.argsort(-leads, kind="stable")
        ranked = leads[order]
        ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
        self.leads = ranked[ends]
        sums = np.cumsum(gains[order], axis=0)[ends]
        self.sums = np.concatenate([np.zeros((1, gains.shape[1])), sums])

    @property
    def present(self) -> int:
        """The cut that is there: a lead above 0."""
        return int(np.searchsorted(-self.leads, 0.0, side="left"))

    def lead(self, cut: int) -> float:
        """A lead that as many blocks lie above."""
        if cut == 0:
            return float(self.leads[0]) + 1.0
        if cut == len(self.leads):
            return float(self.leads[-1]) - 1.0
        return float(0.5 * (self.leads[cut - 1] + self.leads[cut]))


class RankedAnswers:
    """Totals of answers, which can be shifted, and what the answers add to some sums.

    Examples
    --------
    >>> from setpoint.evidence import Evidence
    >>> rows = Evidence.from_arrays((0, 1), np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1]))
    >>> accepted = np.zeros((1, 1, 3, 2))
    >>> accepted[..., 1] = 1.0
    >>> ranked = RankedAnswers(rows, effects_of(rows, accepted), [rows.columns])
    >>> ranked.sums, ranked.cuts(0, 1)[0].sums[:, 0]
    (array([[1.]]), array([0., 1., 2.]))
    """

    def __init__(self, evidence: Evidence, effects: Floats, totals: list[Floats]) -> None:
        self.n = evidence.n_classes
        self._segments = evidence.by_segment.rows
        self._effects = effects
        self._totals = totals
        self.shifts = np.zeros((len(totals), self.n))
        self.sums = np.array([self._sum(s) for s in range(len(totals))])

    def cuts(self, segment: int, code: int) -> tuple[RankedCuts, Floats]:
        """The cuts of one answer, and what the segment's rows add (d,) where none gets it."""
        effects, totals = self._effects[:, self._segments[segment]], self._totals[segment].copy()
        own, at = totals[:, code].copy(), np.arange(len(totals))
        totals[:, code] = -np.inf
        other = totals.argmax(axis=1)
        without = effects[other, at]
        cuts = RankedCuts(own - totals[at, other], effects[code] - without)
        return cuts, np.asarray(without.sum(axis=0))

    def shift(self, segment: int, code: int, by: float) -> None:
        """Make the totals of one answer smaller."""
        self.shifts[segment, code] += by
        self._totals[segment][:, code] -= by
        self.sums[segment] = self._sum(segment)

    def _sum(self, segment: int) -> Floats:
        decided = self._totals[segment].argmax(axis=1)
        effects = self._effects[:, self._segments[segment]]
        return np.asarray(effects[decided, np.arange(len(decided))].sum(axis=0))


def effects_of(evidence: Evidence, tensors: Floats) -> Floats:
    """What each answer adds to some sums (n, N, d) on each row."""
    rows, n, plain = evidence.rows, evidence.n_classes, evidence.codebook.n_plain
    if evidence.credit.by_posteriors:
        credit = evidence.posteriors
    else:
        credit = np.zeros((evidence.n_rows, n + 1))
        credit[np.arange(evidence.n_rows), rows.true] = 1.0
    weights = [np.ones(evidence.n_rows) if rows.weight is None else rows.weight, *rows.by_measure]
    out = np.zeros((n, evidence.n_rows, len(tensors)))
    for k, weight in enumerate(weights):
        for c in range(plain):
            own = slice(None) if plain == 1 else rows.stratum == c
            for code in range(n):
                of = tensors[:, c + k * plain, : credit.shape[1], code]
                if of.any():
                    out[code, own] += (credit[own] @ of.T) * weight[own, None]
    return out

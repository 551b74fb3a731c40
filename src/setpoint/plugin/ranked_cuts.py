"""Rows ranked by how far one answer leads, and the best place to cut: a line search without steps.

An oracle's answer takes the class with the largest expected gain. A goal with bounds is better
served by other cuts. Along one of them, the lead of a class over the best other one, all places
are tried in one sort and one pass over prefix sums; then the next class has its turn.
"""

from __future__ import annotations

import numpy as np

from setpoint.evidence import Evidence
from setpoint.plugin.atoms import Tensor, Weighted
from setpoint.plugin.deterministic import best_of
from setpoint.plugin.problem import Achievable
from setpoint.program.program import Program
from setpoint.typing import Codes, Floats

__all__ = ["cut_ranked"]

_MOST = 60_000_000
"""Rows times answers times features that are kept in memory."""
_BLOCK = 65_536
"""Cuts whose objective is computed at a time."""
_SWEEPS = 8


def cut_ranked(space: Achievable, program: Program, start: int) -> int:
    """The best rule near an atom, one cut after the other; taken in if it is new.

    Parameters
    ----------
    space : Achievable
    program : Program
    start : int
        An atom.

    Returns
    -------
    int
        The number of the rule found; `start` where no other cut is better, or there is too much
        to sum up.
    """
    counted, atom = space.counted, space.atoms[start]
    if not isinstance(counted, Evidence) or not counted.credit.of_classes:
        return start
    if not isinstance(atom, (Tensor, Weighted)):
        return start
    if counted.n_rows * counted.n_classes * space.d > _MOST:
        return start
    search = _LineSearch(counted, program, atom)
    return space.add(_shifted(atom, search.cuts)) if search.run(space) else start


def _totals(atom: Tensor | Weighted, segment: int, columns: Floats) -> Floats:
    """What the argmax is taken of (N, n)."""
    if isinstance(atom, Weighted):
        return np.asarray(columns[:, : atom.W.shape[1]] * atom.W[segment] - atom.B[segment])
    return np.asarray(columns @ atom.G[segment])


def _shifted(atom: Tensor | Weighted, cuts: Floats) -> Tensor | Weighted:
    """The atom with totals that are smaller by `cuts` (segments, n)."""
    if isinstance(atom, Weighted):
        return Weighted(atom.W, atom.B + cuts)
    G, n = atom.G.copy(), cuts.shape[1]
    G[:, :n] -= cuts[:, None, :]  # posteriors sum to one, so that they carry a constant
    return Tensor(G)


class _LineSearch:
    """A rule whose classes have their cuts moved, segment by segment.

    Parameters
    ----------
    counted : Evidence
    program : Program
    atom : Tensor or Weighted

    Attributes
    ----------
    cuts : array of shape (segments, n)
        By how much the totals of the atom are to be smaller.
    """

    def __init__(self, counted: Evidence, program: Program, atom: Tensor | Weighted) -> None:
        self.program, self.n = program, counted.n_classes
        self.effects = _effects(counted, program)
        self.cuts = np.zeros((len(counted.segments), self.n))
        n_segments, rows = len(counted.segments), counted.rows.segment
        self.segments: list[Codes | slice] = [slice(None)]
        if n_segments > 1:
            self.segments = [np.flatnonzero(rows == s) for s in range(n_segments)]
        self.totals = [
            _totals(atom, s, counted.columns[own]) for s, own in enumerate(self.segments)
        ]
        self.sums = [self._sum(s) for s in range(n_segments)]

    def run(self, space: Achievable) -> bool:
        """Whether any cut was moved."""
        moved = False
        for _ in range(_SWEEPS):
            changed = False
            for segment in range(len(self.segments)):
                for code in range(self.n):
                    changed |= self._move(segment, code)
            moved |= changed
            if not changed or space.limits.is_late:
                break
        return moved

    def _sum(self, segment: int) -> Floats:
        """What the decisions in a segment add to the rates (d,)."""
        effects, decided = self.effects[:, self.segments[segment]], self.totals[segment].argmax(1)
        return np.asarray(effects[decided, np.arange(len(decided))].sum(axis=0))

    def _move(self, segment: int, code: int) -> bool:
        """Cut one class where that is best, all else as it is."""
        effects, totals = self.effects[:, self.segments[segment]], self.totals[segment].copy()
        own = totals[:, code].copy()
        totals[:, code] = -np.inf
        other = totals.argmax(axis=1)
        at = np.arange(len(own))
        margins, without = own - totals[at, other], effects[other, at]
        rest = np.sum([x for s, x in enumerate(self.sums) if s != segment], axis=0)
        curve = _Curve(margins, effects[code] - without)
        place = curve.best(self.program, rest + without.sum(axis=0))
        if place == curve.place(0.0):
            return False
        cut = curve.cut(place)
        self.cuts[segment, code] += cut
        self.totals[segment][:, code] -= cut
        self.sums[segment] = self._sum(segment)
        return True


def _effects(counted: Evidence, program: Program) -> Floats:
    """What each answer adds to the rates (n, N, d) on each row."""
    rows, n, plain = counted.rows, counted.n_classes, counted.codebook.n_plain
    tensors = program.table.tensors
    if counted.credit.by_posteriors:
        credit = counted.posteriors
    else:
        credit = np.zeros((counted.n_rows, n + 1))
        credit[np.arange(counted.n_rows), rows.true] = 1.0
    weights = [np.ones(counted.n_rows) if rows.weight is None else rows.weight, *rows.by_measure]
    out = np.zeros((n, counted.n_rows, len(program.rates)))
    for k, weight in enumerate(weights):
        for c in range(plain):
            own = slice(None) if plain == 1 else rows.stratum == c
            for code in range(n):
                of = tensors[:, c + k * plain, : credit.shape[1], code]
                if of.any():
                    out[code, own] += (credit[own] @ of.T) * weight[own, None]
    return out


class _Curve:
    """What the best ranked rows of a segment add to the rates, for each place of the cut."""

    def __init__(self, margins: Floats, gains: Floats) -> None:
        order = np.argsort(-margins, kind="stable")
        ranked = margins[order]
        ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
        self.values = ranked[ends]
        sums = np.cumsum(gains[order], axis=0)[ends]
        self.sums = np.concatenate([np.zeros((1, gains.shape[1])), sums])

    def place(self, cut: float) -> int:
        """How many blocks lie above a cut."""
        return int(np.searchsorted(-self.values, -cut, side="left"))

    def best(self, program: Program, rest: Floats) -> int:
        """The place that is best together with what all else adds; the present one if none is."""
        best = self.place(0.0)
        for first in range(0, len(self.sums), _BLOCK):
            k = first + best_of(program, rest + self.sums[first : first + _BLOCK])
            if k != best:
                best = (k, best)[best_of(program, rest + self.sums[[k, best]], 1)]
        return best

    def cut(self, place: int) -> float:
        """A lead that so many blocks lie above."""
        if place == 0:
            return float(self.values[0]) + 1.0
        if place == len(self.values):
            return float(self.values[-1]) - 1.0
        return float(0.5 * (self.values[place - 1] + self.values[place]))

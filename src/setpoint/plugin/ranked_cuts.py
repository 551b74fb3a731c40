"""Two classes: the rows ranked by what a rule gains on them, and the best place to cut.

An oracle's answer accepts a row where its expected gain is above 0. A goal with bounds is better
served by another cut: all of them are tried, in one sort and one pass over prefix sums.
"""

from __future__ import annotations

import numpy as np

from setpoint.evidence import Evidence
from setpoint.evidence.asked import Asked
from setpoint.plugin.atoms import Atom, Tensor
from setpoint.plugin.deterministic import best_of
from setpoint.plugin.problem import Achievable
from setpoint.program.program import Program
from setpoint.typing import Codes, Floats

__all__ = ["cut_ranked"]

_MOST = 60_000_000
"""Rows times features that are summed up."""
_BLOCK = 65_536
"""Cut-offs whose objective is computed at a time."""
_SWEEPS = 3


def cut_ranked(space: Achievable, program: Program, start: int) -> int:
    """The best rule that ranks rows as an atom does, segment by segment; taken in if it is new.

    Parameters
    ----------
    space : Achievable
        Of two classes, without deferral.
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
    if not (isinstance(atom, Tensor) and _can_cut(counted, space.d)):
        return start
    assert isinstance(counted, Evidence)
    margins, gains = _margins(counted, atom), _gains(counted, program)
    curves = [_Curve(margins, gains, own) for own in _segments(counted)]
    at = [c.place(0.0) for c in curves]
    base = space.features_of(start) - sum(
        (c.sums[k] for c, k in zip(curves, at, strict=True)), np.zeros(space.d)
    )
    for _ in range(_SWEEPS):
        before = list(at)
        for i, curve in enumerate(curves):
            rest = base + sum(
                (c.sums[k] for j, (c, k) in enumerate(zip(curves, at, strict=True)) if j != i),
                np.zeros(space.d),
            )
            at[i] = curve.best(program, rest, at[i])
        if at == before:
            break
    cuts = np.array([c.cut(k) for c, k in zip(curves, at, strict=True)])
    if not cuts.any():
        return start
    return space.add(_shifted(atom, cuts, counted))


def _can_cut(counted: Asked, d: int) -> bool:
    book = counted.codebook
    plain = counted.credit.of_classes and not book.defers and book.n_classes == 2
    return plain and isinstance(counted, Evidence) and counted.n_rows * d <= _MOST


def _segments(counted: Evidence) -> list[Codes]:
    """The rows of each segment."""
    n = len(counted.segments)
    if n == 1:
        return [np.arange(counted.n_rows)]
    return [np.flatnonzero(counted.rows.segment == s) for s in range(n)]


def _margins(counted: Evidence, atom: Tensor) -> Floats:
    """By how much the second class leads (N,)."""
    lead = (atom.G[:, :, 1] - atom.G[:, :, 0])[counted.rows.segment]
    return np.asarray((counted.columns * lead).sum(axis=1))


def _gains(counted: Evidence, program: Program) -> Floats:
    """What accepting a row adds to each rate (N, d)."""
    rows, n = counted.rows, counted.n_classes
    tensors = program.table.tensors[..., 1] - program.table.tensors[..., 0]
    plain = counted.codebook.n_plain
    if counted.credit.by_posteriors:
        credit = counted.posteriors
    else:
        credit = np.zeros((counted.n_rows, n + 1))
        credit[np.arange(counted.n_rows), rows.true] = 1.0
    weights = [np.ones(counted.n_rows) if rows.weight is None else rows.weight, *rows.by_measure]
    out = np.zeros((counted.n_rows, len(program.rates)))
    for k, weight in enumerate(weights):
        for c in range(plain):
            own = slice(None) if plain == 1 else rows.stratum == c
            of = tensors[:, c + k * plain, : credit.shape[1]]
            if of.any():
                out[own] += (credit[own] @ of.T) * weight[own, None]
    return out


class _Curve:
    """What each cut of a segment's ranked rows adds to the rates."""

    def __init__(self, margins: Floats, gains: Floats, own: Codes) -> None:
        order = own[np.argsort(-margins[own], kind="stable")]
        ranked = margins[order]
        ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
        self.values = ranked[ends]
        sums = np.cumsum(gains[order], axis=0)[ends]
        self.sums = np.concatenate([np.zeros((1, gains.shape[1])), sums])

    def place(self, cut: float) -> int:
        """How many blocks lie above a cut."""
        return int(np.searchsorted(-self.values, -cut, side="left"))

    def best(self, program: Program, rest: Floats, present: int) -> int:
        """The cut that is best together with what the other segments add."""
        best = present
        for first in range(0, len(self.sums), _BLOCK):
            block = self.sums[first : first + _BLOCK]
            k = first + best_of(program, rest + block)
            if k != best:
                best = (k, best)[best_of(program, rest + self.sums[[k, best]], 1)]
        return best

    def cut(self, place: int) -> float:
        """A margin that so many blocks lie above; 0 where that is the atom's own cut."""
        if place == self.place(0.0):
            return 0.0
        if place == 0:
            return float(self.values[0]) + 1.0
        if place == len(self.values):
            return float(self.values[-1]) - 1.0
        return float(0.5 * (self.values[place - 1] + self.values[place]))


def _shifted(atom: Tensor, cuts: Floats, counted: Evidence) -> Atom:
    """The atom with other cuts: posteriors sum to one, so that they carry a constant."""
    G, n = atom.G.copy(), counted.n_classes
    G[:, :n, 1] -= cuts[:, None]
    return Tensor(G)

"""Cuts moved one after the other, each to the best of all places: a line search without steps.

An oracle's answer takes the class with the largest expected gain. A goal with bounds is better
served by other cuts. Along one of them, the lead of a class over the best other one, all places
are tried in one sort and one pass over prefix sums; then the next class has its turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.ranked import RankedAnswers, RankedCuts, effects_of
from setpoint.plugin.atoms import Tensor, Weighted
from setpoint.plugin.deterministic import best_of
from setpoint.plugin.problem import Achievable
from setpoint.program.program import Program
from setpoint.tolerances import SATISFIED

__all__ = ["cut_ranked"]

_MOST = 60_000_000
"""Rows times answers times features that are kept in memory."""
_BLOCK = 65_536
"""Cuts whose objective is computed at a time."""
_SWEEPS = 8


def cut_ranked(
    space: Achievable, program: Program, starts: Sequence[int], floor: float = np.inf
) -> None:
    """Find the best rules near some atoms, one cut after the other, and take them in."""
    counted = space.counted
    if not counted.credit.of_classes:
        return
    if counted.n_rows * counted.n_classes * space.d > _MOST:
        return
    effects = effects_of(counted, program.table.tensors)
    # Of two answers one leads by as much as the other trails: they share their cuts.
    codes = [1] if counted.n_classes == 2 else list(range(counted.n_classes))
    for start in starts:
        atom = space.atoms[start]
        if not isinstance(atom, (Tensor, Weighted)):
            continue
        totals = counted.totals_of(*((atom.W, atom.B) if isinstance(atom, Weighted) else (atom.G,)))
        answers = RankedAnswers(counted, effects, totals)
        for _ in range(_SWEEPS):
            moved = [_moved(answers, program, s, c) for s in range(len(totals)) for c in codes]
            if not any(moved) or space.limits.is_late:
                break
        v = answers.sums.sum(axis=0)
        if answers.shifts.any():
            space.add(_shifted(atom, answers.shifts))
        if program.violation(v) <= SATISFIED and program.score_at(v) >= floor:
            return


def _moved(answers: RankedAnswers, program: Program, segment: int, code: int) -> bool:
    """Cut one class where that is best, all else as it is."""
    cuts, without = answers.cuts(segment, code)
    rest = answers.sums.sum(axis=0) - answers.sums[segment] + without
    best = _best(cuts, program, rest)
    if best == cuts.present:
        return False
    answers.shift(segment, code, cuts.lead(best))
    return True


def _best(cuts: RankedCuts, program: Program, rest: Floats) -> int:
    """The cut that is best together with what all else adds; the present one if none is."""
    best = cuts.present
    for first in range(0, len(cuts.sums), _BLOCK):
        k = first + best_of(program, rest + cuts.sums[first : first + _BLOCK])
        if k != best:
            best = (k, best)[best_of(program, rest + cuts.sums[[k, best]], 1)]
    return best


def _shifted(atom: Tensor | Weighted, shifts: Floats) -> Tensor | Weighted:
    """The atom with totals that are smaller by some shifts (segments, n)."""
    if isinstance(atom, Weighted):
        return Weighted(atom.W, atom.B + shifts)
    G, n = atom.G.copy(), shifts.shape[1]
    G[:, :n] -= shifts[:, None, :]  # posteriors sum to one, so that they carry a constant
    return Tensor(np.ascontiguousarray(G))

"""Rules near the ones that an oracle found: a search over weights and offsets, class by class.

By labels, or without draws, the answer of an oracle is not an optimum. A pattern search over a
factor and an offset for each class, in each segment, finds better rules; and where a goal
asks much, feasible ones.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence.blocks import ONE_BLOCK
from setpoint.plugin.atoms import Atom, Constant, Tensor, Weighted
from setpoint.plugin.problem import Achievable
from setpoint.program.program import Program
from setpoint.tolerances import SATISFIED

__all__ = ["polish"]

Worth: TypeAlias = tuple[float, float]
"""Violation and loss: less is better."""

_WORK, _LEAST, _MOST = 4e8, 60, 1500
"""Rows times classes to decide in all, and the numbers of rules tried at least and most."""
_FIRST, _LAST = 0.5, 0.01
"""Steps of the pattern search, in logarithms of factors and in shares of a total."""


def _worth(program: Program, v: Floats) -> Worth:
    """What is compared: the violation, if it is one, then the objective."""
    past = float(program.violation(v))
    return (past if past > SATISFIED else 0.0, -program.score_at(v))


def polish(space: Achievable, program: Program, start: int) -> int:
    """Improve an atom and take the result in."""
    atom = space.atoms[start]
    if isinstance(atom, Constant):
        return start
    counted = space.counted
    size = max(counted.n_rows * counted.n_classes, 1)
    left = 0 if space.limits.is_late else int(np.clip(_WORK / size, _LEAST, _MOST))
    least = first = _worth(program, space.features_of(start))
    with space.limits.keeping(True):  # the start, at least
        atom, least = _search(space, program, atom, least, left)
    return space.add(atom) if least < first else start


def _search(
    space: Achievable, program: Program, atom: Atom, least: Worth, left: int
) -> tuple[Atom, Worth]:
    """Steps in each coordinate while they help, then smaller ones."""
    counted = space.counted
    step = _FIRST
    while step >= _LAST and left > 0:
        before = least
        for segment in range(len(counted.segments)):
            for code in range(counted.n_classes):
                for factor, offset in ((step, 0), (-step, 0), (0, step), (0, -step)):
                    trial = _moved(atom, segment, code, factor, offset)
                    now = _worth(program, space.pricer.features(trial, ONE_BLOCK)[0])
                    left -= 1
                    if now < least:
                        atom, least = trial, now
                    if space.limits.is_late:
                        return atom, least
                    if left <= 0:
                        break
        step = step if least < before else 0.5 * step
    return atom, least


def _moved(atom: Atom, segment: int, code: int, factor: float, offset: float) -> Atom:
    """The atom with the totals of one class multiplied and shifted, in one segment."""
    if isinstance(atom, Weighted):
        W, B = atom.W.copy(), atom.B.copy()
        B[segment, code] -= offset * float(np.abs(W[segment]).max())
        W[segment, code] *= np.exp(factor)
        return Weighted(W, B)
    assert isinstance(atom, Tensor)
    G = atom.G.copy()
    size = float(np.abs(G[segment]).max())
    G[segment, :, code] = G[segment, :, code] * np.exp(factor) + offset * size
    return Tensor(G)

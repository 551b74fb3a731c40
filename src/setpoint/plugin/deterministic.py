"""A rule without draws near a mixture over posteriors."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.plugin.problem import Achievable
from setpoint.program.program import Program
from setpoint.search.achievable_set import MixtureWeights
from setpoint.search.optimum import Optimum, measure
from setpoint.tolerances import SATISFIED

if TYPE_CHECKING:
    from setpoint.plugin.learner_oracle import Retraining

__all__ = ["Explored", "best_atom", "best_of", "features_of_atoms", "round_choice"]

Explored: TypeAlias = "Achievable | Retraining"

_SWEEPS = 20


def best_atom(space: Explored, program: Program) -> Optimum:
    """Of the whole rules seen so far the best feasible one, else the nearest to it."""
    k = best_of(program, features_of_atoms(space))
    return measure(space, program, space.draw_among({k: 1.0}))


def features_of_atoms(space: Explored) -> Floats:
    """Features (atoms, d) of the whole rules seen so far."""
    return np.array([space.features_of(k) for k in range(len(space.atoms))])


def round_choice(space: Explored, program: Program, choice: MixtureWeights) -> Optimum:
    """Each block's likeliest column, then changed block by block while that helps."""
    at = [max(part, key=lambda k: part[k]) for part in choice]
    features = np.stack([space.columns(b, space.initial_columns(b)) for b in range(space.n_blocks)])
    total = sum((features[b, k] for b, k in enumerate(at)), np.zeros(space.d))
    for _ in range(_SWEEPS):
        before = list(at)
        for b in range(space.n_blocks):
            rest = total - features[b, at[b]]
            k = best_of(program, rest + features[b], at[b])
            at[b], total = k, rest + features[b, k]
        if at == before or space.limits.is_late:
            break
    return measure(space, program, [{k: 1.0} for k in at])


def best_of(program: Program, v: Floats, present: int | None = None) -> int:
    """The best feasible row of v (k, d), else the least violation; `present` unless better."""
    past = np.asarray(program.violation(v))
    past = np.where(past <= SATISFIED, 0.0, past)
    score = program.sense * np.asarray(program.value(v))
    k = int(np.lexsort((-score, past))[0])
    if present is not None and past[present] <= past[k] and score[present] >= score[k] - 1e-12:
        return present
    return k

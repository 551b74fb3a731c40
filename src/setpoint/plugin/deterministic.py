"""A rule without draws near a mixture over posteriors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from setpoint.plugin.achievable import Achievable
from setpoint.plugin.retraining import Retraining
from setpoint.search.space import Choice, Floats
from setpoint.tolerances import SATISFIED

__all__ = ["Fixed", "best_atom", "best_of", "features_of_atoms", "round_choice"]

_SWEEPS = 20


class Fixed(NamedTuple):
    """A choice without draws; `violation` is recounted in the user's units."""

    choice: Choice
    value: float
    violation: float

    @property
    def is_feasible(self) -> bool:
        """Whether the constraints are met."""
        return self.violation <= SATISFIED


def best_atom(space: Achievable | Retraining) -> Fixed:
    """Of the whole rules seen so far the best feasible one, else the nearest to it."""
    k = best_of(space, features_of_atoms(space))
    return _fixed(space, space.whole({k: 1.0}))


def features_of_atoms(space: Achievable | Retraining) -> Floats:
    """Features (atoms, d) of the whole rules seen so far."""
    return np.array([space.features_of(k) for k in range(len(space.atoms))])


def round_choice(space: Achievable | Retraining, choice: Choice) -> Fixed:
    """Each block's likeliest column, then changed block by block while that helps."""
    at = [max(part, key=lambda k: part[k]) for part in choice]
    features = np.stack([space.columns(b, space.at_hand(b)) for b in range(space.n_blocks)])
    total = sum((features[b, k] for b, k in enumerate(at)), np.zeros(space.d))
    for _ in range(_SWEEPS):
        before = list(at)
        for b in range(space.n_blocks):
            rest = total - features[b, at[b]]
            k = best_of(space, rest + features[b], at[b])
            at[b], total = k, rest + features[b, k]
        if at == before:
            break
    return _fixed(space, [{k: 1.0} for k in at])


def best_of(space: Achievable | Retraining, v: Floats, present: int | None = None) -> int:
    """The best feasible row of v (k, d), else the least violation; `present` unless better."""
    program = space.program
    past = np.asarray(program.violation(v))
    past = np.where(past <= SATISFIED, 0.0, past)
    score = program.sense * np.asarray(program.value(v))
    k = int(np.lexsort((-score, past))[0])
    if present is not None and past[present] <= past[k] and score[present] >= score[k] - 1e-12:
        return present
    return k


def _fixed(space: Achievable | Retraining, choice: Choice) -> Fixed:
    v = space.features(choice)
    return Fixed(choice, space.value(v), float(space.program.violation(v)))

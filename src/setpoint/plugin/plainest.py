"""Of rules that are equally good, one that departs least from the argmax of the posteriors.

What a goal leaves open, a search decides by chance: a bound with room, or a rate that cannot be
better, costs it nothing. On the line from a rule to the argmax rows only go over to their most
likely class, so the last rule on it that is as good departs least of all on the line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from setpoint.array_types import Floats
from setpoint.plugin.atoms import Atom, Constant, Tensor, Weighted
from setpoint.plugin.problem import Achievable
from setpoint.program.link import link
from setpoint.program.program import Program
from setpoint.search.achievable_set import MixtureWeights
from setpoint.search.optimum import Optimum, measure
from setpoint.tolerances import SATISFIED, tied

__all__ = ["plainest", "plug_in"]

_FIRST, _FAR, _STEPS = -8.0, 14.0, 9
"""Ends of a line in logarithms of the share of the argmax, and halvings."""

_WORTH = 500.0
"""By so much more the share of rows that depart has to fall than the objective."""


def plug_in(space: Achievable, weights: Floats) -> Atom:
    """The class with the largest weighted posterior, in every segment."""
    counted = space.counted
    n, n_segments = counted.n_classes, len(counted.segments)
    if counted.credit.of_classes and not counted.score_columns.values:
        return Weighted(np.tile(weights, (n_segments, 1)), np.zeros((n_segments, n)))
    # A stratum's posteriors of a class gain what the class does.
    gains = np.tile(np.diag(weights), (len(counted.strata), 1, 1))
    gains[counted.codebook.n_plain :] = 0.0
    return Tensor(counted.loss_tensor(gains))


def plainest(space: Achievable, program: Program, found: Optimum, floor: float) -> Optimum:
    """A rule without draws that is as good as the one found, and nearer to the argmax."""
    by_values = space.counted.score_columns.values  # the largest gain, and no argmax, is plain
    if by_values or found.is_drawn or not found.is_feasible or space.limits.is_late:
        return found
    n_known = len(space.atoms)
    line = _Line(space, program, found, min(floor, tied(found.value)))
    choices = [line.argmax, found.choice]
    if not line.good(n_known):
        ends = [line.last(start) for start in line.starts()]
        choices = [found.choice, *(line.whole(space.add(x)) for x in ends if x is not None)]
    best = line.nearest(choices)
    if best is None:
        space.drop(n_known)
        return found
    new = measure(space, program, best)
    return replace(found, choice=best, v=new.v, value=new.value)


class _Line:
    """Rules between one and the argmax, and whether they are as good as what was found."""

    def __init__(self, space: Achievable, program: Program, found: Optimum, floor: float) -> None:
        self.space, self.program, self.floor, self.found = space, program, floor, found
        self.plain = plug_in(space, np.ones(space.counted.n_classes))
        self.argmax = self.whole(space.add(self.plain))
        self.by_labels: Callable[[MixtureWeights], tuple[float, float]] | None = None
        if space.counted.credit.by_posteriors and space.evidence.has_labels:
            counted = space.confusion(found.choice)
            own = link(program.goal, counted.codebook).at(counted.marginals)

            def by_labels(choice: MixtureWeights) -> tuple[float, float]:
                v = own.rates_of(space.confusion(choice).counts)
                return own.score_at(v), float(own.violation(v))

            self.by_labels, self.least = by_labels, by_labels(found.choice)

    def whole(self, atom: int) -> MixtureWeights:
        """A whole rule."""
        return self.space.draw_among({atom: 1.0})

    def good(self, atom: int) -> bool:
        """Whether a whole rule is as good, by labels too."""
        v = self.space.features_of(atom)
        met = float(self.program.violation(v)) <= SATISFIED
        if not met or not self.program.score_at(v) >= self.floor:
            return False
        if self.by_labels is None:
            return True
        score, past = self.by_labels(self.whole(atom))
        return score >= tied(self.least[0]) and past <= max(SATISFIED, self.least[1])

    def starts(self) -> list[Atom]:
        """Where lines begin: the rule found, if it is one, and what the objective asks for."""
        space, used = self.space, {k for part in self.found.choice for k in part}
        out = [space.atoms[k] for k in used] if len(used) == 1 else []
        slopes = self.program.score.gradient(self.found.v)
        if np.isfinite(slopes).all():
            out.append(space.pricer.atom(slopes))
        return out

    def last(self, start: Atom) -> Atom | None:
        """The last rule on a line that is as good; None where none is."""
        begin, end = (self._matrices(x) for x in (start, self.plain))

        def at(x: float) -> Atom:
            own = tuple(a + np.exp(x) * b for a, b in zip(begin, end, strict=True))
            return Weighted(*own) if len(own) == 2 else Tensor(*own)

        space, low, high, best = self.space, _FIRST, _FAR, None
        x = low  # where next to nothing ties, the first step is the last
        for _ in range(1 + _STEPS):
            number = space.add(at(x))
            good, atom = self.good(number), space.atoms[number]
            space.drop(number)
            best, low, high = (atom, x, high) if good else (best, low, x)
            if best is None or space.limits.is_late:
                break
            x = 0.5 * (low + high)
        return best

    def nearest(self, choices: list[MixtureWeights]) -> MixtureWeights | None:
        """The first whose departures, and what they cost, are least; None: as found."""
        rows, best = self.space.counted, None
        plain = rows.distribution(self.space.rule(self.argmax))
        least = np.inf
        for choice in choices:
            apart = np.abs(rows.distribution(self.space.rule(choice)) - plain).sum(axis=1)
            own = 0.5 * float(np.average(apart, weights=rows.rows.weight))
            own -= _WORTH * min(self._score(choice) - self.found.value, 0.0)
            if own < least:
                best, least = choice, own
        return None if best is self.found.choice else best

    def _score(self, choice: MixtureWeights) -> float:
        return self.program.score_at(self.space.features(choice))

    def _matrices(self, atom: Atom) -> tuple[Floats, ...]:
        """What an atom multiplies scores with, its largest number one."""
        if isinstance(atom, Constant):
            atom = self._constant(atom.code)
        own = self.space.pricer.response(atom)
        size = max(float(np.abs(x).max(initial=0.0)) for x in own) or 1.0
        return tuple(x / size for x in own)

    def _constant(self, code: int) -> Atom:
        if isinstance(self.plain, Weighted):
            W, B = np.zeros_like(self.plain.W), np.zeros_like(self.plain.B)
            B[:, code] = -1.0
            return Weighted(W, B)
        assert isinstance(self.plain, Tensor)
        G = np.zeros_like(self.plain.G)
        n_columns = G.shape[1] // (1 + len(self.space.counted.score_columns.values))
        G[:, :n_columns, code] = 1.0  # posteriors sum to one
        return Tensor(G)

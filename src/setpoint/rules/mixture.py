"""A draw among rules: a randomised classifier."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.rules.base import Ints, Rule, plain_number
from setpoint.rules.codec import fields_of, list_of, number_of
from setpoint.rules.export.questions import (
    Answer,
    AtLeast,
    Below,
    Cases,
    Condition,
    Constant,
    Difference,
    Every,
    Number,
    Product,
    Quotient,
    Score,
    Sum,
    by_segment,
    drawn,
)
from setpoint.rules.per_segment import check_alike
from setpoint.rules.threshold import Threshold
from setpoint.rules.words import ClassNames, indented, probabilities_in_words

__all__ = ["Mixture", "mixture"]

_SUM_TOLERANCE = 1e-9
_BELOW_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True, init=False)
class Mixture(Rule, written_as="mixture"):
    """One of several rules, each with its probability.

    Mixtures inside are flattened and equal rules merged. Thresholds come first, in
    ascending order; other rules keep their order, since over three and more classes `u`
    walks through the atoms in it. A binary mixture decides 1 if and only if
    ``u < P(1)``: for thresholds this is the same walk.

    Parameters
    ----------
    atoms : sequence of (probability, Rule)
        Probabilities are positive and sum to 1 within 1e-9; they are normalised.

    Raises
    ------
    TypeError
        If a probability is not a number, or a rule none.
    ValueError
        If there is no atom, the probabilities are wrong, or the rules do not take the
        same scores and segments to the same classes.

    Examples
    --------
    >>> from setpoint.rules import Mixture, ClassNames, Threshold
    >>> rule = Mixture([(0.75, Threshold(0.6)), (0.25, Threshold(0.4))])
    >>> rule.distribution([0.3, 0.5, 0.7])[:, 1]
    array([0.  , 0.25, 1.  ])
    >>> rule.decide([0.5, 0.5], u=[0.2, 0.3])
    array([1, 0])
    >>> print(rule.explain(ClassNames(("no", "yes"))))
    with probability 0.25 predict 'yes' when the score is at least 0.4, \
otherwise when the score is at least 0.6
    """

    atoms: tuple[tuple[float, Rule], ...]

    def __init__(self, atoms: Sequence[tuple[float, Rule]]) -> None:
        pairs = tuple((plain_number(p, "a probability"), rule) for p, rule in atoms)
        rules = tuple(rule for _, rule in pairs)
        check_alike(rules)
        segments = {rule.segment_keys for rule in rules if rule.needs_segments}
        if len(segments) > 1:
            raise InputError("`atoms` must look at the same segments in the same order")
        for p, _ in pairs:
            if not 0.0 < p < math.inf:
                raise InputError(f"a probability must be positive and finite, got {p!r}")
        total = math.fsum(p for p, _ in pairs)
        if abs(total - 1.0) > _SUM_TOLERANCE:
            raise InputError(f"`probabilities` must sum to 1, got {total!r}")
        object.__setattr__(self, "atoms", _canonical(pairs))

    @property
    def n_classes(self) -> int:
        """As in each of the atoms."""
        return self.atoms[0][1].n_classes

    @property
    def score_columns(self) -> int | None:
        """As in each of the atoms."""
        return self.atoms[0][1].score_columns

    @property
    def children(self) -> tuple[Rule, ...]:
        """The atoms' rules."""
        return tuple(rule for _, rule in self.atoms)

    @property
    def randomized(self) -> bool:
        """Whether there is more than one atom, or the one is randomised itself."""
        return len(self.atoms) > 1 or self.atoms[0][1].randomized

    def _fields(self) -> dict[str, Any]:
        return {"atoms": [{"probability": p, "rule": part._written()} for p, part in self.atoms]}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any], where: str) -> Mixture:
        atoms = []
        for i, atom in enumerate(list_of(fields["atoms"], f"{where}.atoms")):
            place = f"{where}.atoms[{i}]"
            parts = fields_of(atom, place, ("probability", "rule"))
            p = number_of(parts["probability"], f"{place}.probability")
            atoms.append((p, cls._read(parts["rule"], f"{place}.rule")))
        return cls(atoms)

    def _distribution(self, scores: Floats, segments: Ints | None) -> Floats:
        out = np.zeros((len(scores), self.n_classes))
        for p, rule in self.atoms:
            out += p * rule._distribution(scores, segments)
        np.minimum(out, 1.0, out=out)
        sure = np.count_nonzero(out, axis=1) == 1  # all atoms agree: 1, not 1 - 1e-16
        out[sure] = out[sure] > 0.0
        return out

    def _margins(self, scores: Floats, segments: Ints | None, code: int) -> Floats:
        return self.atoms[0][1]._margins(scores, segments, code)  # no draws: there is no other

    def _decide_without(self, scores: Floats, segments: Ints | None, code: int) -> Ints:
        return self.atoms[0][1]._decide_without(scores, segments, code)

    def _decide(self, scores: Floats, segments: Ints | None, u: Floats | None) -> Ints:
        if u is None:
            return self.atoms[0][1]._decide(scores, segments, None)
        if self.n_classes == 2:
            return (u < self._distribution(scores, segments)[:, 1]).astype(np.int64)
        ends = np.cumsum([p for p, _ in self.atoms])
        drawn = np.searchsorted(ends[:-1], u, side="right")
        out = np.empty(len(scores), dtype=np.int64)
        for k, (p, rule) in enumerate(self.atoms):
            rows = np.flatnonzero(drawn == k)
            draws = None
            if rule.randomized:  # what is left of the draw, stretched to [0, 1) again
                start = ends[k - 1] if k else 0.0
                draws = np.clip((u[rows] - start) / p, 0.0, _BELOW_ONE)
            codes = segments[rows] if segments is not None else None
            out[rows] = rule._decide(scores[rows], codes, draws)
        return out

    def _answer(self, u: Number) -> Answer:
        if not self.randomized:
            return self.atoms[0][1]._answer(u)
        # segments first, also where an atom looks at none: `decide` refuses rows that have none
        keys = self.segment_keys
        if not keys:
            return self._drawn(u, None)
        return by_segment(keys, [self._drawn(u, code) for code in range(len(keys))])

    def _drawn(self, u: Number, code: int | None) -> Answer:
        """What is decided in a segment."""
        atoms = [(p, rule if code is None else rule._within(code)) for p, rule in self.atoms]
        if self.n_classes > 2:
            return _picked(atoms, u)
        parts = [rule._cuts() for _, rule in atoms]
        steps = [part for part in parts if part is not None]
        if len(steps) < len(parts):
            return drawn(u, _mixed(atoms))
        # what is added up to a step is computed here
        cuts = sorted({cut for part in steps for cut in part})
        codes = None if code is None else np.full(len(cuts) + 1, code)
        chances = self._distribution(np.array([-math.inf, *cuts]), codes)[:, 1].tolist()
        whens = [
            (AtLeast(Score(0), Constant(cut)), drawn(u, Constant(p)))
            for cut, p, before in zip(cuts, chances[1:], chances, strict=False)
            if p != before
        ]
        otherwise = drawn(u, Constant(chances[0]))
        return Cases(tuple(reversed(whens)), otherwise) if whens else otherwise

    def _chance(self) -> Number:
        mixed = _mixed(self.atoms)
        return Cases(((Below(Constant(1.0), mixed), Constant(1.0)),), mixed)

    def _words(self, names: ClassNames, digits: int) -> str:
        if len(self.atoms) == 1:
            return self.atoms[0][1]._words(names, digits)
        shares = probabilities_in_words(p for p, _ in self.atoms)
        heads = [f"with probability {share}" for share in shares[:-1]] + ["otherwise"]
        if all(isinstance(rule, Threshold) for rule in self.children):
            clauses = [r.clause(names, digits) for r in self.children if isinstance(r, Threshold)]
            clauses[0] = f"predict {names.label(1)} {clauses[0]}"
            return ", ".join(f"{h} {c}" for h, c in zip(heads, clauses, strict=True))
        words = [rule._words(names, digits) for rule in self.children]
        if any("\n" in text for text in words):
            return "\n".join(f"{h}:\n{indented(t)}" for h, t in zip(heads, words, strict=True))
        return "; ".join(f"{h} {t}" for h, t in zip(heads, words, strict=True))


def mixture(atoms: Iterable[tuple[float, Rule]]) -> Rule:
    """Return the mixture, or the single rule where only one is left.

    Atoms of probability 0 are left out.

    Raises
    ------
    TypeError, ValueError
        As in :class:`Mixture`.

    Examples
    --------
    >>> from setpoint.rules import Threshold, mixture
    >>> mixture([(0.5, Threshold(0.4)), (0.5, Threshold(0.4)), (0.0, Threshold(1.0))])
    Threshold(threshold=0.4, width=0.0)
    """
    mixed = Mixture([(p, rule) for p, rule in atoms if p != 0.0])
    return mixed.atoms[0][1] if len(mixed.atoms) == 1 else mixed


def _picked(atoms: Sequence[tuple[float, Rule]], u: Number) -> Answer:
    """An atom by `u`, as in `_decide`."""
    ends = np.cumsum([p for p, _ in atoms]).tolist()
    answers = []
    for k, (p, rule) in enumerate(atoms):
        start = ends[k - 1] if k else 0.0
        rest: Number = Quotient(Difference(u, Constant(start)), Constant(p))
        below = Cases(((Below(rest, Constant(_BELOW_ONE)), rest),), Constant(_BELOW_ONE))
        answers.append(rule._answer(below))
    whens = [(Below(u, Constant(end)), answers[k]) for k, end in enumerate(ends[:-1])]
    return Cases(tuple(whens), answers[-1]) if whens else answers[-1]


def _mixed(atoms: Sequence[tuple[float, Rule]]) -> Number:
    """The probability of class 1, as `_distribution` adds it: 1 where all atoms agree."""
    parts = [rule._chance() for _, rule in atoms]
    total = tuple(Product(Constant(p), part) for (p, _), part in zip(atoms, parts, strict=True))
    if len(total) == 1:
        return parts[0]
    sure: tuple[Condition, ...] = tuple(AtLeast(part, Constant(1.0)) for part in parts)
    return Cases(((Every(sure), Constant(1.0)),), Sum(total))


def _canonical(pairs: Iterable[tuple[float, Rule]]) -> tuple[tuple[float, Rule], ...]:
    """Flattened, merged, sorted, normalised; twice is the same as once, to the last bit."""
    shares: dict[Rule, list[float]] = {}
    for p, rule in pairs:
        for q, atom in rule.atoms if isinstance(rule, Mixture) else ((1.0, rule),):
            shares.setdefault(atom, []).append(p * q)
    weights = {rule: math.fsum(parts) for rule, parts in shares.items()}
    total = math.fsum(weights.values())
    if abs(total - 1.0) > 4.0 * sys.float_info.epsilon:
        weights = {rule: weight / total for rule, weight in weights.items()}
    kept = [(weight, rule) for rule, weight in weights.items() if weight > 0.0]
    return tuple(sorted(kept, key=_place))


def _place(atom: tuple[float, Rule]) -> tuple[int, float, float]:
    rule = atom[1]
    return (0, rule.threshold, rule.width) if isinstance(rule, Threshold) else (1, 0.0, 0.0)

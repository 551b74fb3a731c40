"""Events: what a rate counts, as a conjunction of words.

A rate is the mean, over a population chosen without looking at the prediction, of an
event ``L[baseline class, true class, predicted class]``. The words below are the
vocabulary of events; ``!`` negates a word. For a stratum with known baseline class an
event is an outer product of a mask over true and one over predicted classes, kept or
cleared on the diagonal; so counting it never needs the n x n x n tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Literal, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError

__all__ = ["Costs", "Diagonal", "Event"]

Costs: TypeAlias = tuple[tuple[int, int, float], ...]
"""Entries (true class, predicted class, cost)."""

Diagonal: TypeAlias = Literal["any", "on", "off"]

_WORDS = (
    "actual",
    "predicted",
    "correct",
    "changed",
    "was_correct",
    "deferred",
    "labelled",
    "found",
)
_NEEDS_TRUTH = {"actual", "correct", "was_correct", "labelled"}
_NEEDS_BASELINE = {"changed", "was_correct"}
_OF_PREDICTION = {"predicted", "found", "correct", "changed", "deferred"}
_OF_DEFERRED = ("deferred", "found")
"""Words that say what a row is that is not decided."""


@cache
def _parts(words: str) -> tuple[tuple[str, bool], ...]:
    """Each word of an event, and whether it is wanted."""
    parts = tuple((w.lstrip("!"), not w.startswith("!")) for w in words.split())
    unknown = [w for w, _ in parts if w not in _WORDS]
    if unknown:
        raise InputError(f"unknown words {unknown} in the event {words!r}: {_WORDS}")
    return parts


def _factors(
    words: str,
    needs_truth: bool,
    n: int,
    label: int | None,
    baseline: int | None,
    deployed: bool,
    defers: bool,
) -> tuple[Floats, Floats, Diagonal]:
    true, pred = np.ones(n + 1), np.ones(n)
    diagonal: Diagonal = "any"
    index_t, index_p = np.arange(n + 1), np.arange(n)
    own = any(word in words for word in _OF_DEFERRED)
    if defers and not deployed and not own and _sees_prediction(words):
        pred[n - 1] = 0.0  # what is not decided is neither right nor wrong
    for word, wanted in _parts(words):
        if word == "actual":
            true *= (index_t == label) == wanted
        elif word == "labelled":
            continue  # as of every event that needs the truth
        elif word == "deferred":
            # The deployed model decides every row.
            pred *= ((index_p == n - 1) & (defers and not deployed)) == wanted
        elif word in ("predicted", "found") and deployed:
            pred *= float((baseline == label) == wanted)
        elif word in ("predicted", "found"):
            pred *= (index_p == label) == wanted
        elif word == "was_correct" or (word == "correct" and deployed):
            true *= (index_t == baseline) == wanted
        elif word == "changed" and deployed:
            pred *= float(not wanted)
        elif word == "changed":
            pred *= (index_p != baseline) == wanted
        else:
            diagonal = "on" if wanted else "off"
    if needs_truth:
        true[n] = 0.0
    true.flags.writeable = pred.flags.writeable = False
    return true, pred, diagonal


def _sees_prediction(words: str) -> bool:
    return any(w in _OF_PREDICTION for w, _ in _parts(words))


_FEW = 64
"""Masks of so many classes are small, and asked for again and again."""
_kept_factors = lru_cache(maxsize=4096)(_factors)


@dataclass(frozen=True)
class Event:
    """A conjunction of words about (true, predicted, baseline) class.

    Examples
    --------
    >>> Event("actual predicted").matrix(n=2, label=1, baseline=None, deployed=False)
    array([[0., 0.],
           [0., 1.],
           [0., 0.]])
    """

    words: str = ""
    costs: Costs | None = None

    @cached_property
    def names_class(self) -> bool:
        """Whether it refers to one class."""
        return any(w in ("actual", "predicted", "found") for w, _ in _parts(self.words))

    @cached_property
    def needs_truth(self) -> bool:
        """Whether the event cannot be counted on unlabelled rows."""
        return self.costs is not None or any(w in _NEEDS_TRUTH for w, _ in _parts(self.words))

    @cached_property
    def needs_baseline(self) -> bool:
        """Whether the event refers to the deployed model."""
        return any(w in _NEEDS_BASELINE for w, _ in _parts(self.words))

    @cached_property
    def ignores_prediction(self) -> bool:
        """Whether every decision gives the same count."""
        return self.costs is None and not _sees_prediction(self.words)

    def factors(
        self,
        n: int,
        label: int | None,
        baseline: int | None,
        deployed: bool,
        defers: bool = False,
    ) -> tuple[Floats, Floats, Diagonal]:
        """Masks over true (n + 1,) and predicted (n,) classes, and what the diagonal does."""
        found = _kept_factors if n <= _FEW else _factors
        return found(self.words, self.needs_truth, n, label, baseline, deployed, defers)

    def matrix(
        self,
        n: int,
        label: int | None,
        baseline: int | None,
        deployed: bool,
        defers: bool = False,
    ) -> Floats:
        """The event as weights (n + 1, n) over true and predicted class."""
        if self.costs is not None:
            out = np.zeros((n + 1, n))
            for t, p, c in self.costs:
                if not deployed:
                    out[t, p] = c
                elif p == baseline:
                    out[t, :] = c
            return out
        true, pred, diagonal = self.factors(n, label, baseline, deployed, defers)
        out = np.outer(true, pred)
        if diagonal != "any":
            eye = np.eye(n + 1, n)
            out *= eye if diagonal == "on" else 1.0 - eye
        return out

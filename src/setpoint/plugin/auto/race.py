"""Models that race under a goal: the same fits serve the verdict and the rule's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.caller import warn_caller
from setpoint.inputs.inputs import CheckedData
from setpoint.plugin.auto.candidates import Candidate
from setpoint.plugin.auto.choice import ModelChoice, TriedModel
from setpoint.plugin.auto.folds import FoldFits, Pieces, weights_for
from setpoint.plugin.auto.mean import mean_of
from setpoint.plugin.crossfit import CrossFit
from setpoint.plugin.judging import Judge, Judged, JudgedRows
from setpoint.plugin.parameters import Options
from setpoint.search.limits import StoppedWarning, now

__all__ = ["Race", "Raced"]


@dataclass(frozen=True, eq=False)
class Raced:
    """What a race leads to."""

    fitted: CrossFit
    model: Any
    params: Mapping[str, Any]
    choice: ModelChoice
    seconds: float


@dataclass(frozen=True, eq=False)
class _Entrant:
    """A model, or the mean of two, with scores of all folds."""

    parts: Sequence[Candidate]
    scores: Mapping[str | None, Floats]
    kept: Sequence[Any]

    @property
    def name(self) -> str:
        """Of the model."""
        first, *others = (one.name for one in self.parts)
        return f"mean of {first} and {others[0]}" if others else first

    def mean_with(self, other: _Entrant) -> _Entrant:
        """Half of the scores of each."""
        scores = {n: (own + other.scores[n]) / 2.0 for n, own in self.scores.items()}
        return _Entrant([*self.parts, *other.parts], scores, [*self.kept, *other.kept])


@dataclass(frozen=True, eq=False)
class Race:
    """Candidates for one goal on one table."""

    candidates: Sequence[Candidate]
    left_out: Sequence[str]
    fits: FoldFits
    inputs: CheckedData
    sets: Mapping[str, Any]
    options: Options
    weight: Any = None
    averaged: bool = True
    seconds: float | None = None
    refit: bool = True
    _ready: dict[str, Pieces] = field(default_factory=dict, repr=False)

    def run(self) -> Raced:
        """Fit, judge and choose."""
        start = now()
        until = np.inf if self.seconds is None else start + self.seconds
        params = {one.name: weights_for(one, self.weight) for one in self.candidates}
        done: list[tuple[_Entrant, Judged]] = []
        cut, stopped = [], ""
        for one in self.candidates:
            pieces = self._fitted(one, params[one.name], until if done else np.inf)
            if len(pieces) < len(self.fits.splits):  # time ended
                cut = [TriedModel(one.name, len(pieces))] if pieces else []
                stopped = self._ended(len(done))
                warn_caller(
                    f"estimator='auto': {stopped}; more time (`limits`) judges more",
                    StoppedWarning,
                )
                break
            done.append(self._judged(self._entrant(one, pieces)))
        if self.averaged and len(done) > 1:
            ranked = sorted(range(len(done)), key=lambda k: done[k][1].rank)
            first, second = (done[k][0] for k in sorted(ranked[:2]))
            done.append(self._judged(first.mean_with(second)))
        chosen, choice = self._choice(done, cut, stopped)
        model = chosen.parts[0]
        return Raced(
            self._finished(chosen, params), model.model, params[model.name], choice, now() - start
        )

    # ------------------------------------------------------------------ fitting
    def _fitted(self, one: Candidate, params: Mapping[str, Any], until: float) -> Pieces:
        """Scores fold by fold, of all folds unless the time ends."""
        if one.name in self._ready:
            return self._ready.pop(one.name)
        splits, pieces = self.fits.splits, list[tuple[Any, Any]]()
        longer = None if self.fits.keep else one.longer
        rounds = one.rounds if longer else 0
        for stop in self.fits.rounds(len(splits), until):
            if now() >= until:
                break
            pieces += self.fits.some(longer or one, params, splits[len(pieces) : stop], rounds)
        if longer is None:
            return pieces
        self._ready[longer.name] = [(model, scores) for model, (_, scores) in pieces]
        return [(model, scores) for model, (scores, _) in pieces]

    def _entrant(self, one: Candidate, pieces: Pieces) -> _Entrant:
        own, kept = self.fits.in_order(pieces)[self._rows.index], pieces[0][0]
        response = self.fits.response
        others: dict[str | None, Floats] = {n: response(kept, X) for n, X in self.sets.items()}
        return _Entrant([one], {None: own, **others}, [kept])

    def _finished(self, chosen: _Entrant, params: Mapping[str, Mapping[str, Any]]) -> CrossFit:
        """The model for new rows, and the scores that it was chosen by."""
        models = chosen.kept
        if self.refit:
            models = [self.fits.on_all(one, params[one.name]) for one in chosen.parts]
        names = [one.name for one in chosen.parts]
        model = mean_of(dict(zip(names, models, strict=True)))
        index = self._rows.index
        whole = len(index) == self.inputs.n_rows[None]
        fold = self._rows.fold if len(self.fits.splits) > 1 else np.zeros_like(index)
        return CrossFit(model, chosen.scores[None], None if whole else index, fold)

    # ------------------------------------------------------------------ judging
    @cached_property
    def _rows(self) -> JudgedRows:
        return JudgedRows.of(self.fits.splits, self.inputs.kinds(None))

    @cached_property
    def _judge(self) -> Judge:
        """By the rule on all scores of a model, by one kind of evidence for all models."""
        open_ = self.fits.response.posterior and self.options.evidence == "auto"
        options = replace(self.options, evidence="label") if open_ else self.options
        together = replace(self._rows, fold=np.zeros_like(self._rows.fold))
        return Judge(self.inputs, together, options)

    def _judged(self, one: _Entrant) -> tuple[_Entrant, Judged]:
        return one, self._judge.of_scores(one.name, one.scores)

    # ------------------------------------------------------------------ choosing
    def _choice(
        self,
        done: Sequence[tuple[_Entrant, Judged]],
        cut: Sequence[TriedModel],
        stopped: str,
    ) -> tuple[_Entrant, ModelChoice]:
        """What was chosen, and how all did."""
        judged, folds = [one for _, one in done], len(self.fits.splits)
        standing = self._judge.standing(judged)
        tried = []
        for place, one in enumerate(judged):
            entry = None if place == standing.best else standing.differences[place]
            limits = (None,) * 3 if entry is None else (entry.value, entry.low, entry.high)
            value = None if np.isnan(one.value) else one.value
            tied = place in standing.ties
            tried.append(TriedModel(one.name, folds, value, *limits, tied=tied, fails=one.fails))
        chosen, objective = done[standing.best][0], str(self.inputs.goal.objective)
        known = (*tried, *cut)
        return chosen, ModelChoice(
            chosen.name, objective, folds, known, tuple(self.left_out), stopped
        )

    def _ended(self, n: int) -> str:
        """Why no more were tried."""
        some = "the simplest model alone was" if n == 1 else f"{n} models were"
        return f"{some} judged of {len(self.candidates)} within {self.seconds:g} seconds"

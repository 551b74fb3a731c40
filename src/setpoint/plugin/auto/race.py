"""Models that race under a goal: the same fits serve the verdict and the rule's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from setpoint.caller import warn_caller
from setpoint.goals.errors import EmptyPopulationError
from setpoint.inputs.inputs import CheckedData
from setpoint.plugin.auto.averaging import Averaging
from setpoint.plugin.auto.candidates import Candidate
from setpoint.plugin.auto.choice import CALIBRATED, ModelChoice, TriedModel
from setpoint.plugin.auto.folds import FoldFits, Pieces, weights_for
from setpoint.plugin.crossfit import CrossFit
from setpoint.plugin.judging import Judge, Judged, JudgedRows
from setpoint.plugin.judging.pairs import is_worse
from setpoint.plugin.parameters import Options
from setpoint.search.limits import StoppedWarning, now
from setpoint.typing import Floats

__all__ = ["Race", "Raced"]

_FIRST = 2
"""Folds after which a model may be dropped."""
_CLEARLY = 0.99
"""Confidence with which it is worse then."""


@dataclass(frozen=True, eq=False)
class Raced:
    """What a race leads to.

    Parameters
    ----------
    fitted : CrossFit
        The model for new rows, and its scores of rows that it did not see.
    model : classifier
        The same, not fitted, and without calibration.
    params : mapping
        For its ``fit``.
    choice : ModelChoice
    seconds : float
        It took.
    """

    fitted: CrossFit
    model: Any
    params: Mapping[str, Any]
    choice: ModelChoice
    seconds: float


@dataclass(frozen=True, eq=False)
class _Entrant:
    """A model with scores of all folds.

    Parameters
    ----------
    base : Candidate
    calibrated : bool
    scores : dict of data set (None: the judged rows of X) to array
    model : classifier or None
        Where it is calibrated the final one; else that of the first fold, where it is kept.
    """

    base: Candidate
    calibrated: bool
    scores: Mapping[str | None, Floats]
    model: Any

    @property
    def name(self) -> str:
        """Of the model."""
        return self.base.name + CALIBRATED * self.calibrated


@dataclass(frozen=True, eq=False)
class Race:
    """Candidates for one goal on one table.

    Parameters
    ----------
    candidates : sequence of Candidate
        The simplest first, in which order they are fitted.
    left_out : sequence of str
        Why others are not.
    fits : FoldFits
    inputs : CheckedData
        The rows that the goal refers to.
    sets : mapping of str to rows
        Features of further data sets.
    options : Options
        How rules are found.
    weight : array of shape (N,) or None
        Sample weights, for the models.
    calibrated : bool
        Whether each is tried with isotonic calibration, too.
    seconds : float or None
        For fitting the folds.
    refit : bool
        Whether the model is fitted on all rows in the end; else that of the only fold is kept.
    """

    candidates: Sequence[Candidate]
    left_out: Sequence[str]
    fits: FoldFits
    inputs: CheckedData
    sets: Mapping[str, Any]
    options: Options
    weight: Any = None
    calibrated: bool = True
    seconds: float | None = None
    refit: bool = True
    _early: dict[str, Judged] = field(default_factory=dict, repr=False)

    def run(self) -> Raced:
        """Fit, judge and choose.

        Raises
        ------
        InputError
            If a candidate takes no weights and there are some.

        Warns
        -----
        StoppedWarning
            If the time ended before all candidates were judged.
        UserWarning
            If the folds lack something that the goal refers to: the simplest is then chosen.
        """
        start = now()
        until = np.inf if self.seconds is None else start + self.seconds
        params = {one.name: weights_for(one, self.weight) for one in self.candidates}
        done: list[tuple[_Entrant, Judged]] = []
        tried: list[TriedModel] = []
        fitted: list[tuple[Candidate, Pieces]] = []
        stopped, chosen = "", None
        for one in self.candidates:
            if now() >= until and done:
                stopped = self._ended(done)
                break
            pieces, end = self._fitted(one, params[one.name], done, until)
            if end:
                tried.append(TriedModel(one.name, len(pieces), cut=end == "time"))
                if end == "time":
                    stopped = self._ended(done)
                    break
                continue
            new = self._plain(one, pieces)
            tried.append(TriedModel(one.name, len(pieces)))
            try:
                done.append((new, self._judge.of_scores(new.name, new.scores)))
            except EmptyPopulationError as error:
                stopped, chosen = f"the rows are too few to compare models ({error})", new
                break
            fitted.append((one, pieces))
        left_out = list(self.left_out)
        if self.calibrated and chosen is None:
            more, reasons, late = self._calibrated(fitted, params, until)
            done, left_out = done + more, left_out + reasons
            tried += [TriedModel(e.name, len(self.fits.splits)) for e, _ in more]
            if late and not stopped:
                stopped = f"not all were judged with calibration within {self.seconds:g} seconds"
        choice = self._choice(chosen, done, tried, left_out, stopped)
        entrant = chosen or next(e for e, _ in done if e.name == choice.chosen)
        if chosen is not None:
            warn_caller(f"estimator='auto': {stopped}; the simplest is taken")
        elif stopped:
            advice = "more time (`seconds`) judges more"
            warn_caller(f"estimator='auto': {stopped}; {advice}", StoppedWarning)
        base = entrant.base
        finished = self._finished(entrant, params[base.name])
        seconds = now() - start
        return Raced(finished, base.model, params[base.name], choice, seconds)

    # ------------------------------------------------------------------ fitting
    def _fitted(
        self,
        one: Candidate,
        params: Mapping[str, Any],
        done: Sequence[tuple[_Entrant, Judged]],
        until: float,
    ) -> tuple[Pieces, str]:
        """Scores fold by fold, and why not of all: "worse" or "time"; the first is finished."""
        splits, keep = self.fits.splits, self.fits.keep
        n = len(splits)
        drops = bool(done) and n > _FIRST + 1
        pieces: Pieces = []
        for stop in self.fits.rounds(n, until, [_FIRST] if drops else []):
            pieces += self.fits.some(one, params, splits[len(pieces) : stop], keep)
            if stop == n or not done:
                continue
            if now() >= until:
                return pieces, "time"
            if drops and stop == _FIRST and self._is_worse(one, pieces, done):
                return pieces, "worse"
        return pieces, ""

    def _plain(self, one: Candidate, pieces: Pieces) -> _Entrant:
        """The model without calibration."""
        own, kept = self.fits.in_order(pieces)[self._rows.index], pieces[0][0]
        response = self.fits.response
        others: dict[str | None, Floats] = {n: response(kept, X) for n, X in self.sets.items()}
        return _Entrant(one, False, {None: own, **others}, kept)

    def _calibrated(
        self,
        fitted: Sequence[tuple[Candidate, Pieces]],
        params: Mapping[str, Mapping[str, Any]],
        until: float,
    ) -> tuple[list[tuple[_Entrant, Judged]], list[str], bool]:
        """Judged with calibration; why others are not; and whether time ended."""
        mean, response = Averaging(self.fits, self._rows, *self._labels), self.fits.response
        names = [one.name + CALIBRATED for one, _ in fitted]
        if mean.why_not:
            return [], [f"{name} ({mean.why_not})" for name in names], False
        found: list[tuple[_Entrant, Judged]] = []
        reasons: list[str] = []
        for place, (one, pieces) in enumerate(fitted):
            scores = mean.scores(one, pieces, params[one.name], until)
            if scores is None:
                late = [f"{name} (no time was left)" for name in names[place:]]
                return found, reasons + late, True
            model = mean.model(pieces)
            others: dict[str | None, Floats] = {n: response(model, X) for n, X in self.sets.items()}
            new = _Entrant(one, True, {None: scores, **others}, model)
            try:
                found.append((new, self._judge.of_scores(new.name, new.scores)))
            except EmptyPopulationError as error:
                reasons.append(f"{new.name} ({error})")
        return found, reasons, False

    def _finished(self, chosen: _Entrant, params: Mapping[str, Any]) -> CrossFit:
        """The model for new rows, and the scores that it was chosen by."""
        again = self.refit and not chosen.calibrated
        model = self.fits.on_all(chosen.base, params) if again else chosen.model
        index = self._rows.index
        whole = len(index) == self.inputs.n_rows[None]
        scores, folds = chosen.scores[None], len(self.fits.splits)
        return CrossFit(model, scores, None if whole else index, folds)

    # ------------------------------------------------------------------ judging
    @cached_property
    def _rows(self) -> JudgedRows:
        return JudgedRows.of(self.fits.splits, self.inputs.kinds(None))

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.inputs, self._rows, self._options)

    @cached_property
    def _first_judge(self) -> Judge:
        """Of the rows of the first folds."""
        rows = JudgedRows.of(self.fits.splits[:_FIRST], self.inputs.kinds(None))
        return Judge(self.inputs, rows, self._options)

    @property
    def _options(self) -> Options:
        """How rules are found for the verdicts: by one kind of evidence for all models.

        Left open, it would be chosen for each fold of each model anew, by searches of its own.
        """
        open_ = self.fits.response.posterior and self.options.evidence == "auto"
        return replace(self.options, evidence="label") if open_ else self.options

    @cached_property
    def _labels(self) -> tuple[Any, Any]:
        """True classes and weights of the rows of X."""
        table = self.inputs.tables[None]
        assert table.true is not None
        return table.true, table.weight

    def _is_worse(
        self, one: Candidate, pieces: Pieces, done: Sequence[tuple[_Entrant, Judged]]
    ) -> bool:
        """Whether the first folds show that a model is worse than the best that is finished."""
        if self.sets:  # what the goal says of them does not come in folds
            return False
        judge = self._first_judge
        try:
            for other, _ in done:
                if other.name not in self._early:
                    scores = other.scores[None]
                    whole = np.full((self.inputs.n_rows[None], *scores.shape[1:]), np.nan)
                    whole[self._rows.index] = scores
                    self._early[other.name] = judge.of_scores(other.name, whole[judge.index])
            new = judge.of_scores(one.name, self.fits.in_order(pieces)[judge.index])
        except EmptyPopulationError:
            return False
        known = list(self._early.values())
        top = known[judge.standing(known).best]
        if new.fails and not top.fails:
            return True
        return new.score < top.score and is_worse(judge.difference(new, top, _CLEARLY))

    # ------------------------------------------------------------------ choosing
    def _choice(
        self,
        chosen: _Entrant | None,
        done: Sequence[tuple[_Entrant, Judged]],
        tried: Sequence[TriedModel],
        left_out: Sequence[str],
        stopped: str,
    ) -> ModelChoice:
        """What was chosen, and how all did; `chosen`: without a judgement."""
        objective, folds = str(self.inputs.goal.objective), len(self.fits.splits)
        if chosen is not None:
            name = chosen.name
            return ModelChoice(name, name, objective, folds, tuple(tried), tuple(left_out), stopped)
        judged = sorted((one for _, one in done), key=lambda one: self._order(one.name))
        standing = self._judge.standing(judged)
        found = {}
        for place, one in enumerate(judged):
            entry = None if place == standing.best else standing.differences[place]
            limits = (None,) * 3 if entry is None else (entry.value, entry.low, entry.high)
            value = None if np.isnan(one.value) else one.value
            tied = place in standing.ties
            found[one.name] = TriedModel(
                one.name, folds, value, *limits, tied=tied, fails=one.fails
            )
        name, best = judged[self._judge.simplest(judged)].name, judged[standing.best].name
        known = tuple(
            found.get(one.name, one) for one in sorted(tried, key=lambda one: self._order(one.name))
        )
        return ModelChoice(name, best, objective, folds, known, tuple(left_out), stopped)

    def _order(self, name: str) -> tuple[int, str]:
        """The simplest first, each without calibration before it with it."""
        names = [one.name for one in self.candidates]
        return names.index(name if name in names else name.removesuffix(CALIBRATED)), name

    def _ended(self, done: Sequence[tuple[_Entrant, Judged]]) -> str:
        """Why no more were tried."""
        n = len({one.base.name for one, _ in done})
        some = "the simplest model alone was" if n == 1 else f"{n} models were"
        return f"{some} judged of {len(self.candidates)} within {self.seconds:g} seconds"

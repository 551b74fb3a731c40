"""Models that race under a goal: one fit a fold serves the verdict and the rule's scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from setpoint.caller import warn_caller
from setpoint.errors import InputError
from setpoint.estimators.splitting import Fold
from setpoint.inputs.inputs import CheckedData
from setpoint.plugin.auto.calibrated import (
    calibrated_out_of_fold,
    curves_of,
    fitted_calibrated,
    through,
)
from setpoint.plugin.auto.candidates import Candidate
from setpoint.plugin.auto.choice import ModelChoice, TriedModel
from setpoint.plugin.crossfit import CrossFit, Response, fit_fold
from setpoint.plugin.judging import Judge, Judged, JudgedRows
from setpoint.plugin.judging.pairs import is_worse
from setpoint.plugin.parameters import Options
from setpoint.search.limits import StoppedWarning
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
class _Scored:
    """A model with scores of all folds.

    Parameters
    ----------
    base : Candidate
    calibrated : bool
    scores : dict of data set (None: the judged rows of X) to array
    kept : classifier or None
        Fitted on the first fold.
    judged : Judged
    """

    base: Candidate
    calibrated: bool
    scores: Mapping[str | None, Floats]
    kept: Any
    judged: Judged

    @property
    def name(self) -> str:
        """Of the model."""
        return self.judged.name


@dataclass(frozen=True, eq=False)
class Race:
    """Candidates for one goal on one table.

    Parameters
    ----------
    candidates : sequence of Candidate
        The simplest first, in which order they are fitted.
    left_out : sequence of str
        Why others are not.
    calibrated : bool
        Whether each is tried with isotonic calibration, too.
    seconds : float or None
        For fitting the folds.
    inputs : CheckedData
        The rows that the goal refers to.
    X, y
    sets : mapping of str to rows
        Features of further data sets.
    splits : list of (train, test)
    response : Response
    options : Options
        How rules are found.
    weight : array of shape (N,) or None
        Sample weights, for the models.
    refit : bool
        Whether the model is fitted on all rows in the end; else that of the only fold is kept.
    n_jobs, verbose
        As in joblib.
    """

    candidates: Sequence[Candidate]
    left_out: Sequence[str]
    calibrated: bool
    seconds: float | None
    inputs: CheckedData
    X: Any
    y: Any
    sets: Mapping[str, Any]
    splits: list[Fold]
    response: Response
    options: Options
    weight: Any = None
    refit: bool = True
    n_jobs: int | None = None
    verbose: int = 0
    _early: dict[str, Judged] = field(default_factory=dict, repr=False)
    _plain: dict[str, Floats] = field(default_factory=dict, repr=False)

    def run(self) -> Raced:
        """Fit, judge and choose.

        Raises
        ------
        InputError
            If a candidate takes no weights and there are some.
        GoalError
            If a fold lacks something that the goal refers to.

        Warns
        -----
        StoppedWarning
            If the time ended before all candidates were judged.
        """
        start = time.perf_counter()
        until = None if self.seconds is None else start + self.seconds
        params = [self._weights(one) for one in self.candidates]
        done: list[_Scored] = []
        dropped: list[TriedModel] = []
        stopped = ""
        for one, given in zip(self.candidates, params, strict=True):
            if done and until is not None and time.perf_counter() >= until:
                stopped = self._ended(done)
                break
            pieces: list[tuple[Any, Floats]] = []
            early = ""
            for stop in self._stages(one_by_one=until is not None):
                pieces += self._fit(one, given, self.splits[len(pieces) : stop])
                over = until is not None and time.perf_counter() >= until
                if done and over and len(pieces) < len(self.splits):
                    early = stopped = self._ended(done)
                elif len(pieces) == _FIRST and self._drops and self._is_worse(one, pieces, done):
                    early = "worse"
                if early:
                    dropped.append(TriedModel(one.name, len(pieces)))
                    break
            if stopped:
                break
            if not early:
                done += self._judged(one, pieces)
        chosen, choice = self._choose(done, dropped, stopped)
        if stopped:
            warn_caller(f"estimator='auto': {stopped}", StoppedWarning)
        given = params[[c.name for c in self.candidates].index(chosen.base.name)]
        fitted = self._finished(chosen, given)
        model = chosen.base.model
        return Raced(fitted, model, given, choice, time.perf_counter() - start)

    # ------------------------------------------------------------------ fitting
    def _stages(self, one_by_one: bool) -> list[int]:
        """How many folds are fitted before the clock and the others are looked at."""
        n = len(self.splits)
        if one_by_one:
            step = effective_n_jobs(self.n_jobs)
            return sorted({*range(step, n, step), n, *([_FIRST] if self._drops else [])})
        return [_FIRST, n] if self._drops else [n]

    @property
    def _drops(self) -> bool:
        return len(self.splits) > _FIRST + 1

    def _fit(
        self, one: Candidate, params: Mapping[str, Any], splits: list[Fold]
    ) -> list[tuple[Any, Floats]]:
        """Fit a model a fold; scores of the rows left out."""
        keep = bool(self.sets) or not self.refit
        parallel = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)
        try:
            # Weights go to the last step of a pipeline by its name, also with metadata routing.
            with config_context(enable_metadata_routing=False):
                return list(
                    parallel(
                        delayed(fit_fold)(
                            clone(one.model), self.X, self.y, fold, self.response, params, keep
                        )
                        for fold in splits
                    )
                )
        except Exception as error:
            error.add_note(f"estimator='auto': while {one.name} was fitted")
            raise

    def _weights(self, one: Candidate) -> dict[str, Any]:
        """Sample weights as the model takes them."""
        if self.weight is None:
            return {}
        if has_fit_parameter(one.model, "sample_weight"):
            return {"sample_weight": self.weight}
        steps = one.model.steps if isinstance(one.model, Pipeline) else ()
        if steps and has_fit_parameter(steps[-1][1], "sample_weight"):
            return {f"{steps[-1][0]}__sample_weight": self.weight}
        raise InputError(
            f"`sample_weight`: the candidate {one.name!r} takes none, and weights are never "
            "ignored; leave it out of `candidates`"
        )

    def _finished(self, chosen: _Scored, params: Mapping[str, Any]) -> CrossFit:
        """The model for new rows, and the scores that it was chosen by."""
        model = chosen.kept
        if self.refit:
            with config_context(enable_metadata_routing=False):
                model = clone(chosen.base.model).fit(self.X, self.y, **params)
        if chosen.calibrated:
            plain = self._plain[chosen.base.name]
            true, weight = self._labels
            model = fitted_calibrated(model, plain, true, weight, self.response.classes)
        index = self._judge.index
        whole = len(index) == self.inputs.n_rows[None]
        return CrossFit(model, chosen.scores[None], None if whole else index, len(self.splits))

    # ------------------------------------------------------------------ judging
    @cached_property
    def _judge(self) -> Judge:
        rows = JudgedRows.of(self.splits, self.inputs.kinds(None))
        return Judge(self.inputs, rows, self.options)

    @cached_property
    def _first_judge(self) -> Judge:
        """Of the rows of the first folds."""
        rows = JudgedRows.of(self.splits[:_FIRST], self.inputs.kinds(None))
        return Judge(self.inputs, rows, self.options)

    @cached_property
    def _labels(self) -> tuple[Any, Any]:
        """True classes and weights of the judged rows."""
        table = self.inputs.tables[None]
        index = self._judge.index
        assert table.true is not None
        weight = None if table.weight is None else table.weight[index]
        return table.true[index], weight

    def _judged(self, one: Candidate, pieces: list[tuple[Any, Floats]]) -> list[_Scored]:
        """The model, and the model with calibration."""
        own = self._in_order(pieces, self.splits)[self._judge.index]
        kept, response = pieces[0][0], self.response
        scores = {None: own, **{n: response(kept, X) for n, X in self.sets.items()}}
        out = [_Scored(one, False, scores, kept, self._judge.of_scores(one.name, scores))]
        if self.calibrated:
            self._plain[one.name] = own
            true, weight = self._labels
            fold = self._judge.rows.fold
            curves = curves_of(own, true, weight) if self.sets else []
            mapped = {n: through(curves, s) for n, s in scores.items() if n is not None}
            more = {None: calibrated_out_of_fold(own, fold, true, weight), **mapped}
            name = f"{one.name}, calibrated"
            judged = self._judge.of_scores(name, more)
            out.append(_Scored(one, True, more, kept, judged))
        return out

    def _in_order(self, pieces: list[tuple[Any, Floats]], splits: list[Fold]) -> Floats:
        """Scores in the order of X; what no fold scored is NaN."""
        first = pieces[0][1]
        out = np.full((self.inputs.n_rows[None], *first.shape[1:]), np.nan)
        for (_, test), (_, scores) in zip(splits, pieces, strict=True):
            out[test] = scores
        return out

    def _is_worse(
        self, one: Candidate, pieces: list[tuple[Any, Floats]], done: list[_Scored]
    ) -> bool:
        """Whether the first folds show that a model is worse than the best that is finished."""
        if not done or self.sets:
            return False
        judge = self._first_judge
        for other in done:
            if other.name not in self._early:
                whole = np.full((self.inputs.n_rows[None], *other.scores[None].shape[1:]), np.nan)
                whole[self._judge.index] = other.scores[None]
                self._early[other.name] = judge.of_scores(other.name, whole[judge.index])
        best = judge.standing(list(self._early.values())).best
        top = list(self._early.values())[best]
        own = self._in_order(pieces, self.splits[:_FIRST])[judge.index]
        new = judge.of_scores(one.name, own)
        if new.fails and not top.fails:
            return True
        return new.score < top.score and is_worse(judge.difference(new, top, _CLEARLY))

    # ------------------------------------------------------------------ choosing
    def _choose(
        self, done: list[_Scored], dropped: list[TriedModel], stopped: str
    ) -> tuple[_Scored, ModelChoice]:
        judged = [one.judged for one in done]
        standing = self._judge.standing(judged)
        chosen = done[self._judge.simplest(judged)]
        tried = []
        for place, one in enumerate(judged):
            entry = None if place == standing.best else standing.differences[place]
            limits = (None,) * 3 if entry is None else (entry.value, entry.low, entry.high)
            value = None if np.isnan(one.value) else one.value
            tied = place in standing.ties
            tried.append(
                TriedModel(one.name, len(self.splits), value, *limits, tied=tied, fails=one.fails)
            )
        goal = self.inputs.goal
        order = {one.name: i for i, one in enumerate(self.candidates)}
        places = {one.name: order[one.base.name] for one in done}
        tried += dropped
        tried.sort(key=lambda one: places.get(one.name, order.get(one.name, 0)))
        best = judged[standing.best].name
        choice = ModelChoice(
            chosen.name, best, str(goal.objective), len(self.splits), tuple(tried),
            tuple(self.left_out), stopped,
        )  # fmt: skip
        return chosen, choice

    def _ended(self, done: list[_Scored]) -> str:
        """Why no more were tried."""
        n = len({one.base.name for one in done})
        some = "the simplest model alone was" if n == 1 else f"{n} models were"
        return (
            f"{some} judged of {len(self.candidates)} within {self.seconds:g} seconds; more time "
            "(`seconds` of AutoModel) judges more"
        )



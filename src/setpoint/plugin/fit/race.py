"""``estimator="auto"``: candidates are fitted fold by fold, and judged by the goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples
from threadpoolctl import threadpool_limits

from setpoint.array_types import Floats
from setpoint.counts import Evidence
from setpoint.errors import GoalError, InputError, warn_caller
from setpoint.estimators import Fold
from setpoint.goals import Goal
from setpoint.inputs import CheckedData
from setpoint.judging import (
    Judge,
    Judged,
    ModelCandidate,
    ModelChoice,
    TriedModel,
    candidates_of,
    in_quiet,
    mean_of,
)
from setpoint.plugin.fit.crossfit import CrossFit, Response, fit_fold, left_out, weight_parameter
from setpoint.plugin.problem import Options
from setpoint.plugin.selection import RuleFinder, quick
from setpoint.program import link
from setpoint.search import Found, StoppedWarning, now

if TYPE_CHECKING:
    from setpoint.plugin.fit.fitting import Task

_SMALL = 1_000_000
"""Values in a table up to which threads cost more than they save, a lot on a busy machine."""

_MANY, _SAMPLE, _FEWEST = 50_000, 0.1, 100
"""From how many rows a sample is looked at first; its share of the rows, to fit on and to judge on;
and how many rows of each class it holds at least."""


def judge_by_rules(inputs: CheckedData, options: Options | None = None) -> Judge:
    """A judge who finds the best rule over scores by a quick search."""
    own = quick(options or Options(randomized=False))

    def find(goal: Goal, evidence: Evidence) -> Found:
        linked = link(goal, evidence.codebook)
        return in_quiet(RuleFinder(linked, evidence, own, inputs.sees))

    return Judge(inputs, find)


@dataclass(frozen=True, eq=False)
class _Entrant:
    """A model, or the mean of two, with scores of all folds."""

    parts: Sequence[ModelCandidate]
    scores: Mapping[str | None, Floats]
    kept: Sequence[Any]
    judged: Judged


class Race:
    """Candidates on some folds of the rows of one fit, judged by its goal."""

    def __init__(
        self, task: Task, splits: list[Fold], params: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.task, self.splits, self.params = task, splits, params
        data, options = task.data, task.options
        self.sets = {n: data.given[n].X for n in data.judged.tables if n is not None}
        self.order, self.index, self.fold = left_out(splits, len(data.true), once=True)
        width = data.X.shape[1] if len(getattr(data.X, "shape", ())) == 2 else 1
        self.threads = 1 if int(_num_samples(data.X)) * width <= _SMALL else None
        # By one kind of evidence for all models.
        if task.response.posterior and options.evidence == "auto":
            options = replace(options, evidence="label")
        self.judge = judge_by_rules(data.judged.take(self.index), options)
        self.done: list[_Entrant] = []

    def run(self, candidates: Sequence[ModelCandidate], until: float) -> list[TriedModel] | None:
        """Fit and judge as many as the time lets; what was begun then, None: all were judged."""
        for group in self._fitted_together(candidates):
            pieces = self._fitted(group, until if self.done else np.inf)
            if len(pieces) < len(self.splits):  # time ended
                return [TriedModel(group[0].name, len(pieces))] if pieces else []
            kept = pieces[0][0]
            others: dict[str | None, Floats] = {
                name: self.task.response(kept, X) for name, X in self.sets.items()
            }
            for k, one in enumerate(group):
                own = np.concatenate([scores[k] for _, scores in pieces])[self.order]
                self._enter([one], {None: own, **others}, [kept])
        return None

    def mean_of_two(self) -> None:
        """The mean of the scores of the best two takes part as well."""
        places = sorted(range(len(self.done)), key=lambda k: self.done[k].judged.rank)
        a, b = (self.done[k] for k in sorted(places[:2]))
        scores = {name: (own + b.scores[name]) / 2.0 for name, own in a.scores.items()}
        self._enter([*a.parts, *b.parts], scores, [*a.kept, *b.kept])

    def _enter(
        self,
        parts: Sequence[ModelCandidate],
        scores: Mapping[str | None, Floats],
        kept: Sequence[Any],
    ) -> None:
        first, *others = (one.name for one in parts)
        name = f"mean of {first} and {others[0]}" if others else first
        self.done.append(_Entrant(parts, scores, kept, self.judge.of_scores(name, scores)))

    # ------------------------------------------------------------------ fitting
    def _fitted_together(
        self, candidates: Sequence[ModelCandidate]
    ) -> list[Sequence[ModelCandidate]]:
        """Boosting of many rounds gives the scores after fewer on its way, unless it is kept."""
        longer = [one for one in candidates if one.rounds]
        if self.sets or not self.task.refit or len(longer) < 2:
            return [[one] for one in candidates]
        return [*([one] for one in candidates if not one.rounds), longer]

    def _fitted(
        self, group: Sequence[ModelCandidate], until: float
    ) -> list[tuple[Any, list[Floats]]]:
        """The model, where it is kept, and scores, fold by fold unless the time ends."""
        task, splits = self.task, self.splits
        last, rounds = group[-1], [one.rounds for one in group[:-1]]
        keep = bool(self.sets) or not task.refit
        own = partial(_staged, task.response, rounds), self.params[last.name], keep
        parallel = Parallel(n_jobs=task.owner.n_jobs, verbose=max(task.owner.verbose - 1, 0))
        # Without a limit the clock is looked at after all fits alone.
        step = len(splits) if np.isinf(until) else effective_n_jobs(task.owner.n_jobs)
        pieces: list[Any] = []
        while len(pieces) < len(splits) and now() < until:
            try:
                # Weights go to the last step of a pipeline by name, also with metadata routing.
                with config_context(enable_metadata_routing=False):
                    pieces += parallel(
                        delayed(_fit)(
                            self.threads, clone(last.model), task.data.X, task.data.y, fold, *own
                        )
                        for fold in splits[len(pieces) : len(pieces) + step]
                    )
            except Exception as error:
                error.add_note(f"estimator='auto': while {last.name} was fitted")
                raise
        return pieces

    def finished(self, chosen: _Entrant) -> CrossFit:
        """The model for new rows, and the scores that it was chosen by."""
        names, data = [one.name for one in chosen.parts], self.task.data
        models = dict(zip(names, chosen.kept, strict=True))
        if self.task.refit:
            with config_context(enable_metadata_routing=False), _threads(self.threads):
                for one in chosen.parts:
                    own = self.params[one.name]
                    models[one.name] = clone(one.model).fit(data.X, data.y, **own)
        return CrossFit(mean_of(models), chosen.scores[None], self.index, self.fold)


def race(task: Task, averaged: bool) -> tuple[CrossFit, float]:
    """Choose the task's model, `averaged`: the mean of two too; its scores, and the seconds."""
    start, seconds = now(), task.options.limits.seconds
    splits = task.splits(task.data.y)
    candidates, left_out = candidates_of(task.owner._auto, task.data.X, task.seed)
    weight = task.params.get("sample_weight")
    params = {one.name: _weights_for(one, weight) for one in candidates}
    going_on = _promising(task, splits[0], candidates, params)
    full = Race(task, splits, params)
    cut = full.run(going_on, np.inf if seconds is None else start + seconds)
    stopped = ""
    if cut is not None:
        n = len(full.done)
        some = "the simplest model alone was" if n == 1 else f"{n} models were"
        stopped = f"{some} judged of {len(candidates)} within {seconds:g} seconds"
        warn_caller(
            f"estimator='auto': {stopped}; more time (`limits`) judges more", StoppedWarning
        )
    if averaged and len(full.done) > 1:
        full.mean_of_two()
    judged = [one.judged for one in full.done]
    ranking = full.judge.ranking(judged)
    known = [*(cut or []), *(TriedModel(one.name, 0) for one in candidates if one not in going_on)]
    task.choice = ModelChoice.of(
        task.data.goal, judged, ranking, len(splits), known, tuple(left_out), stopped
    )
    chosen = full.done[ranking.best]
    first, fitted = chosen.parts[0], full.finished(chosen)
    task.model, task.params = first.model, params[first.name]
    return fitted, now() - start


def _promising(
    task: Task,
    fold: Fold,
    candidates: Sequence[ModelCandidate],
    params: Mapping[str, Mapping[str, Any]],
) -> Sequence[ModelCandidate]:
    """Of many rows: the candidate that does best on a sample, and simpler ones that may do so."""
    true = task.data.true
    if len(true) < _MANY or len(candidates) < 2:
        return candidates
    rng, size = np.random.default_rng(task.seed), int(_SAMPLE * len(true))
    train, test = (np.sort(rng.permutation(part)[:size]) for part in fold)
    held = [np.bincount(true[part], minlength=int(true.max()) + 1) for part in (train, test)]
    if np.min(held) < _FEWEST:
        return candidates
    try:
        sample = Race(task, [(train, test)], params)
        sample.run(candidates, np.inf)
        ranking = sample.judge.ranking([one.judged for one in sample.done])
    except GoalError:  # such as a group without rows
        return candidates
    return [
        one
        for k, one in enumerate(candidates)
        if k == ranking.best or (k < ranking.best and k in ranking.ties)
    ]


def _staged(response: Response, rounds: Sequence[int], model: Any, X: Any) -> list[Floats]:
    """The scores of boosting after some of its rounds, and after all."""
    out = []
    for n in rounds:
        rows, last = model[:-1].transform(X), model[-1]
        if hasattr(last, "staged_predict_proba"):
            found = next(islice(last.staged_predict_proba(rows), n - 1, None))
        else:
            found = last.predict_proba(rows, num_iteration=n)
        out.append(response.scores(model, found))
    return [*out, response(model, X)]


_threads = partial(threadpool_limits, user_api="openmp")
"""For one fit; None: as many as there are."""


def _fit(threads: int | None, *args: Any) -> tuple[Any, Any]:
    with _threads(threads):
        return fit_fold(*args)


def _weights_for(one: ModelCandidate, weight: Any) -> dict[str, Any]:
    """Sample weights as the candidate's ``fit`` takes them."""
    if weight is None:
        return {}
    with config_context(enable_metadata_routing=False):
        name = weight_parameter(one.model)
    if not name:
        raise InputError(
            f"`sample_weight`: the candidate {one.name!r} takes none, and weights are never "
            "ignored; leave it out of `candidates`"
        )
    return {name: weight}

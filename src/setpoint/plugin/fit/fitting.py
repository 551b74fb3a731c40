"""From a model, or several, and rows to a rule, and a rule found anew for unlabelled rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_is_fitted
from threadpoolctl import threadpool_limits

from setpoint import blackbox, classifiers, judging, search
from setpoint.array_types import Floats
from setpoint.counts import Evidence, Units, counted_rows
from setpoint.errors import EmptyPopulationError, GoalError, InputError, warn_caller
from setpoint.goals import TABLE, Goal, Metric, walk
from setpoint.inputs import CheckedData, DecideOn, column_names, content_of, in_frame, some
from setpoint.plugin.fit.crossfit import (
    CrossFit,
    JointModel,
    JointPosterior,
    Response,
    Retrained,
    Retraining,
    cross_fit,
    fit_fold,
    left_out,
    splits_of,
    weight_parameter,
)
from setpoint.plugin.problem import BASELINES, Options
from setpoint.plugin.selection import RuleFinder, quick, solve_evidence
from setpoint.plugin.solvers.searching import RETRAININGS, search_space
from setpoint.program import link
from setpoint.report import GoalReport, rule_facts, with_words
from setpoint.rules import Argmax, Mixture, PerSegment, Rule, Threshold
from setpoint.search import Found, StoppedWarning, now
from setpoint.solvers import HoldOut

if TYPE_CHECKING:
    from setpoint.plugin.classifier import PlugInClassifier


# --- Ways from a model and rows to a rule: posteriors, joint posteriors ---------------------------


Fitted: TypeAlias = tuple[Any, JointModel | Retrained | None, Found, GoalReport]
"""A model, what the rule's scores come from if not from the model, and the rule."""


class Task:
    """A model to fit and a rule to find; models that do not fit together are refused."""

    choice: judging.ModelChoice | None = None

    def __init__(
        self,
        owner: PlugInClassifier,
        data: classifiers.FitData,
        given: Any,
        params: Mapping[str, Any],
        progress: search.Progress,
    ) -> None:
        self.owner, self.data = owner, data
        self.options = replace(owner._options(data.solver), progress=progress).settled(data.goal)
        posterior = self.options.takes_posteriors(len(data.classes.labels))
        self.response = Response(owner._answers.method, data.classes, posterior)
        self.model = owner._model()
        if owner._auto is None:
            self.response.name(self.model)
        routed = owner._routed(data.weight, {k: data.own(v) for k, v in params.items()})
        self.params: Mapping[str, Any] = routed.estimator.fit
        self.split_params: Mapping[str, Any] = routed.splitter.split
        self.cv = None if owner._is_given_fitted else owner._split
        self.refit = owner._is_given_fitted or not isinstance(owner.cv, HoldOut)
        self.seed = data.key % 2**32
        self.notes = available_columns(owner.decide_on, data.goal, given, data.X)[1]

    def run(self) -> Fitted:
        """Fit and search, by the way that fits the goal."""
        if self.options.oracle is not None:
            return self.by_retraining(self.options.oracle)
        joint = self.response.posterior and self.hides_groups
        if self.owner._auto is None:
            return self.by_joint_scores() if joint else self.by_scores()
        fitted, seconds = race(self, averaged=not joint)
        assert self.choice is not None
        # A model of group and class together is of the same kind.
        *model, report = self.by_joint_scores() if joint else self.by_scores(fitted)
        search, run = report.search, report.run
        why = "; ".join(text for text in (search.why, self.choice.why) if text)
        report = replace(
            report,
            search=replace(search, why=why),
            sections=(*report.sections, self.choice),
            run=replace(run, seconds=(run.seconds or 0.0) + seconds),
        )
        return *model, report

    def splits(self, by: Any) -> list[classifiers.Fold]:
        """The folds, drawn once."""
        own = self.data.X, by, self.refit, self.seed, self.split_params, self.data.units
        splits = splits_of(self.cv, *own)
        self._check_scored(np.unique(np.concatenate([test for _, test in splits])))
        return splits

    # ------------------------------------------------------------------ posteriors
    def by_scores(self, fitted: CrossFit | None = None) -> Fitted:
        """The rule over out-of-fold scores or posteriors of the model."""
        data, metric = self.data, None
        if data.metric is not None:
            metric = blackbox.measured_on(data.metric, data.classes, data.given[None])
        if fitted is None:
            fitted = self._cross_fitted(data.y, self.response, data.y)
        score = self._scoring(partial(self.response, fitted.model))
        inputs = data.judged.take(fitted.index)
        others = {name: score(data.given[name].X) for name in inputs.tables if name is not None}
        evidence = inputs.evidence(others | {None: fitted.scores})
        if metric is not None:
            metric = blackbox.rows_taken(metric, fitted.index, len(data.true))
        more = {"blocks": self._blocks(inputs, fitted.index), "metric": metric}
        return fitted.model, None, *self._decided(fitted, inputs, evidence, score, **more)

    def _blocks(self, inputs: CheckedData, index: NDArray[np.int64] | None) -> Units | None:
        """Rows with equal content, where the rows that choose and those that certify are split."""
        split = self.data.promised is not None and self.data.certifying is None
        if not split or self.data.units is not None:
            return None
        if len(inputs.tables) > 1:
            raise GoalError(
                "`confidence`: the model is fitted already and the goal refers to further data "
                "sets: rows that are in several of them could choose the rule and certify it; give "
                "rows of their own to certify with (`certify_on`)"
            )
        found = classifiers.same_content(content_of(self.data.X), self.data.judged.kinds(None))
        if found is None:
            return None
        own = found if index is None else found.take(index)
        return own.take(counted_rows(inputs.tables[None].weight))

    def _cross_fitted(self, y: Any, response: Any, stratify: Any) -> CrossFit:
        X, owner = self.data.features, self.owner
        if owner._fits_nothing:
            check_is_fitted(self.model)
            return CrossFit(self.model, response(self.model, X), None, None)
        own: dict[str, Any] = {"n_jobs": owner.n_jobs, "verbose": owner.verbose}
        splits = self.splits(stratify)
        return cross_fit(
            self.model, X, y, splits, response, refit=self.refit, params=self.params, **own
        )

    def _check_scored(self, index: NDArray[np.int64]) -> None:
        """Refuse folds that leave out all rows of a group of the goal, before any fit."""
        if len(index) == len(self.data.true) or self.data.goal.is_blackbox:
            return
        try:
            self.data.judged.take(index).bind()
        except EmptyPopulationError as error:
            raise EmptyPopulationError(
                f"`cv`: the rule is found on {len(index):,} of {len(self.data.true):,} rows, and "
                f"among them {error}; take more rows, or folds that have some"
            ) from None

    def _decided(
        self,
        fitted: CrossFit,
        inputs: CheckedData,
        evidence: Evidence,
        score: Callable[[Any], Floats],
        **more: Any,
    ) -> tuple[Found, GoalReport]:
        """The rule on these scores, with what the folds and the order of the rows say of it."""
        order = fitted.order_in_words(inputs.tables[None].labels)
        notes = (*self.notes, *self._unevenly_counted(fitted), *([order] if order else []))
        if self.data.certifying is not None:
            scored = self.data.certifying.evidence(score)
            more["certification"] = self.data.certification(self.owner, lambda _: scored)
        more |= {"folds": fitted.folds, "notes": notes, "confidence": self.data.promised}
        try:
            return solve_evidence(inputs, evidence, self.options, **more)
        except search.InfeasibleError as error:
            if order:
                error.args = (str(error).replace(error.finding, f"{error.finding}. {order}", 1),)
            raise

    def _unevenly_counted(self, fitted: CrossFit) -> Iterator[str]:
        """Rows that the folds score more than once, or never."""
        if fitted.index is None or fitted.folds == 1:
            return
        n_rows, n_scored = len(self.data.true), len(np.unique(fitted.index))
        if len(fitted.index) > n_scored:
            yield "cv scores rows more than once and each time counts: intervals are too narrow."
        if n_scored < n_rows:
            yield (
                f"cv never scores {n_rows - n_scored:,} of {n_rows:,} rows: the rule was found on "
                "the others, and these do not count."
            )

    # ------------------------------------------------------------------ joint posteriors
    @property
    def hides_groups(self) -> bool:
        """Whether the goal tells groups apart that the rule may not, and x can tell of them."""
        options, needs = self.options, self.data.goal.needs
        if self.owner._fits_nothing or options.evidence == "label" or options.solver in BASELINES:
            return False
        # Models of group and class know no more than these.
        beyond = needs.datasets or needs.baseline or needs.measures or self.data.goal.defers
        if beyond or not needs.columns.get(None):
            return False
        return self.data.judged.rows.codebook.hides_strata

    def by_joint_scores(self) -> Fitted:
        """The rule over out-of-fold posteriors of group and class."""
        part = replace(self.data.judged.tables[None], weight=None)
        rows = replace(self.data.judged, tables={None: part}).rows
        joint = JointPosterior.of(rows)
        labels = joint.labels(rows)
        # How many rows of a label every fold wants.
        n_folds = int(self.cv or 5) if isinstance(self.cv, (int, np.integer, type(None))) else 2
        fitted = self._cross_fitted(labels, joint, joint.for_folds(labels, n_folds))
        inputs = self.data.judged.take(fitted.index)
        kept = fitted.scores[counted_rows(inputs.tables[None].weight)]
        fitted = replace(fitted, scores=joint.marginal(fitted.scores))
        evidence = inputs.evidence({None: fitted.scores})
        counted = evidence.with_posteriors(kept, joint.joint_columns(evidence.rows))
        scorer = JointModel(joint, fitted.model)
        score = self._scoring(scorer.scores)
        found, report = self._decided(fitted, inputs, evidence, score, counted=counted)
        columns = "; ".join(f"column {k + 1} is of {joint.words(k)}" for k in range(joint.n_scores))
        text = f"{report.rule.text}\nThe score has columns for group and class: {columns}."
        return self._fitted_on_all(), scorer, found, with_words(report, text)

    def _fitted_on_all(self) -> Any:
        return clone(self.model).fit(self.data.features, self.data.y, **self.params)

    def _scoring(self, score: Callable[[Any], Floats]) -> Callable[[Any], Floats]:
        """Scores of rows as users give them."""
        return lambda X: score(self.owner._features(X, None))

    # ------------------------------------------------------------------ a retrained learner
    def by_retraining(self, learner: Any) -> Fitted:
        """The rule that draws among learners trained for the oracle's objectives."""
        data = self.data
        if data.promised is not None:
            raise GoalError(
                "confidence does not go with ColumnGeneration(oracle=): the rule draws among "
                "models that were trained for it; leave one of them out"
            )
        if data.goal.needs.datasets:
            raise GoalError(
                "`oracle` is trained on the rows of X alone, and the goal refers to "
                f"{list(data.goal.needs.datasets)}"
            )
        kept, everything, notes = data.kept, data.judged.rows, self.notes
        train = test = np.arange(len(kept))
        if isinstance(self.cv, float):
            own = data.X, data.y, False, self.seed, self.split_params, data.units
            fold = splits_of(self.cv, *own)[0]
            train, test = (np.flatnonzero(np.isin(kept, part)) for part in fold)
        else:
            notes += (
                "Decisions were counted on the rows that the learners were trained on: new rows "
                "will do worse. A float cv sets rows apart.",
            )
        evidence = Evidence(everything.take(test), np.zeros(len(test)))
        X, whole = data.features, len(train) == len(data.true)
        X_train = X if whole else _safe_indexing(X, kept[train])
        X = X_train if test is train else _safe_indexing(X, kept[test])
        linked = link(data.goal, evidence.codebook)
        program, limits = linked.at(evidence.marginals), self.options.watch(RETRAININGS)
        training = learner, everything.take(train), X_train, X
        space = Retraining(program.table, evidence, *training, limits=limits)
        started = now()
        with classifiers.heard() as caught:
            found = search_space(space, program, self.options)
        why = f"a {type(learner).__name__} trained at each call; {found.why}"
        found, report = classifiers.decide(
            linked, replace(found, why=why), caught, started=started, family="plugin", notes=notes
        )
        scorer, rule = space.finish(found.choice)
        model = self.model if self.owner._fits_nothing else self._fitted_on_all()
        report = with_words(report, space.words(found.choice))
        return model, scorer, replace(found, rule=rule), report


# --- Several models: each is fitted fold by fold, and judged by the goal --------------------------


_SMALL = 1_000_000
"""Values in a table up to which threads cost more than they save, a lot on a busy machine."""

_MANY, _SAMPLE, _FEWEST = 50_000, 0.1, 100
"""From how many rows a sample is looked at first; its share of the rows, to fit on and to judge on;
and how many rows of each class it holds at least."""


def judge_by_rules(inputs: CheckedData, options: Options | None = None) -> judging.Judge:
    """A judge who finds the best rule over scores by a quick search."""
    own = quick(options or Options(randomized=False))

    def find(goal: Goal, evidence: Evidence) -> Found:
        linked = link(goal, evidence.codebook)
        return judging.in_quiet(RuleFinder(linked, evidence, own, inputs.sees))

    return judging.Judge(inputs, find)


@dataclass(frozen=True, eq=False)
class _Entrant:
    """A model, or the mean of two, with scores of all folds."""

    parts: Sequence[judging.ModelCandidate]
    scores: Mapping[str | None, Floats]
    kept: Sequence[Any]
    judged: judging.Judged


class Race:
    """Candidates on some folds of the rows of one fit, judged by its goal."""

    def __init__(
        self, task: Task, splits: list[classifiers.Fold], params: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.task, self.splits, self.params = task, splits, params
        data, options = task.data, task.options
        self.sets = {
            n: task.owner._features(data.given[n].X, None)
            for n in data.judged.tables
            if n is not None
        }
        self.order, self.index, self.fold = left_out(splits, len(data.true), once=True)
        width = data.X.shape[1] if len(getattr(data.X, "shape", ())) == 2 else 1
        self.threads = 1 if int(_num_samples(data.X)) * width <= _SMALL else None
        # By one kind of evidence for all models.
        if task.response.posterior and options.evidence == "auto":
            options = replace(options, evidence="label")
        self.judge = judge_by_rules(data.judged.take(self.index), options)
        self.done: list[_Entrant] = []

    def run(
        self, candidates: Sequence[judging.ModelCandidate], until: float
    ) -> list[judging.TriedModel] | None:
        """Fit and judge as many as the time lets; what was begun then, None: all were judged."""
        for group in self._fitted_together(candidates):
            pieces = self._fitted(group, until if self.done else np.inf)
            if len(pieces) < len(self.splits):  # time ended
                return [judging.TriedModel(group[0].name, len(pieces))] if pieces else []
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
        parts: Sequence[judging.ModelCandidate],
        scores: Mapping[str | None, Floats],
        kept: Sequence[Any],
    ) -> None:
        first, *others = (one.name for one in parts)
        name = f"mean of {first} and {others[0]}" if others else first
        self.done.append(_Entrant(parts, scores, kept, self.judge.of_scores(name, scores)))

    # ------------------------------------------------------------------ fitting
    def _fitted_together(
        self, candidates: Sequence[judging.ModelCandidate]
    ) -> list[Sequence[judging.ModelCandidate]]:
        """Boosting of many rounds gives the scores after fewer on its way, unless it is kept."""
        longer = [one for one in candidates if one.rounds]
        if self.sets or not self.task.refit or len(longer) < 2:
            return [[one] for one in candidates]
        return [*([one] for one in candidates if not one.rounds), longer]

    def _fitted(
        self, group: Sequence[judging.ModelCandidate], until: float
    ) -> list[tuple[Any, list[Floats]]]:
        """The model, where it is kept, and scores, fold by fold unless the time ends."""
        task, splits, X = self.task, self.splits, self.task.data.features
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
                            self.threads,
                            clone(last.model),
                            X,
                            task.data.y,
                            fold,
                            *own,
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
                    models[one.name] = clone(one.model).fit(data.features, data.y, **own)
        return CrossFit(judging.mean_of(models), chosen.scores[None], self.index, self.fold)


def race(task: Task, averaged: bool) -> tuple[CrossFit, float]:
    """Choose the task's model, `averaged`: the mean of two too; its scores, and the seconds."""
    start, seconds = now(), task.options.limits.seconds
    splits = task.splits(task.data.y)
    candidates, left_out = judging.candidates_of(task.owner._auto, task.data.features, task.seed)
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
    known = [
        *(cut or []),
        *(judging.TriedModel(one.name, 0) for one in candidates if one not in going_on),
    ]
    task.choice = judging.ModelChoice.of(
        task.data.goal, judged, ranking, len(splits), known, tuple(left_out), stopped
    )
    chosen = full.done[ranking.best]
    first, fitted = chosen.parts[0], full.finished(chosen)
    task.model, task.params = first.model, params[first.name]
    return fitted, now() - start


def _promising(
    task: Task,
    fold: classifiers.Fold,
    candidates: Sequence[judging.ModelCandidate],
    params: Mapping[str, Mapping[str, Any]],
) -> Sequence[judging.ModelCandidate]:
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


def _weights_for(one: judging.ModelCandidate, weight: Any) -> dict[str, Any]:
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


# --- A rule found anew on unlabelled rows; the model stays ----------------------------------------


def adapted(
    classifier: PlugInClassifier, X: Any, sensitive_features: Any, baseline: Any
) -> tuple[Found, GoalReport, bool]:
    """The rule that is best if the posteriors are right, and whether it decides by them."""
    goal, options = classifier._goal(), classifier._options(classifier._chosen()[0])
    if goal.is_blackbox:
        raise GoalError(f"adapt: {goal.objective} needs labels, and these rows have none")
    solver = "auto" if options.solver in ("exact", "post-shift") else options.solver
    options = replace(options, solver=solver, evidence="soft")
    require_label_free(goal)
    rows = classifiers.given_rows(classifier, goal, X, None, None, sensitive_features, baseline)
    decide_on, notes = available_columns(classifier.decide_on, goal, sensitive_features, X)
    inputs = CheckedData.check(goal, classifier._classes, rows, decide_on, unlabelled=True)
    response = Response(classifier._answers.method, classifier._classes, posterior=True)
    response.name(classifier.estimator_)
    features = classifier._features(X, None)
    evidence = inputs.evidence({None: response(classifier.estimator_, features)})
    found, report = solve_evidence(inputs, evidence, options, notes=notes)
    rule = None
    if found.rule.n_classes == 2 and not found.rule.value_columns:
        rule = as_thresholds(found.rule, evidence.scores)
    if rule is None:
        return found, report, True
    facts = rule_facts(rule, evidence, report.rule.drawn)
    return replace(found, rule=rule), replace(report, rule=facts), False


# --- Rules over the posteriors of two classes as thresholds on one of them ------------------------


INF = float("inf")


def as_thresholds(rule: Rule, posteriors: Floats) -> Rule | None:
    """A rule over posteriors of two classes written as thresholds."""
    if isinstance(rule, PerSegment) and rule.by == "top":
        return _between(rule, posteriors)
    if isinstance(rule, PerSegment):
        parts = [as_thresholds(part, posteriors) for part in rule.rules]
        found = tuple(part for part in parts if part is not None)
        return PerSegment(found, rule.segments) if len(found) == len(parts) else None
    if isinstance(rule, Mixture):
        atoms = [(p, as_thresholds(part, posteriors)) for p, part in rule.atoms]
        known = tuple((p, part) for p, part in atoms if part is not None)
        return Mixture(known) if len(known) == len(atoms) else None
    return _threshold(rule, posteriors) if isinstance(rule, Argmax) else None


def _threshold(rule: Argmax, posteriors: Floats) -> Threshold | None:
    """Where the total of class 1 passes that of class 0, if it does so from below."""
    G, offset = rule.G, (0.0, 0.0) if rule.offset is None else rule.offset
    none, one = G[0, 1] - G[0, 0], G[1, 1] - G[1, 0]
    start, slope = none + offset[1] - offset[0], one - none
    if slope < 0.0:
        return None
    if slope == 0.0:
        return Threshold(-INF if start > 0.0 else INF)
    return _between(rule, posteriors, -start / slope)


def _between(rule: Rule, posteriors: Floats, at: float = INF) -> Threshold | None:
    """A threshold that separates the rows as the rule does: `at`, or midway where it does not."""
    score, accepted = posteriors[:, 1], rule.decide(posteriors) == 1
    below = score[~accepted].max(initial=-INF)
    above = score[accepted].min(initial=INF)
    if not below < at <= above:  # by rounding
        at = 0.5 * (below + above) if np.isfinite(below) and np.isfinite(above) else above
    return Threshold(float(at)) if below < at <= above else None


# --- Columns that a rule may look at, as far as ``predict`` will have them ------------------------


def available_columns(
    decide_on: DecideOn, goal: Goal, given: Any, X: Any
) -> tuple[DecideOn, tuple[str, ...]]:
    """What the rule may look at, and a note on what it may not."""
    if decide_on != "auto" or given is None:
        return decide_on, ()
    numbers = goal.needs.measures.get(None, {})
    there = [name for name in numbers if in_frame(X, name)]
    names = sorted({*goal.needs.columns.get(None, {}), *numbers} - {*there})
    if not names:
        return there or None, ()
    return there or None, (
        f"The rule does not look at {', '.join(names)}: that was passed to fit and is not in "
        "X. `decide_on` names columns that predict will be given too.",
    )


@contextmanager
def naming_groups_in(X: Any, *given: Any) -> Iterator[None]:
    """Where a model reads no text: say which of it are the groups that X was given with."""
    try:
        yield
    except ValueError as error:
        words = [w for one in given for w in (one if isinstance(one, list) else [one])]
        words = [w if isinstance(w, str) else getattr(w, "name", None) for w in words]
        named = [name for name in column_names(X) or () if name in words]
        if not named or "could not convert string" not in str(error):
            raise
        raise InputError(
            f"{error}: the model is fitted on all columns of `X`, on the groups {some(named)} too; "
            "it needs an encoder before it (make_pipeline), or pass X without them and "
            "`sensitive_features=` as columns to fit"
        ) from error


# --- Goals that can be pursued on unlabelled rows: what ``adapt`` takes ---------------------------


def require_label_free(goal: Goal) -> None:
    """Refuse a goal that cannot be pursued on unlabelled rows alone."""
    if goal.needs.datasets:
        raise GoalError(
            f"`adapt` takes the rows of X alone, and the goal refers to {list(goal.needs.datasets)}"
        )
    for c in goal.constraints:
        for e in (x for side in (c.lhs, c.rhs) for x in walk(side)):
            if isinstance(e, Metric) and _needs_labels(e):
                raise GoalError(
                    f"{c}: {e.name} needs labels, and `adapt` has none; constraints on "
                    "predicted_rate, churn and their groups can be kept without"
                )


def _needs_labels(e: Metric) -> bool:
    entry = TABLE[e.name]
    if entry.formula is not None:
        parts = walk(entry.formula(**dict(e.params)))
        return any(isinstance(x, Metric) and _needs_labels(x) for x in parts)
    if entry.event is None:
        return True
    given = entry.given is not None and entry.given.needs_truth
    return (entry.event.needs_truth or given) and not entry.event.ignores_prediction

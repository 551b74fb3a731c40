"""What is kept: the plan of a search, its fit, and gains beyond their noise."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.blackbox import (
    BudgetedMetric,
    BudgetSpentError,
    FormulaMetric,
    RowMetric,
    Shift,
    margin,
    smoothed_threshold,
)
from setpoint.classifiers import Training
from setpoint.errors import EmptyPopulationError, InputError, warn_caller
from setpoint.parameters import SATISFIED
from setpoint.report import measured_entry
from setpoint.rules import Threshold
from setpoint.search import Found
from setpoint.solvers import AdaptiveSurrogates, SearchLimits, Solver, SurrogateWeights
from setpoint.surrogates.losses import POINTWISE, Own, check_surrogates
from setpoint.surrogates.problem import Sample
from setpoint.surrogates.solvers import (
    BestCandidates,
    Descent,
    Differences,
    Estimator,
    KeptModels,
    SurrogateSearch,
    WeightSearch,
    fitted,
)
from setpoint.surrogates.summary import AdaptiveStep, AdaptiveSummary

# --- What the constructor may be given ------------------------------------------------------------


STARTS = ("post-shift", "logistic", "zero")

_EVALUATIONS = 2000
"""Where the user sets none."""


def evaluations_of(limits: SearchLimits) -> int:
    """The most evaluations of the metric."""
    return _EVALUATIONS if limits.evaluations is None else int(limits.evaluations)


def check_surrogates_for(solver: Solver, surrogates: Any) -> tuple[Any, ...]:
    """The kinds of surrogates that a user names, one entry each."""
    kinds = check_surrogates(surrogates)
    pointwise = len(kinds) == 1 and isinstance(kinds[0], str) and kinds[0] in POINTWISE
    if isinstance(solver, AdaptiveSurrogates) and not solver.on_parameters and not pointwise:
        raise InputError(
            f"`gradient={solver.gradient!r}` moves the scores of each surrogate's rows until it "
            f"has a given value, which takes one of {list(POINTWISE)}; 'interpolation' takes any"
        )
    return kinds


# --- How to search, and what the budget is spent on -----------------------------------------------


COARSE = 10
"""Cut-offs of the probe."""

_PROBE = "interpolation"
"""The estimate of the probe, the only one of a search over weights."""

FEW = 2
"""Perturbations of the probe where no gradients are needed."""

_DRAWS = 50


@dataclass(frozen=True)
class SearchPlan:
    """How to search: the options of the estimator, settled."""

    solver: AdaptiveSurrogates | SurrogateWeights
    m: int
    budget: int

    @classmethod
    def of(cls, solver: Any, limits: SearchLimits, n_surrogates: int) -> SearchPlan:
        """The plan for parameters that were checked."""
        m = getattr(solver, "n_perturbations", "auto")
        m = max(10, 3 * n_surrogates) if m == "auto" else int(m)
        plan = cls(solver, m, evaluations_of(limits))
        least = plan
        while least.budget < least.least:  # what is kept for afterwards grows with the budget
            least = replace(least, budget=least.least)
        if least is plan:
            return plan
        what = "models" if plan.over_weights else f"one gradient of {2 * m} evaluations"
        raise InputError(
            f"`evaluations={plan.budget}` are too few: {what}, the cut-off of the baseline and "
            f"what a gain is compared with need {least.budget}"
        )

    @property
    def over_weights(self) -> bool:
        """Whether each evaluation trains a model, and there are no gradients."""
        return isinstance(self.solver, SurrogateWeights)

    @property
    def starts(self) -> tuple[str, ...]:
        """Where paths begin, the first one first."""
        return STARTS if self.solver.start == "auto" else (self.solver.start,)

    @property
    def cutoffs(self) -> int:
        """Cut-offs that may be measured on one model's scores."""
        return max(5, self.budget // 10)

    @property
    def draws(self) -> int:
        """Draws of rows by which a gain is judged."""
        return min(_DRAWS, max(10, self.budget // 20))

    @property
    def reserve(self) -> int:
        """Evaluations kept for the last cut-off and for judging the gain."""
        return self.cutoffs + 2 + 2 * self.draws

    @property
    def probe(self) -> int:
        """Evaluations of the probe."""
        return COARSE + 2 * (FEW if self.over_weights else self.m)

    @property
    def least(self) -> int:
        """Evaluations without which nothing can be found."""
        one = 3 if self.over_weights else 2 * self.m + 1
        return self.probe + self.cutoffs + len(self.starts) + one + self.reserve


# --- From candidates to the model that is kept: its cut-off ---------------------------------------


_TRIES = 10


def errors_wanted(n_surrogates: int) -> float:
    """The standard errors that a gain has to exceed: one for two surrogates.

    Examples
    --------
    >>> errors_wanted(2), round(errors_wanted(10), 2)
    (1.0, 2.24)
    """
    return float(np.sqrt(max(n_surrogates, 2) / 2.0))


def drawn_rows(metric: RowMetric, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows drawn with replacement, as many of each class as there are."""
    sides = [np.flatnonzero(metric.true == side) for side in (0, 1)]
    for _ in range(_TRIES):
        rows = np.concatenate([rng.choice(side, len(side)) for side in sides])
        try:
            metric.take(rows)
        except EmptyPopulationError:
            continue
        break
    return rows


def gain_error(
    metered: BudgetedMetric, scores: Floats, n_draws: int, rng: np.random.Generator
) -> tuple[float, Floats]:
    """The bootstrap standard error of a gain, and the values that it comes from."""
    draws = [drawn_rows(metered.metric, rng) for _ in range(n_draws)]
    values = metered.drawn(draws, scores)
    found = values[~np.isnan(values).any(axis=1)]
    if len(found) < 2:
        return float("inf"), found
    return float(np.std(found[:, 0] - found[:, 1], ddof=1)), found


# --- One fit on prepared samples: the probe, the baseline, the search -----------------------------


_WIDE = 0.5
"""The probe's change of the scores, in their standard deviations."""

_ROWS_A_MODEL = 15
"""Rows of the metric for each model of a search over weights: more would fit the sample."""

_ITERATIONS = 10
"""Of the training of such a model, in those of a projection."""


class NotMonotoneWarning(UserWarning):
    """A metric gets better as a surrogate gets worse."""


@dataclass(frozen=True, eq=False)
class Selected:
    """The models that are kept, their scores and values in draws, and what the report says."""

    models: Floats
    baseline: Floats
    scores: Floats
    draws: Floats
    cuts: bool
    summary: AdaptiveSummary
    value: float
    """The metric of the models that are kept."""


@dataclass(eq=False)
class SampleSearch:
    """One fit on prepared samples; what was met is there as soon as it is."""

    sample: Sample
    metered: BudgetedMetric
    plan: SearchPlan
    rng: np.random.Generator
    met: BestCandidates = field(default_factory=lambda: BestCandidates(0))
    steps: list[AdaptiveStep] = field(default_factory=list)

    def run(self) -> Selected:
        """Probe, baseline, search, last cut-off, and whether all that is taken."""
        self._check_own()
        monotone = self._probe()
        shift = self.shifted(self.sample.first)
        first = self.sample.first
        baseline = self._kept(first if shift.constant else self.moved(first, shift), "post-shift")
        best = self._searched(baseline.models, monotone)
        if best is None or not best.gain > baseline.gain:
            best = baseline
        elif not shift.constant:
            best = self.last_cut(best)
        return self.selected(baseline, best, cuts=not shift.constant)

    def _kept(self, models: Floats, start: str) -> KeptModels:
        return KeptModels(self.metered.gain(self.sample.scores(models)), models, start)

    # ------------------------------------------------------------------ before
    def _check_own(self) -> None:
        """The user's own surrogates, before the metric is asked anything."""
        fold = self.sample.folds[-1]
        scores = fold.train.scores(self.sample.first[-1])
        for term in fold.losses.terms:
            if isinstance(term, Own):
                term.check(scores, np.random.default_rng(0))

    def _probe(self) -> bool:
        """Whether the metric falls as surrogates rise; an error if it never moves."""
        sample, metric, first = self.sample, self.metered.metric, self.sample.first
        f = sample.scores(first)
        ranks = np.linspace(0.0, 1.0, COARSE)
        cuts = np.quantile(f, ranks, method="inverted_cdf")
        gains = self.metered(np.stack([margin(f, t) for t in cuts]))
        m = FEW if self.plan.over_weights else self.plan.m
        found = Estimator(sample, self.metered, _PROBE, m, self.rng).differences(first, _WIDE)
        if np.ptp(gains) == 0.0 and found.moved == 0.0:
            raise InputError(
                f"{metric.name} is {metric.sense * float(gains[0]):.6g} for all of "
                f"{self.metered.used} different decisions: there is nothing to optimise. Check "
                "that it looks at what it is given"
            )
        wrong, all_wrong = ([], False) if self.plan.over_weights else _non_monotone(found)
        if not wrong:
            return True
        names = [sample.names[k] for k in wrong]
        turned = "; check `greater_is_better`" if all_wrong else ""
        warn_caller(
            f"{metric.name} is not monotone in the surrogates: it gets better as "
            f"{', '.join(names)} get{'' if len(names) > 1 else 's'} worse{turned}. Gradients are "
            "fitted without that assumption",
            NotMonotoneWarning,
        )
        return False

    # ------------------------------------------------------------------ the search
    def _searched(self, baseline: Floats, monotone: bool) -> KeptModels | None:
        plan, solver, sample, metered = self.plan, self.plan.solver, self.sample, self.metered
        first = sample.first
        known = {"post-shift": baseline, "logistic": first, "zero": np.zeros_like(first)}
        rounds = _ITERATIONS if plan.over_weights else 1
        shared = sample, metered, rounds * int(solver.inner_iter), plan.reserve
        kept: dict[str, Any] = {"met": self.met, "steps": self.steps}
        search: SurrogateSearch
        if isinstance(solver, AdaptiveSurrogates):
            sigma = None if solver.sigma == "auto" else float(solver.sigma)
            slope = Estimator(sample, metered, solver.gradient, plan.m, self.rng, sigma, monotone)
            starts = {name: known[name] for name in plan.starts}
            how = float(solver.step), int(solver.max_iter)
            search = Descent(*shared, slope, starts, *how, **kept)
        else:
            most = max(metered.metric.n_rows // _ROWS_A_MODEL, 3)
            search = WeightSearch(*shared, plan.starts[0], known[plan.starts[0]], most, **kept)
        with metered.limits.keeping(True):  # the baseline, at least
            search.run()
        return search.best

    # ------------------------------------------------------------------ after
    def shifted(self, models: Floats) -> Shift:
        """The smoothed cut-off; a goal with a formula costs no evaluations for it."""
        f, metric = self.sample.scores(models), self.metered.metric
        smooth, most = self.plan.solver.smooth, self.plan.cutoffs
        return smoothed_threshold(self.metered, f, metric.weight, smooth=smooth, most=most)

    def moved(self, models: Floats, shift: Shift) -> Floats:
        """Models whose scores are at least 0 where the cut-off was reached."""
        cut = float(shift.thresholds[0])
        if np.isinf(cut):  # everybody or nobody, by a cut-off beyond all scores
            f = self.sample.scores(models)
            cut = float(f[0] - margin(f, cut)[0])
        out = models.copy()
        out[:, -1] -= cut
        return out

    def last_cut(self, found: KeptModels) -> KeptModels:
        """The models with the smoothed cut-off, where that does not lose on the sample."""
        limits = self.metered.limits
        if limits.stopped:
            return found
        after = found
        with limits.keeping(True), suppress(BudgetSpentError):
            moved = self.moved(found.models, self.shifted(found.models))
            after = self._kept(moved, found.start)
        return after if after.gain > found.gain else found

    def selected(self, baseline: KeptModels, best: KeptModels, *, cuts: bool) -> Selected:
        """The best models where their gain is beyond its standard errors, else the baseline."""
        sense, limits = self.metered.metric.sense, self.metered.limits
        gain = best.gain - baseline.gain
        pair = np.stack([self.sample.scores(c.models) for c in (best, baseline)])
        error, values, astray = None, np.empty((0, 2)), ""
        if gain > 0 and not limits.stopped:
            own = self.sample.own_scores(best.models)
            refit = baseline.gain if own is None else self.metered.gain(own)
            if refit < baseline.gain:
                astray = (
                    f"the model of all rows reaches {sense * refit:.4g} even on rows that it was "
                    "trained on, so it is not the one that the folds' models speak for"
                )
            else:
                with limits.keeping(True):  # unjudged, at least
                    error, values = gain_error(self.metered, pair, self.plan.draws, self.rng)
        if not gain > 0:
            accepted, why = False, "nothing better than the baseline was found"
        elif astray:
            accepted, why = False, astray
        elif error is None:
            accepted = True
            why = f"{limits.stopped}, so its best is taken without the gain being judged"
        else:
            wanted = errors_wanted(len(self.sample.names))
            accepted = gain > wanted * error
            size = "one bootstrap standard error"
            size = size if wanted == 1 else f"{wanted:.3g} bootstrap standard errors"
            more = "more" if accepted else "not more"
            why = f"the gain of {gain:.4g} is {more} than {size}, {wanted * error:.4g}"
        kept, row = (best, 0) if accepted else (baseline, 1)
        base, found, used = sense * baseline.gain, sense * best.gain, self.metered.used
        summary = AdaptiveSummary(
            self._baseline(cuts), base, found, accepted, why, error, len(values), used,
            budget=self.plan.budget,
            search="weights" if self.plan.over_weights else "gradient",
            gradient=getattr(self.plan.solver, "gradient", _PROBE),
            start=best.start,
            surrogates=self.sample.names,
            path=tuple(self.steps),
            greater_is_better=sense > 0,
        )  # fmt: skip
        return Selected(
            kept.models, baseline.models, pair[row], values[:, row], cuts, summary,
            found if accepted else base,
        )  # fmt: skip

    def _baseline(self, cuts: bool) -> str:
        """What the search is compared with, in words."""
        out = "logistic regression" if self.sample.folds[-1].body is None else "the network"
        cut = "the best cut-off" if self.plan.solver.smooth is None else "a smoothed cut-off"
        out += f" with {cut}" if cuts else ""
        metric = self.metered.metric
        if isinstance(metric, FormulaMetric) and metric.goal.constraints:
            out += f", less {metric.penalty:g} for a unit of violation,"
        return out


def _non_monotone(found: Differences) -> tuple[list[int], bool]:
    """Surrogates that the metric's loss falls with, beyond three standard errors."""
    h, d = found.surrogates, found.losses
    n, k = h.shape
    if n <= k or np.linalg.matrix_rank(h) < k:
        return [], False
    g = fitted(found, monotone=False)
    residual = d - h @ g
    variance = residual @ residual / (n - k)
    error = np.sqrt(variance * np.diag(np.linalg.inv(h.T @ h)))
    large = np.abs(g) > 0.2 * np.abs(g).max()
    wrong = np.flatnonzero((g < -3.0 * error) & large)
    return wrong.tolist(), bool((g[large] < 0).all())


# --- The rule of the model that is kept, and what the report says of the search -------------------


_FEW = 50
"""Rows of a class below which a report warns."""

_NORMAL = 1.959964
"""Standard errors on either side of a 95 % interval."""


@dataclass(frozen=True, eq=False)
class SurrogatesTraining(Training):
    """A search that is over, what it selected, and the metric's rows."""

    search: SampleSearch
    selected: Selected
    whole: RowMetric

    def chosen(self) -> Found:
        """What the model kept reaches on the metric's rows: positive from a score of 0 on."""
        rows, summary = self.judged.evidence({None: self.selected.scores}), self.selected.summary
        rule, goal = Threshold(0.0), self.judged.goal
        confusion = rows.confusion(rule)
        v, misses, objective = np.zeros(0), False, None
        if goal.is_blackbox:  # its value, with a bootstrap interval
            value, draws = self.selected.value, self.selected.draws
            objective = measured_entry(goal, self.search.metered.metric, value)
            if len(draws) > 1:
                half = _NORMAL * float(draws.std(ddof=1))
                ends: dict[str, Any] = {"low": value - half, "high": value + half}
                objective = replace(objective, interval="bootstrap", **ends)
        else:
            program = self.linked.at(rows.marginals)
            v = program.rates_of(confusion.counts)
            misses = bool(goal.constraints and program.violation(v) > SATISFIED)
        weighs = self.search.plan.over_weights
        how = "a search over the surrogates' weights" if weighs else "Algorithm 1"
        result = "what it found is kept" if summary.accepted else "the baseline is kept"
        return Found(
            [], rule, confusion, v, rows, f"{how}: {summary.why}; {result}",
            "nearest" if misses else "feasible", n_calls=self.search.metered.used,
            objective=objective, model=self.selected.models[-1],
        )  # fmt: skip

    def models(self, found: Found) -> list[Found]:
        """The best of the search, with scores of the rows by the models of their folds."""
        known = {m.tobytes(): m for m in (c.models for c in self.search.met.found)}
        known.pop(self.selected.models.tobytes(), None)
        scored = self.search.sample.scores
        return [found] + [
            replace(found, evidence=self.judged.evidence({None: scored(m)}), model=m[-1])
            for m in known.values()
        ]

    def notes(self, found: Found, certified: bool) -> list[str]:
        """What the rows do not show."""
        notes = []
        if not self.selected.cuts:
            notes.append(
                "The metric does not depend on the cut-off, which stays where the model has it: "
                "at a score of 0."
            )
        if certified:
            return notes
        if found.status == "nearest":
            notes.append("Constraints cost here and are not enforced: at least one does not hold.")
        fewest = int(np.bincount(self.search.metered.metric.true, minlength=2)[:2].min())
        if fewest < _FEW:
            notes.append(
                f"The metric was measured on rows of which only {fewest} are of the rarer class: "
                "with so few, the model that looks best often is not, also where its gain was "
                "accepted."
            )
        if self.selected.summary.accepted:
            notes.append(
                "The metric chose among many models on these rows, which flatters it; rows held "
                "out judge it."
            )
        return notes

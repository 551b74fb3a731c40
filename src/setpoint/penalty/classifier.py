"""ExactPenaltyClassifier: its fit, and what training leaves."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.errors import InputError
from setpoint.estimators import (
    FitData,
    TrainedClassifier,
    fingerprint,
    fit_preprocessor,
    folds_of,
    modules,
    transformed,
)
from setpoint.goals import Goal, require_rows_alone
from setpoint.inputs import CheckedTable, least_accepted, row_unit
from setpoint.parameters import From0OrAuto
from setpoint.penalty.losses import stages_of
from setpoint.penalty.network import train_network
from setpoint.penalty.problem import WHOLE, Tradeoff
from setpoint.penalty.selection import (
    Checkpoint,
    HeldOut,
    PenaltyTraining,
    Pool,
    Seconds,
    TrainingPlan,
    TrainingRows,
    at_margins,
    scores_of,
    settled,
)
from setpoint.penalty.solvers import train_linear
from setpoint.search import Limits, StoppedError
from setpoint.solvers import WITHOUT_FORMULA, Minibatches, Portfolio, Solver

# --- From checked arguments to a trained model: rows split ----------------------------------------


_MOST_AT_ONCE = 50_000_000
"""Numbers in X up to which a linear model is trained on all rows at once."""
_HELD_OUT = 0.2
_NARROW = (0.3, 0.1)
"""Of the profiled band at last, in positives: of networks, and of linear models."""


def prepare(e: Any, data: FitData, limits: Limits) -> tuple[TrainingPlan, Any, Codes]:
    """What is to be done on rows that are split; the preprocessor, and the rows that choose."""
    goal, classes, rows, seed = data.goal, data.classes, data.trained_on, data.key % 2**32
    training, linear = Minibatches.of(e.training), e.module == "linear"
    share, train, chosen = e.validation_fraction, rows, None
    if share == "auto":
        share = 0.0 if linear else _HELD_OUT
    if share:
        fewest = int(np.bincount(rows.labels).min())
        if min(share, 1.0 - share) * fewest < 1:
            raise InputError(
                f"`validation_fraction` is {share:g}, and the smaller class has {fewest} rows: "
                "one at least has to be on each side"
            )
        [(fit_on, chosen)] = folds_of(float(share), rows.labels, rows.labels, seed)
        train, chosen = rows.take(np.sort(fit_on)), np.sort(chosen)
    preprocessor = fit_preprocessor(e.preprocessor, train, classes)

    def judged(table: CheckedTable) -> tuple[Tradeoff, TrainingRows, float]:
        """The goal on some rows, the rows, and how much of them has to be accepted."""
        negatives, positives = np.bincount(table.labels, table.weight, minlength=2).tolist()
        total, unit = float(negatives + positives), row_unit(table.weight)
        least = least_accepted(e.min_positives, float(positives), unit)
        if least > total:
            raise InputError(
                f"`min_positives` is {least:g}, and the rows have a weight of {total:g}"
            )
        negative, positive = classes.labels
        tradeoff = Tradeoff(goal, float(negatives), float(positives), (negative, positive))
        rows = TrainingRows(transformed(preprocessor, table.X), table.labels == 1, table.weight)
        return tradeoff, rows, least

    aim = tradeoff, trained, least = judged(train)
    pool = Pool(*(aim if chosen is None else judged(rows.take(chosen))), limits=limits)
    how = settled(training, linear, len(trained)), seed, training.device, limits.tick
    stages = stages_of(data.solver, _NARROW[linear])
    plan = TrainingPlan(tradeoff, stages, trained, least, pool, *how)
    return plan, preprocessor, np.arange(len(rows.labels)) if chosen is None else chosen


def _checkpoint(e: Any, solver: Solver, plan: TrainingPlan) -> Checkpoint | None:
    """The file to go on from, with what has to be the same for that."""
    if e.checkpoint is None:
        return None
    module = e.module if isinstance(e.module, str) else getattr(e.module, "__qualname__", "own")
    settings = {
        "goal": str(plan.goal.goal),
        "module": module,
        "solver": repr(solver),
        "rows": len(plan.train),
        "features": int(plan.train.X.shape[1]),
        "random_state": plan.seed,
        "min_positives": plan.pool.least,
        "certified": plan.pool.beside is not None,
        **{k: v for k, v in asdict(plan.schedule).items() if k != "device"},
        "data": fingerprint(*dict.fromkeys((plan.train, plan.pool.rows))),
    }
    return Checkpoint(e.checkpoint, settings, float(e.checkpoint_every))


# --- ExactPenaltyClassifier: a model trained for the goal itself ----------------------------------


Array = NDArray[Any]


@dataclass(eq=False, repr=False)
class ExactPenaltyClassifier(TrainedClassifier):
    """Train a binary model for a goal, not for a stand-in of it.

    For goals that only gain by accepting a positive and by refusing a negative: recall,
    precision, F-beta, accuracy, G-mean, specificity, cost, with such constraints (Theorem
    B.6 of Peng, Travadi, He, Cui and Sun, "Exact reformulation and optimization for direct
    metric optimization in binary imbalanced classification"). Every iterate is judged by its
    best threshold; cross-entropy stays a candidate, so on the rows that choose the result is
    never worse.

    Parameters
    ----------
    goal : Goal, str or metric
        Over the rows as a whole: no groups, data sets or deployed model.
    module : {"linear", "mlp"} or callable, default="linear"
        "linear" is trained on all rows at once (by minibatches above 50 million numbers);
        "mlp" has three layers of 64 (extra ``torch``). Or a function that makes a torch
        module of shape (n, d) to (n,) or (n, 1), given d if it takes an argument.
    solver : str or Solver, default="portfolio"
        "portfolio" runs all the others and keeps the best iterate; :mod:`setpoint.solvers` says
        what each does, and has its parameters, as in ``EroAdam(reformulation="equality")``.
    preprocessor : "standardize", None or transformer, default="standardize"
        "standardize": dense features by mean and deviation, cut off at 10 deviations;
        sparse ones by their largest value.
    min_positives : "auto" or float, default="auto"
        Weight of rows that have to be predicted positive; precision on fewer says
        nothing. "auto": 20, or 2 % of the positives if that is more, at most half of them.
    validation_fraction : "auto" or float, default="auto"
        Share of the rows held out, on which iterates and the threshold are chosen. "auto":
        0 for "linear", 0.2 for networks. With 0 the training rows choose.
    training : Minibatches, default=None
        Epochs, batches, steps and device of networks (:class:`setpoint.solvers.Minibatches`);
        None: its defaults.
    checkpoint : path, default=None
        A file to which the state of training is written, and from which a training that was
        killed goes on, with the same result. It is removed at the end.
    checkpoint_every : float, default=60.0
        Seconds between two writes.
    confidence : float or Confidence, default=None
        All constraints are to hold on new rows, as of :class:`setpoint.PlugInClassifier`; models of
        the training are tried on the rows that certify, from safe to bold.
    limits : SearchLimits, default=None
        `seconds`: the best candidate by then is kept, with a warning, as on Ctrl-C.
    pos_label : label, default=None
        The positive class; None: the one that the goal names by ``label=``, if it names no
        other, else the larger of two numbers, True, the last of an ordered category, or the
        second of such words as no and yes. Other text needs it where the goal refers to it.
    on_infeasible : {"raise", "nearest"}, default="raise"
    random_state : int, generator or None, default=None
        For the rows held out, networks and the evolution strategy. None: always the same.
    verbose : int, default=0
        1: a line on stderr with objective and violation.

    Attributes
    ----------
    goal_report_ : GoalReport
        On the rows that chose; with `confidence` on those that certify.
    candidates_ : list of dict
        For each method its best iterate there: ``method``, ``objective``, ``violation``,
        ``threshold``.
    rule_ : Threshold
    threshold_ : float
        On logits; ``decision_function`` is what lies above it.
    coef_, intercept_ : arrays of shape (1, d) and (1,)
        Of "linear", for features as preprocessed; the threshold is not in the intercept.
    module_ : torch module
        Of other modules, in eval mode on the CPU.
    preprocessor_ : transformer or None
    trace_ : tuple of TracePoint
        The best candidate so far, whenever it changed.
    classes_ : array of shape (2,)
    positive_ : label
    evidence_ : Evidence or None
        The rows that chose, in the process that fitted.
    n_features_in_, feature_names_in_

    See Also
    --------
    setpoint.PlugInClassifier : After training, for any goal, group and model. Try it first.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from setpoint import ExactPenaltyClassifier
    >>> X, y = make_classification(2_000, weights=[0.9], class_sep=0.8, random_state=0)
    >>> goal = "maximize recall subject to precision >= 0.8"
    >>> clf = ExactPenaltyClassifier(goal, solver="ero").fit(X, y)
    >>> clf.goal_report_.satisfied, [c["method"] for c in clf.candidates_]
    (True, ['exact penalty, s in closed form', 'cross-entropy'])
    """

    randomized = False
    _family = "penalty"

    goal: Any
    _: KW_ONLY
    module: Any = "linear"
    solver: Any = "portfolio"
    preprocessor: Any = "standardize"
    min_positives: From0OrAuto = "auto"
    validation_fraction: HeldOut = "auto"
    training: Minibatches | None = None
    checkpoint: Any = None
    checkpoint_every: Seconds = 60.0
    on_infeasible: Literal["raise", "nearest"] = "raise"

    # ------------------------------------------------------------------ fitting
    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        path, module = self.checkpoint, self.module
        if path is not None and (not isinstance(path, str | os.PathLike) or not str(path)):
            raise InputError(f"`checkpoint` is a path or None, got {path!r}")
        if not callable(module) and module not in ("linear", "mlp"):
            raise InputError(
                "`module` is 'linear', 'mlp' or a function that makes a torch module, got "
                f"{module!r}"
            )
        goal.require_formula(WITHOUT_FORMULA)
        require_rows_alone(goal, WHOLE)
        super()._check_fit(goal, X, solver)

    def _train(self, data: FitData, limits: Limits) -> PenaltyTraining:
        plan, self.preprocessor_, chosen = prepare(self, data, limits)
        judged = data.judged.take(data.kept[chosen])
        plan.pool.beside = at_margins(data, judged, plan.pool.least)
        checkpoint, solver = _checkpoint(self, data.solver, plan), data.solver
        few = np.prod(plan.train.X.shape, dtype=float) <= _MOST_AT_ONCE
        quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # of scores seen
        with quiet, limits.keeping(lambda: plan.pool.best):  # whatever ends it early
            if self.module == "linear" and few:
                train_linear(plan, isinstance(solver, Portfolio) and solver.polish, checkpoint)
            else:
                train_network(plan, self.module, checkpoint)
        if not plan.pool.best:
            limit = "seconds" if limits.is_late else None
            raise StoppedError("; ".join(plan.notes) or "there was no candidate", limit=limit)
        self.n_transformed_ = int(plan.train.X.shape[1])
        self.candidates_ = plan.pool.table()
        return PenaltyTraining(judged, plan, self.module, self.on_infeasible)

    # ------------------------------------------------------------------ what is known
    @property
    def module_(self) -> Any:
        """The trained torch module, in eval mode on the CPU."""
        self._check_there("module_")
        if isinstance(self.parameters_, np.ndarray):
            raise AttributeError("module_ is not there for `module='linear'`: see coef_")
        return modules.module_of(self.module, self.parameters_, self.n_transformed_)

    def _scores_by(self, model: Any, X: Any, column: str | None) -> Floats:
        return scores_of(self.module, model, self._transformed(self._features(X, column), X))

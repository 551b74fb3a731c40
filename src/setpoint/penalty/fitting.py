"""From checked arguments to a trained model: rows split, a plan made and carried out."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from setpoint.array_types import Codes
from setpoint.errors import InputError
from setpoint.estimators.features import fit_preprocessor, transformed
from setpoint.goals.goal import Goal
from setpoint.inputs.classes import ClassOrder
from setpoint.inputs.inputs import Table
from setpoint.inputs.min_support import least_accepted, row_unit
from setpoint.penalty.candidates import Pool
from setpoint.penalty.checkpoint import Checkpoint
from setpoint.penalty.linear import train_linear
from setpoint.penalty.network import train_network
from setpoint.penalty.parameters import schedule_of
from setpoint.penalty.plan import Plan, Rows
from setpoint.penalty.problem import Tradeoff
from setpoint.penalty.solvers.stages import stages_of
from setpoint.search.limits import Limits, StoppedError
from setpoint.solvers import Minibatches, Portfolio, Solver

__all__ = ["Prepared", "carry_out", "prepare"]


_MOST_AT_ONCE = 50_000_000
"""Numbers in X up to which a linear model is trained on all rows at once."""
_HELD_OUT = 0.2
_NARROW = (0.3, 0.1)
"""Of the profiled band at last, in positives: of networks, and of linear models."""


def _totals(table: Table) -> tuple[float, float]:
    """The weight of negatives and of positives."""
    negative, positive = np.bincount(table.labels, table.weight, minlength=2)
    return float(negative), float(positive)


def _least(table: Table, wanted: Any) -> float:
    """The weight of rows that have to be predicted positive."""
    totals = _totals(table)
    least = least_accepted(wanted, totals[1], row_unit(table.weight))
    if least > sum(totals):
        raise InputError(
            f"`min_positives` is {least:g}, and the rows have a weight of {sum(totals):g}"
        )
    return least


def _rows(table: Table, preprocessor: Any) -> Rows:
    """Rows with features as training takes them."""
    return Rows(transformed(preprocessor, table.X), table.labels == 1, table.weight)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan, and what belongs to its rows."""

    plan: Plan
    solver: Solver
    preprocessor: Any
    chosen: Codes
    at_once: bool

    @property
    def polished(self) -> bool:
        """Whether the best model is improved in the end by a search without gradients."""
        return isinstance(self.solver, Portfolio) and self.solver.polish


def prepare(
    estimator: Any,
    solver: Solver,
    goal: Goal,
    data: Table,
    classes: ClassOrder,
    seed: int,
    limits: Limits | None = None,
) -> Prepared:
    """Split the rows, fit the preprocessor, and say what is to be done."""
    e, limits = estimator, limits or Limits()
    training, linear = Minibatches.of(e.training), e.module == "linear"
    fit_on, chosen = _split(e, data, seed)
    train = data if fit_on is None else data.take(fit_on)
    choose = None if chosen is None else data.take(chosen)
    negative, positive = classes.labels
    tradeoff = Tradeoff(goal, *_totals(train), (negative, positive))
    preprocessor = fit_preprocessor(e.preprocessor, train, classes)
    rows = _rows(train, preprocessor)
    judges = train if choose is None else choose
    pool = Pool[Any](
        tradeoff if choose is None else Tradeoff(goal, *_totals(choose), (negative, positive)),
        judges.labels.astype(np.uint8),
        judges.weight,
        _least(judges, e.min_positives),
        limits=limits,
    )
    plan = Plan(
        tradeoff,
        stages_of(solver, _NARROW[linear]),
        rows,
        None if choose is None else _rows(choose, preprocessor),
        _least(train, e.min_positives),
        pool,
        schedule_of(training, linear, len(rows)),
        seed,
        training.device,
        limits.tick,
    )
    at_once = linear and np.prod(rows.X.shape, dtype=float) <= _MOST_AT_ONCE
    every = np.arange(len(data.labels))
    return Prepared(plan, solver, preprocessor, every if chosen is None else chosen, bool(at_once))


def carry_out(estimator: Any, prepared: Prepared) -> None:
    """Train; whatever ends it early leaves the best candidates in the pool."""
    plan = prepared.plan
    checkpoint = _checkpoint(estimator, prepared)
    quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # scores are looked at
    with quiet, plan.pool.limits.keeping(lambda: plan.pool.best):
        if prepared.at_once:
            train_linear(plan, prepared.polished, checkpoint)
        else:
            train_network(plan, estimator.module, checkpoint)
    if not plan.pool.best:
        limit = "seconds" if plan.pool.limits.is_late else None
        raise StoppedError("; ".join(plan.notes) or "there was no candidate", limit=limit)
    plan.notes.extend(plan.pool.limits.notes)


def _split(e: Any, data: Table, seed: int) -> tuple[Codes | None, Codes | None]:
    """Training rows, and rows that choose where some are held out."""
    share = e.validation_fraction
    if share == "auto":
        share = 0.0 if e.module == "linear" else _HELD_OUT
    if share == 0:
        return None, None
    fewest = int(np.bincount(data.labels).min())
    if min(share, 1.0 - share) * fewest < 1:
        raise InputError(
            f"`validation_fraction` is {share:g}, and the smaller class has {fewest} rows: one at "
            "least has to be on each side"
        )
    index = np.arange(len(data.labels))
    train, choose = train_test_split(
        index, test_size=share, stratify=data.labels, random_state=seed
    )
    return np.sort(train), np.sort(choose)


def _checkpoint(e: Any, prepared: Prepared) -> Checkpoint | None:
    """The file to go on from, with what has to be the same for that."""
    if e.checkpoint is None:
        return None
    plan = prepared.plan
    module = e.module if isinstance(e.module, str) else getattr(e.module, "__qualname__", "own")
    settings = {
        "goal": str(plan.goal.goal),
        "module": module,
        "solver": repr(prepared.solver),
        "rows": len(plan.train),
        "features": int(plan.train.X.shape[1]),
        "random_state": plan.seed,
        "min_positives": plan.pool.least,
        "certified": plan.pool.beside is not None,
        **asdict(plan.schedule),
        "data": "-".join(_digest(rows) for rows in (plan.train, plan.choose) if rows is not None),
    }
    return Checkpoint(e.checkpoint, settings, float(e.checkpoint_every))


def _digest(rows: Rows) -> str:
    """A short name for the very numbers in these rows."""
    out = hashlib.blake2b(digest_size=8)
    X = rows.X
    parts = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    for part in (*parts, rows.positive, *([] if rows.weight is None else [rows.weight])):
        out.update(np.ascontiguousarray(part).data)
    return out.hexdigest()

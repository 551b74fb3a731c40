"""ExactPenaltyClassifier: its fit, and what training leaves."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.classifiers import (
    FitData,
    TrainedClassifier,
    fingerprint,
    fit_preprocessor,
    folds_of,
    modules,
    transformed,
)
from setpoint.errors import InputError
from setpoint.goals import Goal, require_rows_alone
from setpoint.inputs import CheckedTable, least_accepted, row_unit
from setpoint.parameters import From0OrAuto
from setpoint.penalty.losses import JointPenalty, RefreshBatch, Stage, stages_of
from setpoint.penalty.problem import WHOLE, Tradeoff, best_cut
from setpoint.penalty.selection import (
    Checkpoint,
    DivergedError,
    HeldOut,
    PenaltyTraining,
    Pool,
    Seconds,
    TrainingPlan,
    TrainingRows,
    at_margins,
    pool_state,
    restore_pool,
    scores_of,
    settled,
)
from setpoint.penalty.solvers import train_linear
from setpoint.search import Limits, StoppedError
from setpoint.solvers import WITHOUT_FORMULA, Minibatches, Portfolio, Solver

if TYPE_CHECKING:
    import torch


# --- Which rows come when: the order of each epoch ------------------------------------------------


Rows = NDArray[np.int64]

_MOST_SEEN = 65_536
"""Rows that a refresh looks at; of a class with less than half as many, all."""


class Order:
    """Orders of the epochs of one stage, from a key alone: nothing else has to be stored.

    Examples
    --------
    >>> order = Order((0, 0), np.arange(5) < 2)
    >>> sorted(order.of(0).tolist()), order.refresh_rows(0, 0)
    ([0, 1, 2, 3, 4], slice(0, 5, None))
    """

    def __init__(self, key: tuple[int, int], positive: NDArray[np.bool_], all_seen: bool = False):
        self.key, self.positive, self.all_seen = key, positive, all_seen
        self._known: dict[int, Rows] = {}

    def of(self, epoch: int) -> Rows:
        """All rows; the order before the first epoch, -1, is only looked at."""
        if epoch not in self._known:
            self._known = {e: rows for e, rows in self._known.items() if e == epoch - 1}
            rng = np.random.default_rng([*self.key, epoch + 1])
            self._known[epoch] = rng.permutation(len(self.positive))
        return self._known[epoch]

    def refresh_rows(self, epoch: int, done: int) -> Rows | slice:
        """The rows that a refresh looks at, after so many of an epoch."""
        n = len(self.positive)
        if n <= _MOST_SEEN or self.all_seen:
            return slice(0, n)
        before = max(_MOST_SEEN - done, 0)
        rows = self.of(epoch)[max(done - _MOST_SEEN, 0) : done]
        if before:
            rows = np.concatenate([self.of(epoch - 1)[n - before :], rows])
        for kind, own in self._classes.items():
            if len(own) <= _MOST_SEEN // 2:
                rows = np.concatenate([own, rows[self.positive[rows] != kind]])
        return rows

    @cached_property
    def _classes(self) -> dict[bool, Rows]:
        return {True: np.flatnonzero(self.positive), False: np.flatnonzero(~self.positive)}


# --- Networks by descent in minibatches -----------------------------------------------------------


_PLACE = ("epoch", "step", "stale", "offset")
_LEAST_STEPS, _ROWS_A_STEP, _REFRESHES = 10, 1000, 4
"""Steps between refreshes: so many at least, and one for so many rows looked at; but with few
steps in an epoch so many refreshes in it."""


def train_network(plan: TrainingPlan, module: Any, checkpoint: Checkpoint | None = None) -> None:
    """Run the stages of a plan; candidates in its pool are the bytes of a module's state."""
    plan = replace(plan, device=modules.device_for(plan.device))
    made = modules.build(module, plan.train.X.shape[1], plan.seed)
    saved = None if checkpoint is None else checkpoint.read()
    made.to(plan.device)
    train = replace(
        plan.train, X=modules.resident(plan.train.X, modules.dtype_of(made), plan.device)
    )
    chooser = train.X
    if plan.holds_out:
        chooser = modules.resident(plan.pool.rows.X, modules.dtype_of(made), plan.device)
    plan = replace(plan, train=train)
    first, fresh = 0, modules.to_bytes(made)
    if saved is not None:
        restore_pool(plan, saved["pool"])
        first, fresh = saved["stage"], saved["fresh"]
    for i in range(first, len(plan.stages)):
        descent = _NetworkDescent(plan, i, made, chooser, fresh, checkpoint)
        try:
            descent.run(None if saved is None else saved["descent"])
        except DivergedError as error:
            plan.notes.append(str(error))
        saved = None
    if checkpoint is not None:
        checkpoint.remove()


class _NetworkDescent:
    """One stage: the module, its optimiser, the loss and the last score of each row."""

    def __init__(
        self,
        plan: TrainingPlan,
        index: int,
        module: torch.nn.Module,
        chooser: Any,
        fresh: bytes,
        checkpoint: Checkpoint | None,
    ) -> None:
        import torch

        self.plan, self.index, self.checkpoint = plan, index, checkpoint
        self.chooser, self.fresh, self.device = chooser, fresh, torch.device(plan.device)
        self.stage: Stage = plan.stages[index]
        self.loss = self.stage.loss(plan.goal, plan.least, len(plan.train))
        # Joint descent keeps something for each row.
        joint = isinstance(self.loss, JointPenalty)
        self.order = Order((plan.seed, index), plan.train.positive, joint)
        self.module = module
        self.dtype = modules.dtype_of(module)
        self.exact = torch.float64 if self.dtype == torch.float64 else torch.float32
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        s, rows = plan.schedule, plan.train
        self.batch_size, self.max_epochs = int(s.batch_size), int(s.max_epochs)
        rate, decay = float(s.learning_rate), float(s.weight_decay)
        fused = self.device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=rate, weight_decay=decay, fused=fused
        )
        self.last = torch.zeros(len(rows), dtype=self.exact, device=self.device)
        self.positive = torch.from_numpy(rows.positive.copy()).to(self.device)
        self.weight: torch.Tensor | None = None
        if rows.weight is not None:
            self.weight = torch.from_numpy(rows.weight.copy()).to(self.device, self.exact)
        self.offset = 0.0
        self.epoch = self.step = self.stale = 0

    # ------------------------------------------------------------------ the loop
    def run(self, saved: dict[str, Any] | None) -> None:
        """From the start, or from where it was saved; DivergedError where numbers end."""
        rng = None if saved is None else self.resume(saved)
        if saved is None:
            self.begin()
        while self.epoch < self.max_epochs and not self.is_stale:
            with modules.seeded(self.plan.seed, self.index, self.epoch):
                if rng is not None:
                    _set_rng(rng, self.device)
                rng = None
                self.run_epoch()
            self.stale = 0 if self.judge() else self.stale + 1
            self.epoch, self.step = self.epoch + 1, 0

    @property
    def is_stale(self) -> bool:
        """Whether too many epochs brought nothing; a schedule is followed to its end."""
        return not self.loss.scheduled and self.stale >= self.plan.schedule.patience

    def begin(self) -> None:
        """Where an earlier stage was best, or the module as built; with its first scores."""
        import torch

        first = next((s.name for s in self.plan.stages if s.start == "zero"), "")
        known = None if self.stage.start == "zero" else self.plan.pool.best.get(first)
        modules.load_bytes(self.module, self.fresh if known is None else known.parameters)
        self.judge()
        rows = self.order.refresh_rows(0, 0)
        z = modules.scores(self.module, self.plan.train.X, self.plan.device, rows=rows)
        at = rows if isinstance(rows, slice) else torch.from_numpy(rows).to(self.device)
        self.last[at] = torch.from_numpy(z).to(self.device, self.exact)
        if self.stage.start != "centred":
            return
        # Shifted so that the best threshold is 0.
        goal, seen = self.plan.goal, self.seen(rows)
        scale = seen.scale(goal.totals)
        if scale is not None and np.isfinite(seen.scores).all():
            self.offset = best_cut(goal, *seen, self.plan.least, scale).shift
            self.last -= self.offset

    def run_epoch(self) -> None:
        """All batches, or those that a resumed epoch has left."""
        size, order = self.batch_size, self.order.of(self.epoch)
        total = self.max_epochs * self.n_steps
        self.module.train()
        while self.step < self.n_steps:
            done = self.step * size
            if self.step % self.refresh_every == 0:
                self.save()
                progress = (self.epoch * self.n_steps + self.step) / total
                self.loss.refresh(self.seen(self.order.refresh_rows(self.epoch, done)), progress)
            self.descend(order[done : done + size])
            self.step += 1

    def descend(self, rows: Rows) -> None:
        """One step on a batch."""
        import torch

        self.plan.tick()
        at = torch.from_numpy(rows).to(self.device)
        share: torch.Tensor | float = 1.0 / len(rows)
        if self.weight is not None:
            w = self.weight[at]
            share = w / w.sum()
        self.optimizer.zero_grad(set_to_none=True)
        x = modules.as_batch(self.plan.train.X, rows, self.dtype).to(self.device)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.device.type == "cuda"):
            z = modules.logits(self.module, x)
        z = z.to(self.exact) - self.offset
        slope = self.loss.slope(z.detach(), self.positive[at], at)
        # Not z.backward(gradient): where the first thing to be done there is a product, a
        # thread without a CUDA context of its own does it, and torch warns.
        (z * (slope * share).to(self.exact)).sum().backward()
        z = z.detach()
        if not torch.isfinite(z).all():
            raise DivergedError(self.stage.name)
        self.last[at] = z
        self.optimizer.step()
        self.loss.advance(z, self.positive[at], at)

    def judge(self) -> bool:
        """Offer the module as it is; whether it is the best of its stage."""
        pool, name = self.plan.pool, self.stage.name
        z = modules.scores(self.module, self.chooser, self.plan.device)
        before = pool.best.get(name)
        if pool.offer(name, z, lambda: modules.to_bytes(self.module)) is None:
            raise DivergedError(self.stage.name)
        return pool.best.get(name) is not before

    # ------------------------------------------------------------------ rows
    @cached_property
    def n_steps(self) -> int:
        """Batches of an epoch, without a last one that cannot be normalised."""
        from torch.nn.modules.batchnorm import _BatchNorm

        n, size = len(self.plan.train), self.batch_size
        normalises = any(isinstance(m, _BatchNorm) for m in self.module.modules())
        if not normalises or (n % size or size) > 1:
            return -(-n // size)
        if n < size or size == 1:
            raise InputError(
                "module normalises batches, which takes two rows: "
                f"`batch_size={size}` of {n} rows leaves fewer"
            )
        return n // size

    @cached_property
    def refresh_every(self) -> int:
        """Steps between two refreshes."""
        every = self.plan.schedule.refresh_every
        if every is not None:
            return every
        least = max(min(_LEAST_STEPS, self.n_steps // _REFRESHES), 1)
        n_rows = len(self.last)
        n_seen = n_rows if self.order.all_seen else min(n_rows, _MOST_SEEN)
        return max(least, n_seen // _ROWS_A_STEP)

    def seen(self, rows: Rows | slice) -> RefreshBatch:
        """Their last scores."""
        import torch

        at = rows if isinstance(rows, slice) else torch.from_numpy(rows).to(self.device)
        z = self.last[at].cpu().numpy().astype(np.float64)
        all_ = self.plan.train
        weight = None if all_.weight is None else all_.weight[rows]
        return RefreshBatch(z, all_.positive[rows], weight)

    # ------------------------------------------------------------------ checkpoints
    def save(self) -> None:
        """Write where this stands, before a refresh: what it sets need not be kept."""
        if self.checkpoint is None or not self.checkpoint.due:
            return
        import torch

        state = self.optimizer.state_dict()["state"]
        tensors = {f"{i}.{k}": t for i, kept in state.items() for k, t in kept.items()}
        rng = [torch.get_rng_state()]
        if self.device.type == "cuda":
            rng.append(torch.cuda.get_rng_state(self.device))
        descent = {name: getattr(self, name) for name in _PLACE} | {
            "module": modules.to_bytes(self.module),
            "optimizer": modules.pack(tensors),
            "last": self.last.cpu().numpy(),
            "loss": self.loss.state(),
            "rng": [state.numpy() for state in rng],
        }
        where = {"stage": self.index, "fresh": self.fresh, "pool": pool_state(self.plan)}
        self.checkpoint.write({**where, "descent": descent})

    def resume(self, saved: dict[str, Any]) -> list[NDArray[np.uint8]]:
        """Go on from what was saved; the state of torch's generators is left to set."""
        import torch

        for name in _PLACE:
            setattr(self, name, saved[name])
        modules.load_bytes(self.module, saved["module"])
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in modules.unpack(saved["optimizer"]).items():
            i, _, k = name.partition(".")
            state.setdefault(int(i), {})[k] = tensor
        whole = self.optimizer.state_dict()
        self.optimizer.load_state_dict({**whole, "state": state})
        self.last.copy_(torch.from_numpy(saved["last"]))
        self.loss.resume(saved["loss"])
        rng: list[NDArray[np.uint8]] = saved["rng"]
        return rng


def _set_rng(states: list[NDArray[np.uint8]], device: torch.device) -> None:
    import torch

    torch.set_rng_state(torch.from_numpy(states[0]))
    if len(states) > 1 and device.type == "cuda":
        torch.cuda.set_rng_state(torch.from_numpy(states[1]), device)


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
        own = rows.labels, rows.labels, seed, None, rows.units
        [(fit_on, chosen)] = folds_of(float(share), *own)
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
    units : str, default=None
        The column of X that says which customer, document or case a row belongs to, and is not a
        feature; or pass the column to ``fit``. Rows of one unit may depend on each other.
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

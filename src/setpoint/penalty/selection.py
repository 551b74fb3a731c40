"""Which iterate is kept: candidates, the plan of a training, its checkpoint."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.classifiers import FitData, Training, linear_scores, modules, most_models, skops_io
from setpoint.counts import Evidence, cutoffs
from setpoint.errors import SetpointError
from setpoint.goals import Goal, Metric
from setpoint.guarantees import Promise, RuleTests, times_of
from setpoint.inputs import (
    CheckedData,
    CheckpointError,
    atomic_write,
    check_settings,
    check_writable,
)
from setpoint.parameters import SATISFIED, Number
from setpoint.penalty.losses import Coefficients, RefreshBatch, Stage
from setpoint.penalty.problem import Cut, Lifted, Tradeoff, best_of
from setpoint.program import link
from setpoint.rules import Threshold
from setpoint.search import (
    Certificate,
    Found,
    InfeasibleError,
    Limits,
    TracePoint,
    not_found,
    solve_exact,
)
from setpoint.solvers import Minibatches

# --- Candidates: every iterate, judged after exact threshold adjustment ---------------------------


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Features and labels of some rows, none of weight zero."""

    X: Any
    positive: NDArray[np.bool_]
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.positive)

    def seen(self, scores: Floats) -> RefreshBatch:
        """All rows, for a refresh."""
        return RefreshBatch(scores, self.positive, self.weight)


class TrainedCandidate(NamedTuple):
    """Parameters, however the trainer keeps them, and what the best threshold on them reaches."""

    parameters: Any
    cut: Cut
    method: str


@dataclass
class Pool:
    """The best candidate of each method on the rows that choose."""

    goal: Tradeoff
    rows: TrainingRows
    least: float
    best: dict[str, TrainedCandidate] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    beside: AtMargins | None = None

    @property
    def true(self) -> NDArray[np.uint8]:
        """The classes of the rows that choose."""
        return self.rows.positive.view(np.uint8)

    def offer(self, method: str, scores: Floats, parameters: Any) -> Cut | None:
        """Judge an iterate; its parameters, called for if kept, are a copy."""
        if not np.isfinite(scores).all():
            return None
        self.limits.calls += 1
        values, (B, A) = cutoffs(scores, self.true, self.rows.weight, 2)
        cut = best_of(self.goal, values, A, B, self.least)
        candidate = cache(lambda: TrainedCandidate(parameters(), cut, method))
        if self.beside is not None:
            self.beside.offer(A, B, candidate)
        known = self.best.get(method)
        if known is None or cut.rank > known.cut.rank:
            first = self.best and cut.rank <= self.champion.cut.rank
            self.best[method] = candidate()
            if not first:
                sense = self.goal.program.sense
                self.limits.record(sense * cut.score, sense * np.inf, cut.violation)
        return cut

    @property
    def champion(self) -> TrainedCandidate:
        """The best of all; of equals the earliest method."""
        return max(self.best.values(), key=lambda c: c.cut.rank)

    @property
    def kept(self) -> list[TrainedCandidate]:
        """All that are kept, each once: those best at some margin, and those of the methods."""
        beside = [] if self.beside is None else self.beside.kept
        return list({id(c): c for c in (*beside, *self.best.values())}.values())

    def table(self) -> list[dict[str, Any]]:
        """The best candidate of each method in plain words and the user's units, best first."""
        ranked = sorted(self.best.values(), key=lambda c: c.cut.rank, reverse=True)
        sense, names = self.goal.program.sense, ("method", "objective", "violation", "threshold")
        found = [(c.method, sense * c.cut.score, c.cut.violation, c.cut.threshold) for c in ranked]
        return [dict(zip(names, row, strict=True)) for row in found]


# --- A training, all arguments checked ------------------------------------------------------------


class DivergedError(SetpointError, ArithmeticError):
    """Scores or losses are no longer finite: the stage ends, its iterates before stay."""

    def __init__(
        self, stage: str, why: str = "the scores were no longer finite; it was stopped there"
    ) -> None:
        super().__init__(f"{stage}: {why}")


@dataclass(frozen=True, eq=False)
class TrainingPlan:
    """What is to be trained, for what, on which rows."""

    goal: Tradeoff
    stages: tuple[Stage, ...]
    train: TrainingRows
    least: float
    pool: Pool
    schedule: Minibatches = field(default_factory=Minibatches)
    seed: int = 0
    device: str = "cpu"
    tick: Callable[[], None] = lambda: None
    notes: list[str] = field(default_factory=list)

    @property
    def holds_out(self) -> bool:
        """Whether other rows choose than those that are trained on."""
        return self.pool.rows is not self.train


# --- What the constructor may be given ------------------------------------------------------------


Seconds: TypeAlias = Annotated[float, Number("seconds >= 0", 0.0)]
HeldOut: TypeAlias = Annotated[
    float | Literal["auto"],
    Number("'auto' or a number in [0, 1)", 0.0, below=1.0, other=("auto",)),
]

_RATE, _DECAY = (1e-3, 3e-3), (1e-2, 1e-4)
"""Of AdamW, for networks and for linear models."""
_ROWS_PASSED, _FEWEST_EPOCHS, _MOST_EPOCHS = 10_000_000, 3, 50
"""Rows that a method passes over in all its epochs, whose number lies within these."""


def settled(training: Minibatches, linear: bool, n_rows: int) -> Minibatches:
    """How networks, or linear models on many numbers, are trained on so many rows."""
    auto = {
        "max_epochs": min(max(_ROWS_PASSED // n_rows, _FEWEST_EPOCHS), _MOST_EPOCHS),
        "batch_size": modules.batch_size_for(n_rows),
        "learning_rate": _RATE[linear],
        "weight_decay": _DECAY[linear],
    }
    return training.with_params(
        **{name: value for name, value in auto.items() if getattr(training, name) == "auto"}
    )


# --- From trained scores to the rule, by the exact solver of thresholds ---------------------------


_ROUNDING = 1e-9


def scores_of(module: Any, parameters: Any, features: Any) -> Floats:
    """Logits (N,) of features as training took them."""
    if isinstance(parameters, np.ndarray):
        return linear_scores(features, parameters)
    return modules.scores(modules.module_of(module, parameters, features.shape[1]), features, "cpu")


def plain(module: Any, parameters: Any) -> Any:
    """Coefficients and intercept, where a linear model was trained as a network."""
    if module != "linear" or isinstance(parameters, np.ndarray):
        return parameters
    state = {name: tensor.double().numpy() for name, tensor in modules.unpack(parameters).items()}
    return np.concatenate([np.ravel(state["weight"]), np.ravel(state["bias"])])


@dataclass(frozen=True, eq=False)
class PenaltyTraining(Training):
    """A plan that was carried out, and the rows whose scores the rule is found on."""

    plan: TrainingPlan
    module: Any
    on_infeasible: Literal["raise", "nearest"]

    def chosen(self) -> Found:
        """The best threshold on the champion's scores."""
        pool, champion = self.plan.pool, self.plan.pool.champion
        model, evidence = self.scored(champion)
        outcome = self._best_threshold(evidence)
        n_methods = len(pool.best)
        who = f"{champion.method}, the best of {n_methods} methods;"
        if n_methods == 1:
            who = f"{champion.method}:"
        n = pool.limits.calls
        why = f"{who} {n:,} iterates judged by their best threshold; {outcome.why}"
        status = "feasible" if outcome.status == "optimal" else outcome.status
        # The threshold is the best one on these scores; of other models nothing is proved.
        return replace(outcome, status=status, certificate=Certificate(), why=why, model=model)

    def _best_threshold(self, evidence: Evidence) -> Found:
        """The best threshold; where it accepts too few rows, the best that accepts enough."""
        goal, pool = self.judged.goal, self.plan.pool

        def solved(asked: Goal) -> Found:
            program = link(asked, evidence.codebook).at(evidence.marginals)
            program = replace(program, goal=goal)  # what messages name
            how: Any = {"randomized": False, "on_infeasible": self.on_infeasible}
            return solve_exact(program, evidence, **how)

        try:
            free = solved(goal)
        except InfeasibleError as error:
            n = pool.limits.calls
            who = f"none of the {n:,} iterates that were trained was found to meet"
            raise not_found(error, f"{who} the goal", "thresholds") from None
        accepted = float(free.confusion.counts[:, :, 1].sum())
        if accepted >= pool.least * (1.0 - _ROUNDING):
            return free
        share = pool.least * (1.0 - _ROUNDING) / float(pool.goal.totals.sum())
        try:
            return solved(goal.subject_to(Metric("predicted_rate") >= share))
        except InfeasibleError as error:
            raise InfeasibleError(
                f"no threshold on the best of {pool.limits.calls:,} iterates meets the goal and "
                f"predicts {pool.least:g} rows positive, as `min_positives` asks; with "
                f"{accepted:g} rows it is met",
                violation=error.violation,
            ) from None

    def scored(self, candidate: TrainedCandidate) -> tuple[Any, Evidence]:
        """What is kept of a candidate, and its scores of the rows that chose."""
        model, X = plain(self.module, candidate.parameters), self.plan.pool.rows.X
        return model, self.judged.evidence({None: scores_of(self.module, model, X)})

    def models(self, found: Found) -> list[Found]:
        """The candidates that are best at some margin, and those of the methods."""
        kept = self.plan.pool.kept[: most_models(found.evidence.n_rows)]
        scored = [self.scored(candidate) for candidate in kept]
        return [replace(found, evidence=rows, model=model) for model, rows in scored]

    def allowed(self, counts: Floats) -> NDArray[np.bool_]:
        """Whether rules (m,) accept enough, by counts (entries, m)."""
        return np.asarray(counts[1::2].sum(axis=0) >= self.plan.pool.least * (1.0 - SATISFIED))

    def notes(self, found: Found, certified: bool) -> list[str]:
        """What was asked of the rule, what flatters it, and what ended early."""
        notes, plan, pool = [], self.plan, self.plan.pool
        if pool.least > 0:
            what = "rows have" if pool.rows.weight is None else "of the rows' weight has"
            notes.append(
                f"At least {pool.least:g} {what} to be predicted positive: precision on fewer says "
                "nothing. `min_positives` sets it."
            )
        if not certified and plan.holds_out:
            notes.append(
                f"Iterate and threshold were chosen on {len(pool.rows):,} rows held out from "
                "training: what is counted on them flatters the model somewhat."
            )
        elif not certified:
            notes.append(
                f"What is counted on the {len(plan.train):,} rows that the model was trained on "
                "flatters it, as the best of its many iterates there was kept: new rows will do "
                "worse. `validation_fraction` holds rows out."
            )
        first = pool.best.get(plan.stages[0].name)
        if len(pool.best) > 1 and first is not None and pool.champion.cut.rank <= first.cut.rank:
            notes.append("Nothing improved on cross-entropy on these rows.")
        return [*notes, *plan.notes]


# --- Where a training stands ----------------------------------------------------------------------


_HEAD = "setpoint checkpoint "
_FORMAT = "4"
_TUPLES = (Coefficients, Cut, Lifted, TracePoint, TrainedCandidate)


class Checkpoint:
    """A file to go on from.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(Path(folder, "a.checkpoint"), {"seed": 0})
    ...     checkpoint.write({"stage": 1, "scores": np.array([0.1, 0.2])})
    ...     checkpoint.read()
    ...     Checkpoint(checkpoint.path, {"seed": 1}).read()
    Traceback (most recent call last):
    ...
    setpoint.inputs.files.CheckpointError: ... is of another training: `seed` was 0 and
    is 1 now; give another `checkpoint`, or remove the file to start anew
    """

    def __init__(
        self, path: str | os.PathLike[str], settings: Mapping[str, Any], every: float = 60.0
    ) -> None:
        self.path, self.every = Path(path), every
        plain = json.dumps(dict(settings), default=lambda x: x.item())  # numbers of NumPy
        self.settings: dict[str, Any] = json.loads(plain)
        self._written = time.monotonic()
        check_writable(self.path)

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.every

    def write(self, state: Mapping[str, Any]) -> None:
        """Replace the file."""
        data = skops_io().dumps({"settings": self.settings, "state": dict(state)})
        head = f"{_HEAD}{_FORMAT} {blake2b(data, digest_size=16).hexdigest()}\n"
        atomic_write(self.path, head.encode() + data)
        self._written = time.monotonic()

    def read(self) -> dict[str, Any] | None:
        """What was written last; None where there is no file. The file is left as it is."""
        if not self.path.exists():
            return None
        head, _, data = self.path.read_bytes().partition(b"\n")
        written, _, digest = head.decode("utf-8", "replace").removeprefix(_HEAD).partition(" ")
        why = ""
        if not head.startswith(_HEAD.encode()):
            why = "is not a checkpoint; it was left as it is"
        elif written != _FORMAT:
            why = f"is a checkpoint in format {written}, and this setpoint reads format {_FORMAT}"
        elif digest != blake2b(data, digest_size=16).hexdigest():
            why = "is damaged: its checksum does not fit"
        if why:
            raise CheckpointError(f"{self.path} {why}", path=self.path)
        trusted = [f"{t.__module__}.{t.__qualname__}" for t in _TUPLES]
        found: dict[str, Any] = skops_io().loads(data, trusted=trusted)
        check_settings(self.path, found["settings"], self.settings)
        state: dict[str, Any] = found["state"]
        return state

    def remove(self) -> None:
        """The training is over; what killed trainings left half written goes as well."""
        self.path.unlink(missing_ok=True)
        for part in self.path.absolute().parent.glob("*.part"):
            if part.name.startswith(f"{self.path.name}."):
                part.unlink(missing_ok=True)


def pool_state(plan: TrainingPlan) -> dict[str, Any]:
    """The candidates so far and what was noted."""
    pool = plan.pool
    return {
        "best": dict(pool.best),
        "trace": list(pool.limits.trace),
        "n_offered": pool.limits.calls,
        "seconds": pool.limits.seconds,
        "notes": list(plan.notes),
        "beside": pool.beside and (list(pool.beside.best), pool.beside.values),
    }


def restore_pool(plan: TrainingPlan, state: dict[str, Any]) -> None:
    """Go on from :func:`pool_state`."""
    pool = plan.pool
    pool.best = dict(state["best"])
    pool.limits.resume(state["n_offered"], state["trace"], state["seconds"])
    plan.notes[:] = state["notes"]
    if pool.beside is not None:
        pool.beside.best, pool.beside.values = state["beside"]


# --- Iterates that are worth trying on rows that certify ------------------------------------------


_AT = np.array([40.0, 20.0, 12.0, 8.0, 6.0, 4.5, 3.5, 2.5, 1.5, 0.5, -1.0])
"""Standard errors of the rows that certify; where those that choose were trained on, they flatter,
and the far ones are needed."""

_MOST = 48
"""Cut-offs of an iterate that are looked at."""


class AtMargins:
    """The best at each margin of what was offered."""

    def __init__(self, tests: RuleTests, squares: Any, times: Floats, least: float) -> None:
        self.tests, self.squares, self.times, self.least = tests, squares, times, least
        self.best: list[TrainedCandidate | None] = [None] * len(_AT)
        self.values = np.full(len(_AT), -np.inf)

    def offer(self, A: Floats, B: Floats, make: Callable[[], TrainedCandidate]) -> None:
        """Keep an iterate where it is better than those before."""
        # Of equal A the first has the fewest negatives, and a goal of this family likes it best.
        at = np.unique(np.searchsorted(A, np.linspace(0.0, A[-1], _MOST + 1)))
        at = np.append(at[A[at] + B[at] >= self.least], len(A) - 1)
        a, b = A[at], B[at]
        # By true class (the last: not known) and decided class.
        counts = np.stack([B[-1] - b, b, A[-1] - a, a, 0.0 * a, 0.0 * a])
        margins = self.tests.margins(counts, self.squares, self.times)
        scores = np.nan_to_num(self.tests.scores(counts), nan=-np.inf)
        reached = np.where(margins >= _AT[:, None], scores, -np.inf).max(axis=1)
        better = np.flatnonzero(reached > self.values)
        if not len(better):
            return
        made = make()
        for i in better.tolist():
            self.best[i], self.values[i] = made, reached[i]

    @property
    def kept(self) -> list[TrainedCandidate]:
        """What is best at some margin, each once, from safe to bold."""
        return list({id(x): x for x in self.best if x is not None}.values())


def at_margins(data: FitData, judged: CheckedData, least: float) -> AtMargins | None:
    """An empty one of the rows that choose; None where nothing is certified."""
    if data.certifying is None or data.promised is None:
        return None
    rows = judged.evidence({None: np.zeros(judged.n_rows[None])})
    tested = data.certifying.evidence(lambda X: np.zeros(X.shape[0]))
    promise = Promise.of(link(data.goal, rows.codebook), data.promised).on(rows, tested)
    squares = rows.confusion(Threshold(0.0))
    return AtMargins(RuleTests(promise, rows.marginals), squares, times_of(rows, tested), least)

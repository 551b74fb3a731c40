"""Achievable sets, their columns, and what a search over one returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.counts import Confusion, Counted, Evidence
from setpoint.errors import warn_caller
from setpoint.parameters import SATISFIED, WhenRead, all_read, tied
from setpoint.program import Program, RateTable
from setpoint.rules import Rule
from setpoint.search.limits import Limits, TracePoint

# --- Features of columns, which grow in number ----------------------------------------------------


class FeatureTable:
    """Features of columns, each of one shape: more can be added, and the last ones taken out."""

    def __init__(self, *shape: int) -> None:
        self._table = np.zeros((0, *shape))
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, features: Floats) -> None:
        """The features (k, ...) of some more columns."""
        need = self._n + len(features)
        if need > len(self._table):
            # Copying all of them each time one joins takes seconds.
            grown = np.empty((2 * need, *self._table.shape[1:]))
            grown[: self._n] = self.features
            self._table = grown
        self._table[self._n : need] = features
        self._n = need

    def keep(self, n: int) -> None:
        """Take out all but the first n."""
        self._n = min(self._n, n)

    @property
    def features(self) -> Floats:
        """The features (n, ...) of all."""
        return self._table[: self._n]


# --- Achievable sets: the features that rules, and draws among them -------------------------------


MixtureWeights: TypeAlias = Sequence[dict[int, float]]
"""For each block, columns and their probabilities."""


def mixed_of(choices: Sequence[MixtureWeights], shares: Sequence[float]) -> MixtureWeights:
    """A draw among choices, block by block."""
    out: list[dict[int, float]] = [{} for _ in choices[0]]
    for choice, share in zip(choices, shares, strict=True):
        for block, part in zip(out, choice, strict=True):
            for k, p in part.items():
                block[k] = block.get(k, 0.0) + share * p
    return out


class Priced(NamedTuple):
    """The best column of each block for one linear objective."""

    columns: Codes
    values: Floats


class AchievableSet(ABC):
    """The achievable features: a sum over blocks of mixtures of columns."""

    evidence: Counted
    n_blocks: int
    is_certain = True
    otherwise = "a black-box method may"
    smoothing: tuple[float, ...] = ()

    def __init__(self, rates: RateTable, limits: Limits | None = None) -> None:
        self.rates = rates
        self.d = len(rates)
        self.limits = limits or Limits()

    @abstractmethod
    def initial_columns(self, block: int) -> Sequence[int]:
        """The columns that a search begins with."""

    @abstractmethod
    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """Features (k, d) of some columns of a block."""

    @abstractmethod
    def price(self, slopes: Floats) -> Priced:
        """The columns that maximise ``slopes @ features``."""

    @abstractmethod
    def constants(self) -> list[MixtureWeights]:
        """The classifiers that give everyone the same class."""

    def uniform(self) -> MixtureWeights:
        """A fair draw among :meth:`constants`."""
        constants = self.constants()
        return mixed_of(constants, [1.0 / len(constants)] * len(constants))

    @abstractmethod
    def rule(self, choice: MixtureWeights) -> Rule:
        """The rule that a choice stands for."""

    @abstractmethod
    def confusion(self, choice: MixtureWeights) -> Confusion:
        """The expected confusion of a choice."""

    @abstractmethod
    def randomized_share(self, choice: MixtureWeights) -> float:
        """The share of the rows' weight whose decision depends on a draw."""

    def expected(
        self, program: Program, choice: MixtureWeights
    ) -> tuple[float, float, float | None] | None:
        """By soft evidence the objective, the violation and the miscalibration; else None."""
        return None

    def within(self, limits: Limits) -> Self:
        """The same set, its columns shared, under other limits."""
        out = copy(self)
        out.limits = limits
        return out

    def features(self, choice: MixtureWeights) -> Floats:
        """Features (d,) of a choice, expected over its draws."""
        total = np.zeros(self.d)
        for block, part in enumerate(choice):
            total += np.array(list(part.values())) @ self.columns(block, list(part))
        return total

    def features_of_constants(self) -> Floats:
        """Features (k, d) of :meth:`constants`."""
        return np.array([self.features(c) for c in self.constants()])


# --- The best that a search found: the one result of every search ---------------------------------


INF = float("inf")
Status: TypeAlias = Literal["optimal", "feasible", "stationary", "nearest", "evaluated"]

_CLOSED = 1e-6
"""A gap up to this, relative to the objective, is called closed."""


@dataclass(frozen=True)
class Optimum:
    """A choice and what is known of it; scores, so higher is better."""

    choice: MixtureWeights
    v: Floats
    value: float
    bound: float = INF
    status: Status = "feasible"
    method: str = ""
    stopped: str = ""
    draws: str = ""
    rivals: str = "rule"
    mixed: float = -INF
    violation: float = 0.0
    blame: Mapping[int, float] = field(default_factory=dict)
    drawing_helps: bool = False
    """There is no choice, and a mixture meets the constraints."""

    @property
    def is_feasible(self) -> bool:
        """Whether there is a choice, and it meets the constraints."""
        return len(self.choice) > 0 and self.violation <= SATISFIED

    @property
    def is_drawn(self) -> bool:
        """Whether some block draws among columns."""
        return any(len(part) > 1 for part in self.choice)

    @property
    def why(self) -> str:
        """How it was found and whether it draws, in words."""
        return "; ".join(x for x in (self.method, self.stopped, self.draws) if x)

    def bounded(self, bound: float, gap: float = 0.0) -> Optimum:
        """The same with another bound; "optimal" becomes "feasible" where it is not reached."""
        value = self.value
        near = max(_CLOSED * (1 + abs(value)), gap)
        closed = bound == value or bound - value <= near < INF
        status = self.status
        if status == "optimal" and not closed:
            status = "feasible"
        return replace(self, bound=max(bound, value), status=status)


def nothing(space: AchievableSet, *, certain: bool) -> Optimum:
    """No choice: none meets the constraints if `certain`, else none was found."""
    known: tuple[float, Status] = (-INF, "optimal") if certain else (INF, "feasible")
    return Optimum((), np.zeros(space.d), -INF, *known)


def measure(
    space: AchievableSet,
    program: Program,
    choice: MixtureWeights,
    status: Status = "feasible",
    method: str = "",
) -> Optimum:
    """A choice with its features, score and violation."""
    v = space.features(choice)
    violation = float(program.violation(v))
    return Optimum(
        choice, v, program.score_at(v), status=status, method=method, violation=violation
    )


# --- A rule that was found and what is known of it, as a report needs it --------------------------


Randomized: TypeAlias = Literal["auto"] | bool
SAME = 1e-9
"""Objectives this close are the same: a linear program does not tell them apart."""
_NOBODY = 1e-12
"""A share of the rows that is rounding."""

EXACT = "exact"
"""The name of the solver over cut-offs."""


class ConstantGoalWarning(UserWarning):
    """A classifier that gives everyone the same class attains the goal's optimum."""


@dataclass(frozen=True)
class Certificate:
    """How near the best the rule is on the rows that it was found on.

    Parameters
    ----------
    gap : float or None
        No other rule of this kind on these scores has an objective better by more.
    bound : float or None
        The objective that no rule of this kind passes.
    rivals : str
        The kind of rules that `gap` refers to: "rule" for all, or "rule without draws".
    with_draws : float or None
        The objective that a rule that draws reaches, where this one must not draw and that is
        worth more than one row. Where that takes a search of its own, it is worked out when it
        is first read.
    violation : float or None
        Soft evidence: the largest violation of a constraint if the posteriors are right. `gap`
        and `bound` then refer to the objective by posteriors.
    calibration : float or None
        Soft evidence: the largest difference between posteriors and labels in a share of
        rows by true and predicted class.

    Examples
    --------
    >>> from setpoint import solve
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> certificate = solve("f1", scores, y).report.certificate
    >>> certificate.gap, certificate.bound
    (0.0, 0.8)
    """

    gap: float | None = None
    bound: float | None = None
    rivals: str = "rule"
    with_draws: float | None = WhenRead()  # type: ignore[assignment]
    violation: float | None = None
    calibration: float | None = None

    __getstate__ = all_read


@dataclass(frozen=True, eq=False)
class Found:
    """A rule that a search found, what it does on the rows, and what is known of it."""

    choice: MixtureWeights
    rule: Rule
    confusion: Confusion
    values: Floats
    evidence: Counted
    why: str
    status: Status = "feasible"
    certificate: Certificate = Certificate()
    randomized_share: float = 0.0
    n_calls: int = 0
    solver: str = EXACT
    stopped: str = ""
    blame: Mapping[str, float] = field(default_factory=dict)
    by_posteriors: float | None = None
    trace: tuple[TracePoint, ...] = ()
    objective: Any = None
    model: Any = None

    @property
    def rows(self) -> Evidence:
        """The rows that it was found on, where they are here and not counted out of core."""
        assert isinstance(self.evidence, Evidence)
        return self.evidence


def found_of(
    space: AchievableSet,
    program: Program,
    best: Optimum,
    *,
    proved: float,
    solver: str = EXACT,
    drawn: Callable[[], float] | None = None,
) -> Found:
    """The rule that an optimum stands for, certified; `drawn`: what a mixture reaches."""
    v = space.features(best.choice)
    value = program.score_at(v)
    bound = max(best.bound, value)
    gap = 0.0 if bound == value else bound - value
    known = space.is_certain and bool(np.isfinite(gap))
    expected = space.expected(program, best.choice)
    objective, violation, calibration = expected or (None, None, None)
    certificate = Certificate(
        gap if known else None,
        program.sense * bound if known else None,
        best.rivals,
        partial(_with_draws, space, program, best, v, drawn),  # type: ignore[arg-type]
        violation,
        calibration,
    )
    return Found(
        best.choice,
        space.rule(best.choice),
        space.confusion(best.choice),
        v,
        space.evidence,
        best.why,
        "optimal" if known and gap <= proved else best.status,
        certificate,
        space.randomized_share(best.choice),
        space.limits.calls,
        solver,
        best.stopped,
        by_posteriors=objective,
        # A few passes over cut-offs need no trace.
        trace=() if solver == EXACT else tuple(space.limits.trace),
    )


def _with_draws(
    space: AchievableSet,
    program: Program,
    best: Optimum,
    v: Floats,
    drawn: Callable[[], float] | None,
) -> float | None:
    """The objective with draws, where they gain more than one row decided otherwise."""
    mixed = best.mixed if drawn is None else drawn()
    gain = mixed - program.score_at(v)
    if not 0.0 < gain < np.inf:
        return None
    counts = space.rates.tensor(program.gradient(v))
    marginals = space.evidence.marginals
    rows = np.where(marginals.weights > 0.0, marginals.smallest, 0.0)
    row = float(((counts.max(axis=-1) - counts.min(axis=-1)) * rows).max())
    return program.sense * mixed if gain > row else None


def nearest_of(
    space: AchievableSet, program: Program, near: Optimum, *, solver: str = EXACT
) -> Found:
    """The rule with the least violation of a goal that none meets."""
    why = f"no rule meets the goal; the least violation is {near.violation:.4g}"
    if not (near.status == "nearest" and space.is_certain):
        why += " as far as was searched"
    blame = {str(program.constraints[i]): share for i, share in near.blame.items()}
    found = found_of(space, program, near, proved=-1.0, solver=solver)
    return replace(found, why=why, status="nearest", blame=blame)


def warn_constant(space: AchievableSet, program: Program, found: Found) -> None:
    """Warn where one answer for everyone is as good as the rule found, or nobody is deferred."""
    best, v = program.score_at(found.values), space.features_of_constants()
    defers, n_plain = program.codebook.defers, program.codebook.n_plain
    deferred = found.confusion.counts[:n_plain, :, -1].sum() if defers else 1.0
    attains = (program.scores(v) >= tied(best)) & (program.violation(v) <= SATISFIED)
    if best == -np.inf:
        said = (
            f"'{program.goal}': the objective is infinite or not a number for every rule found "
            "that meets the constraints"
        )
    elif defers and attains[-1]:
        said = f"deferring everybody attains the optimum of '{program.goal}'"
    elif attains.any():
        label = space.evidence.classes[int(np.argmax(attains))]
        said = (
            f"predicting {label!r} for everyone attains the optimum of '{program.goal}': add the "
            "constraint that is missing, or check whether the scores say anything about the "
            "classes"
        )
    elif deferred <= _NOBODY * found.confusion.counts[:n_plain].sum():
        said = f"the optimum of '{program.goal}' defers nobody"
    else:
        return
    warn_caller(said, ConstantGoalWarning)

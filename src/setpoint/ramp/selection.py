"""From trained models to the rule; the rows of all data sets as one matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from setpoint.array_types import Floats
from setpoint.classifiers import Training, linear_scores, most_models
from setpoint.counts import Codebook, Evidence
from setpoint.errors import InputError, InputTypeError, SetpointError, nearest, warn_caller
from setpoint.inputs import Dataset, Deployed, as_datasets, column_names
from setpoint.parameters import SATISFIED
from setpoint.program import Program
from setpoint.ramp.problem import Problem, feasible_cutoffs
from setpoint.ramp.solvers.augmented_lagrangian import LARGEST_MULTIPLIER, RampSearch
from setpoint.rules import Threshold
from setpoint.search import (
    Certificate,
    ConstantGoalWarning,
    Found,
    InfeasibleError,
    Status,
    not_found,
    solve_exact,
)

# --- From a trained model to the rule: decisions are counted, not estimated -----------------------


_AT_THE_CAP = 0.999
_SHIFTS = np.linspace(0.02, 0.98, 25)
"""Shares of the rows below the cut-offs that are tried of a model that draws."""
_ERRORS = 2.0
"""Standard errors that another cut-off or model has to gain."""


def prices(problem: Problem, multipliers: Floats) -> dict[str, float]:
    """The largest multiplier of each constraint's rows, by the constraint's text."""
    out: dict[str, float] = {}
    for row, price in zip(problem.rows, multipliers, strict=True):
        out[row.text] = max(out.get(row.text, 0.0), float(price))
    return out


@dataclass(frozen=True, eq=False)
class RampTraining(Training):
    """A search that is over, and the rows and the goal that its models are judged by."""

    problem: Problem
    factor: float
    solved: RampSearch
    rivals: Mapping[str, Floats]
    randomized: bool
    on_infeasible: Literal["raise", "nearest"]

    @property
    def program(self) -> Program:
        """The goal over rates."""
        return self.problem.program

    def chosen(self) -> Found:
        """The model and its rule on its scores."""
        trained = self.solved.best.w
        if self.randomized:
            found = self.drawn(trained)
        else:
            found = self.without_draws({"": trained, **self.rivals}) or self.nearest(trained)
        _warn_constant(self.judged.rows.codebook, found)
        why = f"{self.solved.why}; {found.why}"
        return replace(found, why=why, model=self.unscaled(found.model))

    def models(self, found: Found) -> list[Found]:
        """The iterates of a training, and the models that were there before it."""
        path, weights = self.solved.path, [self.solved.best.w, *self.rivals.values()]
        n = max(most_models(found.evidence.n_rows) - len(weights), 1)
        some = np.unique(np.linspace(0, len(path) - 1, n).astype(int))
        weights += [path[i].w for i in some.tolist()]
        out, same = [found], ("rule", "values", "confusion", "randomized_share")
        for w in {w.tobytes(): w for w in weights}.values():
            scored = self.scored(w)
            other = replace(found, evidence=scored, model=self.unscaled(w))
            out += [] if self.randomized else [other]
            cuts = np.unique(np.quantile(scored.scores, _SHIFTS)).tolist()
            for cut in (0.0, *cuts) if self.randomized else ():
                judged = self.reached(w, scored, Threshold(float(cut), width=1.0))
                out.append(replace(other, **{name: getattr(judged, name) for name in same}))
        return out

    def allowed(self, counts: Floats) -> NDArray[np.bool_]:
        """Whether rules (m,) keep the denominators off 0, by counts (entries, m)."""
        return self.problem.keeps_floors(counts[1::2])

    def notes(self, found: Found, certified: bool) -> list[str]:
        """What the report says of the rows that it counts on."""
        if certified:
            return []
        return [
            f"What is counted on the {len(self.problem.kind):,} rows that the model was trained "
            "on flatters it somewhat; rows held out judge it."
        ]

    def unscaled(self, w: Floats) -> Floats:
        """Coefficients for features as the preprocessor leaves them."""
        return np.append(w[:-1] * self.factor, w[-1])

    def scored(self, w: Floats) -> Evidence:
        """The rows with the scores of a model."""
        return Evidence(self.judged.rows, linear_scores(self.problem.X, w))

    def without_draws(self, models: Mapping[str, Floats]) -> Found | None:
        """The trained model at 0 or near it, unless another cut-off or model clearly gains."""
        first: Found | None = None
        others: list[Found] = []
        for name, w in models.items():
            scored = self.scored(w)
            found = self.reached(w, scored, Threshold(0.0))
            cuts = feasible_cutoffs(self.program, scored, self.problem.floors)
            meets = self.meets(found)
            if not meets and cuts is not None:
                why = "the cut-off moved from 0 to where the counted rates meet the bounds"
                found = self.reached(w, scored, Threshold(cuts[0]), why)
            elif name:
                found = replace(found, why=f"{name} was better as it is")
            if not name:
                first = found if meets or cuts is not None else None
            elif meets or cuts is not None:
                others.append(found)
            if cuts is not None:
                why = f"{name or 'the trained model'} at its best cut-off"
                others.append(self.reached(w, scored, Threshold(cuts[1]), why))
        best = max(others, key=lambda found: self.program.score_at(found.values), default=None)
        if first is None or best is None:
            return first or best
        return best if self.clearly_better(best, first) else first

    def clearly_better(self, one: Found, other: Found) -> bool:
        """Whether a gain is more than the rows decided otherwise explain by chance."""
        program, problem = self.program, self.problem
        gain = program.sense * float(program.value(one.values) - program.value(other.values))
        if not gain > 0.0:
            return False
        changed = _accepts(one) != _accepts(other)
        S = np.ravel(other.confusion.counts[:, :, 1])
        worth = problem.loss(S)[1][problem.kind[changed]]
        if problem.weight is not None:
            worth = worth * problem.weight[changed]
        noise = float(np.sqrt(worth @ worth))
        return not gain <= _ERRORS * noise  # a noise that is not a number decides nothing

    def drawn(self, w: Floats) -> Found:
        """The randomised classifier that the ramp is."""
        outcome = self.reached(w, self.scored(w), Threshold(0.0, width=1.0))
        if self.meets(outcome):
            return outcome
        if self.on_infeasible == "raise":
            violation = float(self.program.violation(outcome.values))
            raise self.not_found(InfeasibleError("", violation=violation))
        return replace(outcome, status="nearest", blame=self.blame())

    def reached(self, w: Floats, scored: Evidence, rule: Threshold, why: str = "") -> Found:
        """What a rule reaches on the rows; `why` it is another than the ramp's own."""
        confusion = scored.confusion(rule)
        own = "drawn by the ramp" if rule.randomized else "scores of at least 0 are accepted"
        status: Status = "stationary" if self.solved.converged and not why else "feasible"
        rates, share = self.program.rates_of(confusion.counts), scored.undecided(rule)
        passes = self.solved.n_passes
        return Found(
            [], rule, confusion, rates, scored, why or own, status,
            randomized_share=share, n_calls=passes, model=w,
        )  # fmt: skip

    def meets(self, outcome: Found) -> bool:
        """Whether the goal is met, and its floors are."""
        if float(self.program.violation(outcome.values)) > SATISFIED:
            return False
        return bool(self.problem.keeps_floors(np.ravel(outcome.confusion.counts[:, :, 1])))

    def nearest(self, w: Floats) -> Found:
        """The cut-off with the least violation, where none meets the goal."""
        scored = self.scored(w)
        how: Any = {"randomized": False, "on_infeasible": self.on_infeasible}
        try:
            outcome = solve_exact(self.program, scored, **how)
        except InfeasibleError as error:
            raise self.not_found(error) from None
        blame = self.blame()
        if float(self.program.violation(outcome.values)) <= SATISFIED:
            what = "; ".join(dict.fromkeys(row.text for row in self.problem.floors))
            who = "no linear model was found that meets the goal and is measured there"
            few = f"{what}: {who} on as many rows as `min_positives` asks for"
            if self.on_infeasible == "raise":
                raise InfeasibleError(few, violation=0.0, blame=blame)
            outcome = replace(outcome, status="nearest", why=few)
        known = blame or outcome.blame
        return replace(outcome, certificate=Certificate(), blame=known, model=w)

    def not_found(self, error: InfeasibleError) -> InfeasibleError:
        """All constraints that pull against each other are named."""
        texts = [str(c) for c in self.program.constraints]
        blame = self.blame() or error.blame or dict.fromkeys(texts, 1.0 / max(len(texts), 1))
        who = f"no linear model was found that meets {'; '.join(blame)}"
        if self.solved.limits.stopped:
            who = f"{self.solved.limits.stopped}: {who} until then"
        return not_found(error, who, "cut-offs", blame)

    def blame(self) -> dict[str, float]:
        """The constraints that pull against each other: multipliers at their cap, or largest."""
        known = prices(self.problem, self.solved.multipliers)
        at_cap = {k: v for k, v in known.items() if v >= _AT_THE_CAP * LARGEST_MULTIPLIER}
        found = at_cap if len(at_cap) > 1 else {k: v for k, v in known.items() if v > 0}
        total = sum(found.values())
        return {k: v / total for k, v in found.items()} if total else {}


def _accepts(found: Found) -> NDArray[np.bool_]:
    assert isinstance(found.rule, Threshold)
    return np.asarray(found.rows.scores >= found.rule.threshold)


def _warn_constant(codebook: Codebook, outcome: Found) -> None:
    counts = outcome.confusion.counts.sum(axis=(0, 1))
    if outcome.status == "nearest" or counts.all():
        return
    label = codebook.classes[int(counts.argmax())]
    mend = "add the constraint that is missing, or check whether the features say anything"
    text = f"the model predicts {label!r} for everyone: {mend} about the classes"
    warn_caller(text, ConstantGoalWarning)


# --- The rows of all data sets as one matrix of features ------------------------------------------


_SHORTEST, _LONGEST = 10.0**0.5, 20.0**0.5
"""Norms of a row between which one regularisation suits all models."""


def aligned(datasets: Any, names: Sequence[str] | None, spare: Any = None) -> dict[str, Dataset]:
    """Further data sets with the columns of X, in the order of X."""
    return {name: _aligned(name, d, names, spare) for name, d in as_datasets(datasets).items()}


def _aligned(name: str, d: Dataset, names: Sequence[str] | None, spare: Any) -> Dataset:
    found, who = column_names(d.X), f"`datasets[{name!r}]`"
    if (found is None) != (names is None):
        one, other = ("X", "the data set") if found is None else ("the data set", "X")
        raise InputError(
            f"{who}: {one} has column names and {other} has none; columns are matched by name, so "
            "pass frames for both or arrays for both"
        )
    if found is None or names is None or found == list(names):
        return d
    lacking = [c for c in names if c not in found and c != spare]
    strange = [c for c in found if c not in names and c != spare]
    if lacking:
        near = nearest(lacking[0], found)
        raise InputError(f"{who} has no column {lacking[0]!r}, which X has ({near})")
    if strange:
        near = nearest(strange[0], names)
        raise InputError(f"{who} has the column {strange[0]!r}, which X has not ({near})")
    wanted = [*names, *([spare] if spare is not None and spare not in names else [])]
    return replace(d, X=_safe_indexing(d.X, [c for c in wanted if c in found], axis=1))


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say in errors which data set they are about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = type(error)
        if not isinstance(error, SetpointError):  # a check of scikit-learn
            kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(f"`datasets[{name!r}]`: {error}") from error


def norm_factor(X: Any, weight: Floats | None = None) -> float:
    """What features are multiplied by, so that a row has a norm of about sqrt(10) to sqrt(20).

    Examples
    --------
    >>> round(norm_factor(np.full((2, 100), 1.0)), 4), norm_factor(np.ones((2, 15)))
    (0.4472, 1.0)
    """
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()  # type: ignore[attr-defined]
    else:
        squares = np.einsum("ij,ij->i", X, X)
    norm = float(np.sqrt(np.average(squares, weights=weight)))
    return float(np.clip(norm, _SHORTEST, _LONGEST)) / norm if norm > 0 else 1.0


def stacked(chosen: Sequence[Any], factor: float) -> Any:
    """All rows below one another, times a factor; float64, dense or CSR."""
    if any(sparse.issparse(X) for X in chosen):
        return sparse.vstack([sparse.csr_matrix(X) for X in chosen], "csr") * factor
    if len(chosen) == 1 and factor == 1.0:
        return chosen[0]
    out = np.empty((sum(map(len, chosen)), chosen[0].shape[1]))  # row by row, whatever X is
    np.concatenate(chosen, out=out)
    out *= factor
    return out


# --- The deployed model's score as one more feature -----------------------------------------------


_FARTHEST = 10.0


@dataclass(frozen=True, eq=False)
class ScoreFeature:
    """The deployed model's score as a feature of mean 0 and deviation 1."""

    deployed: Deployed
    positive: Any
    mean: float
    scale: float

    def values(self, X: Any) -> Floats:
        """The feature (N,), cut off at 10 deviations."""
        raw = self.deployed.scores(X, self.positive)
        return np.clip((raw - self.mean) / self.scale, -_FARTHEST, _FARTHEST)

    @property
    def cut(self) -> float:
        """Where the deployed model begins to decide positive, on the feature's scale."""
        return ((self.deployed.threshold or 0.0) - self.mean) / self.scale


def score_feature(
    wanted: bool | str,
    deployed: Deployed | None,
    X: Any,
    positive: Any,
    weight: Floats | None = None,
) -> ScoreFeature | None:
    """The deployed model's score as a feature, where it is available at prediction."""
    if wanted is False or deployed is None or not deployed.scores_last:
        if wanted is True:
            raise InputError(
                "`baseline_score_feature=True` needs scores of the deployed model at prediction "
                "too: pass as baseline the model (with decision_function or predict_proba), or "
                "the column of X that holds its scores, Deployed('column', threshold=...)"
                if deployed is not None
                else "`baseline_score_feature=True`, and there is no baseline"
            )
        return None
    raw = deployed.scores(X, positive)
    mean = float(np.average(raw, weights=weight))
    scale = float(np.sqrt(np.average((raw - mean) ** 2, weights=weight)))
    return ScoreFeature(deployed, positive, mean, scale if scale > 0 else 1.0)

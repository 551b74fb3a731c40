"""What the benchmarks of values of rows and of deferral share: tables, costs, posteriors, lines.

No command of its own.

Costs of credit. A. Correa Bahnsen, D. Aouada and B. Ottersten, "Example-dependent cost-sensitive
logistic regression for credit scoring" (2014), with Cl_i the credit line of row i:

- a default that is accepted costs C_FN_i = Cl_i * L_gd;
- a good client who is refused costs C_FP_i = max(0, r_i + C_a): the profit lost on the line and
  the expected cost of an alternative client, C_a = -r(Cl_mean) * pi_0 + Cl_mean * L_gd * pi_1,
  where pi_1 is the share of defaults and Cl_mean the mean line;
- decisions that are right cost nothing;
- the profit is r_i = PV(A(Cl_i, int_r), int_cf) - Cl_i: what n_term equal payments are worth
  now, A(c, i) = c i (1 + i)^n / ((1 + i)^n - 1), PV(a, i) = a / i (1 - (1 + i)^-n). It is
  proportional to the line.

Constants are those the paper's authors take for their first table: L_gd 75 %, a loan at 4.79 %
and funds at 2.94 % a year, 24 months; empulse takes the same where lines are known. The paper
estimates lines from incomes; `default_credit` has them (LIMIT_BAL). pi_1 and Cl_mean are of the
training rows. Its rates make a profit of 1.9 % of the line, so nearly all of the cost of a
refusal is C_a. Without C_a both costs are proportional to the line, the best rule is one
threshold (2.5 %), and rows' own values are worth nothing: that form is ``simple=True``.

Savings (the same paper) are 1 - cost(rule) / min(cost(accept all), cost(refuse all)).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cma_data import OUTPUT, one_hot, quiet, require
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

LOSS_GIVEN_DEFAULT = 0.75
LOAN_RATE, FUNDS_RATE = 0.0479 / 12, 0.0294 / 12
"""A month."""
MONTHS = 24
CODED = ("SEX", "EDUCATION", "MARRIAGE", "PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")
"""Columns of default_credit whose numbers are codes."""
FOLDS = 5


# ---------------------------------------------------------------------- costs
def profit_rate() -> float:
    """The profit on a credit line of 1."""
    grown = (1 + LOAN_RATE) ** MONTHS
    payment = LOAN_RATE * grown / (grown - 1)
    return float(payment / FUNDS_RATE * (1 - (1 + FUNDS_RATE) ** -MONTHS) - 1)


@dataclass(frozen=True, eq=False)
class Stakes:
    """What a wrong decision costs, a row: columns of numbers that a goal names."""

    loss: np.ndarray
    profit_lost: np.ndarray

    @property
    def columns(self) -> dict[str, np.ndarray]:
        return {"loss": self.loss, "profit_lost": self.profit_lost}


def stakes_of(
    line: np.ndarray, y_train: np.ndarray, line_train: np.ndarray, *, simple: bool = False
) -> Stakes:
    """Costs of rows with these credit lines; prior and mean line are of the training rows."""
    rate, prior, mean = profit_rate(), float(np.mean(y_train)), float(np.mean(line_train))
    other = mean * (LOSS_GIVEN_DEFAULT * prior - rate * (1 - prior))
    lost = rate * line + (0.0 if simple else other)
    return Stakes(LOSS_GIVEN_DEFAULT * line, np.maximum(lost, 0.0))


def cost(refused: np.ndarray, y: np.ndarray, stakes: Stakes) -> float:
    """Mean cost of a row; `refused` may be probabilities."""
    wrong = np.where(y == 1, (1 - refused) * stakes.loss, refused * stakes.profit_lost)
    return float(np.mean(wrong))


def savings(refused: np.ndarray, y: np.ndarray, stakes: Stakes) -> float:
    plain = min(cost(np.full(len(y), r), y, stakes) for r in (0.0, 1.0))
    return 1.0 - cost(refused, y, stakes) / plain


# ---------------------------------------------------------------------- splits
@dataclass(frozen=True, eq=False)
class Credit:
    """One split of default_credit in halves; 1 is a default. Features are not scaled."""

    seed: int
    X: np.ndarray
    y: np.ndarray
    stakes: Stakes
    X_test: np.ndarray
    y_test: np.ndarray
    stakes_test: Stakes


@functools.cache
def _credit() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, _, _ = require("default_credit").load("default_credit")
    coded = X.astype(dict.fromkeys(CODED, "string"))
    return one_hot(coded), np.int64(y), X["LIMIT_BAL"].to_numpy(float)


def credit(seed: int, *, simple: bool = False) -> Credit:
    X, y, line = _credit()
    a, b = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
    parts = [stakes_of(line[i], y[a], line[a], simple=simple) for i in (a, b)]
    return Credit(seed, X[a], y[a], parts[0], X[b], y[b], parts[1])


# ---------------------------------------------------------------------- posteriors
def model(name: str) -> Any:
    if name == "boosting":
        return HistGradientBoostingClassifier(random_state=0)
    if name == "forest":
        return ExtraTreesClassifier(100, min_samples_leaf=2, random_state=0)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def posteriors(kept: str, name: str, X: Any, y: Any, X_test: Any) -> tuple[Any, Any]:
    """Posteriors (N, n) of the training rows, each by a model of other folds, and of the test
    rows by a model of all; kept in OUTPUT, for they take longer than all solvers."""
    path = OUTPUT / f"stakes_{kept}_{name}.npz"
    if not path.exists():
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        with quiet():
            here = cross_val_predict(model(name), X, y, cv=folds, method="predict_proba")
            there = model(name).fit(X, y).predict_proba(X_test)
        OUTPUT.mkdir(exist_ok=True)
        np.savez(path, here=here, there=there)
    with np.load(path) as z:
        return z["here"], z["there"]


def default_posteriors(part: Credit, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The probability of a default, calibrated isotonically on the training rows."""
    kept = f"credit_{part.seed}"
    here, there = posteriors(kept, name, part.X, part.y, part.X_test)
    to = IsotonicRegression(out_of_bounds="clip").fit(here[:, 1], part.y)
    return to.predict(here[:, 1]), to.predict(there[:, 1])


# ---------------------------------------------------------------------- deferral
@dataclass(frozen=True, eq=False)
class Parted:
    """Posteriors, labels and groups of validation rows and of test rows."""

    classes: np.ndarray
    P: np.ndarray
    y: np.ndarray
    P_test: np.ndarray
    y_test: np.ndarray
    groups: dict[str, np.ndarray] = field(default_factory=dict)
    groups_test: dict[str, np.ndarray] = field(default_factory=dict)


@functools.cache
def _table(name: str) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    X, y, groups, _ = require(name).load(name)
    if name == "default_credit":
        X = X.astype(dict.fromkeys(CODED, "string"))
    X = one_hot(X)
    return np.nan_to_num(X, nan=-1.0), np.asarray(y), dict(groups or {})


def parted(name: str, by: str, seed: int) -> Parted:
    """Half of the rows fits a model; a quarter is for the rule, a quarter to test."""
    X, y, groups = _table(name)
    fit, rest = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
    a, b = train_test_split(rest, test_size=0.5, random_state=seed, stratify=y[rest])
    path = OUTPUT / f"stakes_{name}_{by}_{seed}.npy"
    if not path.exists():
        with quiet():
            P = model(by).fit(X[fit], y[fit]).predict_proba(X[rest])
        OUTPUT.mkdir(exist_ok=True)
        np.save(path, P)
    P = np.load(path)
    at = {row: k for k, row in enumerate(rest)}
    P_a, P_b = (P[[at[row] for row in rows]] for rows in (a, b))
    sides = [{g: v[rows] for g, v in groups.items()} for rows in (a, b)]
    return Parted(np.unique(y), P_a, y[a], P_b, y[b], *sides)


# ---------------------------------------------------------------------- lines
def mean_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error over splits."""
    v = np.asarray(values, dtype=float)
    return float(v.mean()), float(v.std(ddof=1) / np.sqrt(len(v))) if len(v) > 1 else 0.0


def row(what: str, values: Sequence[float], first: str = "    ") -> None:
    """A line: the mean, its standard error, and every split."""
    mean, error = mean_error(values)
    each = " ".join(f"{v:.3f}" for v in values)
    print(f"{first} {what:<60} {mean:7.4f} +-{error:.4f}   {each}", flush=True)


def against(what: str, values: Sequence[float], peer: Sequence[float]) -> bool:
    """A line whose target is the peer's mean less two standard errors of the difference."""
    difference, error = mean_error(np.subtract(values, peer))
    good = difference >= -2 * error - 1e-12
    row(what, values, "ok  " if good else "MISS")
    print(f"       less its peer: {difference:+.4f} +-{error:.4f}")
    return good

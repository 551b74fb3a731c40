"""What the benchmarks after one paper share.

Goh, Cotter, Gupta and Friedlander, "Satisfying real-world goals with dataset constraints":
its fairness data (a9a), and Adult and Covertype in place of its churn data, which are
Google's own. Splits, the deployed models, what decisions are measured by, and how a line of
a table looks. No command of its own.

Protocol: a9a and Adult in their source's split; Covertype is split once, 70 to 30. Scalers
and encoders see training rows only, and nothing is chosen on test rows. The positive class
of Covertype is lodgepole pine, the most frequent one: half of the rows, as in the binary
form that others use. A deployed model is a logistic regression on 1,500 random rows of the
training part that does not see all columns: on Adult neither marital status nor
relationship, on Covertype no soil type.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from cma_data import quiet, require, verdict
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

DEPLOYED_ROWS = 1_500
LEFT_OUT = ("fnlwgt",)
"""A census weight is not a feature."""
UNSEEN = ("marital_status", "relationship")
LODGEPOLE = 2
NUMBERS = 10
"""The first columns of Covertype; then come 4 areas and 40 soil types."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one part of a split.

    `X` is what a pipeline begins with, `encoded` what a linear model takes.
    """

    X: Any
    encoded: Any
    y: np.ndarray
    sex: np.ndarray | None
    deployed: np.ndarray | None
    deployed_score: np.ndarray | None

    def rows(self, index: np.ndarray) -> Part:
        return Part(
            self.X.iloc[index] if hasattr(self.X, "iloc") else self.X[index],
            self.encoded[index],
            *(None if v is None else v[index]
              for v in (self.y, self.sex, self.deployed, self.deployed_score)),
        )  # fmt: skip

    @property
    def groups(self) -> dict[str, np.ndarray]:
        assert self.sex is not None
        return {"sex": self.sex}


@dataclass(frozen=True, eq=False)
class Task:
    """A split, what encodes its rows (None: they are numbers), and the deployed model."""

    name: str
    train: Part
    test: Part
    preprocessor: Any = "standardize"
    model: Any = None


@functools.cache
def a9a() -> Task:
    """Sparse, one-hot; sex is known for the constraint, and two columns tell it too."""
    X, y, groups, split = require("a9a").load("a9a")
    X, y, sex = sparse.csr_matrix(X, dtype=float), np.int64(y == 1), groups["sex"]
    parts = [
        Part(X[rows], X[rows], y[rows], sex[rows], None, None)
        for rows in (split == "train", split == "test")
    ]
    return Task("a9a", *parts)


@functools.cache
def adult() -> Task:
    X, y, groups, split = require("adult").load("adult")
    X, y, sex = X.drop(columns=list(LEFT_OUT)), np.int64(y == ">50K"), groups["sex"]
    train, test = (np.flatnonzero(split == part) for part in ("train", "test"))
    encoder, seen = _encoder(X), _encoder(X.drop(columns=list(UNSEEN)))
    return _task("adult", X, y, sex, train, test, encoder, seen)


@functools.cache
def covtype() -> Task:
    X, y, _, _ = require("covtype_100k").load("covtype_100k")
    X, y = X.to_numpy(float), np.int64(y == LODGEPOLE)
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    columns = list(range(NUMBERS + 4))
    seen = ColumnTransformer([("seen", StandardScaler(), columns)])
    return _task("covtype", X, y, None, train, test, StandardScaler(), seen)


def _encoder(X: Any) -> ColumnTransformer:
    numbers = list(X.select_dtypes("number").columns)
    words = [c for c in X.columns if c not in numbers]
    categories = OneHotEncoder(handle_unknown="ignore", min_frequency=20)
    return ColumnTransformer([("n", StandardScaler(), numbers), ("c", categories, words)])


def _task(
    name: str, X: Any, y: Any, sex: Any, train: Any, test: Any, encoder: Any, seen: Any
) -> Task:
    few = np.random.default_rng(0).choice(train, DEPLOYED_ROWS, replace=False)
    at = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    with quiet():
        model = make_pipeline(seen, LogisticRegression(max_iter=1000)).fit(at(few), y[few])
        encoder = encoder.fit(at(train))
        parts = [
            Part(
                at(rows),
                encoder.transform(at(rows)),
                y[rows],
                None if sex is None else sex[rows],
                model.predict(at(rows)),
                model.decision_function(at(rows)),
            )
            for rows in (train, test)
        ]
    return Task(name, *parts, encoder, FrozenEstimator(model))


def halves(part: Part) -> tuple[Part, Part]:
    """Rows whose labels are used, and as many whose labels are not."""
    order = np.random.default_rng(0).permutation(len(part.y))
    return part.rows(np.sort(order[::2])), part.rows(np.sort(order[1::2]))


# ---------------------------------------------------------------------- measuring
@dataclass(frozen=True)
class Measured:
    """What acceptance, sure or with a probability, reaches on a part; NaN: not to be had."""

    error: float
    recall: float
    accepted: float
    ratio: float
    churn: float
    wins: float
    losses: float
    gained: float
    """Recall less that of the deployed model."""

    @classmethod
    def of(cls, accepted: np.ndarray, part: Part) -> Measured:
        p, y = np.asarray(accepted, float), part.y
        wrong = np.where(y == 1, 1.0 - p, p)
        ratio = churn = wins = losses = gained = np.nan
        if part.sex is not None:
            women = part.sex == "Female"
            men_rate = p[~women].mean()
            ratio = p[women].mean() / men_rate if men_rate > 0 else np.nan
        if part.deployed is not None:
            changed = np.where(part.deployed == 1, 1.0 - p, p)
            was_right = part.deployed == y
            churn = changed.mean()
            wins, losses = (changed * ~was_right).mean(), (changed * was_right).mean()
            gained = p[y == 1].mean() - part.deployed[y == 1].mean()
        found = (wrong.mean(), p[y == 1].mean(), p.mean(), ratio, churn, wins, losses, gained)
        return cls(*map(float, found))


@dataclass(frozen=True)
class Found:
    """One method: what it reaches where it was fitted and on test, and its CPU seconds."""

    name: str
    train: Measured
    test: Measured
    seconds: float = np.nan
    note: str = ""


def accepted(clf: Any, X: Any, **columns: Any) -> np.ndarray:
    """The probability with which a classifier of ours accepts each row."""
    return np.asarray(clf.decision_distribution(X, **columns)[:, 1])


# ---------------------------------------------------------------------- lines
def figure(what: str, target: str, value: str, good: bool | None) -> bool:
    """A line of the last table: figure, target, reached, and at the front whether it is."""
    print(f"{verdict(good)} {what:<72} {target:>16} {value:>16}")
    return good is not False


def heading() -> None:
    print(f"\n     {'figure':<72} {'target':>16} {'reached':>16}")


def cell(value: float, width: int = 9, digits: int = 4, sign: str = "") -> str:
    text = "-" if np.isnan(value) else f"{value:{sign}.{digits}f}"
    return f"{text:>{width}}"

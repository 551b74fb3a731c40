"""What the benchmarks after one paper share.

Jiang, Adigun, Narasimhan, Milani Fard and Gupta, "Optimizing black-box metrics with adaptive
surrogates": its data, splits and noise, the metrics as functions that no solver can look
into, and how a line of a table looks. No command of its own.

Protocol: 4/9 of the rows train, 2/9 are for the metric, 1/3 to test, drawn at random with
seeds 0, 1, ... Encoders and scalers see training rows only, and nothing is chosen on test
rows. Adult is a9a, the training part of its source's split; its rows are those of the table
`adult` in the same order, which tells sex, race and workclass. Classes are 0 and 1, sexes 0
(female) and 1 (male). Of the paper's sets the two that are not available are left out,
and rankings are learned on Default and Adult.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cma_data import require, verdict
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from setpoint import BlackBox, Dataset

Floats = np.ndarray
FAIR = ("compas", "default_credit", "adult")
SHARES = (4 / 9, 2 / 9)
CODED = ("SEX", "EDUCATION", "MARRIAGE", "PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")
"""Columns of Default whose numbers are codes."""
CLEAN_ROWS = 326
"""One in a hundred of Adult's training rows."""
FLIPPED = 0.3
GROUPS = (
    {"sex": 1}, {"sex": 0}, {"race": "Black"}, {"race": "White"}, {"workclass": "Private"},
)  # fmt: skip
"""On which surrogates are counted apart where labels are noisy."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows: features (n, d), labels 0 and 1, and columns by name."""

    X: Floats
    y: np.ndarray
    columns: dict[str, np.ndarray] = field(default_factory=dict)

    def rows(self, index: np.ndarray) -> Part:
        taken = {name: values[index] for name, values in self.columns.items()}
        return Part(self.X[index], self.y[index], taken)

    def dataset(self) -> Dataset:
        return Dataset(self.X, self.y, sensitive_features=self.columns or None)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on, for the metric, and to test.

    Features are standardised on the first and cut off at 10 deviations, for all methods.
    """

    name: str
    train: Part
    validation: Part
    test: Part

    @classmethod
    def of(cls, name: str, *parts: Part) -> Split:
        scale = StandardScaler().fit(parts[0].X)
        X = [np.clip(scale.transform(p.X), -10.0, 10.0) for p in parts]
        return cls(name, *(Part(x, p.y, p.columns) for x, p in zip(X, parts, strict=True)))


def parted(n: int, rng: np.random.Generator, shares: tuple[float, float] = SHARES) -> Any:
    """Row numbers of three parts."""
    ends = np.int64(np.round(np.cumsum(shares) * n))
    return np.split(rng.permutation(n), ends)


# ---------------------------------------------------------------------- sets
def simulated(seed: int, n: int = 5_000) -> Split:
    """Few positives between two clouds of negatives on a diagonal."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < n // 10).astype(np.int64)
    centre = np.where(y == 1, 0.0, rng.choice([-1.0, 1.0], n))
    deviation = np.sqrt(np.where(y == 1, 0.2, 0.1))
    X = centre[:, None] + deviation[:, None] * rng.normal(size=(n, 2))
    return Split.of("simulated", *(Part(X, y).rows(i) for i in parted(n, rng)))


@functools.cache
def table(name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Features (a frame; of Adult the matrix a9a), labels and sexes."""
    if name == "adult":
        part = a9a("train")
        return part.X, part.y, part.columns["sex"]
    X, y, groups, _ = require(name).load(name)
    return X, np.int64(y), np.int64(np.char.lower(groups["sex"]) == "male")


@functools.cache
def a9a(which: str) -> Part:
    """The rows of a9a in a part of the source's split, with columns of `adult`."""
    load = require("a9a", "adult").load
    X, y, _, split = load("a9a")
    frame, rows = load("adult")[0], split == which
    names = {c: frame[c].to_numpy(object)[rows] for c in ("race", "workclass")}
    names = {c: np.where([isinstance(v, str) for v in w], w, "?") for c, w in names.items()}
    columns = {c: w.astype(str) for c, w in names.items()}
    columns["sex"] = np.int64(frame["sex"].to_numpy(object)[rows] == "Male")
    return Part(X[rows].toarray(), np.int64(y[rows] == 1), columns)


def fair(name: str, seed: int, noise: float = 0.0) -> Split:
    """One split; with noise in that share of the women's training rows.

    Gaussian noise with the feature's own deviation; binary features are flipped with
    probability .9. The column of sexes itself stays clean.
    """
    X, y, sex = table(name)
    rng = np.random.default_rng(seed)
    index = parted(len(y), rng)
    parts = [Part(x, y[i], {"sex": sex[i]}) for x, i in zip(_encoded(X, index), index, strict=True)]
    if noise:
        women = np.flatnonzero(parts[0].columns["sex"] == 0)
        hit = rng.choice(women, round(noise * len(women)), replace=False)
        parts[0].X[hit] = _noisy(parts[0].X, hit, rng)
    return Split.of(name, *parts)


def _encoded(X: Any, index: list[np.ndarray]) -> list[np.ndarray]:
    if isinstance(X, np.ndarray):
        return [X[i] for i in index]
    words = [c for c in X.columns if c in CODED or X[c].dtype.kind not in "if"]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = ColumnTransformer([("c", one_hot, words)], remainder="passthrough")
    encoder.fit(X.iloc[index[0]])
    return [np.asarray(encoder.transform(X.iloc[i]), float) for i in index]


def _noisy(X: Floats, hit: np.ndarray, rng: np.random.Generator) -> Floats:
    binary = ((X == 0) | (X == 1)).all(axis=0)
    moved = X[hit] + X.std(axis=0) * rng.normal(size=(len(hit), X.shape[1]))
    flipped = np.where(rng.random(moved.shape) < 0.9, 1.0 - X[hit], X[hit])
    return np.where(binary, flipped, moved)


def mislabelled(seed: int) -> Split:
    """Adult: few clean rows for the metric, and among the others positives called negative.

    Tested on the test part of its source's split.
    """
    whole, test = a9a("train"), a9a("test")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(whole.y))
    clean, rest = whole.rows(order[:CLEAN_ROWS]), whole.rows(order[CLEAN_ROWS:])
    positives = np.flatnonzero(rest.y == 1)
    y = rest.y.copy()
    y[rng.choice(positives, round(FLIPPED * len(positives)), replace=False)] = 0
    return Split.of("adult, labels flipped", Part(rest.X, y, rest.columns), clean, test)


@functools.cache
def wives() -> tuple[Floats, np.ndarray, np.ndarray]:
    """Adult without sex and relationship; who is a woman, and who is somebody's wife."""
    load = require("a9a", "adult").load
    X, _, _, split = load("a9a")
    rows = split == "train"
    X, frame = X[rows].toarray(), load("adult")[0][rows]
    known = [
        (frame[c] == v).to_numpy(float) for c in ("sex", "relationship") for v in frame[c].unique()
    ]
    kept = [k for k in range(X.shape[1]) if not any((X[:, k] == t).all() for t in known)]
    woman = np.int64(frame["sex"] == "Female")
    return X[:, kept], woman, np.int64(frame["relationship"] == "Wife")


def proxy(seed: int) -> Split:
    """Who is a woman, where the training rows tell only who is a wife."""
    X, woman, wife = wives()
    first, *others = parted(len(woman), np.random.default_rng(seed))
    rest = (Part(X[i], woman[i]) for i in others)
    return Split.of("adult, proxy labels", Part(X[first], wife[first]), *rest)


def ranking(name: str, seed: int) -> Split:
    """60, 20 and 20 in a hundred."""
    X, y, _ = table(name)
    index = parted(len(y), np.random.default_rng(seed), (0.6, 0.2))
    parts = zip(_encoded(X, index), index, strict=True)
    return Split.of(name, *(Part(x, y[i]) for x, i in parts))


# ---------------------------------------------------------------------- metrics
@dataclass(frozen=True)
class Metric:
    """A function of labels, decisions and columns; a goal says the same as a formula."""

    function: Callable[..., float]
    goal: str
    up: bool

    @property
    def box(self) -> BlackBox:
        return BlackBox(self.function, self.up, name=self.function.__name__)

    def of(self, part: Part, decided: np.ndarray) -> float:
        return self.box(part.y, decided, part.columns)


def g_mean_loss(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    hits = np.bincount(2 * y_true + y_pred, minlength=4)
    rates = hits[[0, 3]] / np.maximum(hits.reshape(2, 2).sum(axis=1), 1)
    return float(1.0 - np.sqrt(rates.prod()))


def macro_f(y_true: np.ndarray, y_pred: np.ndarray, sex: np.ndarray) -> float:
    """The mean of the F-measures of both sexes."""
    n = np.bincount(4 * sex + 2 * y_true + y_pred, minlength=8).reshape(2, 2, 2)
    ends = n[:, 1, :].sum(axis=1) + n[:, :, 1].sum(axis=1)
    return float((2.0 * n[:, 1, 1] / np.maximum(ends, 1)).mean())


def error(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    return float((y_true != y_pred).mean())


G_MEAN = Metric(g_mean_loss, "maximize g_mean", False)
MACRO_F = Metric(macro_f, "maximize f1.mean('sex')", True)
ERROR = Metric(error, "minimize error_rate", False)


# ---------------------------------------------------------------------- lines
def figure(what: str, target: str, value: str, good: bool | None) -> bool:
    """A line of the last table: figure, target, reached, and at the front whether it is."""
    print(f"{verdict(good)} {what:<66} {target:>12} {value:>12}")
    return good is not False


def heading() -> None:
    print(f"\n     {'figure':<66} {'target':>12} {'reached':>12}")

"""What the benchmarks after one paper share.

Narasimhan, Ramaswamy, Tavker, Khurana, Netrapalli and Agarwal, "Consistent multiclass
algorithms for complex metrics and constraints". The protocol (splits, models, posteriors),
the data sets, the numbers that the paper prints, and how a line of a table looks. No command
of its own.

Protocol: a random split of 70 to 30, seeds 0, 1, ...; features standardised on the training
part; a logistic regression fitted on it gives the posteriors, and decisions are counted on
the same rows, as the paper's authors do. Nothing is chosen on test rows.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler

from setpoint import PlugInClassifier
from setpoint.report import GoalReport

HERE = Path(__file__).resolve().parent
OUTPUT = HERE / "output"
SETS = ("abalone", "page_blocks", "satimage")
COVERAGE = "abs(predicted_rate - prior).max() <= {}"
H_MEAN = "maximize h_mean"
H_MEAN_COVERED = f"{H_MEAN} subject to {COVERAGE.format(0.01)}"
MINMAX = "maximize recall.min()"

# Means over ten splits; columns as in the paper, the three sets that are available.
TABLE_6 = {
    "abalone": {"argmax": 1.0, "balanced": 0.890, "FW": 0.816, "GDA": 0.818, "ellipsoid": 0.817},
    "page_blocks": {
        "argmax": 0.416, "balanced": 0.130, "FW": 0.120, "GDA": 0.130, "ellipsoid": 0.110,
    },
    "satimage": {
        "argmax": 0.279, "balanced": 0.173, "FW": 0.171, "GDA": 0.173, "ellipsoid": 0.170,
    },
}  # fmt: skip
TABLE_7 = {
    "abalone": {"argmax": 0.713, "balanced": 0.760, "bisection": 0.693},
    "page_blocks": {"argmax": 0.218, "balanced": 0.441, "bisection": 0.211},
    "satimage": {"argmax": 0.180, "balanced": 0.185, "bisection": 0.180},
}
# H-mean loss after 20 calls (Table 8) and 100 (Table 12): plug-in, retrained.
TABLE_8 = {
    "abalone": {"FW": (0.797, 0.791), "GDA": (0.892, 0.838), "ellipsoid": (0.833, 0.833)},
    "page_blocks": {"FW": (0.130, 0.084), "GDA": (0.129, 0.083), "ellipsoid": (0.105, 0.080)},
    "satimage": {"FW": (0.174, 0.171), "GDA": (0.173, 0.176), "ellipsoid": (0.168, 0.167)},
}
# 0-1 loss, H-mean loss, excess over .01 of the largest |predicted rate - prior|, on test.
TABLE_9 = {
    "argmax": (0.437, 0.709, 0.045),
    "H-mean": (0.481, 0.564, 0.029),
    "0-1, coverage": (0.436, 0.636, 0.007),
    "H-mean, coverage": (0.448, 0.595, 0.000),
}
TABLE_10 = {
    "argmax": (0.332, 0.899, 0.169),
    "H-mean": (0.329, 0.396, 0.076),
    "0-1, coverage": (0.196, 0.610, 0.004),
    "H-mean, coverage": (0.221, 0.471, 0.003),
}


@dataclass(frozen=True)
class Split:
    """Posteriors and labels of the two parts of one split.

    `P`, `y` are of the training part, on which rules are found; `groups` are None or arrays.
    """

    P: np.ndarray
    y: np.ndarray
    P_test: np.ndarray
    y_test: np.ndarray
    groups: np.ndarray | None = None
    groups_test: np.ndarray | None = None


class Given(ClassifierMixin, BaseEstimator):
    """A fitted model whose posteriors are the rows themselves."""

    def __init__(self, classes: Any = None) -> None:
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        return np.asarray(self.classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> Given:
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(X)


# ---------------------------------------------------------------------- data
@functools.cache
def loader() -> ModuleType | None:
    """The data sets' own loader, beside the checkout; None where it is missing."""
    path = HERE.parents[1] / "shared" / "data" / "load.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("benchmark_sets", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def require(*names: str) -> ModuleType:
    """The loader, or the end of the program with the reason."""
    module = loader()
    if module is None:
        print("skipped: there is no folder shared/data beside this checkout")
        sys.exit(0)
    missing = [name for name in names if name not in module.names()]
    if missing:
        print(f"skipped: no data set {', '.join(missing)} in shared/data")
        sys.exit(0)
    return module


@functools.cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features, categories one-hot, and labels of a multiclass table."""
    X, y, _, _ = require(name).load(name)
    return one_hot(X), np.asarray(y)


def one_hot(X: Any) -> np.ndarray:
    """A frame as a matrix: one column a category; missing numbers stay NaN."""
    import pandas as pd

    numbers = X.select_dtypes("number")
    parts = [numbers.astype(float)]
    parts += [
        pd.get_dummies(X[c], prefix=c, dummy_na=bool(X[c].isna().any()))
        for c in X.columns.difference(numbers.columns)
    ]
    return pd.concat(parts, axis=1).to_numpy(float)


def micro_f1(name: str) -> str:
    """Micro-F1 of all classes but the most frequent.

    The paper does not say which class it leaves out; with this one its baselines agree.
    """
    labels, counts = np.unique(table(name)[1], return_counts=True)
    return f"micro_f1(default={labels[counts.argmax()].item()!r})"


def features(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y of the training part, standardised on it, and X, y of the test part."""
    X, y = table(name)
    a, b, y_a, y_b = train_test_split(X, y, test_size=0.3, random_state=seed)
    scale = StandardScaler().fit(a)
    return scale.transform(a), y_a, scale.transform(b), y_b


def split(name: str, seed: int = 0) -> Split:
    """Posteriors of the protocol; kept in OUTPUT, for they take longer than all solvers."""
    path = OUTPUT / f"cma_{name}_{seed}.npz"
    if not path.exists():
        a, y_a, b, y_b = features(name, seed)
        with quiet():
            model = LogisticRegressionCV(cv=2, solver="newton-cg", tol=1e-3).fit(a, y_a)
        OUTPUT.mkdir(exist_ok=True)
        np.savez(path, P=model.predict_proba(a), y=y_a, P_test=model.predict_proba(b), y_test=y_b)
    with np.load(path) as kept:
        return Split(*(kept[k] for k in ("P", "y", "P_test", "y_test")))


def cross_fitted(name: str, seed: int) -> Split:
    """The same split with out-of-fold posteriors of the training part (5 folds), kept too."""
    part = split(name, seed)
    path = OUTPUT / f"cma_{name}_{seed}_folds.npy"
    if not path.exists():
        a, y_a, _, _ = features(name, seed)
        model = LogisticRegressionCV(cv=2, solver="newton-cg", tol=1e-3)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        with quiet():
            np.save(path, cross_val_predict(model, a, y_a, cv=folds, method="predict_proba"))
    return replace(part, P=np.load(path))


def counts_of(y: np.ndarray) -> str:
    """Rows of each class, for sets in which one is rare."""
    labels, counts = np.unique(y, return_counts=True)
    return ", ".join(f"{label}: {k}" for label, k in zip(labels, counts, strict=True))


# ---------------------------------------------------------------------- solving
def on_test(goal: str, part: Split, **options: Any) -> tuple[GoalReport, GoalReport]:
    """A rule found on the training part: its report there and on the test part.

    As the paper's they may draw, and are then measured in expectation.
    """
    model, options = Given(np.unique(part.y)), {"randomized": "auto"} | options
    groups = {} if part.groups is None else {"sensitive_features": {"group": part.groups}}
    tested = {} if part.groups is None else {"sensitive_features": {"group": part.groups_test}}
    with quiet():
        clf = PlugInClassifier(model, goal, cv="prefit", **options).fit(part.P, part.y, **groups)
        return clf.goal_report_, clf.evaluate(part.P_test, part.y_test, **tested)


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings of convergence, few rows and limits: the tables say what they reached."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---------------------------------------------------------------------- lines
def verdict(good: bool | None) -> str:
    """The first word of a line; None: nothing was asked for."""
    return "    " if good is None else "ok  " if good else "MISS"


def below(measured: float, target: float | None, slack: float = 0.0) -> bool | None:
    return None if target is None else bool(measured <= target + slack)


def mean_and_error(values: list[float]) -> str:
    """Mean and standard deviation over splits."""
    deviation = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.3f} +-{deviation:.3f}"


def run_with_one_thread(main: Callable[[], int | None]) -> None:
    """The body of every command here: linear algebra on one thread, exit status from `main`."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):
        sys.exit(main())

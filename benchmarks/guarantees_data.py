"""Populations for the benchmarks of guarantees: tables, scored by models fitted on other rows.

Half of a table fits a logistic regression and a gradient boosting, the other half is scored and
becomes the population: cells of group, deployed decision, class and score, each with its share.
A draw of n rows is then one multinomial, and what a rule does on the population is counted, not
estimated. No command of its own.
"""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from cma_data import OUTPUT, one_hot, quiet, require
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TABLES = ("adult", "default_credit", "covtype_100k", "compas")
MODELS = ("logistic", "boosting")
FITTED = 20_000
"""Rows that fit a model, at most half of the table."""
BINS = 2_000
"""Of scores, in each population."""
MOST_PAIRS = 400
"""Cut-offs of each of two groups that the best rule on the population is sought among."""


@dataclass(frozen=True)
class Rows:
    """Drawn rows, or the cells of a population."""

    scores: np.ndarray
    y: np.ndarray
    group: np.ndarray
    deployed: np.ndarray

    def given(self, text: str) -> dict[str, Any]:
        """The side information that a goal names."""
        out: dict[str, Any] = {}
        if "group" in text:
            out["sensitive_features"] = {"group": self.group}
        if "churn" in text or "baseline" in text:
            out["baseline"] = self.deployed
        return out


@dataclass(frozen=True)
class Population:
    """Cells with their shares."""

    name: str
    shares: np.ndarray
    cells: Rows

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        """n rows with replacement, in no order: a split by place is one at random."""
        at = np.repeat(np.arange(len(self.shares)), rng.multinomial(n, self.shares))
        rng.shuffle(at)
        c = self.cells
        return Rows(c.scores[at], c.y[at], c.group[at], c.deployed[at])

    def decided(self, rule: Any) -> np.ndarray:
        """What a rule does: shares by group, deployed decision, class and decision."""
        c = self.cells
        segments = rule.segment_codes({"group": c.group}) if rule.needs_segments else None
        accepted = np.asarray(rule.decide(c.scores, segments))
        at = ((c.group * 2 + c.deployed) * 2 + c.y) * 2 + accepted
        return np.bincount(at, self.shares, 16).reshape(2, 2, 2, 2)

    def at(self, values: np.ndarray) -> np.ndarray:
        """Counts (m + 1, 2, 2, 2, 2): nobody accepted, then scores from each value upwards.

        The values descend.
        """
        c = self.cells
        kind = (c.group * 2 + c.deployed) * 2 + c.y
        first = np.searchsorted(-values, -c.scores, side="left")
        table = np.bincount((first + 1) * 8 + kind, self.shares, 8 * (len(values) + 2))
        up = np.cumsum(table.reshape(-1, 8), axis=0)
        accepted, total = up[:-1], up[-1]
        return np.stack([total - accepted, accepted], axis=-1).reshape(-1, 2, 2, 2, 2)

    @functools.cached_property
    def at_cutoffs(self) -> np.ndarray:
        """The same at every cut-off of one threshold."""
        return self.at(np.unique(self.cells.scores)[::-1])

    def quantiles(self, m: int) -> np.ndarray:
        """m cut-offs that accept equal shares more each, descending."""
        order = np.argsort(-self.cells.scores)
        shares = np.cumsum(self.shares[order])
        at = np.searchsorted(shares, (np.arange(m) + 1) / m - 1e-9)
        return np.unique(self.cells.scores[order][np.minimum(at, len(order) - 1)])[::-1]

    @functools.cached_property
    def at_pairs(self) -> np.ndarray:
        """Counts (m, 2, 2, 2, 2) at cut-offs of a threshold for each group."""
        values = np.unique(self.cells.scores)[::-1]
        some = values[np.unique(np.linspace(0, len(values) - 1, MOST_PAIRS).astype(int))]
        parts = self.at(some)
        a, b = np.meshgrid(np.arange(len(parts)), np.arange(len(parts)), indexing="ij")
        return np.stack([parts[a.ravel(), 0], parts[b.ravel(), 1]], axis=1)


# ---------------------------------------------------------------------- where they come from
@functools.cache
def population(table: str, model: str) -> Population:
    """A table scored by a model; scores are kept, for the fits take longer than all draws."""
    path = OUTPUT / f"guarantees_{table}_{model}.npz"
    if not path.exists():
        OUTPUT.mkdir(exist_ok=True)
        np.savez(path, **_scored(table, model))
    with np.load(path) as kept:
        return binned(f"{table}, {model}", **{k: kept[k] for k in kept.files})


def binned(
    name: str, scores: np.ndarray, y: np.ndarray, group: np.ndarray, deployed: np.ndarray
) -> Population:
    """A population of rows, with scores that lie close together made equal."""
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, BINS + 1)))
    bins = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, len(edges) - 2)
    kind = ((bins * 2 + group) * 2 + deployed) * 2 + y
    cells, place, counts = np.unique(kind, return_inverse=True, return_counts=True)
    means = np.bincount(bins, scores) / np.maximum(np.bincount(bins), 1)
    own = Rows(means[cells // 8], cells % 2, cells // 4 % 2, cells // 2 % 2)
    assert place.max() + 1 == len(cells)
    return Population(name, counts / counts.sum(), own)


def _scored(name: str, model: str) -> dict[str, np.ndarray]:
    X, y, groups, _ = require(name).load(name)
    labels = np.asarray(y)
    positive = {"covtype_100k": 1}.get(name)
    # The rarer class is the positive one.
    values, counts = np.unique(labels, return_counts=True)
    positive = values[np.argmin(counts)] if positive is None else positive
    y01 = (labels.astype(str) == str(positive)).astype(int)
    assert 0.05 < y01.mean() < 0.6, f"{name}: {values}"
    sex = None if not groups else groups.get("sex")
    codes = np.zeros(len(y01), int) if sex is None else np.unique(sex, return_inverse=True)[1]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    mixed = rng.permutation(len(y01))
    half = len(y01) // 2
    fit, rest = mixed[: min(half, FITTED)], mixed[half:]
    features = one_hot(X)
    with quiet():
        scores = _model(model).fit(features[fit], y01[fit]).predict_proba(features[rest])[:, 1]
        # The model that is in service.
        deployed = _model("logistic").fit(features[fit], y01[fit]).predict(features[rest])
    return {"scores": scores, "y": y01[rest], "group": codes[rest], "deployed": deployed}


def _model(kind: str) -> Any:
    if kind == "boosting":
        return HistGradientBoostingClassifier(random_state=0)
    return make_pipeline(
        SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression(max_iter=1000)
    )

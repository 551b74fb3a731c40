"""What ``guarantee="approximate"`` is worth beside "certified".

Rows are drawn from real tables, models are fitted on them, rules found and certified, or
approximately so, and what a rule does is counted on 20,000 others of the table.
*Certified*: a model of 70 % of the rows, a path learnt on its out-of-fold scores, tests on the
other 30 %. *Approximate*: rules are tried on out-of-fold scores of all rows as ``solve`` tries
them on given ones, and the model is fitted on all rows afterwards. The ways are those of
``PlugInClassifier``, with the scores of each draw computed once for all goals. *Broken* is the
share of all draws that were answered and miss the bound; the objective is a mean over all draws,
in which a refusal counts 0.

``python benchmarks/guarantees_approximate.py [--draws 300] [--tables adult default_credit]
[--models logistic boosting] [--goals recall precision f1 gap] [--rows 1000 5000]``.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from cma_data import one_hot, quiet, require, run_with_one_thread
from guarantees_bars import line
from guarantees_data import MODELS, Population, Rows, population
from guarantees_goals import Asked, f1, gap, simple_goals
from guarantees_ways import LEVEL, certified_by_path, certified_by_solve
from joblib import Parallel, delayed
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

TABLES = ("adult", "default_credit")
GOALS = ("recall", "precision", "f1", "gap")
WAYS = ("certified", "approximate")
CERTIFY = 0.3
COUNTED = 20_000
"""Rows that were not drawn and on which a rule is counted."""
GAP = 0.05


def goals_of(table: str, model: str) -> list[Asked]:
    """Bounds that a model of 20,000 rows can just bear, so that those of fewer bear less."""
    text = f"maximize f1 s.t. predicted_rate.difference(group) <= {GAP}"
    last = Asked("gap", text, f1, lambda N: GAP - gap(N), pairs=True)
    return [*(a for a in simple_goals(population(table, model)) if a.name in GOALS), last]


def of_rows(table: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features in one scale, whether a row is of the rarer class, and its group."""
    X, y, groups, _ = require(table).load(table)
    values, counts = np.unique(np.asarray(y), return_counts=True)
    true = (np.asarray(y) == values[np.argmin(counts)]).astype(int)
    features = SimpleImputer(strategy="median").fit_transform(one_hot(X))
    sex = np.unique(groups["sex"], return_inverse=True)[1]
    return StandardScaler().fit_transform(features), true, sex


def fitted(model: str, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, Any]:
    """Out-of-fold scores and the model of all rows."""
    one: Any = HistGradientBoostingClassifier(max_iter=40, random_state=0)
    if model == "logistic":
        one = LogisticRegression(solver="newton-cholesky")
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    scores = cross_val_predict(one, X, y, cv=folds, method="predict_proba")[:, 1]
    return scores, one.fit(X, y)


Found = dict[tuple[str, str], list[tuple[float, bool]]]
"""By goal and way: of each draw the objective, NaN where refused, and whether it broke."""


def measured(
    table: str, model: str, n: int, names: list[str], draws: int
) -> tuple[str, str, int, Found]:
    X, y, group = of_rows(table)
    rng = np.random.default_rng(zlib.crc32(f"approximate {table} {model} {n}".encode()))
    goals = [asked for asked in goals_of(table, model) if asked.name in names]
    found: Found = {(asked.name, way): [] for asked in goals for way in WAYS}
    for seed in range(draws):
        mixed = rng.permutation(len(y))
        drawn, rest = mixed[:n], mixed[n : n + COUNTED]
        tested, learnt = np.split(drawn, [round(CERTIFY * n)])

        def rows(at: np.ndarray, scores: np.ndarray) -> Rows:
            return Rows(scores, y[at], group[at], np.zeros(len(at), int))

        with quiet():
            out_of_fold, part = fitted(model, X[learnt], y[learnt], seed)
            scores, whole = fitted(model, X[drawn], y[drawn], seed)
            new = {
                way: rows(rest, one.predict_proba(X[rest])[:, 1])
                for way, one in zip(WAYS, (part, whole), strict=True)
            }
            certify = rows(tested, part.predict_proba(X[tested])[:, 1])
        for asked in goals:
            rules = {
                "certified": certified_by_path(asked, rows(learnt, out_of_fold), certify),
                "approximate": certified_by_solve(asked, rows(drawn, scores)),
            }
            for way, rule in rules.items():
                value, broke = math.nan, False
                if rule is not None:
                    counts = Population("", np.full(len(rest), 1 / len(rest)), new[way]).decided(
                        rule
                    )
                    value = float(np.nan_to_num(asked.objective(counts)))
                    broke = bool(asked.slack(counts) < 0.0)
                found[asked.name, way].append((value, broke))
    return table, model, n, found


def shown(table: str, model: str, n: int, found: Found) -> tuple[bool, list[np.ndarray]]:
    good, out = True, []
    for goal in dict.fromkeys(goal for goal, _ in found):
        parts = []
        for way in WAYS:
            value, broke = np.array(found[goal, way]).T
            figures = np.mean(broke), np.isnan(value).mean(), np.nan_to_num(value).mean()
            out.append(np.array(figures))
            parts.append(f"{way} {figures[0]:.3f} ({figures[1]:.2f}) {figures[2]:.3f}")
        bar = LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / len(broke))
        good &= out[-2][0] <= bar
        print(f"{table}, {model}, {goal:<9} {n:6,} | {' | '.join(parts)}", flush=True)
    return good, out


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--goals", nargs="+", default=list(GOALS), choices=GOALS)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 5_000])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    require(*options.tables)
    todo = [
        (t, m, n, options.goals, options.draws)
        for m in options.models
        for n in options.rows
        for t in options.tables
    ]
    print(f"{options.draws} draws a cell | way: broken (refused) objective, 0 where refused")
    run: Iterable[Any] = Parallel(n_jobs=options.jobs, return_as="generator")(
        delayed(measured)(*one) for one in todo
    )
    good, cells = True, []
    for one in run:
        fine, figures = shown(*one)
        good &= fine
        cells.append(np.reshape(figures, (-1, len(WAYS), 3)))
    every = np.concatenate(cells)
    bar = LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / options.draws)
    for i, way in enumerate(WAYS):
        broke, refused, value = every[:, i].mean(axis=0)
        worst = every[:, i, 0].max()
        fine = None if way == "approximate" else bool(worst <= bar)
        good &= line(
            fine, f"{way}: broken, the worst of {len(every)} cells", worst, f"<= {bar:.3f}"
        )
        line(None, f"{way}: broken, all draws", broke)
        line(None, f"{way}: refused", refused)
        line(None, f"{way}: objective, 0 where refused", value)
    return int(not good)


if __name__ == "__main__":
    run_with_one_thread(main)

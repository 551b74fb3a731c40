"""`estimator="auto"` beside each of its candidates alone, and beside what is done by hand.

Ten tables in the order of `TABLES`, some of many classes as one class against the rest; random
rows to fit on, and up to 10,000 others that judge. Goals: F1, recall at a floor of precision, and
on two tables F1 with equal shares accepted of women and men. Floors were fixed before any run.
Each candidate alone goes through PlugInClassifier on the same rows. The best by hindsight is the
one with the best mean on the rows that judge, among those whose mean precision there is no more
than 0.01 below the floor.

Targets, for each table and goal: auto's mean is no more than 0.01 below that of the best by
hindsight, and it takes no more than 8 plain fits: CPU seconds over those of one fit, with default
settings, of scikit-learn's HistGradientBoostingClassifier, columns encoded and all rows to fit on.

By hand: LightGBM with early stopping on a fifth of the rows, which then choose the cut; and the
model that FLAML finds (`--trials`), with the cut by PlugInClassifier. Each is skipped, with the
reason, where its package is missing. Their lines have no target.

``python benchmarks/choose_auto.py [--splits N] [--rows N] [--tables ...] [--trials N]``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from cma_data import quiet, require, run_with_one_thread, verdict
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from setpoint import PlugInClassifier, evaluate, solve
from setpoint.judging.candidates import candidates_of, encoder_for

F1 = "maximize f1"
EQUAL = f"{F1} subject to predicted_rate.difference(sex) <= 0.05"
MOST_JUDGING = 10_000


class Set(NamedTuple):
    """A table, the class that is sought (None: all but the first), the floor, rows to fit on."""

    name: str
    sought: Any
    floor: float
    rows: int = 4_000


TABLES = {
    "adult": Set("adult", ">50K", 0.8),
    "default_credit": Set("default_credit", 1, 0.6),
    "covtype 2": Set("covtype_100k", 2, 0.8),
    "covtype 6": Set("covtype_100k", 6, 0.6, 6_000),
    "compas": Set("compas", 1, 0.7, 3_000),
    "ijcnn1": Set("ijcnn1", 1, 0.9),
    "satimage 4": Set("satimage", 4, 0.7, 3_200),
    "page_blocks": Set("page_blocks", None, 0.9, 2_700),
    "abalone 0": Set("abalone", 0, 0.5, 2_000),
    "communities_crime": Set("communities_crime", 1, 0.8, 1_000),
    "wilt": Set("wilt", "w", 0.8, 2_400),
    "protein 0": Set("protein_val", 0, 0.8, 1_400),
}


class Rows(NamedTuple):
    """Features, labels (1: sought) and groups of some rows."""

    X: Any
    y: np.ndarray
    groups: dict[str, np.ndarray]

    def take(self, index: np.ndarray) -> Rows:
        X = self.X.iloc[index] if hasattr(self.X, "iloc") else self.X[index]
        return Rows(X, self.y[index], {name: g[index] for name, g in self.groups.items()})


def rows_of(one: Set) -> Rows:
    X, y, groups, _ = require(one.name).load(one.name)
    if one.name == "ijcnn1":
        X = X.toarray()
    sought = y != 1 if one.sought is None else y == one.sought
    return Rows(X, np.asarray(sought).astype(int), groups or {})


def goals_of(one: Set, rows: Rows) -> list[str]:
    equal = [EQUAL] if one.name in ("adult", "compas") and "sex" in rows.groups else []
    return [F1, f"maximize recall subject to precision >= {one.floor}", *equal]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def reached(goal: str, decided: np.ndarray, rows: Rows) -> tuple[float, float]:
    """The objective and the precision on the rows that judge."""
    groups = rows.groups if "(sex)" in goal else None
    report = evaluate(goal, rows.y, decided, pos_label=1, sensitive_features=groups)
    hit = decided == 1
    return float(report.objective.value or 0.0), float(rows.y[hit].mean()) if hit.any() else 0.0


def of_model(model: Any, goals: list[str], train: Rows, test: Rows) -> dict[str, Any]:
    """What a model alone reaches, its rules found on the same out-of-fold scores."""
    clf = PlugInClassifier(model, goals[0], on_infeasible="nearest", random_state=0)
    clf.fit(train.X, train.y)
    scores, P = clf.evidence_.scores, clf.estimator_.predict_proba(test.X)[:, 1]
    found = {}
    for goal in goals:
        own = {"sensitive_features": train.groups} if "(sex)" in goal else {}
        rule = solve(goal, scores, train.y, on_infeasible="nearest", pos_label=1, **own).rule
        segments = rule.segment_codes(test.groups) if rule.needs_segments else None
        found[goal] = reached(goal, np.asarray(rule.decide(P, segments)), test)
    return found


def by_hand(goals: list[str], train: Rows, test: Rows) -> dict[str, Any]:
    """LightGBM with early stopping on a fifth of the rows, which choose the cut, too."""
    from lightgbm import LGBMClassifier, early_stopping

    fit, stop = train_test_split(
        np.arange(len(train.y)), test_size=0.2, stratify=train.y, random_state=0
    )
    encoder = encoder_for(train.X, linear=False)[0]
    X, X_stop = encoder.fit_transform(train.take(fit).X), encoder.transform(train.take(stop).X)
    model = LGBMClassifier(
        n_estimators=2_000, learning_rate=0.05, random_state=0, verbosity=-1, n_jobs=1
    )
    callbacks = [early_stopping(50, verbose=False)]
    model.fit(X, train.y[fit], eval_set=[(X_stop, train.y[stop])], callbacks=callbacks)
    P, P_test = (model.predict_proba(part)[:, 1] for part in (X_stop, encoder.transform(test.X)))
    found = {}
    for goal in (g for g in goals if "(sex)" not in g):
        cut = solve(goal, P, train.y[stop], on_infeasible="nearest", pos_label=1)
        found[goal] = reached(goal, np.asarray(cut.rule.decide(P_test)), test)
    return found


def by_flaml(trials: int, goals: list[str], train: Rows, test: Rows) -> dict[str, Any]:
    """The model that FLAML finds by its log loss, with rules as `of_model` finds them."""
    from flaml import AutoML

    encoder = encoder_for(train.X, linear=False)[0]
    search = AutoML()
    search.fit(
        encoder.fit_transform(train.X), train.y, task="classification", metric="log_loss",
        max_iter=trials, time_budget=-1, n_jobs=1, seed=0, verbose=0,
        estimator_list=["lgbm", "rf", "extra_tree", "lrl1"],
    )  # fmt: skip
    return of_model(make_pipeline(encoder, clone(search.model.estimator)), goals, train, test)


def one_split(one: Set, rows: Rows, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """For each way its values by goal, and CPU seconds."""
    order = np.random.default_rng(seed).permutation(len(rows.y))
    n = min(args.rows, one.rows, len(order) // 2)
    train, test = rows.take(order[:n]), rows.take(order[n : n + MOST_JUDGING])
    goals, found = goals_of(one, rows), {}

    def plain() -> Any:
        encoder, n_codes = encoder_for(train.X, linear=False)
        codes = list(range(n_codes)) or None
        X = encoder.fit_transform(train.X)
        X = X.toarray() if hasattr(X, "toarray") else X
        return HistGradientBoostingClassifier(categorical_features=codes).fit(X, train.y)

    found["plain fit"] = timed(plain)[0], {}
    for candidate in candidates_of("auto", train.X, 0)[0]:
        found[candidate.name] = timed(lambda c=candidate: of_model(c.model, goals, train, test))
    if find_spec("lightgbm"):
        found["by hand: LightGBM"] = timed(lambda: by_hand(goals, train, test))
    if args.trials and find_spec("flaml") and not hasattr(train.X, "tocsr"):
        found["by hand: FLAML"] = timed(lambda: by_flaml(args.trials, goals, train, test))
    values, spent = {}, []
    for goal in goals:
        own = {"sensitive_features": train.groups} if "(sex)" in goal else {}
        sees = ["sex"] if own else "auto"
        clf = PlugInClassifier(
            "auto", goal, on_infeasible="nearest", decide_on=sees, random_state=0
        )
        spent.append(timed(lambda c=clf, g=own: c.fit(train.X, train.y, **g))[0])
        sides = {"sensitive_features": test.groups} if own else {}
        values[goal] = reached(goal, (clf.predict(test.X, **sides) == 1).astype(int), test)
    found["auto"] = float(np.mean(spent)), values
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6_000, help="to fit on, at most")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--trials", type=int, default=0, help="of FLAML; 0: without it")
    args = parser.parse_args()
    for package, asked in (("lightgbm", True), ("flaml", bool(args.trials))):
        if asked and not find_spec(package):
            print(f"without {package}: it is not installed")
    missed = 0
    for name in args.tables:
        rows = rows_of(TABLES[name])
        with quiet():
            splits = [one_split(TABLES[name], rows, seed, args) for seed in range(args.splits)]
        for goal in goals_of(TABLES[name], rows):
            missed += report(name, goal, TABLES[name].floor, splits)
    return int(missed > 0)


def report(name: str, goal: str, floor: float, splits: list[dict[str, Any]]) -> int:
    """The lines of one table and goal; how many figures are missed."""
    ways = [who for who in splits[0] if goal in splits[0][who][1]]
    values = {who: np.array([one[who][1][goal] for one in splits]) for who in ways}
    cpu = {who: np.mean([one[who][0] for one in splits]) for who in splits[0]}
    singles = [who for who in ways if who != "auto" and not who.startswith("by hand")]
    least = floor - 0.01 if "precision" in goal else 0.0
    met = [who for who in singles if values[who][:, 1].mean() >= least] or singles
    best = max(met, key=lambda who: values[who][:, 0].mean())
    behind = values[best][:, 0] - values["auto"][:, 0]
    error = behind.std(ddof=1) / len(behind) ** 0.5 if len(behind) > 1 else 0.0
    fits = cpu["auto"] / cpu["plain fit"]
    near, cheap = behind.mean() <= 0.01, fits <= 8.0
    print(f"{verdict(near)} {name}, {goal}: behind the best by hindsight by {behind.mean():.4f} "
          f"+-{error:.4f} (<= 0.01), {len(splits)} splits")  # fmt: skip
    print(f"{verdict(cheap)} {name}, {goal}: {fits:.1f} plain fits (<= 8)")
    for who in ways:
        mean, precision = values[who].mean(axis=0)
        star = "*" if who == best else " "
        print(
            f"    {star}{who:<24} {mean:.4f} (precision {precision:.3f}), "
            f"{cpu[who] / cpu['plain fit']:.1f} plain fits",
            flush=True,
        )
    return (not near) + (not cheap)


if __name__ == "__main__":
    run_with_one_thread(main)

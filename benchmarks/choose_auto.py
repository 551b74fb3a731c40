"""`estimator="auto"` against each of its candidates alone, on tables that it was not tuned on.

Five tables, random splits in halves, two goals: F1, and recall subject to a floor on precision
that was fixed before any run. Each candidate, and each with isotonic calibration by
scikit-learn, is fitted alone through PlugInClassifier on the same rows; the best by hindsight is
the one with the best mean on rows held out, among those whose mean precision there is no more
than 0.01 below the floor. Two figures: how far auto is from that one, in
standard errors over the splits; and its time, over the sum of the candidates' times.

``python benchmarks/choose_auto.py [--rows N] [--splits N] [--keep FOLDER] [--known FOLDER]``.
With a folder each finished split is kept there, and a later run goes on from it; `--known` names
one with splits of an earlier run whose candidates are taken as they are, so that auto alone runs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cma_data import quiet, require, run_with_one_thread, verdict
from sklearn.model_selection import train_test_split

from setpoint import PlugInClassifier, solve
from setpoint.plugin.auto.candidates import candidates_of
from setpoint.solvers import AutoModel, ModelResponse

FLOORS = {"adult": 0.8, "default_credit": 0.6, "covtype_100k": 0.8, "compas": 0.7, "ijcnn1": 0.9}
F1 = "maximize f1"


def goals(name: str) -> tuple[str, str]:
    """The two goals of a table."""
    return F1, f"maximize recall subject to precision >= {FLOORS[name]}"


def table(name: str) -> tuple[Any, np.ndarray]:
    """Features and labels, 1 for the class that is sought."""
    X, y, _, _ = require(name).load(name)
    if hasattr(X, "toarray"):
        X = X.toarray()
    y = np.asarray(y)
    sought = {"adult": ">50K", "covtype_100k": 2}.get(name, 1)
    return X, (y == sought).astype(int)


def measured(clf: Any, rule: Any, X: Any, y: np.ndarray) -> tuple[float, float, float]:
    """Recall, precision and F1 of a rule over the model's scores on rows held out."""
    hit = np.asarray(rule.decide(clf.estimator_.predict_proba(X)[:, 1])) == 1
    right = float((hit & (y == 1)).sum())
    recall, precision = right / max(y.sum(), 1), right / max(hit.sum(), 1)
    return recall, precision, 2 * right / max(hit.sum() + y.sum(), 1)


def one_split(name: str, rows: int, seed: int, known: Path | None) -> dict[str, Any]:
    """Times, and what each model reaches on rows held out, by goal."""
    X, y = table(name)
    some = np.random.default_rng(seed).permutation(len(y))[:rows]
    train, test = train_test_split(some, test_size=0.5, stratify=y[some], random_state=seed)
    X_train, X_test = (X.iloc[i] if hasattr(X, "iloc") else X[i] for i in (train, test))
    first, second = goals(name)
    common: dict[str, Any] = {"on_infeasible": "nearest", "random_state": seed}
    found: dict[str, Any] = {first: {}, second: {}, "seconds": {}, "chosen": {}}
    if known is not None:
        found.update(json.loads(known.read_text()))
    for one in candidates_of(AutoModel(), X_train, seed)[0] if known is None else ():
        for method in (None, "isotonic"):
            who = f"{one.name}, calibrated" if method else one.name
            start = time.perf_counter()
            clf = PlugInClassifier(
                one.model, first, response=ModelResponse(calibrate=method), **common
            ).fit(X_train, y[train])
            found["seconds"][who] = time.perf_counter() - start
            found[first][who] = measured(clf, clf.rule_, X_test, y[test])
            # The other goal by the same scores: it takes as long.
            again = solve(second, clf.evidence_.scores, y[train], on_infeasible="nearest")
            found[second][who] = measured(clf, again.rule, X_test, y[test])
    for goal in (first, second):
        start = time.perf_counter()
        clf = PlugInClassifier("auto", goal, **common).fit(X_train, y[train])
        found["seconds"][f"auto {goal}"] = time.perf_counter() - start
        found[goal]["auto"] = measured(clf, clf.rule_, X_test, y[test])
        found["chosen"][goal] = clf.choice_.chosen
    return found


def kept(name: str, args: argparse.Namespace) -> Iterator[tuple[int, dict[str, Any]]]:
    """Splits of a table that are finished, those of earlier runs first."""
    for seed in range(args.splits):
        path = None if args.keep is None else args.keep / f"{name}-{args.rows}-{seed}.json"
        if path is not None and path.exists():
            yield seed, json.loads(path.read_text())


def known(name: str, seed: int, args: argparse.Namespace) -> Path | None:
    """The file of an earlier run with this split's candidates."""
    if args.known is None:
        return None
    path: Path = args.known / f"{name}-{args.rows}-{seed}.json"
    return path if path.exists() else None


def work(args: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """All splits, one of each table after the other."""
    done = {name: dict(kept(name, args)) for name in args.tables}
    for seed in range(args.splits):
        for name in args.tables:
            if seed in done[name]:
                continue
            if args.report:
                continue
            start = time.perf_counter()
            done[name][seed] = one_split(name, args.rows, seed, known(name, seed, args))
            print(f"     {name}, split {seed}: {time.perf_counter() - start:.0f} s", flush=True)
            if args.keep is not None:
                path = args.keep / f"{name}-{args.rows}-{seed}.json"
                path.write_text(json.dumps(done[name][seed]))
    return {name: list(found.values()) for name, found in done.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--tables", nargs="*", default=list(FLOORS))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--known", type=Path)
    parser.add_argument("--report", action="store_true", help="of what is kept alone")
    args = parser.parse_args()
    if args.keep is not None:
        args.keep.mkdir(parents=True, exist_ok=True)
    with quiet():
        done = work(args)
    missed = 0
    for name, splits in done.items():
        for goal in goals(name) if splits else ():
            missed += report(name, goal, splits)
    return int(missed > 0)


def report(name: str, goal: str, splits: list[dict[str, Any]]) -> int:
    """The lines of one table and goal; how many figures are missed."""
    place = 2 if goal == F1 else 0
    values = {
        who: np.array([one[goal][who] for one in splits]) for who in splits[0][goal]
    }  # (splits, 3)
    floor = 0.0 if goal == F1 else FLOORS[name] - 0.01
    keep = [who for who in values if who != "auto" and values[who][:, 1].mean() >= floor]
    best = max(keep or values.keys() - {"auto"}, key=lambda who: values[who][:, place].mean())
    top, auto = values[best][:, place], values["auto"][:, place]
    error = float(np.std(top, ddof=1) / np.sqrt(len(top))) if len(top) > 1 else 0.0
    behind = float(top.mean() - auto.mean())
    singles = sum(
        np.mean([one["seconds"][who] for one in splits]) for who in values if who != "auto"
    )
    uncalibrated = sum(
        np.mean([one["seconds"][who] for one in splits])
        for who in values
        if who != "auto" and "calibrated" not in who
    )
    own = np.mean([one["seconds"][f"auto {goal}"] for one in splits])
    chosen = [one["chosen"][goal] for one in splits]
    good, quick = behind <= error, own <= singles
    print(
        f"{verdict(good)} {name}, {goal}: behind the best by hindsight by "
        f"{behind:.4f} (<= one standard error, {error:.4f}, over {len(splits)} splits)"
    )
    print(
        f"{verdict(quick)} {name}, {goal}: {own:.1f} s (<= {singles:.1f} s, the sum of the "
        f"candidates; {uncalibrated:.1f} s without calibration)"
    )
    print(f"     auto {auto.mean():.4f} (precision {values['auto'][:, 1].mean():.3f}): "
          + ", ".join(f"{c} {chosen.count(c)}" for c in sorted(set(chosen))))  # fmt: skip
    for who, found in values.items():
        if who != "auto":
            mark = "*" if who == best else " "
            print(
                f"    {mark}{who:<28} {found[:, place].mean():.4f} (precision "
                f"{found[:, 1].mean():.3f}) {np.mean([s['seconds'][who] for s in splits]):6.1f} s"
            )
    return (not good) + (not quick)


if __name__ == "__main__":
    run_with_one_thread(main)

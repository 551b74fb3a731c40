"""Whether the warning that rows belong together speaks where they do, and is quiet where not.

Nobody gave ``units=``: a column of keys whose rows err together is named. Quiet it must be on all
columns of public tables whose rows are one each, scored by a model fitted on other rows, and where
keys are permuted; heard on rows that copy each other nearly. *Nearly equal*: ten rows of one key
have the key's score and outcome, but for noise of .05; *weak*: the outcomes of a key are correlated
by .3. The CPU time is that of `warn_together` beside a certified `solve` and a fit.

``python benchmarks/guarantees_together.py [--draws 200] [--rows 1000000]``.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from cma_data import require, run_with_one_thread
from guarantees_bars import line
from scipy.stats import norm
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from setpoint import PlugInClassifier, solve
from setpoint.classifiers import warn_together
from setpoint.counts import Column, Evidence, Rows
from setpoint.inference import together

TABLES = ("adult", "default_credit", "covtype_100k", "compas", "page_blocks", "satimage", "wilt",
          "communities_crime", "abalone")  # fmt: skip
FITTED = 20_000


def drawn(keys: int, each: int, icc: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Keys, scores and outcomes: of nearly equal rows (`icc` 1), or with correlated outcomes."""
    key = np.repeat(np.arange(keys), each)
    center = rng.random(keys)[key]
    own = center if icc == 1.0 else rng.random(len(key))
    u = np.sqrt(icc) * rng.normal(size=keys)[key] + np.sqrt(1 - icc) * rng.normal(size=len(key))
    order = rng.permutation(len(key))
    right = norm.cdf(u) < own
    return key[order], (own + 0.05 * rng.normal(size=len(key)))[order], right[order]


def simulated(draws: int) -> bool:
    good = True
    cases = {
        "200 keys of 10 nearly equal rows": (200, 10, 1.0, ">= 0.99"),
        "500 keys of 4 nearly equal rows": (500, 4, 1.0, ">= 0.99"),
        "1,000 keys of 2 nearly equal rows": (1_000, 2, 1.0, ">= 0.99"),
        "weak, 200 keys of 10 rows": (200, 10, 0.3, ""),
        "permuted, 200 keys of 10 nearly equal rows": (200, 10, 1.0, "<= 0"),
    }
    for name, (keys, each, icc, bar) in cases.items():
        rng, heard = np.random.default_rng(0), 0
        for _ in range(draws):
            key, scores, right = drawn(keys, each, icc, rng)
            if name.startswith("permuted"):
                key = rng.permutation(key)
            heard += together(scores, right, {"key": Column(key)}) == "key"
        share = heard / draws
        ok = None if not bar else share >= 0.99 if ">=" in bar else share == 0
        good &= line(ok, f"warned, {name}", share, bar)
    return good


def of_table(name: str) -> tuple[int, list[str]]:
    """Columns that were looked through, and what was warned of."""
    X, y, _, _ = require(name).load(name)
    y = (np.asarray(y) == pd.Series(y).mode()[0]) if y.dtype.kind != "f" else y > np.median(y)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    fitted, tested = order[: min(FITTED, len(X) // 2)], np.sort(order[min(FITTED, len(X) // 2) :])
    as_floats = make_column_selector(dtype_include="number")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", min_frequency=20, sparse_output=False),
         make_column_selector(dtype_exclude="number")),
        ("passthrough", as_floats),
    )  # fmt: skip
    model = make_pipeline(encode, HistGradientBoostingClassifier(random_state=0))
    model.fit(X.iloc[fitted], y[fitted])
    scores = model.predict_proba(X.iloc[tested])[:, 1]
    columns = {
        c: Column(
            X[c].iloc[tested].astype(object if X[c].dtype.kind == "O" else X[c].dtype).to_numpy()
        )
        for c in X.columns
    }
    right, warned = y[tested].astype(bool), []
    for column, keys in columns.items():
        if together(scores, right, {column: keys}) == column:
            warned.append(column)
    return len(columns), warned


def tables() -> bool:
    n, warned = 0, []
    for name in TABLES:
        columns, found = of_table(name)
        n += columns
        warned += [f"{name}: {column}" for column in found]
    for text in warned:
        print(f"      warned: {text}")
    return line(not warned, f"warnings on {n} columns of {len(TABLES)} tables", len(warned), "0")


def timed(n: int) -> bool:
    rng, good = np.random.default_rng(0), True
    scores = rng.random(n)
    y = (rng.random(n) < scores).astype(int)
    frame = pd.DataFrame({
        "customer": rng.integers(0, n // 5, n), "town": rng.choice([f"t{i}" for i in range(99)], n),
        "amount": rng.random(n), "age": rng.integers(18, 90, n),
        "id": [f"c{i}" for i in range(n)],
    })  # fmt: skip
    evidence = Evidence(Rows.from_arrays((0, 1), y, n), scores)
    own = best_of(lambda: warn_together(frame, evidence, {}))
    goal = "maximize recall subject to precision >= 0.8"
    plain = best_of(lambda: solve(goal, scores, y, confidence=0.95))
    good &= line(own / plain <= 0.05, f"CPU time beside solve(confidence=), {n:,} rows, 5 columns",
                 own / plain, "<= .05")  # fmt: skip
    start = time.process_time()
    model = LogisticRegression()
    PlugInClassifier(model, goal).fit(frame[["amount", "age"]], y)
    fit = time.process_time() - start
    return good & line(own / fit <= 0.05, "the same beside a fit", own / fit, "<= .05")


def best_of(what, times: int = 5) -> float:
    found = []
    for _ in range(times):
        start = time.process_time()
        what()
        found.append(time.process_time() - start)
    return min(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    return int(not (simulated(given.draws) & tables() & timed(given.rows)))


if __name__ == "__main__":
    run_with_one_thread(main)

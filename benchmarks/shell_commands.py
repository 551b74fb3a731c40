"""The commands of the shell's page beside a bare script: CPU seconds and peak memory.

Twenty columns of numbers in a CSV file. The bare script reads it with pandas and fits
scikit-learn's pipeline, or applies one that joblib stored: what anybody would write. The shell
also finds and judges the rule. Each runs in a fresh process with one thread, in turn with its
script; figures are medians of ``--repeats``. Where nothing was compiled on this machine before,
the first ones hold that too.

`fit` stands beside two scripts. One fits the pipeline once: that is what the issue asks for, and
it cannot be met, as the rule is found on out-of-fold scores of five folds, so that the shell fits
six pipelines on three quarters of the rows. The other makes the same six fits.

Run it alone:
``python benchmarks/shell_commands.py [--rows 1000 100000 1000000] [--only predict fit]``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from exact_speed import line
from processes import Cost, cost_of, setpoint_command

GOAL = "maximize recall subject to precision >= 0.6"

READ = """
import sys
import joblib
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
table = pd.read_csv(sys.argv[1])
"""
BARE_FIT = (
    READ
    + """
imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
model = make_pipeline(imputer, StandardScaler(), LogisticRegression(max_iter=2000))
model.fit(table.drop(columns=["y", "score"]), table["y"])
joblib.dump(model, sys.argv[2])
"""
)
BARE_FOLDS = (
    READ
    + """
from sklearn.model_selection import cross_val_predict, train_test_split
imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
model = make_pipeline(imputer, StandardScaler(), LogisticRegression(max_iter=2000))
X, y = table.drop(columns=["y", "score"]), table["y"]
X, _, y, _ = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
cross_val_predict(model, X, y, cv=5, method="predict_proba")
joblib.dump(model.fit(X, y), sys.argv[2] + ".folds")
"""
)
BARE_PREDICT = (
    READ
    + """
score = joblib.load(sys.argv[2]).predict_proba(table.drop(columns=["y", "score"]))[:, 1]
pd.DataFrame({"prediction": score >= 0.4, "score": score}).to_csv(sys.argv[3], index=False)
"""
)
BARE_EVALUATE = (
    READ
    + """
from sklearn.metrics import precision_score, recall_score
decided = joblib.load(sys.argv[2]).predict_proba(table.drop(columns=["y", "score"]))[:, 1] >= 0.4
y = table["y"] == "yes"
print(recall_score(y, decided), precision_score(y, decided))
"""
)

# Each command, in the words of the shell's page, and the scripts that do its plain part.
ONE_FIT, FOLDS = ("one fit", BARE_FIT), ("the same six fits", BARE_FOLDS)
COMMANDS = {
    "fit": (
        "fit {rows} --target y --goal {goal} --drop score --estimator logistic --model {model}",
        (ONE_FIT, FOLDS),
    ),
    "fit --report": (
        "fit {rows} --target y --goal {goal} --drop score --estimator logistic --model {model} "
        "--report {page}",
        (ONE_FIT, FOLDS),
    ),
    "predict": ("predict {model} {rows} --output {out}", (("", BARE_PREDICT),)),
    "predict --keep": (
        "predict {model} {rows} --keep y --output {out}", (("", BARE_PREDICT),)
    ),
    "evaluate": ("evaluate {model} {rows}", (("", BARE_EVALUATE),)),
    "evaluate --report": ("evaluate {model} {rows} --report {page}", (("", BARE_EVALUATE),)),
    "frontier": ("frontier {model} {rows}", (("", BARE_EVALUATE),)),
    "solve": ("solve {rows} --target y --score score --goal {goal}", (("", READ),)),
    "monitor": ("monitor {model} {rows}", (("", BARE_EVALUATE),)),
}  # fmt: skip

LARGE, MOST_CPU, MOST_MEMORY = 1_000_000, 1.3, 1.5
"""The targets hold from so many rows: below, most of a command is its start."""


def write_rows(path: Path, n: int) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.2).astype(int)
    table = pd.DataFrame(
        {f"x{j}": np.round(rng.normal(size=n) + 0.5 * (j < 6) * y, 5) for j in range(20)}
    )
    score = 1 / (1 + np.exp(-rng.normal(3.0 * y - 1.5, 1.0)))
    table.assign(score=np.round(score, 6), y=np.where(y, "yes", "no")).to_csv(path, index=False)


def medians(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.cpu for cost in costs),
        statistics.median(cost.memory for cost in costs),
    )


def compared(
    n: int, command: str, ours: Sequence[str], scripts: dict[str, list[str]], repeats: int
) -> int:
    """Run a command and its scripts in turn, and print the figures; how many targets it missed."""
    found: dict[str, list[Cost]] = {what: [] for what in ("setpoint", *scripts)}
    for _ in range(repeats):
        found["setpoint"].append(cost_of(setpoint_command(*ours)))
        for what, script in scripts.items():
            found[what].append(cost_of(script))
    own, missed = medians(found.pop("setpoint")), 0
    for what, costs in found.items():
        bare = medians(costs)
        beside = f", beside {what}" if what else ""
        for figure, ratio, most in (
            ("CPU", own.cpu / bare.cpu, MOST_CPU),
            ("memory", own.memory / bare.memory, MOST_MEMORY),
        ):
            good = n < LARGE or ratio <= most
            missed += not good
            target = f"<= {most:g}" if n >= LARGE else "none for so few rows"
            line(f"{n:,} rows, setpoint {command}{beside}: {figure}", ratio, target, good)
        print(
            f"     setpoint {own.cpu:.2f} s, {own.memory:.0f} MB; "
            f"the bare script {bare.cpu:.2f} s, {bare.memory:.0f} MB",
            flush=True,
        )
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(COMMANDS), default=list(COMMANDS))
    args = parser.parse_args()
    missed = 0
    for n in args.rows:
        with tempfile.TemporaryDirectory() as name:
            at = {
                what: f"{name}/{file}"
                for what, file in {
                    "rows": "rows.csv", "model": "model.skops", "out": "out.csv",
                    "page": "page.html",
                }.items()
            }  # fmt: skip
            write_rows(Path(at["rows"]), n)
            # Others need the models of "fit".
            for command in dict.fromkeys(["fit", *args.only]):
                words, scripts = COMMANDS[command]
                given = [word.format(**at, goal=GOAL) for word in words.split()]
                last = [at["rows"], f"{name}/model.joblib", f"{name}/bare.csv"]
                bare = {what: [sys.executable, "-c", text, *last] for what, text in scripts}
                missed += compared(n, command, given, bare, args.repeats)
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(bool(main()))

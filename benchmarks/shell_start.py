"""CPU seconds of small commands, each in a fresh process: nearly all of them is start-up.

`predict` and `evaluate` of 569 rows stand beside a bare script that imports pandas and
scikit-learn, reads the same pipeline with joblib and applies it to the same CSV; `fit` beside one
that fits out of fold, takes the cut-off that keeps the floor, and judges it on rows held out. The
others
have a limit in seconds, and stand beside a Python that does nothing. Run it alone:
``python benchmarks/shell_start.py [--repeats N]``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import joblib
from exact_speed import line
from processes import cost_of, median_cost, setpoint_command
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint.tables import tumours

GOAL = "maximize recall subject to precision >= 0.9"

LIMITS = {
    ("--help",): 0.25,
    ("--version",): 0.25,
    ("goal",): 0.25,
    ("goal", "recall"): 0.25,
    ("predict", "--help"): 0.25,
    ("goal", GOAL): 0.6,
    ("goal", "maximize recall subject to recall.difference(sex) <= 0.1"): 0.6,
}
"""CPU seconds that a command may take."""

MOST = {"fit": 1.5, "predict": 1.3, "evaluate": 1.3}
"""Times the CPU of the bare script."""

BARE_FIT = """
import sys
import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve, precision_score, recall_score
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

table = pd.read_csv(sys.argv[2])
X, y = table.drop(columns="diagnosis"), table["diagnosis"] == "malignant"
X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
scaled = ColumnTransformer([("numbers", StandardScaler(), list(X))])
model = make_pipeline(scaled, LogisticRegression(max_iter=2000))
score = cross_val_predict(model, X, y, cv=5, method="predict_proba")[:, 1]
precision, recall, cuts = precision_recall_curve(y, score)
good = np.flatnonzero(precision[:-1] >= 0.9)
cut = cuts[good[recall[good].argmax()]]
decided = model.fit(X, y).predict_proba(X_test)[:, 1] >= cut
print(recall_score(y_test, decided), precision_score(y_test, decided))
joblib.dump((model, cut), sys.argv[3])
"""

BARE_PREDICT = """
import sys
import joblib
import pandas as pd
import sklearn.pipeline

model = joblib.load(sys.argv[1])
table = pd.read_csv(sys.argv[2])
score = model.predict_proba(table)[:, 1]
decided = pd.DataFrame({"prediction": score >= 0.4, "score": score})
decided.to_csv(sys.argv[3], index=False)
"""

BARE_EVALUATE = """
import sys
import joblib
import pandas as pd
import sklearn.pipeline
from sklearn.metrics import precision_score, recall_score

model = joblib.load(sys.argv[1])
table = pd.read_csv(sys.argv[2])
decided = model.predict_proba(table)[:, 1] >= 0.4
y = table["diagnosis"] == "malignant"
print(recall_score(y, decided), precision_score(y, decided))
"""


def prepared(folder: Path) -> None:
    """A table, setpoint's model of it, and the same pipeline alone."""
    table = tumours()
    table.to_csv(folder / "rows.csv", index=False)
    X, y = table.drop(columns="diagnosis"), table["diagnosis"]
    numbers = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        StandardScaler(),
    )
    model = make_pipeline(
        ColumnTransformer([("numbers", numbers, list(X))]), LogisticRegression(max_iter=2000)
    )
    joblib.dump(model.fit(X, y), folder / "model.joblib")
    cost_of(
        setpoint_command(
            "fit", f"{folder}/rows.csv", "--target", "diagnosis", "--positive", "malignant",
            "--estimator", "logistic",
            "--goal", GOAL, "--model", f"{folder}/model.skops",
        )
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    missed = 0
    nothing = median_cost([sys.executable, "-c", "pass"], repeats).cpu
    print(f"     {'python -c pass':<78} {nothing:9.3f} s")
    for words, most in LIMITS.items():
        found = median_cost(setpoint_command(*words), repeats).cpu
        missed += found > most
        line(f"setpoint {' '.join(words)}", found, f"<= {most:g} s", found <= most, "s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder)
        rows, model, out = (str(folder / n) for n in ("rows.csv", "model.skops", "out.csv"))
        again = str(folder / "again.skops")
        fit = ("fit", rows, "--target", "diagnosis", "--positive", "malignant", "--estimator",
               "logistic", "--goal", GOAL, "--model", again)  # fmt: skip
        for command, script in (
            (fit, BARE_FIT),
            (("predict", model, rows, "-o", out), BARE_PREDICT),
            (("evaluate", model, rows), BARE_EVALUATE),
        ):
            bare = [sys.executable, "-c", script, str(folder / "model.joblib"), rows, out]
            alone = median_cost(bare, repeats).cpu
            found = median_cost(setpoint_command(*command), repeats).cpu
            most = MOST[command[0]]
            good = found <= most * alone
            missed += not good
            line(f"setpoint {command[0]}, 569 rows", found / alone, f"<= {most:g}", good)
            print(f"     setpoint {found:.2f} s, the bare script {alone:.2f} s")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(bool(main()))

"""`setpoint fit` with its page, against scikit-learn's own cross-validation and one fit.

100,000 rows and 20 columns, logistic regression, the same pipeline on both sides. The shell
also reads the file, finds and certifies the rule, holds rows out and judges it on them,
draws the pictures and writes model and page. Ratios of medians of the same run. Run it
alone: ``python benchmarks/shell_fit.py [--rows N]``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from exact_speed import line, median_time
from sklearn.model_selection import cross_val_predict

from setpoint.cli.app import app
from setpoint.tables import kinds_of, model_for

warnings.simplefilter("ignore")

GOAL = "maximize recall subject to precision >= 0.6"


def table(n: int, mixed: bool) -> pd.DataFrame:
    """Numbers; or numbers with gaps, categories and a date."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.2).astype(int)
    frame = pd.DataFrame(
        {f"x{j}": np.round(rng.normal(size=n) + 0.5 * (j < 6) * y, 5) for j in range(20)}
    )
    if mixed:
        frame["x3"] = frame["x3"].where(rng.random(n) < 0.9)
        for j in (16, 17, 18):
            frame[f"x{j}"] = rng.choice([f"v{k}" for k in range(3 * (j - 14))], n)
        days = rng.integers(0, 2000, n)
        frame["x19"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(days, unit="D")
    return frame.assign(y=np.where(y, "yes", "no"))


def shell(*words: str) -> None:
    """One command in this process, its output thrown away."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app.main(list(words))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    missed = 0
    for mixed in (False, True):
        frame = table(args.rows, mixed)
        X, y = frame.drop(columns="y"), frame["y"].to_numpy(dtype=object)
        model = model_for(kinds_of(X))
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder, "rows.csv")
            frame.to_csv(data, index=False)

            def ours(folder: str = folder, data: Path = data) -> None:
                shell(
                    "fit", str(data), "--target", "y", "--goal", GOAL, "--estimator", "logistic",
                    "--model", f"{folder}/m.skops", "--report", f"{folder}/r.html",
                )  # fmt: skip

            def theirs(model: object = model, X: pd.DataFrame = X, y: np.ndarray = y) -> None:
                cross_val_predict(model, X, y, cv=5, method="predict_proba")
                model.fit(X, y)

            alone, whole = median_time(theirs, args.repeats), median_time(ours, args.repeats)
            assert Path(folder, "r.html").exists()
            start = time.perf_counter()
            pd.read_csv(data)
            read = time.perf_counter() - start
        what = "mixed columns" if mixed else "20 numbers"
        ratio = whole / alone
        missed += ratio > 1.5
        line(f"{args.rows:,} rows, {what}: fit and report", ratio, "<= 1.5", ratio <= 1.5)
        print(f"     peer {alone:.2f} s; the shell also reads the file (pandas {read:.2f} s)")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(bool(main()))

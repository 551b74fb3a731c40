"""What a fit costs: CPU seconds on Adult, and on a GPU.

``python benchmarks/bbs_speed.py``. Four fifths of Adult's training rows, sparse as a9a has
them, and the rest for the metric: 25 steps, 20 pairs of perturbations, a start at the
baseline. CPU seconds of the whole process, the median of 3, on one thread; beside them those
of one logistic regression on the same rows.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bbs_data import G_MEAN, MACRO_F, Metric, a9a, figure, heading, parted
from cma_data import quiet, require, run_with_one_thread
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from setpoint import AdaptiveSurrogateClassifier, Dataset
from setpoint.solvers import AdaptiveSurrogates, FirstModel

SECONDS = 2.0
SHORT = AdaptiveSurrogates(max_iter=25, n_perturbations=20, start="post-shift")
OPTIONS: dict[str, Any] = {"solver": SHORT}
FITS = (("G-mean, K = 2", G_MEAN, None), ("macro-F, K = 4", MACRO_F, "sex"))
REPEATS = 3
ROWS, WIDTH = 100_000, 500


def timed(run: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> Any:
    """Seconds, and what it gave."""
    start = clock()
    with quiet():
        out = run()
    return clock() - start, out


# ---------------------------------------------------------------------- Adult
def adult_fits() -> bool:
    require("a9a", "adult")
    part = a9a("train")
    first, second, _ = parted(len(part.y), np.random.default_rng(0), (0.8, 0.2))
    train, held = part.rows(first), part.rows(second)
    matrices = {"sparse": sparse.csr_matrix, "dense": np.asarray}
    print(f"adult: {len(first):,} rows to train, {len(second):,} for the metric, "
          f"{part.X.shape[1]} features, {OPTIONS}")  # fmt: skip
    good, lines = True, []
    for form, matrix in matrices.items():
        X, X_held = matrix(train.X), matrix(held.X)
        alone = np.median(
            [timed(lambda X=X: LogisticRegression(max_iter=1000).fit(X, train.y))[0]
             for _ in range(REPEATS)]
        )  # fmt: skip
        print(f"     {form}: one logistic regression {alone:.2f} s")
        for what, metric, groups in FITS:
            columns = {"sex": train.columns["sex"]}
            validation = Dataset(X_held, held.y, sensitive_features={"sex": held.columns["sex"]})

            def fit(X: Any = X, metric: Metric = metric, groups: Any = groups,
                    columns: Any = columns, validation: Any = validation) -> Any:  # fmt: skip
                clf = AdaptiveSurrogateClassifier(metric.box, surrogate_groups=groups, **OPTIONS)
                return clf.fit(X, train.y, sensitive_features=columns, validation=validation)

            runs = [timed(fit) for _ in range(REPEATS)]
            seconds, clf = float(np.median([s for s, _ in runs])), runs[-1][1]
            print(f"     {form}, {what}: {seconds:.2f} s, {seconds / alone:.1f} logistic "
                  f"regressions, {len(clf.path_)} steps, {clf.n_evaluations_} calls")  # fmt: skip
            lines.append((f"{form}, {what}: CPU seconds of a fit", seconds, form == "sparse"))
    heading()
    for what, seconds, asked in lines:
        fine = seconds <= SECONDS
        good &= figure(what, f"<= {SECONDS:g}", f"{seconds:.2f}", fine if asked else None)
    return good


# ---------------------------------------------------------------------- GPU
def on_device() -> None:
    """The search over a wide last layer, where the products are made by a GPU."""
    if importlib.util.find_spec("torch") is None:
        print("\nno GPU line: torch is not installed")
        return
    import torch

    if not torch.cuda.is_available():
        print("\nno GPU line: torch finds no GPU")
        return
    rng = np.random.default_rng(0)
    y = np.int64(np.arange(ROWS) < ROWS // 10)
    X = np.float32(rng.normal(size=(ROWS, 20)) + 0.5 * y[:, None])
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(20, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1)
    )
    half = ROWS // 2
    rows = rng.permutation(ROWS)
    train, held = rows[:half], rows[half:]
    times = {}
    for device in ("cpu", "cuda"):
        first = FirstModel(device=device)
        clf = AdaptiveSurrogateClassifier(G_MEAN.goal, module=network, training=first, **OPTIONS)

        def fit(clf: Any = clf) -> Any:
            return clf.fit(X[train], y[train], validation=(X[held], y[held]))

        if device == "cuda":
            timed(fit, time.perf_counter)  # starts the device
        times[device] = timed(fit, time.perf_counter)[0]
    print(f"\na last layer of {WIDTH} on {half:,} rows: {times['cpu']:.2f} s on one thread, "
          f"{times['cuda']:.2f} s on {torch.cuda.get_device_name()}")  # fmt: skip


def main() -> int:
    good = adult_fits()
    on_device()
    return int(not good)


if __name__ == "__main__":
    run_with_one_thread(main)

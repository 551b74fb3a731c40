"""Errors of gradients where the metric is a known function of the surrogates; plateaus.

``python benchmarks/bbs_gradients.py``. Simulated rows, sigmoid surrogates u of positives and
negatives, and as metric psi(u) = 1 - sqrt((1 - u1)(1 - u2)) on the same rows, so that the
gradient is known. Algorithm 3 perturbs the parameters, with sigma in deviations of the
scores; Algorithm 2 the surrogates. Each is run in 20 repeats at a model that lies across the
clouds, with scores of deviation 1; errors are Euclidean norms. The average of products, as
printed in the paper, stands beside least squares. For a psi with a kink, max(u1, u2), the
gradient is that of psi smoothed by the normal deviation that the first of the two steps of
section 5.3 has.

A plateau: a random model with an intercept at which all rows get one class, so that no
perturbation of the first size changes the G-mean loss. Algorithm 1 runs from 20 of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bbs_data import G_MEAN, Floats, Part, Split, figure, heading, simulated
from cma_data import run_with_one_thread
from scipy.stats import norm

from setpoint import BlackBox
from setpoint.blackbox import BudgetedMetric, measured_on
from setpoint.inputs import GivenRows, classes_of
from setpoint.surrogates.losses import Losses, RowGroup, losses_on
from setpoint.surrogates.problem import Fold, Matrix, Sample
from setpoint.surrogates.solvers import Descent, Estimator, fitted

REPEATS = 20
ROWS = 2_000
SIGMA = 0.1
ALGORITHM_3, ALGORITHM_2 = 0.02, 0.03


def smooth(u: Floats) -> float:
    return float(1.0 - np.sqrt((1.0 - u).prod()))


def slope_of_smooth(u: Floats) -> Floats:
    return np.sqrt((1.0 - u).prod()) / (2.0 * (1.0 - u))


def kinked(u: Floats) -> float:
    return float(u.max())


def slope_of_kinked(u: Floats, deviation: float) -> Floats:
    """Of the mean of ``kinked(u + deviation Z)``."""
    first = float(norm.cdf((u[0] - u[1]) / (np.sqrt(2.0) * deviation)))
    return np.array([first, 1.0 - first])


# ---------------------------------------------------------------------- samples
def on_same_rows(part: Part) -> Sample:
    """Surrogates and metric on the same rows."""
    everyone = [RowGroup("", np.ones(len(part.y), bool))]
    losses = losses_on(("sigmoid",), everyone, part.y, None, (0, 1))
    matrix, rows = Matrix(part.X), np.arange(len(part.y))
    return Sample([Fold(matrix, losses, matrix, rows)], len(rows), losses)


def on_others(split: Split) -> Sample:
    """Surrogates on training rows, the metric on the validation rows."""
    one, held = on_same_rows(split.train).folds[0], split.validation
    rows = np.arange(len(held.y))
    return Sample([Fold(one.train, one.losses, Matrix(held.X), rows)], len(rows))


def metered(box: BlackBox, part: Part) -> BudgetedMetric:
    return BudgetedMetric(measured_on(box, classes_of(part.y), GivenRows(len(part.y), part.y)))


def of_surrogates(psi: Callable[[Floats], float], losses: Losses) -> BlackBox:
    """The metric psi(u), which sees scores alone."""

    def metric(y_true: np.ndarray, scores: np.ndarray) -> float:
        return psi(losses.values(scores[None])[0])

    return BlackBox(metric, greater_is_better=False, name="psi")


def across(part: Part) -> Floats:
    """Parameters of one fold, (1, d + 1): one cloud of negatives is beyond the cut."""
    scores = part.X.sum(axis=1)
    return np.append(np.ones(2), 0.5 * scores.std())[None] / scores.std()


# ---------------------------------------------------------------------- gradients
class Known:
    """One sample, one psi, and the errors of its estimated gradients."""

    def __init__(self, psi: Callable[[Floats], float], models: Floats, part: Part) -> None:
        self.sample, self.models = on_same_rows(part), models
        assert self.sample.on_metric is not None
        self.psi, self.losses = psi, self.sample.on_metric
        self.metered = metered(of_surrogates(psi, self.losses), part)
        self.u = self.losses.values(self.sample.scores(models)[None])[0]

    def errors(self, method: str, m: int, sigma: float, truth: Floats) -> Floats:
        out = []
        for seed in range(REPEATS):
            rng = np.random.default_rng(seed)
            estimator = Estimator(self.sample, self.metered, method, m, rng)
            found = estimator.differences(self.models, sigma)
            out.append(np.linalg.norm(fitted(found, monotone=False) - truth))
        return np.array(out)

    def averaged(self, m: int, sigma: float, truth: Floats) -> Floats:
        """Of (psi(u + sigma Z) - psi(u)) Z / sigma, averaged over m draws, as printed."""
        out = []
        for seed in range(REPEATS):
            z = np.random.default_rng(seed).normal(size=(m, len(self.u)))
            moved = np.clip(self.u + sigma * z, 0.0, 1.0)
            changes = np.array([self.psi(v) for v in moved]) - self.psi(self.u)
            out.append(np.linalg.norm(changes @ z / (m * sigma) - truth))
        return np.array(out)


def table(known: Known) -> dict[str, float]:
    truth = slope_of_smooth(known.u)
    print(f"surrogates at ({known.u[0]:.3f}, {known.u[1]:.3f}), gradient ({truth[0]:.3f}, "
          f"{truth[1]:.3f})")  # fmt: skip
    print(f"     {'':<54}{'m':>5}{'mean':>9}{'largest':>9}")
    out = {}
    for name, method, sizes in (
        ("Algorithm 3, antithetic, least squares", "interpolation", (10, 20, 200)),
        ("Algorithm 2, antithetic, least squares", "finite-difference", (10, 20)),
        ("section 5.3, two steps", "two-step", (20,)),
    ):
        for m in sizes:
            errors = known.errors(method, m, SIGMA, truth)
            out[f"{method} {m}"] = line(name, m, errors)
    for m in (20, 200, 1000):
        line("Algorithm 2, average of products", m, known.averaged(m, SIGMA, truth))
    return out


def line(name: str, m: int, errors: Floats) -> float:
    print(f"     {name:<54}{m:>5}{errors.mean():>9.4f}{errors.max():>9.4f}")
    return float(errors.mean())


def kinks(part: Part, models: Floats) -> None:
    """Section 5.3 against Algorithm 2 where psi has a kink."""
    sigma, deviation = 0.02, 0.04
    sample = on_same_rows(part)
    assert sample.on_metric is not None
    print("\npsi with a kink, max(u1, u2); errors against the gradient of psi smoothed by "
          f"{deviation}")  # fmt: skip
    print(f"     {'':<54}{'m':>5}{'mean':>9}{'largest':>9}")
    for gap in (0.02, 0.05):
        at = _moved(sample, models, gap)
        known = Known(kinked, at, part)
        truth = slope_of_kinked(known.u, deviation)
        for name, method in (("Algorithm 2", "finite-difference"), ("two steps", "two-step")):
            what = f"u1 - u2 = {known.u[0] - known.u[1]:+.3f}, {name}"
            line(what, 120, known.errors(method, 120, sigma, truth))


def _moved(sample: Sample, models: Floats, gap: float) -> Floats:
    """The model with the intercept at which u1 - u2 is `gap`, by bisection."""
    low, high = -20.0, 20.0
    for _ in range(60):
        out, middle = models.copy(), (low + high) / 2.0
        out[:, -1] += middle
        u = sample.values(out[:, None])[0]
        low, high = (middle, high) if u[0] - u[1] > gap else (low, middle)
    return out


# ---------------------------------------------------------------------- plateaus
def plateaus() -> tuple[int, int]:
    """How many of the starts were left, and for how many the metric got better."""
    left = better = 0
    for seed in range(REPEATS):
        split = simulated(seed)
        rng = np.random.default_rng(seed)
        w = np.append(rng.normal(size=2), rng.choice([-1.0, 1.0]) * rng.uniform(5.0, 15.0))
        w[-1] += np.sign(w[-1]) * np.abs(split.validation.X @ w[:2]).max()
        held = on_others(split), metered(G_MEAN.box, split.validation)
        slope = Estimator(*held, "interpolation", 10, rng)
        search = Descent(*held, 5, 0, slope, {"plateau": w[None]}, 0.1, 40)
        before = float(held[1](held[0].scores(w[None])[None])[0])
        search.run()
        moved = any(step.value != before for step in search.steps)
        best: Any = search.best
        left, better = left + moved, better + bool(best.gain > before + 0.1)
    return left, better


def main() -> int:
    part = simulated(0, ROWS).train
    models = across(part)
    found = table(Known(smooth, models, part))
    kinks(part, models)
    left, better = plateaus()
    heading()
    good = True
    for what, key, most in (
        ("Algorithm 3, antithetic, m = 200, sigma .1", "interpolation 200", ALGORITHM_3),
        ("Algorithm 2, least squares, m = 20", "finite-difference 20", ALGORITHM_2),
    ):
        value = found[key]
        good &= figure(f"{what}: error", f"<= {most}", f"{value:.4f}", value <= most)
    good &= figure("plateau starts that were left", f"{REPEATS}", f"{left}", left == REPEATS)
    figure("plateau starts from which the loss fell by more than .1", "", f"{better}", None)
    return int(not good)


if __name__ == "__main__":
    run_with_one_thread(main)

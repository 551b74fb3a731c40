"""The goals of the benchmark of guarantees, with bounds that each population can just bear.

Values are counted here from counts of group, deployed decision, class and decision, not with the
library's metrics, so that the truth is counted twice over. No command of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from guarantees_data import Population

Counts = np.ndarray
"""(..., group, deployed, class, decision)."""


@dataclass(frozen=True)
class Asked:
    """A goal, as the library reads it and as it is counted here.

    Parameters
    ----------
    name, text : str
    objective : callable
        Of counts, higher is better.
    slack : callable
        Of counts: the least amount by which a constraint is met.
    trials : callable, optional
        Of counts, for one threshold: successes, trials and the share of these that is asked.
    bound : float
    pairs : bool
        Whether each group has a threshold of its own.
    nested : bool
        Whether every cut-off may be tried on all rows.
    """

    name: str
    text: str
    objective: Callable[[Counts], np.ndarray]
    slack: Callable[[Counts], np.ndarray]
    trials: Callable[[Counts], tuple[Any, Any, float]] | None = None
    bound: float = 0.0
    pairs: bool = False
    nested: bool = False

    def oracle(self, population: Population) -> float:
        """The best objective of the rules that meet the constraints on the population."""
        counts = population.at_pairs if self.pairs else population.at_cutoffs
        return float(np.max(self.objective(counts)[self.slack(counts) >= -1e-12]))


# ---------------------------------------------------------------------- what is counted
def _cell(N: Counts, true: int, decided: int) -> np.ndarray:
    return np.asarray(N[..., true, decided].sum(axis=(-1, -2)))


def tp(N: Counts) -> np.ndarray:
    return _cell(N, 1, 1)


def fp(N: Counts) -> np.ndarray:
    return _cell(N, 0, 1)


def positives(N: Counts) -> np.ndarray:
    return tp(N) + _cell(N, 1, 0)


def negatives(N: Counts) -> np.ndarray:
    return fp(N) + _cell(N, 0, 0)


def rows(N: Counts) -> np.ndarray:
    return positives(N) + negatives(N)


def over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A share; of nothing it is not a number."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return a / b


def recall(N: Counts) -> np.ndarray:
    return over(tp(N), positives(N))


def precision(N: Counts) -> np.ndarray:
    return np.nan_to_num(over(tp(N), tp(N) + fp(N)))


def f1(N: Counts) -> np.ndarray:
    return over(2 * tp(N), positives(N) + tp(N) + fp(N))


def accuracy(N: Counts) -> np.ndarray:
    return over(tp(N) + _cell(N, 0, 0), rows(N))


def deployed_accuracy(N: Counts) -> np.ndarray:
    right = sum(N[..., d, d, :].sum(axis=(-1, -2)) for d in (0, 1))
    return over(np.asarray(right), rows(N))


def churn(N: Counts) -> np.ndarray:
    changed = sum(N[..., d, :, 1 - d].sum(axis=(-1, -2)) for d in (0, 1))
    return over(np.asarray(changed), rows(N))


def of_group(N: Counts, group: int) -> Counts:
    return N[..., [group], :, :, :]


def gap(N: Counts) -> np.ndarray:
    """The difference of the predicted rates of two groups."""
    rates = [over(tp(G) + fp(G), rows(G)) for G in (of_group(N, 0), of_group(N, 1))]
    return np.abs(rates[0] - rates[1])


def least_recall(N: Counts) -> np.ndarray:
    return np.minimum(recall(of_group(N, 0)), recall(of_group(N, 1)))


# ---------------------------------------------------------------------- the goals
def bound_of_precision(population: Population) -> float:
    """The point 60 % of the way from the share of positives to the highest precision."""
    N = population.at_cutoffs
    some = (tp(N) + fp(N)) >= 0.005
    prior = float(positives(N)[0])
    return round(prior + 0.6 * (float(precision(N)[some].max()) - prior), 4)


def simple_goals(p: Population) -> list[Asked]:
    """One threshold and one constraint whose test is exact."""
    floor = bound_of_precision(p)
    curve = f1(p.at_cutoffs)
    # 70 % of the way from accepting everybody to the best.
    best = round(float(curve[-1] + 0.7 * (curve.max() - curve[-1])), 4)
    odds = best / (2 - best)
    return [
        Asked(
            "recall", "maximize precision s.t. recall >= 0.9", precision,
            lambda N: recall(N) - 0.9, lambda N: (tp(N), positives(N), 0.9), 0.9, nested=True,
        ),
        Asked(
            "fpr", "maximize recall s.t. fpr <= 0.1", recall,
            lambda N: 0.1 - over(fp(N), negatives(N)),
            lambda N: (_cell(N, 0, 0), negatives(N), 0.9), 0.1, nested=True,
        ),
        Asked(
            "predicted_rate", "maximize recall s.t. predicted_rate <= 0.2", recall,
            lambda N: 0.2 - over(tp(N) + fp(N), rows(N)),
            lambda N: (rows(N) - tp(N) - fp(N), rows(N), 0.8), 0.2, nested=True,
        ),
        Asked(
            "precision", f"maximize recall s.t. precision >= {floor}", recall,
            lambda N: precision(N) - floor, lambda N: (tp(N), tp(N) + fp(N), floor), floor,
        ),
        Asked(
            "f1", f"maximize recall s.t. f1 >= {best}", recall,
            lambda N: f1(N) - best, lambda N: (tp(N), positives(N) + fp(N), odds), best,
        ),
    ]  # fmt: skip


def special_goals() -> list[Asked]:
    """Of adult: against the deployed model, and between groups."""
    return [
        Asked(
            "churn", "maximize recall s.t. churn <= 0.14", recall, lambda N: 0.14 - churn(N)
        ),
        Asked(
            "accuracy", "maximize recall s.t. accuracy - accuracy.baseline() >= -0.005", recall,
            lambda N: accuracy(N) - deployed_accuracy(N) + 0.005,
        ),
        Asked(
            "difference", "maximize f1 s.t. predicted_rate.difference(group) <= 0.05", f1,
            lambda N: 0.05 - gap(N), pairs=True,
        ),
        Asked(
            "two floors", "maximize precision s.t. recall.min(group) >= 0.85", precision,
            lambda N: least_recall(N) - 0.85, pairs=True, nested=True,
        ),
    ]  # fmt: skip

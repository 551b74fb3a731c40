"""Ranges over boxes of counts hold every whole point inside, and are not idle."""

from itertools import product

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import Codebook, Marginals, Stratum
from setpoint.program import AcceptedRates, link, most_in_parts, range_over_boxes
from thinning import over

GOALS = (
    "recall", "precision", "f1", "fbeta(2)", "jaccard", "mcc", "g_mean", "h_mean", "q_mean",
    "accuracy", "balanced_accuracy", "min_recall", "macro_f1", "macro_precision",
    "abs(predicted_rate - prior)", "negative_predictive_value", "fn + 3 * fp",
    "recall * precision", "recall / (0.1 + false_positive_rate)", "sqrt(precision)",
    "maximum(recall, specificity)", "log(0.1 + recall)", "recall.ratio()", "recall.difference()",
)  # fmt: skip
GROUPED = (
    "recall.difference(g)", "recall.min(g)", "predicted_rate.ratio(g)", "recall.deviation(g)",
    "precision.difference(g)", "recall.geometric_mean(g)",
)  # fmt: skip


def rows_of(expression, grouped):
    """A goal over one group or two, with its accepted rates."""
    strata = (Stratum(None, (("g", "a"),)), Stratum(None, (("g", "b"),)))
    if grouped:
        marginals = np.array([[6.0, 4.0, 0.0], [3.0, 5.0, 0.0]])
        book = Codebook(("no", "yes"), strata, {None: ("g",)})
    else:
        marginals = np.array([[7.0, 5.0, 0.0]])
        book = Codebook.of(("no", "yes"))
    smallest = np.where(marginals > 0, 1.0, np.inf)
    program = link(Goal.parse(f"maximize {expression}"), book).at(Marginals(marginals, smallest))
    kinds = [(c, t) for c in range(len(marginals)) for t in (0, 1)]
    return AcceptedRates(program.table, kinds), program, marginals[:, :2].ravel()


@over(("expression", "grouped"), [(g, False) for g in GOALS] + [(g, True) for g in GROUPED])
def test_every_whole_point_is_inside(expression, grouped):
    rows, program, totals = rows_of(expression, grouped)
    rng = np.random.default_rng(len(expression))
    corners = [np.sort(rng.integers(0, totals + 1, (2, len(totals))), axis=0) for _ in range(20)]
    corners += [np.array([totals * 0, totals]), np.array([totals // 2, totals // 2])]
    low, high = (np.array([c[i] for c in corners], float).T for i in (0, 1))
    least, most = range_over_boxes(rows, program.objective, low, high)
    assert least.shape == most.shape == (len(corners),)
    most = np.minimum(most, most_in_parts(rows, program.objective, low, high))
    for k in range(len(corners)):
        spans = [np.arange(a, b + 1) for a, b in zip(low[:, k], high[:, k], strict=True)]
        points = np.array(list(product(*spans)))
        values = np.asarray(program.value(rows.rates(points)))
        values = values[~np.isnan(values)]
        assert least[k] <= values.min() + 1e-12
        assert values.max() - 1e-12 <= most[k]
        if len(points) == 1 and not grouped:
            assert (least[k], most[k]) == pytest.approx((values[0], values[0]), abs=1e-9)


@over("expression", ["recall", "precision", "f1", "jaccard", "fn + 3 * fp"])
def test_ratios_and_affine_functions_have_tight_ranges(expression):
    rows, program, _ = rows_of(expression, False)
    low, high = np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])
    points = np.array(list(product([1.0, 3.0], [2.0, 4.0])))  # their ends are at corners
    values = np.asarray(program.value(rows.rates(points)))
    least, most = range_over_boxes(rows, program.objective, low, high)
    assert (least[0], most[0]) == pytest.approx((values.min(), values.max()), abs=1e-9)

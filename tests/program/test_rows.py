"""Rows hold exactly where the constraint does, over real decisions."""

import numpy as np
import pytest
from scipy.optimize import linprog

from goals.samples import (
    BINARY,
    FIVE,
    Schema,
    constant,
    decisions,
    grouped,
    is_linear,
    linear_rows,
    program_of,
)
from setpoint import Goal
from setpoint.counts import Stratum
from setpoint.program import NotLinearError
from thinning import over

LINEAR = [
    "recall >= 0.5", "recall <= 0.5", "2 * recall - specificity >= 0.3",
    "predicted_rate <= 0.4", "0.3 <= predicted_rate <= 0.6",
    "cost({(no, yes): 2, (yes, no): 5}) <= 1", "precision >= 0.5", "precision <= 0.6",
    "precision <= 0.2", "1 - precision <= 0.5", "2 * precision + 1 >= 2",
    "negative_predictive_value >= 0.5", "f1 >= 0.5", "f1 <= 0.5", "fbeta(0.5) >= 0.4",
    "jaccard >= 0.3", "tn / (1 - predicted_rate) >= 0.5",
    "tp / (1 - predicted_rate.on(sex=F)) >= 0.2", "0.1 / predicted_rate >= 0.2",
    "0.2 / predicted_rate <= 0.5", "1 / precision <= 2", "-1 / precision >= -2",
    "fp / tp <= 0.5", "tp / fp >= 2", "win_loss_ratio >= 1", "win_loss_ratio <= 1",
    "win_loss_ratio.on(country=IN) >= 1.5", "win_change_ratio >= 0.5",
    "wins - 2 * losses >= 0", "(wins - losses) / churn >= 0.1", "churn <= 0.4",
    "recall >= recall.baseline() - 0.05", "recall >= specificity - 0.1",
    "recall.difference(sex) <= 0.2", "0.5 * recall.difference(sex) + 0.1 <= 0.2",
    "recall.difference() <= 0.3", "predicted_rate.difference(sex, country) <= 0.3",
    "recall.difference(sex) + predicted_rate.difference(country) <= 0.3",
    "recall.difference(sex) - accuracy <= 0.1",
    "maximum(recall.difference(sex), false_positive_rate.difference(sex)) <= 0.3",
    "recall.ratio(sex) >= 0.7", "predicted_rate.ratio(sex) >= 0.8",
    "1 - predicted_rate.ratio(sex) <= 0.3",
    "minimum(recall.ratio(sex), false_positive_rate.ratio(sex)) >= 0.5",
    "predicted_rate.deviation(sex) <= 0.1", "precision.min(sex) >= 0.3",
    "precision.max() <= 0.7", "min_recall >= 0.3", "abs(predicted_rate - prior) <= 0.1",
    "abs(predicted_rate - prior).max() <= 0.1", "abs(precision - 0.5) <= 0.2",
    "abs(recall - specificity) - 0.2 * accuracy <= 0.1", "sqrt(precision) >= 0.7",
    "sqrt(recall) <= 0.7", "log(precision) >= -0.5", "log(f1) <= -0.5",
    "log(win_loss_ratio) >= 0.1", "recall.max() + abs(predicted_rate - 0.5) <= 0.9",
    "recall.min() - recall.max() >= -0.3", "maximum(recall - 0.5, specificity - 0.5) <= 0.2",
    "3 * minimum(recall, precision) >= 1",
]  # fmt: skip
CURVED = [
    "g_mean >= 0.5", "h_mean >= 0.5", "recall.max() >= 0.5", "recall.difference(sex) >= 0.1",
    "precision.difference(sex) <= 0.1", "precision >= recall", "recall / precision <= 0.8",
    "macro_f1 >= 0.4", "abs(recall - 0.5) >= 0.1", "prior_divergence <= 0.5", "mcc >= 0.1",
]  # fmt: skip


def smallest_excess(rows, v):
    """The least s with every row <= s for some auxiliaries."""
    names = sorted({j for row in rows for j in row.terms if j < 0})
    fixed = [row.const + sum(a * v[j] for j, a in row.terms.items() if j >= 0) for row in rows]
    if not names:
        return max(fixed, default=0.0)
    free = np.array([[row.terms.get(j, 0.0) for j in names] + [-1.0] for row in rows])
    cost = np.append(np.zeros(len(names)), 1.0)
    bounds = [(None, None)] * len(names) + [(-1.0, None)]
    return linprog(cost, free, -np.array(fixed), bounds=bounds).fun


def points(schema, rng):
    classes = range(schema.n_classes)
    out = [constant(schema, k) for k in classes]
    perfect = np.zeros_like(out[0])
    for k in classes:
        perfect[:, k, k] = schema.marginals[:, k]
    as_deployed = np.zeros_like(perfect)
    for c, stratum in enumerate(schema.strata):
        as_deployed[c, :, stratum.baseline] = schema.marginals[c]
    for k in classes:
        # One row is accepted into the class in question, from each true class.
        for i in classes:
            one = constant(schema, (k + 1) % schema.n_classes)
            one[0, i] = 0
            one[0, i, (k + 1) % schema.n_classes] = schema.marginals[0, i] - 1
            one[0, i, k] += 1
            out.append(one)
    mixed = [decisions(schema, rng, sparse=s) for s in (0.0, 0.3, 0.6) for _ in range(3)]
    return [*out, perfect, as_deployed, *mixed]


OF_FIVE = [
    "abs(predicted_rate - prior).max() <= 0.2", 'precision(label="b") >= 0.2',
    "recall.difference(sex).max() <= 0.6", "precision.min() >= 0.05",
]  # fmt: skip


@over("seed", range(2), every=2)
@over("classes, text", [*((BINARY, x) for x in LINEAR), *((FIVE, x) for x in OF_FIVE)])
def test_rows_are_the_constraint(classes, text, seed):
    schema, _ = grouped(classes, seed, baseline=True, high=6 if seed else 12)
    program = program_of(Goal.parse(f"maximize accuracy subject to {text}"), schema)
    rows = [row for _, rows in linear_rows(program) for row in rows]
    for counts in points(schema, np.random.default_rng(seed)):
        v = program.rates_of(counts)
        violation = float(program.violation(v))
        excess = smallest_excess(rows, v)
        if 0 < violation < 1e-7 or 1e-12 < abs(excess) < 1e-8:
            continue  # the two tolerances need not agree there
        assert (excess <= 1e-9) == (violation <= 1e-9), (violation, excess)


@over("text", CURVED)
def test_what_is_not_a_conjunction_of_rows(text):
    schema, _ = grouped(BINARY, 0, baseline=True)
    program = program_of(Goal.parse(f"maximize accuracy subject to {text}"), schema)
    assert not is_linear(program)
    with pytest.raises(NotLinearError):
        linear_rows(program)


def test_a_floor_is_one_row_of_data():
    counts = np.zeros((1, 3, 2))
    counts[0, 0] = [100, 0]
    counts[0, 1] = [10, 0]
    schema = Schema(
        BINARY, (Stratum(),), counts.sum(axis=2), np.array([[0.25, 0.5, np.inf]]), {None: ()}
    )
    program = program_of(Goal.parse("maximize recall subject to precision >= 0.9"), schema)
    ((_, (ratio, floor)),) = linear_rows(program)
    nobody, one = constant(schema, 0), constant(schema, 0)
    one[0, 1] = [9.5, 0.5]
    v, w = program.rates_of(nobody), program.rates_of(one)
    assert float(floor.value(v)) == pytest.approx(0.25 / 110)
    assert float(floor.value(w)) < 0
    assert float(ratio.value(w)) < 0

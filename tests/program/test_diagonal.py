"""The features over diagonals and columns are the features."""

import numpy as np

from goals.samples import PARAMETERS, decisions, grouped, metric, program_of
from setpoint import Goal, GoalError
from setpoint.goals import TABLE, Event
from setpoint.program import Rate, diagonal_form
from thinning import over

CLASSES = {2: ("no", "yes"), 3: ("a", "b", "c"), 5: ("a", "b", "c", "d", "e")}


def of_both(counts):
    n = counts.shape[2]
    return np.diagonal(counts[:, :n], axis1=1, axis2=2), counts.sum(axis=1)


def check(program, schema, rng):
    form = diagonal_form(program.table)
    assert form is not None
    for _ in range(2):
        counts = decisions(schema, rng)
        v = form.const + form.features(*of_both(counts))
        np.testing.assert_allclose(v, program.rates_of(counts), rtol=0, atol=1e-12)
        dense = (program.table.tensors * counts).sum(axis=(1, 2, 3))
        np.testing.assert_allclose(v, dense, rtol=0, atol=1e-12)


@over("n", [2, 3])
@over("name", TABLE)
def test_every_metric_of_the_table(name, n):
    schema, _ = grouped(CLASSES[n], n, baseline=True, datasets=True)
    rng = np.random.default_rng(n)
    bound = 0
    for where in ("", ".on(unlabelled)", ".on(audit, country=IN)", ".mean(sex)"):
        try:
            program = program_of(Goal.parse(f"maximize {metric(name, CLASSES[n])}{where}"), schema)
        except GoalError:  # no labels there
            continue
        bound += 1
        if name in ("cost", "value", "profit", "confusion_rate"):
            assert diagonal_form(program.table) is None
        else:
            check(program, schema, rng)
    assert bound


@over("seed", range(300), every=10)
def test_random_programs_of_many_features(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 3, 5]))
    schema, _ = grouped(CLASSES[n], seed, baseline=True, datasets=True)
    plain = [name for name in TABLE if name not in PARAMETERS]
    names = rng.choice(plain, 4)
    reducers = rng.choice(["", ".mean(sex)", ".max(country)", ".mean(country, sex)"], 4)
    parts = [metric(a, CLASSES[n]) + b for a, b in zip(names, reducers, strict=True)]
    program = program_of(Goal.parse("maximize " + " + ".join(parts)), schema)
    check(program, schema, rng)


@over("n", [2, 3, 5])
def test_weights_give_the_best_rule_for_a_sum_of_features(n):
    schema, counts = grouped(CLASSES[n], 1, baseline=True)
    goal = Goal.parse("maximize macro_f1 + churn + wins + specificity.min()")
    form = diagonal_form(program_of(goal, schema).table)
    rng = np.random.default_rng(n)
    slopes = rng.normal(size=len(form.const))
    diag, col = of_both(counts)
    W, B = form.weights(slopes)
    assert W.shape == B.shape == (len(schema.strata), n)
    total = (W * diag).sum() - (B * col).sum()
    np.testing.assert_allclose(slopes @ form.features(diag, col), total, rtol=1e-12)


def test_one_true_and_another_predicted_class_are_not_of_the_form(monkeypatch):
    schema, _ = grouped(CLASSES[3], 2, baseline=True)
    program = program_of(Goal.parse("maximize churn"), schema)
    event = Event("predicted was_correct")
    churn = program.rates[0]
    odd = Rate(program.codebook, event, churn.given, 1, churn.deployed, churn.strata)
    monkeypatch.setattr(program.table, "rates", (odd,))
    assert diagonal_form(program.table) is None

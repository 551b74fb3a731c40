"""Accepted weights of kinds of rows, against the program on whole confusions."""

import numpy as np
import pytest

from goals.samples import BINARY, decisions, grouped, program_of
from setpoint import Goal
from setpoint.program.accepted import Accepted

GOALS = [
    "maximize f1 subject to precision >= 0.5",
    "maximize recall.on(country=IN) subject to churn <= 0.4 and recall.difference(sex) <= 0.3",
    "minimize error_rate subject to predicted_rate.on(unlabelled) <= 0.5",
    "maximize g_mean subject to win_loss_ratio >= 0.5 and abs(predicted_rate - prior) <= 0.4",
]


@pytest.fixture(params=GOALS)
def rows(request):
    schema, _ = grouped(BINARY, 3, baseline=True, datasets=True)
    program = program_of(Goal.parse(request.param), schema)
    return schema, program, Accepted(program)


def test_rates_are_those_of_the_counts(rows):
    schema, program, accepted = rows
    rng = np.random.default_rng(0)
    counts = [decisions(schema, rng) for _ in range(20)]
    S = np.array([c[:, :, 1].ravel() for c in counts])
    v = np.array([program.rates_of(c) for c in counts])
    np.testing.assert_allclose(accepted.rates(S), v, atol=1e-13)
    np.testing.assert_allclose(accepted.score(S), program.sense * program.value(v), atol=1e-12)
    np.testing.assert_allclose(accepted.violation(S), program.violation(v), atol=1e-12)


def test_some_kinds_and_the_rest(rows):
    _, program, every = rows
    rng = np.random.default_rng(1)
    n = len(every.kinds)
    S = rng.random(n) * every.totals
    part = rng.permutation(n)[: n // 2]
    others = np.setdiff1d(np.arange(n), part)
    rest = Accepted(program, [every.kinds[k] for k in others])
    some = Accepted(program, [every.kinds[k] for k in part], rest=rest.rates(S[others]))
    np.testing.assert_allclose(some.rates(S[part]), every.rates(S), atol=1e-13)


def test_slopes_are_differences(rows):
    _, program, accepted = rows
    rng = np.random.default_rng(2)
    S = (0.3 + 0.4 * rng.random(len(accepted.kinds))) * accepted.totals
    for f in (program.objective, *(c.function for c in program.constraints)):
        slope = accepted.slope(f, S)
        for k in np.flatnonzero(accepted.totals):
            step = np.zeros(len(S))
            step[k] = 1e-5
            up, down = (float(f.value(accepted.rates(x))) for x in (S + step, S - step))
            assert slope[k] == pytest.approx((up - down) / 2e-5, abs=1e-6)


def test_fractions_have_the_value(rows):
    _, program, accepted = rows
    rng = np.random.default_rng(3)
    found = 0
    for f in (program.objective, *(c.function for c in program.constraints)):
        ratio = accepted.fraction(f)
        if ratio is None:
            continue
        found += 1
        for _ in range(5):
            S = rng.random(len(accepted.kinds)) * accepted.totals
            above, below = ratio.forms @ np.append(S, 1.0)
            assert ratio.offset + above / below == pytest.approx(
                float(f.value(accepted.rates(S))), abs=1e-12
            )
    assert found or program.objective.shape_name == "concave"

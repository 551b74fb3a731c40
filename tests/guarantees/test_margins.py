"""Margins are slack over the standard error on the rows tested, one worst row a population."""

import numpy as np
import pytest
from scipy import stats

from setpoint import Goal
from setpoint.counts import Confusion
from setpoint.guarantees import Promise, RuleTests
from setpoint.guarantees.promise import margins_of, slack_and_error
from setpoint.guarantees.requirements import leaves
from setpoint.inference.delta import slopes
from setpoint.program import link

TABLE = [[5_000, 400], [300, 900], [0, 0]]


def built(constraint, table=TABLE):
    found = Confusion.of_counts((0, 1), table)
    linked = link(Goal.parse(f"maximize accuracy s.t. {constraint}"), found.codebook)
    return RuleTests(Promise.of(linked, 0.95), found.marginals), found


def margin(constraint, table=TABLE, times=1.0):
    tests, found = built(constraint, table)
    counts = found.counts.reshape(-1, 1)
    out = margins_of(tests.parts[0], tests.counted(found), counts, np.full(len(counts), times))
    return float(out[0])


def test_an_exact_test_gives_the_quantile_of_its_p_value():
    for constraint, k, n, share in (
        ("recall >= 0.7", 900, 1_200, 0.7),
        ("precision >= 0.67", 900, 1_300, 0.67),
        ("false_positive_rate <= 0.09", 5_000, 5_400, 0.91),
    ):
        wanted = stats.norm.isf(stats.binom.sf(k - 1, n, share))
        assert margin(constraint) == pytest.approx(wanted, rel=1e-9)
    assert margin("recall >= 0.1") > 30.0


def test_other_tests_by_hand():
    # Costs of three sizes; one more row of the dearest sort.
    cost, n = np.array([0.0, 1.0, 4.0]), np.array([5_900.0, 400.0, 301.0])
    mean = cost @ n / n.sum()
    error = np.sqrt(((cost - mean) ** 2) @ n) / n.sum()
    found = margin("cost({(0, 1): 1, (1, 0): 4}) <= 0.3")
    assert found == pytest.approx((0.3 - mean) / error, rel=1e-9)


def test_fewer_rows_to_test_have_larger_errors():
    cost = "cost({(0, 1): 1, (1, 0): 4}) <= 0.3"
    assert margin(cost, times=4.0) == pytest.approx(margin(cost) / 2.0)
    quarter = [[1_250, 100], [75, 225], [0, 0]]
    assert margin("recall >= 0.7", times=4.0) == pytest.approx(margin("recall >= 0.7", quarter))


def test_few_rows_with_a_perfect_record_are_not_the_safest():
    few = margin("precision >= 0.7", [[900, 0], [300, 12], [0, 0]])
    many = margin("precision >= 0.7", [[860, 40], [62, 250], [0, 0]])
    assert 2.0 < few < 2.5 < many


def test_the_worst_of_several_counts():
    both = margin("recall.min() >= 0.7")
    assert both == pytest.approx(min(margin("recall >= 0.7"), margin("specificity >= 0.7")))


def test_a_perfect_record_has_a_finite_margin():
    found = margin("recall >= 0.9", [[100, 0], [0, 40], [0, 0]])
    assert 0.0 < found < 10.0


def test_nothing_predicted_positive_meets_no_floor_on_precision():
    assert margin("precision >= 0.6", [[100, 0], [40, 0], [0, 0]]) < 0.0


@pytest.mark.parametrize(
    "constraint", ["g_mean >= 0.7", "fbeta(2) >= 0.6", "balanced_accuracy >= 0.8", "h_mean >= 0.7"]
)
def test_errors_are_those_of_rows_drawn_again(constraint):
    tests, found = built(constraint)
    (x,) = leaves(tests.parts[0])
    counts = found.counts.reshape(-1, 1)
    _, (error,) = slack_and_error(x, tests.counted(found), counts, np.ones(len(counts)))
    rng = np.random.default_rng(0)
    share = found.counts.ravel() / found.counts.sum()
    drawn = rng.multinomial(int(found.counts.sum()), share, 4_000).reshape(-1, 3, 2)
    values = [float(x.function.value(_rates(tests, one))) for one in drawn[:, None].astype(float)]
    assert error == pytest.approx(np.std(values), rel=0.05)


def _rates(tests, counts):
    """The rates of rows drawn again: their populations vary with them."""
    norms = [float((counts * rate.given_rows[:, None]).sum()) for rate in tests.program.rates]
    sums = tests.program.table.of(counts) * tests.program.table.norms
    return sums / np.array(norms)


def test_slopes_of_many_points_are_the_gradients_of_each():
    tests, _ = built("g_mean - 0.5 * fbeta(2) >= 0.1")
    (x,) = leaves(tests.parts[0])
    v = np.random.default_rng(1).uniform(0.1, 0.9, (7, len(tests.program.rates)))
    wanted = np.stack([x.function.gradient(row) for row in v])
    assert np.allclose(slopes(x.function, v), wanted)

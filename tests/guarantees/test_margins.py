"""Margins are slack over the standard error on the rows tested, one worst row a population."""

import numpy as np
import pytest

from setpoint import Goal
from setpoint.evidence import Confusion
from setpoint.guarantees.margins import margins_of, slack_and_error, slopes
from setpoint.guarantees.promise import Promise
from setpoint.guarantees.requirements import leaves
from setpoint.program.link import link

TABLE = [[5_000, 400], [300, 900], [0, 0]]


def built(constraint, table=TABLE):
    found = Confusion.of_counts((0, 1), table)
    linked = link(Goal.parse(f"maximize accuracy s.t. {constraint}"), found.codebook)
    return Promise.of(linked, 0.95).tests(found.marginals), found


def margin(constraint, table=TABLE, times=1.0):
    tests, found = built(constraint, table)
    counts = found.counts.reshape(-1, 1)
    out = margins_of(tests.parts[0], tests.counted(found), counts, np.full(len(counts), times))
    return float(out[0])


def test_recall_by_hand():
    # One more positive that is missed.
    p, n = 900 / 1201, 1201
    assert margin("recall >= 0.7") == pytest.approx((p - 0.7) / np.sqrt(p * (1 - p) / n), rel=1e-9)


def test_precision_by_hand():
    p, n = 900 / 1301, 1301
    assert margin("precision >= 0.6") == pytest.approx(
        (p - 0.6) / np.sqrt(p * (1 - p) / n), rel=1e-9
    )


def test_fewer_rows_to_test_have_larger_errors():
    assert margin("recall >= 0.7", times=4.0) == pytest.approx(margin("recall >= 0.7") / 2.0)


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
    norms = [float((counts * rate.given_rows(2)[:, None]).sum()) for rate in tests.program.rates]
    sums = tests.program.table.of(counts) * tests.program.table.norms
    return sums / np.array(norms)


def test_slopes_of_many_points_are_the_gradients_of_each():
    tests, _ = built("g_mean - 0.5 * fbeta(2) >= 0.1")
    (x,) = leaves(tests.parts[0])
    v = np.random.default_rng(1).uniform(0.1, 0.9, (7, len(tests.program.rates)))
    wanted = np.stack([x.function.gradient(row) for row in v])
    assert np.allclose(slopes(x.function, v), wanted)

"""When a gain is believed: its bootstrap standard error, and what is done with it."""

import numpy as np
import pytest

from setpoint import BlackBox, SearchLimits
from setpoint.blackbox import BudgetedMetric, measured_on
from setpoint.inputs import GivenRows, classes_of
from setpoint.search import StoppedWarning
from setpoint.solvers import AdaptiveSurrogates
from setpoint.surrogates.problem import Sample
from setpoint.surrogates.selection import SampleSearch, SearchPlan, gain_error
from setpoint.surrogates.solvers import KeptModels
from surrogates.samples import sample_of
from thinning import over

N = 300
RNG = np.random.default_rng(5)
Y = (RNG.random(N) < 0.3).astype(int)
PAIR = np.stack([Y - 0.5 + 0.6 * RNG.normal(size=N), Y - 0.5 + 0.9 * RNG.normal(size=N)])
RARE = np.where(np.arange(N) < 2, "rare", "other")
"""A group of two rows, which one draw in seven misses."""


def share_right(y_true, y_pred):
    return float(np.mean(y_true == y_pred))


RIGHT = BlackBox(share_right)


def measured(goal=RIGHT, **rows):
    return measured_on(goal, classes_of(Y), GivenRows(N, Y, **rows))


def error_of(metric, pair=PAIR, draws=300, seed=0):
    return gain_error(BudgetedMetric(metric), pair, draws, np.random.default_rng(seed))


@over("goal", [RIGHT, "accuracy"])
def test_the_error_is_that_of_the_textbook(goal):
    """Of a mean over two strata of fixed size."""
    gains = ((PAIR[0] >= 0) == Y).astype(float) - ((PAIR[1] >= 0) == Y)
    wanted = np.sqrt(sum(len(x) * x.var() for x in (gains[Y == 0], gains[Y == 1]))) / N
    error, values = error_of(measured(goal))
    assert error == pytest.approx(wanted, rel=0.1)
    assert values.shape == (300, 2)
    np.testing.assert_allclose(values.mean(axis=0), measured(goal)(PAIR), atol=0.005)
    assert error == np.std(values[:, 0] - values[:, 1], ddof=1)
    # Both models are judged on the same rows.
    error, values = error_of(measured(goal), PAIR[[0, 0]], 20)
    assert error == 0.0
    assert values.std() > 0


def test_draws_without_a_group_are_made_anew_or_left_out():
    def fussy(y_true, y_pred, g):
        return float(np.mean(y_pred[g == "rare"])) if (g == "rare").any() else float("nan")

    goal = "maximize minimum(accuracy.on(g='rare'), accuracy.on(g='other'))"
    error, values = error_of(measured(goal, sensitive_features={"g": RARE}), draws=60)
    assert np.isfinite(error)
    assert len(values) == 60
    error, values = error_of(measured(BlackBox(fussy), sensitive_features={"g": RARE}), draws=60)
    assert np.isfinite(error)
    assert 30 < len(values) < 60

    made = iter([1.0])  # all that is known is one value
    once = BlackBox(lambda y_true, y_pred: next(made, np.nan))
    error, values = error_of(measured(once), draws=5)
    assert (error, values.shape) == (np.inf, (0, 2))


# ---------------------------------------------------------------------- the rule
GOOD, POOR = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def selector_of(budget=400):
    plan = SearchPlan.of(AdaptiveSurrogates(), SearchLimits(evaluations=budget), 2)
    metered = BudgetedMetric(measured(), budget)
    return SampleSearch(sample_of(PAIR.T, Y), metered, plan, np.random.default_rng(0))


def judged(selector, baseline, best, stopped=""):
    gains = selector.metered(selector.sample.scores(np.stack([best, baseline])[None]))
    selector.metered.limits.stopped = stopped
    one = KeptModels(gains[1], baseline[None], "post-shift")
    found = selector.selected(one, KeptModels(gains[0], best[None], "zero"), cuts=True)
    kept = best if found.summary.accepted else baseline
    assert np.array_equal(found.models, kept[None])
    assert found.value == gains[0 if found.summary.accepted else 1]
    return found


def test_a_clear_gain_is_accepted_and_what_is_not_judged():
    selector = selector_of()
    summary = judged(selector, POOR, GOOD).summary
    assert summary.accepted
    assert summary.best_value > summary.baseline_value + summary.error
    assert "more than one bootstrap standard error" in summary.why
    assert summary.n_bootstrap == selector.plan.draws == 20
    assert selector.metered.used == 2 + 2 * 20
    selector = selector_of()
    summary = judged(selector, GOOD, POOR).summary
    assert (summary.accepted, summary.error, summary.n_bootstrap) == (False, None, 0)
    assert summary.why == "nothing better than the baseline was found"
    assert selector.metered.used == 2
    poor = selector_of()
    poor.metered.used += 395
    with pytest.warns(StoppedWarning, match=r"^the budget of 400 .* is spent"):
        assert judged(poor, POOR, GOOD).summary.error is None
    summary = judged(selector_of(), POOR, GOOD, "interrupted").summary
    assert (summary.accepted, summary.error) == (True, None)
    assert "interrupted" in summary.why


def test_a_model_of_all_rows_that_is_worse_than_the_baseline_is_not_taken(monkeypatch):
    selector = selector_of()
    own = selector.sample.scores(np.array([[0.0, 0.0, 1.0]]))  # all are accepted
    monkeypatch.setattr(Sample, "own_scores", lambda sample, models: own)
    summary = judged(selector, POOR, GOOD).summary
    assert (summary.accepted, summary.error) == (False, None)
    assert summary.why.startswith(f"the model of all rows reaches {np.mean(Y):.4g} even on")


def test_a_gain_within_an_error_is_not():
    """One row of 300 more is decided right."""
    nearest = int(np.argmin(np.abs(PAIR[1])))
    moved = POOR - [0.0, 0.0, PAIR[1, nearest] * (1.0 + 1e-6)]
    pair = sorted([POOR, moved], key=lambda w: share_right(Y, PAIR.T @ w[:2] + w[2] >= 0))
    summary = judged(selector_of(), *pair).summary
    assert summary.best_value - summary.baseline_value == pytest.approx(1 / N)
    assert summary.error > 1 / N
    assert not summary.accepted
    assert "not more than one bootstrap standard error" in summary.why


def test_a_smoothed_cut_off_that_loses_is_not_taken():
    """On the sample the best cut-off is better than the one that is likely to last."""
    selector = selector_of()
    best = POOR - [0.0, 0.0, max(PAIR[1], key=lambda t: share_right(Y, PAIR[1] >= t))]
    gain = selector.metered(selector.sample.scores(best[None])[None])[0]
    moved = selector.moved(best[None], selector.shifted(best[None]))
    assert selector.metered(selector.sample.scores(moved)[None])[0] < gain
    assert selector.last_cut(KeptModels(gain, best[None], "zero")).gain == gain
    found = selector.last_cut(KeptModels(0.3, POOR[None] + [0.0, 0.0, 3.0], "zero"))
    assert found.gain > 0.7
    assert selector.metered(selector.sample.scores(found.models)[None])[0] == found.gain

"""What a report says of its own answer: certificates, bounds, counts; with many groups too."""

import numpy as np
import pytest

from setpoint import ConstantGoalWarning, solve

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")


def scored(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return y + rng.normal(size=n), y


@pytest.mark.parametrize("n_groups", [13, 41])
@pytest.mark.parametrize("randomized", ["auto", False])
def test_many_groups_end_and_meet_the_goal(n_groups, randomized):
    s, y = scored(2000)
    group = np.arange(len(y)) % n_groups
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.05"
    report = solve(goal, s, y, sensitive_features={"g": group}, randomized=randomized).report
    assert report.constraints[0].satisfied
    assert report.certificate.gap is not None
    assert report.certificate.gap >= 0


def test_the_certificate_says_what_it_is_compared_with():
    s, y = scored(60)
    assert "No other rule without draws" in str(solve("mcc", s, y).report)
    assert "No other rule on these scores" in str(solve("f1", s, y).report)
    floor = solve("maximize recall subject to precision >= 0.6", s, y).report
    assert "less than one expected row" in " ".join(str(floor).split())


def test_a_bound_that_is_reached_is_called_optimal():
    s, y = scored(300)
    group = np.arange(len(y)) % 2
    deployed = (s > 0.4).astype(int)
    for text in (
        "macro_f1 subject to churn <= 0.2 and precision >= 0.2",
        "precision.mean(g) subject to predicted_rate.difference(g) <= 0.1",
        "accuracy subject to predicted_rate.difference(g) <= 0.1",
    ):
        for randomized in ("auto", False):
            report = solve(
                f"maximize {text}",
                s,
                y,
                sensitive_features={"g": group},
                baseline=deployed,
                randomized=randomized,
            ).report
            proved = report.certificate.gap is not None and report.certificate.gap <= 1e-9
            assert not (proved and report.status != "optimal"), text


def test_an_infinite_optimum_at_nobody_is_announced():
    s, y = scored(100)
    with pytest.warns(ConstantGoalWarning, match="predicting 0 for everyone"):
        solve("maximize 1 / recall", s, y)


def test_counts_are_shown_only_for_shares():
    s, y = scored(200)
    with pytest.warns(ConstantGoalWarning):
        text = str(solve("maximize 1000 * recall", s, y).report)
    assert " of " not in text.split("1000 * recall: ")[1].split("\n")[0]


def test_a_solution_shows_itself_in_a_notebook():
    s, y = scored(100)
    solution = solve("f1", s, y)
    assert solution._repr_html_() == solution.report._repr_html_()

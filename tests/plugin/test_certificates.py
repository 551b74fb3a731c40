"""What a report says of its own answer: certificates, bounds, counts."""

import numpy as np
import pytest

from setpoint import ConstantGoalWarning, solve
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")


def scored(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return y + rng.normal(size=n), y


@over(("n_groups", "n"), [(2, 300), (13, 1000), (41, 2000)])
@over("randomized", ["auto", False])
def test_any_number_of_groups_meets_the_goal_and_what_is_proved_is_optimal(n_groups, n, randomized):
    s, y = scored(n)
    group = np.arange(n) % n_groups
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.05"
    report = solve(goal, s, y, sensitive_features={"g": group}, randomized=randomized).report
    assert report.constraints[0].satisfied
    assert report.certificate.gap >= 0
    assert report.status == "optimal" or report.certificate.gap > 1e-9


@over(
    "goal",
    [
        "maximize macro_f1 subject to churn <= 0.2 and precision >= 0.2",
        "maximize precision.mean(g) subject to predicted_rate.difference(g) <= 0.1",
    ],
)
@over("randomized", ["auto", False])
def test_a_bound_that_is_reached_is_called_optimal(goal, randomized):
    s, y = scored(300)
    given = {"sensitive_features": {"g": np.arange(300) % 2}, "baseline": (s > 0.4).astype(int)}
    report = solve(goal, s, y, randomized=randomized, **given).report
    gap = report.certificate.gap
    assert report.status == "optimal" or gap is None or gap > 1e-9


@over(
    ("goal", "said"),
    [
        ("mcc", "No other rule without draws"),
        ("f1", "No other rule on these scores"),
        ("maximize recall subject to precision >= 0.6", "less than one expected row"),
    ],
)
def test_the_certificate_says_what_it_is_compared_with(goal, said):
    assert said in " ".join(str(solve(goal, *scored(60)).report).split())


def test_an_infinite_optimum_at_nobody_is_announced():
    with pytest.warns(ConstantGoalWarning, match="predicting 0 for everyone"):
        solve("maximize 1 / recall", *scored(100))


def test_counts_are_shown_only_for_shares():
    with pytest.warns(ConstantGoalWarning):
        text = str(solve("maximize 1000 * recall", *scored(200)).report)
    assert " of " not in text.split("1000 * recall: ")[1].split("\n")[0]


def test_a_solution_shows_itself_in_a_notebook():
    solution = solve("f1", *scored(100))
    assert solution._repr_html_() == solution.report._repr_html_()

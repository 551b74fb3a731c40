"""Goals near one that no rule meets: they can be met."""

import numpy as np
import pytest

from setpoint import Goal, InfeasibleError, solve
from setpoint.report import between_bounds, goals_to_copy

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")

RNG = np.random.default_rng(0)
Y = (RNG.random(3_000) < 0.3).astype(int)
SCORES = RNG.normal(size=3_000) + Y


@pytest.mark.parametrize(
    "goal",
    [
        "maximize recall subject to precision >= 0.8 and recall >= 0.6",
        "maximize f1 subject to predicted_rate <= 0.05 and recall >= 0.3",
        "minimize predicted_rate subject to precision >= 0.9 and false_negative_rate <= 0.5",
    ],
)
def test_each_can_be_met(goal):
    with pytest.raises(InfeasibleError) as caught:
        solve(goal, SCORES, Y)
    near = goals_to_copy(Goal.parse(goal), caught.value.reachable)
    assert len(near) == 2
    for one in near:
        assert one != Goal.parse(goal)
        assert solve(one, SCORES, Y).report.satisfied
    other, moving = between_bounds(Goal.parse(goal), caught.value.blame)
    assert moving in other.constraints
    assert caught.value.evidence.n_rows == 3_000


def test_what_cannot_be_moved_is_left_out():
    goal = Goal.parse("maximize recall subject to recall >= precision and precision >= 0.9")
    assert goals_to_copy(goal, {"recall >= precision": 0.4}) == []
    assert goals_to_copy(goal, {}) == []
    assert between_bounds(goal, {"recall >= precision": 1.0}) is None
    assert between_bounds(goal, {}) is None

"""Goals over values of rows, or that defer, are refused beside fits too: see test_messages.py."""

from dataclasses import replace

import pytest

from setpoint import Goal, GoalError, Monitor
from setpoint.counts import Codebook
from setpoint.guarantees import Promise
from setpoint.program import link
from setpoint.sources import CountedRows
from thinning import over

GOALS = [
    ("maximize recall.weighted(amount) subject to predicted_rate <= 0.3", "numbers of rows"),
    ("minimize deferral_rate subject to accuracy.decided >= 0.9", "deferred"),
]


@over("text, what", GOALS)
def test_monitors_and_tables_out_of_core_refuse_them(text, what):
    with pytest.raises(GoalError, match=what):
        Monitor(lambda X: X, goal=text, classes=[0, 1])
    with pytest.raises(GoalError, match=what):
        CountedRows.first_pass(Goal.parse(text), {})


def test_no_value_of_rows_is_promised():
    goal = Goal.parse("maximize recall subject to recall.weighted(amount) >= 0.5")
    linked = link(Goal.parse("maximize recall subject to precision >= 0.5"), Codebook.of((0, 1)))
    assert Promise.of(linked, 0.9).confidence == 0.9
    with pytest.raises(GoalError, match="cannot be promised"):
        Promise.of(replace(linked, goal=goal), 0.9)

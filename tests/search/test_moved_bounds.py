"""Bounds that are meant and bounds that are worked with."""

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import Codebook, Marginals
from setpoint.program import link
from setpoint.search import InfeasibleMasterError, solve_and_recount, worked_with

GOAL = "maximize accuracy subject to recall >= 0.8 and predicted_rate <= 0.5"


def test_inwards_is_up_for_a_floor_and_down_for_a_cap():
    marginals = Marginals(np.array([[90.0, 10.0, 0.0]]), np.array([[1.0, 1.0, np.inf]]))
    meant = link(Goal.parse(GOAL), Codebook.of(("no", "yes"))).at(marginals)
    worked = worked_with(meant, np.array([0.125, 0.25]))
    assert [c.level for c in worked.constraints] == [0.925, 0.25]
    laxer = worked_with(meant, np.array([-0.125, -0.25]))
    assert [c.level for c in laxer.constraints] == [0.675, 0.75]
    assert [c.level for c in meant.constraints] == [0.8, 0.5]
    counts = np.array([[[60.0, 30.0], [1.0, 9.0], [0.0, 0.0]]])
    assert meant.violation(meant.rates_of(counts)) == 0.0
    assert worked.violation(worked.rates_of(counts)) == pytest.approx(0.14)


def cap(meant, past, asked, lowest=-np.inf):
    """A search for the largest numbers under caps that ends past them by some shares."""

    def solve(inwards):
        asked.append(inwards.tolist())
        if (meant - inwards < lowest).any():
            raise InfeasibleMasterError(np.ones(len(meant)))
        return (1.0 + past) * (meant - inwards)

    return solve


def test_only_what_is_missed_moves_until_nothing_is():
    meant, past, asked = np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.0, -0.25]), []
    found = solve_and_recount(
        cap(meant, past, asked), lambda x: np.maximum(x - meant, 0.0), len(meant), 9
    )
    assert asked == [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]
    np.testing.assert_array_equal(found, [[1.5, 1.0, 0.75], [0.75, 1.0, 0.75]])


def test_moves_add_up_and_end():
    meant, asked = np.array([1.0]), []
    found = solve_and_recount(
        cap(meant, np.array([1.0]), asked), lambda x: (x - meant) / 4, len(meant), 3
    )
    assert asked == [[0.0], [0.25], [0.375], [0.4375]]
    assert [float(x[0]) for x in found] == [2.0, 1.5, 1.25, 1.125]


def test_only_bounds_that_are_meant_are_found_infeasible():
    meant = np.array([1.0])

    def missed(x):
        return x - meant

    asked = []
    found = solve_and_recount(cap(meant, np.array([0.5]), asked, lowest=0.75), missed, 1, 3)
    assert asked == [[0.0], [0.5]]
    np.testing.assert_array_equal(found, [[1.5]])
    with pytest.raises(InfeasibleMasterError):
        solve_and_recount(cap(meant, np.array([0.5]), [], lowest=2.0), missed, 1, 3)

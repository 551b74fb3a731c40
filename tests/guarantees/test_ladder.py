"""Ladders: from safe to bold, each rung the best with its margin."""

import numpy as np
import pytest

from setpoint.guarantees.paths import MARGINS, path_rules_of
from thinning import over


def by_hand(margins, values):
    out, best = [], -np.inf
    for margin in [min(margins.max(), 60.0), *MARGINS]:
        able = [i for i in range(len(margins)) if margins[i] >= margin]
        if not able:
            continue
        top = max(able, key=lambda i: (values[i], margins[i]))
        if values[top] > best:
            best = values[top]
            out.append(top)
    return out


@over("seed", range(60))
def test_rungs_are_the_best_at_each_margin(seed):
    rng = np.random.default_rng(seed)
    margins, values = rng.normal(0, 4, 30).round(1), rng.random(30).round(1)
    got, wanted = path_rules_of(margins, values), by_hand(margins, values)
    assert values[got].tolist() == values[wanted].tolist()
    assert margins[got].tolist() == margins[wanted].tolist()


def test_the_objective_rises_and_the_margin_falls():
    rng = np.random.default_rng(0)
    margins, values = rng.normal(0, 10, 5_000), rng.random(5_000)
    path_rules = path_rules_of(margins, values)
    assert (np.diff(values[path_rules]) > 0).all()
    assert (np.diff(margins[path_rules]) < 0).all()
    assert margins[path_rules[0]] == margins.max()


def test_rules_without_a_margin_or_a_value_make_no_rung():
    margins = np.array([-np.inf, 2.0, 1.0, np.inf])
    values = np.array([9.0, np.nan, 0.5, 0.1])
    assert path_rules_of(margins, values).tolist() == [3, 2]
    assert path_rules_of(np.array([-np.inf]), np.array([1.0])).size == 0


def test_margins_run_from_far_on_the_good_side_to_far_on_the_bad_one():
    assert MARGINS[0] == pytest.approx(60.0)
    assert MARGINS[-1] == pytest.approx(-60.0)
    assert (np.diff(MARGINS) < 0).all()

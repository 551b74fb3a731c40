"""What is certified of several tests."""

import math

import numpy as np
import pytest

from setpoint.guarantees import fixed_sequence, holm, level_of_try
from thinning import over


def test_a_path_ends_at_its_first_failure_and_is_not_read_on():
    read = []

    def tests():
        for passed in (True, True, False, True):
            read.append(passed)
            yield passed

    assert fixed_sequence(tests()) == 2
    assert read == [True, True, False]
    assert fixed_sequence([]) == 0


@over("seed", range(20))
def test_holm_by_its_definition(seed):
    rng = np.random.default_rng(seed)
    p = rng.random(6) ** 3
    order, wanted = np.argsort(p), np.zeros(6, bool)
    for k, i in enumerate(order):
        if p[i] > 0.05 / (6 - k):
            break
        wanted[i] = True
    assert (holm(p / 0.05) == wanted).all()


def test_levels_of_all_tries_together():
    levels = [level_of_try(0.05, k) for k in range(1, 10_000)]
    assert levels[0] == 0.05
    assert (np.diff(levels) < 0).all()
    assert sum(levels) == pytest.approx(0.05 * (2.0 - 6.0 / math.pi**2), rel=1e-3)

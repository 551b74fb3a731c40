"""Of cut-offs that are equally good, the nearest to a plain threshold: every one is tried."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from setpoint import solve
from setpoint.counts import Curve, plain_threshold
from setpoint.rules import PerSegment, Threshold
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore")

GOALS = {
    "maximize recall subject to predicted_rate <= 0.8": lambda r: (r.recall, r.rate <= 0.8 + 1e-9),
    "minimize false_positive_rate subject to recall >= 0.5": lambda r: (
        -r.fpr,
        r.recall >= 0.5 - 1e-9,
    ),
    "maximize accuracy": lambda r: (r.accuracy, True),
    "maximize precision subject to recall >= 0.2": lambda r: (r.precision, r.recall >= 0.2 - 1e-9),
    "maximize f1": lambda r: (r.f1, True),
    "maximize recall.on(g='b')": lambda r: (r.of_b, True),
    "minimize abs(predicted_rate - 0.4)": lambda r: (-abs(r.rate - 0.4), True),
}
"""The score of each goal, and whether its bound is met."""


def table(seed, *, scale=None):
    """Rows sorted by class, some of them twice, few scores, and rare rows of much weight."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    y = np.sort(rng.integers(0, 2, n))
    y[0], y[-1] = 0, 1
    s = np.round(np.clip(0.25 * y + rng.random(n) * 0.75, 0.0, 1.0), 1)
    s = s if scale is None else scale(s)
    g = np.where(np.arange(n) % 3 == 0, "b", "a")
    w = np.where(rng.random(n) < 0.1, 50.0, 1.0) if seed % 2 else np.ones(n)
    again = rng.integers(0, n, n // 3)
    return tuple(np.concatenate([x, x[again]]) for x in (s, y, g, w))


def rates(accepted, y, g, w):
    tp, fp = (w[accepted & (y == t)].sum() for t in (1, 0))
    fn, tn = (w[~accepted & (y == t)].sum() for t in (1, 0))
    own = (g == "b") & (y == 1)
    return SimpleNamespace(
        recall=tp / (tp + fn),
        fpr=fp / (fp + tn),
        rate=(tp + fp) / w.sum(),
        accuracy=(tp + tn) / w.sum(),
        precision=tp / (tp + fp) if tp + fp else 0.0,
        f1=2 * tp / (2 * tp + fp + fn),
        of_b=w[accepted & own].sum() / max(w[own].sum(), 1e-300),
        errors=(fn, fp),
    )


def distance(s, accepted, plain):
    """From the plain threshold to the nearest one that accepts the same rows."""
    inside, outside = s[accepted].min(initial=np.inf), s[~accepted].max(initial=-np.inf)
    return max(np.nextafter(outside, np.inf) - plain, plain - inside, 0.0)


@over("goal", GOALS)
@over("seed", range(6))
@over("plain", [0.5, 0.0])
def test_the_nearest_of_all_that_none_betters(goal, seed, plain):
    s, y, g, w = table(seed, scale=None if plain else lambda s: 6.0 * s - 3.3)
    if not (s.min() < plain < s.max()) or not (y[g == "b"] == 1).any():
        pytest.skip("no scores on both sides, or no positives of b")
    every = []
    for cut in [np.inf, *np.unique(s)]:
        r = rates(s >= cut, y, g, w)
        score, met = GOALS[goal](r)
        if met:
            every.append((score, r.errors, distance(s, s >= cut, plain), cut))
    best = max(x[0] for x in every)
    ties = [x for x in every if x[0] >= best - 1e-12 * (1 + abs(best))]

    def bettered(x):
        return any(o[1] != x[1] and o[1][0] <= x[1][0] and o[1][1] <= x[1][1] for o in ties)

    nearest = min(x[2] for x in ties if not bettered(x))
    rule = solve(goal, s, y, sensitive_features={"g": g}, sample_weight=w, decide_on=None).rule
    assert isinstance(rule, Threshold)
    accepted = s >= rule.threshold
    found = next(x for x in ties if ((s >= x[3]) == accepted).all())
    assert not bettered(found)
    assert found[2] == nearest


@over("seed", range(300), every=10)
def test_no_threshold_of_a_group_can_move_nearer(seed):
    s, y, g, w = table(seed)
    if any(len(set(y[g == k])) < 2 for k in "ab"):
        pytest.skip("a group of one class")
    goal = "minimize false_positive_rate subject to recall >= 0.6"
    rule = solve(goal, s, y, sensitive_features={"g": g}, sample_weight=w, decide_on="g").rule
    rules = rule.rules if isinstance(rule, PerSegment) else (rule, rule)
    cuts = dict(zip("ab", (r.threshold for r in rules), strict=True))
    now_at = rates(s >= np.vectorize(cuts.get)(g), y, g, w)
    for group in "ab":
        own = s[g == group]
        now = distance(own, own >= cuts[group], 0.5)
        for cut in [np.inf, *np.unique(own)]:
            r = rates(s >= np.vectorize({**cuts, group: cut}.get)(g), y, g, w)
            if r.recall < 0.6 - 1e-9 or r.fpr > now_at.fpr + 1e-12:
                continue
            assert r.errors == now_at.errors or not all(np.less_equal(r.errors, now_at.errors))
            if r.errors == now_at.errors:
                assert distance(own, own >= cut, 0.5) >= now - 1e-15


@over("shift", [0.0, 0.2, 0.35])
def test_a_band_that_defers_nobody_lies_where_a_threshold_would(shift):
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 2, 300))
    s = np.clip(0.35 * y + 0.3 * rng.random(300) + shift, 0.0, 1.0)
    decided = solve(
        "minimize deferral_rate subject to error_rate.decided <= 0.4", s, y
    ).rule.decide(s)
    assert (decided != 2).all()
    assert (decided != y).mean() <= ((s >= 0.5) != y).mean()


def test_what_is_plain():
    def curve(*values):
        return Curve(np.array(values), np.zeros((1, len(values) + 1)), ((0, 1),))

    assert plain_threshold([curve(0.9, 0.1), curve(1.0, 0.0)]) == 0.5
    assert plain_threshold([curve(3.0, -1.0), curve(0.5)]) == 0.0
    assert plain_threshold([curve(700.0, 300.0)]) is None
    assert plain_threshold([curve(-1.0, -3.0)]) is None
    assert plain_threshold([curve()]) == 0.5

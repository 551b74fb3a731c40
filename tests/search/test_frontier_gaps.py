"""Gaps of a frontier, point by point: what is left out, what is not proved, what is not known."""

import json
from dataclasses import replace

import numpy as np

from search.samples import linked
from setpoint import Frontier, frontier
from setpoint.search import CutoffSet, Optimum, solve_levels, trace_frontier
from thinning import over

NAN, INF = np.nan, np.inf


def made(bounds, values, kind="steps", relation=">=", **more):
    vary = f"precision {relation} 0.5"
    at = np.asarray(bounds, float)
    goal = f"maximize recall subject to {vary}"
    return Frontier(
        goal, vary, "recall", "precision", relation, 0.5, at, np.asarray(values, float), at, kind,
        **more,
    )  # fmt: skip


def curve(rng, kind, relation, m=2000):
    """A frontier with jumps and flat parts; concave where mixtures lie on it."""
    bounds = np.sort(rng.random(m))
    fall = rng.random(m) * (rng.random(m) < 0.3) * np.where(rng.random(m) < 0.005, 60.0, 1.0)
    if kind == "lines":
        fall = np.sort(fall) * np.diff(bounds, prepend=0.0)
    values = 1.0 - np.cumsum(fall) / max(fall.sum(), 1e-9)
    if relation == "<=":
        return made(1.0 - bounds[::-1], values[::-1], kind, relation)
    return made(bounds, values, kind, relation)


@over("kind", ["steps", "lines"])
@over("relation", [">=", "<="])
@over("most", [7, 25, 300])
def test_a_gap_holds_what_is_left_out_beside_its_bound(kind, relation, most):
    rng = np.random.default_rng(most)
    for _ in range(10):
        whole = curve(rng, kind, relation)
        thin = whole.thinned(most)
        assert len(thin.bounds) <= most
        lost = whole.values - thin.at(whole.bounds)
        assert lost.min() >= -1e-9
        # Between two bounds the gap is that of the stricter one with steps, else linear.
        between = replace(thin, values=thin.gaps).at(whole.bounds)
        assert (lost <= between + 1e-9).all()
        # No gap is larger than the values that are left out on its two sides.
        at = np.searchsorted(whole.bounds, thin.bounds)
        reach = np.abs(np.diff(whole.values[at]))
        assert (thin.gaps <= np.maximum(np.append(reach, 0), np.append(0, reach)) + 1e-9).all()


def test_gaps_that_were_there_add_up():
    bounds, values = np.linspace(0, 1, 500), np.linspace(1, 0, 500)
    gaps = np.where(bounds < 0.5, 0.1, 0.0)
    thin = made(bounds, values, gaps=gaps).thinned(20)
    inner = (thin.bounds > 0.01) & (thin.bounds < 0.4)
    assert (thin.gaps[inner] > 0.1).all()
    assert (thin.gaps[thin.bounds > 0.6] < 0.1).all()
    points = made(bounds, values, "points", gaps=gaps)
    thin = points.thinned(20)
    np.testing.assert_array_equal(thin.gaps, np.interp(thin.bounds, bounds, gaps))


def test_where_no_rule_is_known():
    bounds = np.linspace(0, 1, 500)
    values = np.where(bounds < 0.7, 1 - bounds, NAN)
    gaps = np.where(np.isnan(values), INF, 0.01)
    found = made(bounds, values, "points", gaps=gaps)
    assert found.gap == 0.01
    thin = found.thinned(10)
    assert np.nanmax(thin.bounds[~np.isnan(thin.values)]) == bounds[bounds < 0.7].max()
    assert np.isinf(thin.gaps[np.isnan(thin.values)]).all()
    nothing = made(bounds, np.full(500, NAN), "points", gaps=np.full(500, INF))
    assert nothing.gap == 0.0
    assert len(nothing.thinned(10).bounds) <= 10


def test_samples_have_the_gap_of_their_step():
    found = made([0.2, 0.5, 0.8], [0.9, 0.7, 0.4], gaps=np.array([0.0, 0.1, 0.0]))
    some = found.sampled(np.array([0.1, 0.3, 0.5, 0.6, 0.9]))
    assert some.gaps.tolist() == [0.0, 0.1, 0.1, 0.0, 0.0]
    np.testing.assert_array_equal(some.values, [0.9, 0.7, 0.7, 0.4, NAN])


def test_gaps_go_through_json():
    found = made([0.2, 0.5, 0.8], [0.9, 0.7, NAN], "points", gaps=np.array([0.0, 0.25, INF]))
    again = Frontier.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert again.gaps.tolist() == [0.0, 0.25, INF]
    assert again != replace(found, gaps=np.array([0.0, 0.25, 0.0]))
    assert made([0.2], [0.9]).gaps.tolist() == [0.0]


@over("goal", ["maximize recall + precision", "maximize 2 * precision + recall"])
def test_gaps_of_mixtures_hold_the_best_of_many(goal):
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.4).astype(int)
    s = np.round(rng.normal(size=60) + y, 1)
    text = f"{goal} subject to false_positive_rate <= 0.2"
    evidence = linked(text, s, y)[1]
    levels = np.array([0.02, 0.1, 0.2, 0.4, 1.0])
    found = frontier(evidence, text, values=levels, randomized=True)
    assert (found.gaps > 0).any()
    # All mixtures of two thresholds, on a grid of their shares.
    cuts = np.append(np.unique(s), INF)
    tp = np.array([((s >= t) & (y == 1)).sum() for t in cuts])
    fp = np.array([((s >= t) & (y == 0)).sum() for t in cuts])
    share = np.linspace(0, 1, 41)[:, None, None]
    hits = share * tp[:, None] + (1 - share) * tp
    alarms = share * fp[:, None] + (1 - share) * fp
    taken = hits + alarms
    precision = hits / np.where(taken > 0, taken, 1.0)
    weight = 2.0 if "2" in goal else 1.0
    value = hits / y.sum() + weight * precision
    for k, level in enumerate(levels):
        best = value[alarms / (y == 0).sum() <= level + 1e-9].max()
        assert best <= found.values[k] + found.gaps[k] + 1e-9


def test_a_rule_that_meets_a_bound_meets_the_laxer_ones():
    """Where a search under a laxer bound ends at less, or at nothing."""
    scores, true = np.arange(10) / 10, np.arange(10) % 3 == 0
    program, rows = linked("maximize recall subject to predicted_rate <= 0.5", scores, true)
    cuts = CutoffSet(program.table, rows)
    ends = {0.2: 2, 0.4: 0, 0.6: None, 0.8: 8, 0.9: 5}

    def solve(level):
        if ends[level] is None:
            return Optimum((), np.zeros(cuts.d), -INF, 0.9)
        choice = [{ends[level]: 1.0}]
        v = cuts.features(choice)
        return Optimum(choice, v, float(program.value(v)), 1.0 - (1.0 - level) / 100)

    found = solve_levels(program, 0, np.array(list(ends)), solve)
    assert [choice[0] for choice in found.choices] == [{2: 1.0}] * 3 + [{8: 1.0}] * 2
    assert found.reached.tolist() == [0.2] * 3 + [0.8] * 2
    assert found.values.tolist() == [0.25] * 3 + [0.75] * 2
    # Nor is any better than the bound under a laxer one.
    bounds = np.array([0.9, 0.9, 0.9, 0.998, 0.999])
    np.testing.assert_allclose(found.gaps, bounds - found.values, atol=1e-12)


def test_corners_that_are_left_out_stand_out_by_the_gap_at_most(monkeypatch):
    rng = np.random.default_rng(5)
    true = (rng.random(400) < 0.4).astype(int)
    goal = "maximize recall subject to specificity >= 0.5"
    program, rows = linked(goal, rng.normal(size=400) + true, true)
    cuts = CutoffSet(program.table, rows)
    whole = trace_frontier(cuts, program, 0, None, 100)
    monkeypatch.setattr("setpoint.search.frontier.MOST_CORNERS", 6)
    few = trace_frontier(cuts, program, 0, None, 100)
    assert len(few.bounds) == 6 < len(whole.bounds)
    short = whole.values - few.at(whole.bounds)
    right = np.clip(np.searchsorted(few.bounds, whole.bounds), 1, 5)
    assert short.max() > 1e-4
    assert (short <= np.minimum(few.gaps[right - 1], few.gaps[right]) + 1e-9).all()

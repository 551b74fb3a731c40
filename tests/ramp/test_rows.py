"""Every row of the family against rates that are counted by hand."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from oracles.ramp import RATES, ROWS, churn, drawn_sets, problem_of, slack, smooth
from setpoint.ramp import rows_of
from setpoint.ramp.problem import accepted, ramp, weigh
from thinning import over

SEEDS = (0, 1)
PLAIN = "error_rate"
SPREAD = [0.02, 0.2, 0.5, 1.0, 4.0]


def models(seed, d=3, n=60):
    """Coefficients from which few rows to all rows are accepted, some of them by a share."""
    rng = np.random.default_rng(100 + seed)
    out = [rng.normal(size=d + 1) * rng.choice(SPREAD) for _ in range(n)]
    for i, w in enumerate(out):
        if i % 3 == 0:
            w[:] = rng.choice([0.5, 2.0, 30.0]) * np.array([1.0, 0.5, 0.0, -0.4])
            w[-1] += rng.normal()
        elif i % 3 == 1:  # next to the deployed decisions
            w[:] = 1000.0 * np.array([0.1 * w[0], 1.0, 0.0, -0.3])
    everyone, nobody = np.zeros((2, d + 1))
    everyone[-1], nobody[-1] = 100.0, -100.0
    as_deployed = np.array([0.0, 1e6, 0.0, -0.3e6])
    return [*out, everyone, nobody, as_deployed]


@cache
def decided(seed):
    """The data sets, and each model with what it accepts of them."""
    sets = drawn_sets(seed)
    both = [(w, drawn) for w in models(seed) for drawn in (True, False)]
    return sets, [(*x, {name: s.decided(*x) for name, s in sets.items()}) for x in both]


def judged(text, seed):
    """A problem, and each model's accepted weights next to the sets that it decides."""
    sets, all_decided = decided(seed)
    problem = problem_of(f"minimize {PLAIN} subject to {text}", sets)
    # Features are scaled as a whole.
    scale = np.append(np.full(3, sets[None].X[0, 0] / problem.X[0, 0]), 1.0)
    return problem, [(problem.accepted(w * scale, drawn), D) for w, drawn, D in all_decided]


@over("seed", SEEDS, every=2)
@over("text", RATES)
def test_rates_are_counts(text, seed):
    problem, found = judged(f"{text} {'>=' if 'ratio(' in text else '<='} 0.7", seed)
    side = problem.program.constraints[0].function
    values = [side.value(problem.goal.rates(S)) for S, _ in found]
    by_hand = [RATES[text](D) for _, D in found]
    np.testing.assert_allclose(values, by_hand, rtol=0, atol=1e-12)
    if "baseline" not in text:  # which no decision changes
        assert len(np.unique(np.round(by_hand, 6))) > 20


@over("seed", SEEDS, every=2)
@over("text", ROWS)
def test_rows_are_the_written_ones(text, seed):
    written, floors = ROWS[text]
    problem, found = judged(text, seed)
    for least in (0.0, 9.0):
        rows = rows_of(problem.program, least)
        values = np.array([[r.coefs @ S + r.const for r in rows] for S, _ in found])
        wanted = [[*written(D), *(floors(D, least) if floors else ())] for _, D in found]
        wanted = np.array(wanted)
        left = [i for i, r in enumerate(rows) if r.coefs.max() > 0 or r.const > 0]  # none is idle
        assert len(left) == wanted.shape[1]
        for j in range(wanted.shape[1]):
            place = np.abs(wanted[:, j]).argmax()
            factors = values[place] / wanted[place, j]
            match = [
                i for i in left
                if factors[i] > 0
                and np.abs(values[:, i] / factors[i] - wanted[:, j]).max() <= 1e-12
            ]  # fmt: skip
            assert len(match) == 1, (j, match)
            left.remove(match[0])
    # They hold where the constraint does.
    plain = rows_of(problem.program)
    scaled, met, missed = [r.scaled(problem.totals) for r in plain], 0, 0
    for S, D in found:
        by_hand = slack(text, D)
        if (floors and max(floors(D, 0.0)) > 0) or abs(by_hand) < 1e-9:
            continue  # a share of one row only
        for rows in (plain, scaled):
            worst = max(float(r.coefs @ S) + r.const for r in rows)
            assert (worst <= 0) == (by_hand > 0)
        violation = float(problem.program.violation(problem.goal.rates(S)))
        assert violation == pytest.approx(max(-by_hand, 0.0), abs=1e-12)
        met, missed = met + (by_hand > 0), missed + (by_hand < 0)
    assert min(met, missed) >= 5


@over(
    "objective,floored",
    [
        ("maximize precision", lambda D: D[None].n() * D[None].sp()),
        ("maximize negative_predictive_value", lambda D: D[None].n() * D[None].sn()),
        ("maximize win_change_ratio", lambda D: D[None].n() * churn(D[None])),
        ("maximize f1", None),
    ],
)
def test_quotients_to_be_optimised_have_floors_too(objective, floored):
    """Of nobody they count 0, and next to it they may be the best."""
    sets, all_decided = decided(0)
    problem = problem_of(objective, sets)
    for least in (0.0, 9.0):
        rows = rows_of(problem.program, least)
        assert len(rows) == (floored is not None)
        for row in rows:
            scale = np.append(np.full(3, sets[None].X[0, 0] / problem.X[0, 0]), 1.0)
            held = 0
            for w, drawn, D in all_decided:
                value = row.coefs @ problem.accepted(w * scale, drawn) + row.const
                most = max(least, 0.5) - floored(D)
                held += most < 0
                if abs(most) > 1e-9:
                    assert (value <= 0) == (most < 0)
            assert 0 < held < len(all_decided)


def test_rows_are_scaled_to_order_one():
    sets = drawn_sets(0)
    for text in ROWS:
        problem = problem_of(f"minimize {PLAIN} subject to {text}", sets)
        for row in problem.rows:
            up = np.maximum(row.coefs, 0.0) @ problem.totals
            down = np.maximum(-row.coefs, 0.0) @ problem.totals
            room = down - row.const  # right of up s_p + down s_n <= room
            assert 0.02 < max(up, down, room) < 100.0


# ---------------------------------------------------------------------- objectives
@over(
    "objective",
    [
        "minimize error_rate",
        "minimize error_rate.on('hard') + 0.5 * predicted_rate.on('fresh')",
        "maximize recall - 0.3 * churn",
        "maximize f1",
        "maximize g_mean",
        "maximize precision",
        "maximize wins / (wins + losses + 0.1)",
    ],
)
@over("form", [np.asarray, sparse.csr_matrix])
def test_gradients_are_differences(objective, form):
    sets = drawn_sets(3)
    problem = problem_of(f"{objective} subject to precision >= 0.5", sets)
    problem = replace(problem, X=form(problem.X))
    sense = 1.0 if objective.startswith("minimize") else -1.0
    rng = np.random.default_rng(0)
    for t in (0.5, 0.05):
        w = 0.3 * rng.normal(size=4)
        S, slope = problem.smoothed(w, t)
        loss, price = problem.loss(S)
        value = float(problem.program.value(problem.goal.rates(S)))
        assert loss == pytest.approx(sense * value, abs=1e-15)
        gradient = problem.pulled(slope.copy(), price)
        rows = np.array([problem.pulled(slope.copy(), c) for c in problem.coefs])
        for j in range(4):
            h = np.zeros(4)
            h[j] = 1e-5
            up, down = problem.smoothed(w + h, t)[0], problem.smoothed(w - h, t)[0]
            by_loss = (problem.loss(up)[0] - problem.loss(down)[0]) / 2e-5
            assert gradient[j] == pytest.approx(by_loss, abs=1e-6)
            by_rows = (problem.excess(up) - problem.excess(down)) / 2e-5
            np.testing.assert_allclose(rows[:, j], by_rows, atol=1e-6)


@over("t", [0.5, 0.1, 0.05])
def test_the_smoothed_ramp(t):
    rng = np.random.default_rng(0)
    z = np.concatenate([[-1e4, -50.0, -0.5, 0.0, 0.5, 50.0, 1e4], rng.normal(size=200) * 3])
    kind = rng.integers(0, 4, len(z))
    p, slope = smooth(z, t)
    for weight in (None, rng.random(len(z))):
        found = np.empty_like(z)
        S = accepted(z, kind, weight, t, 5, found)
        by_hand = np.bincount(kind, p if weight is None else p * weight, 5)
        np.testing.assert_allclose(S, by_hand, rtol=0, atol=1e-11)
        np.testing.assert_allclose(found, slope, rtol=0, atol=1e-13)
        price = rng.normal(size=5)
        weigh(found, kind, weight, price)
        paid = slope * price[kind] * (1.0 if weight is None else weight)
        np.testing.assert_allclose(found, paid, rtol=0, atol=1e-13)
    same = z.copy()  # scores may be the place of slopes
    assert np.array_equal(accepted(same, kind, weight, t, 5, same), S)
    np.testing.assert_allclose(same, slope, rtol=0, atol=1e-13)
    far = np.abs(z) > 0.5 + 40 * t
    np.testing.assert_allclose(p[far], ramp(z[far]), rtol=0, atol=1e-11)
    assert 0 < np.abs(p - ramp(z)).max() <= t * np.log(2)


@over("weighted", [False, True])
def test_a_sample_keeps_the_totals(weighted):
    sets = drawn_sets(5, n=4000)
    if not weighted:
        for s in sets.values():
            s.weight = np.ones(len(s.weight))
    goal = "minimize error_rate subject to recall.on('hard') >= 0.6 and churn.on('fresh') <= 0.3"
    problem = problem_of(f"{goal} and recall.on(g='a') >= 0.5", sets)
    for n_rows in (50, 500, 10**6):
        small = problem.sampled(n_rows, np.random.default_rng(0))
        sums = np.bincount(small.kind, small.weight, len(problem.totals))
        np.testing.assert_allclose(sums, problem.totals, rtol=1e-12)
        assert len(small.kind) == small.X.shape[0] == len(small.weight)
        if n_rows < 1000:
            most = n_rows + len(problem.totals) * (1 + np.sqrt(n_rows))
            assert n_rows <= len(small.kind) <= min(most, len(problem.kind))
        else:
            assert len(small.kind) == len(problem.kind)
    everyone = np.array([0.0, 0.0, 0.0, 5.0])
    np.testing.assert_allclose(small.excess(small.accepted(everyone)),
                               problem.excess(problem.accepted(everyone)), atol=1e-12)  # fmt: skip

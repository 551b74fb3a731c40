"""The sweep over every cut-off against a plain loop."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.counts import BestCutoff, Ratios, best_of, cutoffs, ratio_at, zeros_of

INF = math.inf
NONE = BestCutoff(-1, -INF, 0, INF)


class Constraints(NamedTuple):
    """Bounds on ratios; a denominator below its floor (if above 0) meets none."""

    forms: np.ndarray
    offsets: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    floor: np.ndarray


def largest(form, counts):
    """What breaks ties: the first of the columns where a form is largest."""
    return lambda ties: int(np.argmax(form[:-1] @ counts[:, ties]))


def best_cutoff(counts, objective, constraints=None, *, offset=0.0, tiebreak=None):
    none = np.empty(0)
    if constraints is None:
        constraints = Constraints(np.empty((0, *objective.shape)), none, none, none, none)
    forms = np.concatenate((objective[None], constraints.forms))
    floor = constraints.floor
    required = forms[1:, 1][floor > 0.0]
    required[:, -1] -= (1.0 - 1e-12) * floor[floor > 0.0] + 1e-9
    offsets = np.append(offset, constraints.offsets)
    zeros = zeros_of(forms, counts[:, -1])
    ratios = Ratios(forms, zeros, offsets, constraints.lower, constraints.upper)
    chosen = None if tiebreak is None else largest(tiebreak, counts)
    return best_of(np.ascontiguousarray(counts), ratios, required=required, tiebreak=chosen)


def ratio(form, column, offset):
    a, b = (sum(c * x for c, x in zip(f, [*column, 1.0], strict=True)) for f in form)
    if b == 0:
        return offset + (0.0 if a == 0 else math.copysign(INF, a)), b
    return offset + a / b, b


def reference(counts, objective, constraints, offset, tiebreak):
    columns = counts.T.tolist()
    values, feasible = [], []
    for column in columns:
        values.append(ratio(objective, column, offset)[0])
        good = True
        for form, c, low, high, floor in zip(*constraints, strict=True):
            value, b = ratio(form, column, c)
            good &= value >= low - 1e-9 and value <= high + 1e-9
            good &= floor <= 0 or b >= floor * (1 - 1e-12)
        feasible.append(good)
    among = [j for j, good in enumerate(feasible) if good]
    if not among:
        return NONE
    best = max(values[j] for j in among)
    level = best if math.isinf(best) else best - 1e-12 * (1 + abs(best))
    ties = [j for j in among if values[j] >= level]
    score = [sum(c * x for c, x in zip(tiebreak, [*columns[j], 1.0], strict=True)) for j in ties]
    j = ties[score.index(max(score))]
    return BestCutoff(j, values[j], len(among))


def problem(draw_int, n_kinds, m, n_rows):
    """Counts and forms of small integers: every sum in them is exact."""
    steps = np.array([[draw_int(0, 3) for _ in range(m)] for _ in range(n_kinds)], dtype=float)
    counts = np.concatenate((np.zeros((n_kinds, 1)), np.cumsum(steps.reshape(n_kinds, m), 1)), 1)

    def form():
        return [[float(draw_int(-2, 2)) for _ in range(n_kinds + 1)] for _ in range(2)]

    bounds = [-INF, -1.0, 0.0, 0.5, 1.0, INF]
    constraints = Constraints(
        np.array([form() for _ in range(n_rows)]).reshape(n_rows, 2, n_kinds + 1),
        np.array([draw_int(-1, 1) / 2 for _ in range(n_rows)]),
        np.array([bounds[draw_int(0, 4)] for _ in range(n_rows)]),
        np.array([bounds[draw_int(2, 5)] for _ in range(n_rows)]),
        np.array([float(draw_int(0, 1)) for _ in range(n_rows)]),
    )
    tiebreak = np.array([float(draw_int(-2, 2)) for _ in range(n_kinds + 1)])
    return counts, np.array(form()), constraints, draw_int(-2, 2) / 4, tiebreak


@settings(max_examples=300)
@given(st.data())
def test_small_problems(data):
    def draw_int(low, high):
        return data.draw(st.integers(low, high))

    shape = draw_int(1, 4), draw_int(0, 8), draw_int(0, 3)
    counts, objective, constraints, offset, tiebreak = problem(draw_int, *shape)
    found = best_cutoff(counts, objective, constraints, offset=offset, tiebreak=tiebreak)
    assert found == reference(counts, objective, constraints, offset, tiebreak)


@pytest.mark.parametrize("m", [1022, 1023, 1024, 3000, 5000])
def test_problems_of_several_blocks(m):
    rng = np.random.default_rng(m)

    def draw_int(low, high):
        return int(rng.integers(low, high + 1))

    for _ in range(20):
        counts, objective, constraints, offset, tiebreak = problem(draw_int, 2, m, draw_int(0, 2))
        found = best_cutoff(counts, objective, constraints, offset=offset, tiebreak=tiebreak)
        assert found == reference(counts, objective, constraints, offset, tiebreak)


def every_cutoff(counts, objective, constraints, offset, tiebreak, required, near):
    """The best cut-off, the least violating one and the nearest, all cut-offs tried in turn."""
    found = []
    for j, column in enumerate(counts.T.tolist()):
        ones = [*column, 1.0]
        if any(sum(c * x for c, x in zip(form, ones, strict=True)) < -1e-9 for form in required):
            continue
        past = [0.0]
        for form, c, low, high, _ in zip(*constraints, strict=True):
            value = ratio(form, column, c)[0]
            # An infinite bound is met by the same infinite value.
            past += [0.0 if value == low else low - value, 0.0 if value == high else value - high]
        value = ratio(objective, column, offset)[0]
        tie = sum(c * x for c, x in zip(tiebreak, ones, strict=True))
        found.append((j, max(past), value, tie))
    met = [x for x in found if x[1] <= 1e-9]
    n, below, above = len(met), -1, -1
    if met:
        below = max((j for j, *_ in met if j < near), default=-1)
        above = min((j for j, *_ in met if j >= near), default=-1)
    elif found:
        least = min(x[1] for x in found)
        met = [x for x in found if x[1] == least or x[1] <= least + 1e-12 * (1 + least)]
    else:
        return NONE
    best = max(x[2] for x in met)
    ties = [x for x in met if x[2] == best or x[2] >= best - 1e-12 * (1 + abs(best))]
    j, violation, value, _ = max(ties, key=lambda x: (x[3], -x[0]))
    return BestCutoff(j, value, n, 0.0 if n else violation, below, above)


@pytest.mark.parametrize("m", [0, 1, 7, 60, 1023, 1500])
def test_required_rows_the_nearest_and_the_least_violation(m):
    rng = np.random.default_rng(m)

    def draw_int(low, high):
        return int(rng.integers(low, high + 1))

    kinds_of_answer = set()
    for _ in range(400 if m < 100 else 30):
        counts, objective, constraints, offset, tie = problem(draw_int, 2, m, draw_int(0, 3))
        constraints = constraints._replace(floor=np.zeros(len(constraints.floor)))
        if draw_int(0, 2) == 0:  # hard to meet
            constraints = constraints._replace(lower=constraints.upper, upper=constraints.lower)
        required = np.array([[1.0, 1.0, -draw_int(0, 3)], [-1.0, 0.0, draw_int(0, 9)]])
        near = draw_int(0, m)
        ratios = Ratios(
            np.concatenate([objective[None], constraints.forms]),
            zeros_of(np.concatenate([objective[None], constraints.forms]), counts[:, -1]),
            np.append(offset, constraints.offsets),
            constraints.lower,
            constraints.upper,
        )
        expected = every_cutoff(counts, objective, constraints, offset, tie, required, near)
        given = {"required": required, "tiebreak": largest(tie, counts), "near": near}
        found = best_of(counts, ratios, **given, least_violation=True)
        assert found == expected
        plain = best_of(counts, ratios, **given)
        assert plain == (expected if expected.n_feasible else NONE)
        kinds_of_answer.add((found.cutoff < 0, found.n_feasible > 0))
    assert m < 7 or kinds_of_answer == {(True, False), (False, True), (False, False)}


def test_columns_in_any_order():
    # What a line through the coefficients of a model accepts grows and falls.
    counts = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 2.0, 2.0, 0.0]])
    forms = np.array([[[0, 1, 0], [0, 0, 2]], [[0, 1, 0], [1, 1, 0]]], float)
    totals = np.array([3.0, 2.0])
    precise = Ratios(forms, zeros_of(forms, totals), np.zeros(2), np.array([0.5]), np.array([INF]))
    assert best_of(counts, precise).cutoff == 1
    assert best_of(counts, precise, tiebreak=largest(np.array([1.0, 0.0, 0.0]), counts)).cutoff == 2
    assert best_of(counts, precise._replace(lower=np.array([0.7]))) == NONE


def ratio_values(counts, form, offset=0.0):
    """A ratio over two kinds at every cut-off."""
    zeros = zeros_of(form, counts[:, -1])
    return np.array([ratio_at(form, zeros, offset, x, y) for x, y in counts.T])


def binary(n=20_000, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random(n), 3)
    label = (rng.random(n) < scores**3).astype(np.int64)
    weight = rng.lognormal(size=n) if weighted else None
    return cutoffs(scores, label, weight, 2)[1]


@pytest.mark.parametrize("weighted", [False, True])
def test_recall_at_a_precision(weighted):
    counts = binary(weighted=weighted)
    fp, tp = counts
    with np.errstate(invalid="ignore"):
        precision = np.where(fp + tp > 0, tp / (fp + tp), 0.0)
    feasible = precision >= 0.9 - 1e-9
    found = best_cutoff(
        counts,
        np.array([[0.0, 1.0, 0.0], [0.0, 0.0, tp[-1]]]),
        Constraints(
            np.array([[[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]]),
            np.zeros(1),
            np.array([0.9]),
            np.array([INF]),
            np.array([1e-9]),
        ),
    )
    recall = np.where(feasible, tp / tp[-1], -1.0)
    assert found.n_feasible == feasible.sum()
    assert found.value == pytest.approx(recall.max(), abs=1e-15)
    assert recall[found.cutoff] == recall.max()


def test_infeasible():
    counts = binary(200)
    precision = np.array([[[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]])
    above = Constraints(precision, np.zeros(1), np.array([1.5]), np.array([INF]), np.zeros(1))
    assert best_cutoff(counts, precision[0], above) == NONE


def test_a_floor_keeps_the_empty_prediction_out():
    counts = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    false_discovery = np.array([[[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]])
    few = np.array([[-1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    for floor, cutoff in ((0.0, 0), (1.0, 2)):
        at_most = Constraints(
            false_discovery, np.zeros(1), np.array([-INF]), np.array([0.6]), np.array([floor])
        )
        assert best_cutoff(counts, few, at_most).cutoff == cutoff


def test_bounds_are_met_to_a_billionth():
    counts = np.array([[0.0, 1.0]])
    affine = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    for excess, met in ((0.9e-9, True), (1.1e-9, False)):
        for low, high in ((1.0 + excess, INF), (-INF, -excess)):
            bounds = Constraints(
                affine, np.zeros(1), np.array([low]), np.array([high]), np.zeros(1)
            )
            assert best_cutoff(counts, affine[0], bounds).n_feasible == met


def test_infinite_values():
    counts = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])  # losses, wins
    wins_to_losses = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert ratio_values(counts, wins_to_losses).tolist() == [0.0, INF, 1.0]
    assert ratio_values(counts, -wins_to_losses, 1.0).tolist() == [1.0, -INF, 2.0]
    assert best_cutoff(counts, wins_to_losses) == BestCutoff(1, INF, 3)
    bound = Constraints(
        wins_to_losses[None], np.zeros(1), np.array([2.0]), np.array([INF]), np.zeros(1)
    )
    few = np.array([[-1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    assert best_cutoff(counts, few, bound) == BestCutoff(1, -1.0, 1)
    only_infinite = np.array([[0.0, -1.0, -1.0], [0.0, 0.0, 0.0]])
    assert best_cutoff(counts, only_infinite) == BestCutoff(0, -INF, 3)


def test_ties_take_the_larger_tiebreak_then_the_lower_cutoff():
    counts = np.arange(6.0)[None]
    flat = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert best_cutoff(counts, flat).cutoff == 0
    assert best_cutoff(counts, flat, tiebreak=np.array([1.0, 0.0])).cutoff == 5
    nearly = np.array([[1e-13, 1.0], [0.0, 1.0]])
    assert best_cutoff(counts, nearly, tiebreak=np.array([-1.0, 0.0])).cutoff == 0
    sloped = np.array([[1e-11, 1.0], [0.0, 1.0]])
    assert best_cutoff(counts, sloped, tiebreak=np.array([-1.0, 0.0])).cutoff == 5


def test_nothing_left_is_zero_in_spite_of_rounding():
    # Negative predictive value where all rows are accepted: 0/0, though weights are sums
    # of thirds and tenths.
    rng = np.random.default_rng(4)
    for _ in range(50):
        weight = rng.lognormal(sigma=2, size=300) / 3
        counts = cutoffs(rng.random(300), rng.integers(0, 2, 300), weight, 2)[1]
        n, p = counts[:, -1]
        npv = np.array([[-1.0, 0.0, n], [-1.0, -1.0, n + p]])
        values = ratio_values(counts, npv)
        assert values[-1] == 0.0
        assert ((values >= -1e-9) & (values <= 1 + 1e-9)).all()


def test_values_as_the_sweep_sees_them():
    counts = binary(4000, weighted=True)
    f1 = np.array([[0.0, 2.0, 0.0], [1.0, 1.0, counts[1, -1]]])
    values = ratio_values(counts, f1, 0.25)
    found = best_cutoff(counts, f1, offset=0.25)
    assert found.value == values[found.cutoff]
    assert found.value >= values.max() - 1e-11
    np.testing.assert_allclose(
        values, 0.25 + 2 * counts[1] / (counts.sum(0) + counts[1, -1]), rtol=1e-14
    )


def test_no_rows():
    one = np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 1.0]])
    assert best_cutoff(np.zeros((2, 1)), one) == BestCutoff(0, 0.5, 1)

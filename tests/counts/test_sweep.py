"""The sweep over every cut-off against a plain loop."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.counts import BestCutoff, RankedCuts, Ratios, best_of, cutoffs, ratio_at, zeros_of
from thinning import over

INF = math.inf
NONE = BestCutoff(-1, -INF, 0, INF)


def largest(form, counts):
    """What breaks ties: the first of the columns where a form is largest."""
    return lambda ties: int(np.argmax(form[:-1] @ counts[:, ties]))


def ratio(form, column, offset):
    a, b = (sum(c * x for c, x in zip(f, [*column, 1.0], strict=True)) for f in form)
    if b == 0:
        return offset + (0.0 if a == 0 else math.copysign(INF, a))
    return offset + a / b


def every_cutoff(counts, ratios, tiebreak, required, near):
    """The best cut-off, the least violating one and the nearest, all cut-offs tried in turn."""
    found = []
    for j, column in enumerate(counts.T.tolist()):
        ones = [*column, 1.0]
        if any(sum(c * x for c, x in zip(form, ones, strict=True)) < -1e-9 for form in required):
            continue
        forms, offsets = ratios.forms.tolist(), ratios.offsets.tolist()
        value, *others = (ratio(f, column, c) for f, c in zip(forms, offsets, strict=True))
        past = [0.0]
        bounds = ratios.lower.tolist(), ratios.upper.tolist()
        for x, low, high in zip(others, *bounds, strict=True):
            # An infinite bound is met by the same infinite value.
            past += [0.0 if x == low else low - x, 0.0 if x == high else x - high]
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


def check(draw_int, n_kinds, m, n_bounds):
    """A problem of small integers, in which every sum is exact; return the kind of its answer."""
    steps = np.array([[draw_int(0, 3) for _ in range(m)] for _ in range(n_kinds)], dtype=float)
    counts = np.concatenate((np.zeros((n_kinds, 1)), np.cumsum(steps.reshape(n_kinds, m), 1)), 1)
    ends = [-INF, -1.0, 0.0, 0.5, 1.0, INF]

    def form():
        return [float(draw_int(-2, 2)) for _ in range(n_kinds + 1)]

    forms = np.array([[form(), form()] for _ in range(n_bounds + 1)])
    offsets = np.array([draw_int(-2, 2) / 4 for _ in forms])
    lower = np.array([ends[draw_int(0, 4)] for _ in range(n_bounds)])
    upper = np.array([ends[draw_int(2, 5)] for _ in range(n_bounds)])
    if draw_int(0, 2) == 0:  # hard to meet
        lower, upper = upper, lower
    required = np.zeros((2, n_kinds + 1))
    required[0], required[1, 0] = [1.0] * n_kinds + [-draw_int(0, 3)], -1.0
    required[1, -1] = draw_int(0, 9)
    ratios = Ratios(forms, zeros_of(forms, counts[:, -1]), offsets, lower, upper)
    tie, near = np.array(form()), draw_int(0, m)
    expected = every_cutoff(counts, ratios, tie, required, near)
    given = {"required": required, "tiebreak": largest(tie, counts), "near": near}
    found = best_of(counts, ratios, **given, least_violation=True)
    assert found == expected
    assert best_of(counts, ratios, **given) == (expected if expected.n_feasible else NONE)
    return found.cutoff < 0, found.n_feasible > 0


@settings(max_examples=60)
@given(st.data())
def test_small_problems(data):
    def draw_int(low, high):
        return data.draw(st.integers(low, high))

    check(draw_int, draw_int(1, 4), draw_int(0, 8), draw_int(0, 3))


@over("m", [0, 1, 7, 60, 1022, 1023, 1024, 1500, 5000])
def test_problems_of_one_block_and_of_several(m):
    rng = np.random.default_rng(m)

    def draw_int(low, high):
        return int(rng.integers(low, high + 1))

    found = {check(draw_int, 2, m, draw_int(0, 3)) for _ in range(200 if m < 100 else 8)}
    assert m not in (7, 60) or found == {(True, False), (False, True), (False, False)}


def best_cutoff(counts, form, bounds=(), *, offset=0.0, tiebreak=None, floor=0.0):
    """The best by one ratio, of those whose others lie within bounds, over enough rows."""
    forms = np.array([form, *(f for f, _, _ in bounds)], float)
    lower, upper = (np.array([b[k] for b in bounds], float) for k in (1, 2))
    offsets = np.array([offset, *(0.0 for _ in bounds)])
    ratios = Ratios(forms, zeros_of(forms, counts[:, -1]), offsets, lower, upper)
    required = (forms[1:, 1] if floor else forms[:0, 1]).copy()
    required[:, -1] -= (1.0 - 1e-12) * floor + 1e-9
    chosen = None if tiebreak is None else largest(np.array(tiebreak), counts)
    return best_of(np.ascontiguousarray(counts), ratios, required=required, tiebreak=chosen)


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


FEW = np.array([[-1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])


@over("excess, met", [(0.9e-9, True), (1.1e-9, False)])
def test_bounds_are_met_to_a_billionth(excess, met):
    counts, affine = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    for ends in ((1.0 + excess, INF), (-INF, -excess)):
        assert best_cutoff(counts, affine, [(affine, *ends)]).n_feasible == met


def test_infinite_values():
    counts = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])  # losses, wins
    wins_to_losses = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert ratio_values(counts, wins_to_losses).tolist() == [0.0, INF, 1.0]
    assert ratio_values(counts, -wins_to_losses, 1.0).tolist() == [1.0, -INF, 2.0]
    assert best_cutoff(counts, wins_to_losses) == BestCutoff(1, INF, 3)
    assert best_cutoff(counts, FEW, [(wins_to_losses, 2.0, INF)]) == BestCutoff(1, -1.0, 1)
    only_infinite = np.array([[0.0, -1.0, -1.0], [0.0, 0.0, 0.0]])
    assert best_cutoff(counts, only_infinite) == BestCutoff(0, -INF, 3)
    no_rows, one = np.zeros((2, 1)), np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 1.0]])
    assert best_cutoff(no_rows, one) == BestCutoff(0, 0.5, 1)


@over("slope, tiebreak, cutoff", [
    (0.0, None, 0), (0.0, 1.0, 5), (1e-13, -1.0, 0), (1e-11, -1.0, 5),
])  # fmt: skip
def test_ties_take_the_larger_tiebreak_then_the_lower_cutoff(slope, tiebreak, cutoff):
    form = np.array([[slope, 1.0], [0.0, 1.0]])
    tiebreak = None if tiebreak is None else [tiebreak, 0.0]
    assert best_cutoff(np.arange(6.0)[None], form, tiebreak=tiebreak).cutoff == cutoff


@over("seed", range(50))
def test_nothing_left_is_zero_in_spite_of_rounding(seed):
    # Negative predictive value where all rows are accepted: 0/0, though weights are sums
    # of thirds and tenths.
    rng = np.random.default_rng(seed)
    weight = rng.lognormal(sigma=2, size=300) / 3
    counts = cutoffs(rng.random(300), rng.integers(0, 2, 300), weight, 2)[1]
    n, p = counts[:, -1]
    values = ratio_values(counts, np.array([[-1.0, 0.0, n], [-1.0, -1.0, n + p]]))
    assert values[-1] == 0.0
    assert ((values >= -1e-9) & (values <= 1 + 1e-9)).all()


def test_a_lead_lies_between_its_blocks_and_beyond_the_ends():
    cuts = RankedCuts(np.array([0.5, 2.0, -1.0, 0.5]), np.array([[1.0], [2.0], [4.0], [8.0]]))
    assert [cuts.lead(cut) for cut in range(4)] == [3.0, 1.25, -0.25, -2.0]
    assert (cuts.sums.ravel().tolist(), cuts.present) == ([0.0, 2.0, 11.0, 15.0], 2)

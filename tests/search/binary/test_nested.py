"""Certified windows of cut-offs and ladders of bands: every one by hand, and by simulation."""

import numpy as np
import pytest
from scipy import stats

from search.samples import linked
from setpoint.counts import DEFERRED
from setpoint.errors import InputError
from setpoint.guarantees import Promise, RuleTests, monotone_constraints
from setpoint.guarantees.paths import candidate_path, certified_windows, p_of_next, path_rules_of
from setpoint.inference import Trials
from setpoint.rules import Band
from setpoint.search import CutoffSet
from thinning import over

NESTED = [
    "recall >= 0.8",
    "false_positive_rate <= 0.2",
    "specificity >= 0.7",
    "false_negative_rate <= 0.3",
    "predicted_rate <= 0.5",
    "predicted_rate >= 0.3",
    "recall >= 0.6 and predicted_rate >= 0.2",
    "recall >= 0.6 and false_positive_rate <= 0.3",
    "recall.on(g=1) >= 0.7 and recall.on(g=0) >= 0.6",
    "recall.min(g) >= 0.6",
    "1 - recall <= 0.4",
    "tp >= 0.2",
]
OTHERS = [
    "precision >= 0.6",
    "f1 >= 0.6",
    "accuracy >= 0.7",
    "recall.difference(g) <= 0.2",
    "g_mean >= 0.6",
    "recall >= 0.6 and precision >= 0.6",
    "recall.max(g) >= 0.6",
]


def promised(text, scores, true, group, confidence=0.95, **more):
    """Rows, what a promise tests on them, and their cut-offs."""
    program, evidence = linked(text, scores, true, columns={"g": group}, **more)
    tests = RuleTests(Promise.of(program.linked, confidence), evidence.marginals)
    return evidence, tests, CutoffSet(tests.program.table, evidence)


def built(constraint, n=400, **more):
    rng = np.random.default_rng(0)
    true = (rng.random(n) < 0.4).astype(np.int64)
    scores = np.round(rng.normal(1.5 * true, 1.0), 1)  # with ties
    text = f"maximize accuracy subject to {constraint}"
    return promised(text, scores, true, rng.integers(0, 2, n), **more)


@over(
    ("constraint", "weight", "nested"),
    [
        *((c, None, True) for c in NESTED),
        *((c, None, False) for c in OTHERS),
        ("recall >= 0.8", 2.0, False),  # weighted rows are tried along a path
    ],
)
def test_what_loosens_one_way_is_seen(constraint, weight, nested):
    evidence, tests, _ = built(constraint, weight=weight and np.full(400, weight))
    assert bool(monotone_constraints(evidence, tests)) == nested


@over("constraint", NESTED)
@over("decide_on", [(), ("g",)])
def test_windows_hold_the_cutoffs_that_pass_from_the_safe_end(constraint, decide_on):
    _, tests, cuts = built(constraint, decide_on=decide_on)
    sides = monotone_constraints(cuts.evidence, tests)
    if not sides:  # a rate of all rows, and a threshold for each group
        assert decide_on
        assert "(g" not in constraint
        return
    windows = certified_windows(cuts, tests, sides)
    share = len({(s.segment, s.rises) for s in sides})
    for at, segment in enumerate(cuts.segments):
        own = [s for s in sides if s.segment == at]
        passing = np.ones(segment.curve.n_cutoffs, bool)
        for side in own:
            passing &= _tails(cuts, tests, side) <= 0.05 / share
        first, last = windows[at]
        assert passing[first : last + 1].all()
        assert not passing[:first].any() or not own
        assert not passing[last + 1 :].any()


def _tails(cuts, tests, side):
    """The binomial p-value at every cut-off of a segment."""
    out = []
    for number in range(cuts.segments[side.segment].curve.n_cutoffs):
        choice = [{number if i == side.segment else 0: 1.0} for i in range(len(cuts.segments))]
        one = side.asked.trials(tests.counted(cuts.confusion(choice)))
        out.append(stats.binom.sf(one.successes - 1, one.trials, one.share))
    return np.array(out)


def test_too_few_rows_certify_nothing():
    _, tests, cuts = built("recall >= 0.99", n=60)
    assert certified_windows(cuts, tests, monotone_constraints(cuts.evidence, tests)) is None


def _population(shift):
    """Scores on a grid, so that every recall is known."""
    grid = np.arange(-4_000, 8_001)
    p = np.diff(stats.norm.cdf((np.append(grid, 8_001) - 0.5) / 1_000.0, shift))
    return grid / 1_000.0, p / p.sum()


def _broken(draws, confidence, decide_on):
    """The share of draws in which a certified window holds a threshold that breaks a floor."""
    values, p = _population(1.0)
    tails = np.cumsum(p[::-1])[::-1]  # recall at each threshold
    rng = np.random.default_rng(3)
    goal = "maximize precision subject to recall.min(g) >= 0.8"
    g, true = np.repeat([0, 1], 120), np.ones(240, np.int64)
    true[[0, 120]] = 0
    bad = 0
    for _ in range(draws):
        scores = rng.choice(values, 240, p=p)
        evidence, tests, cuts = promised(goal, scores, true, g, confidence, decide_on=decide_on)
        windows = certified_windows(cuts, tests, monotone_constraints(evidence, tests))
        ends = [] if windows is None else zip(windows, cuts.segments, strict=True)
        thresholds = [s.curve.values[first - 1] if first else np.inf for (first, _), s in ends]
        bad += any(t == np.inf or tails[np.searchsorted(values, t)] < 0.8 for t in thresholds)
    return bad / draws


@over("draws, sloppy", [(150, 0.7), (600, 0.8)], every=2)
def test_a_window_holds_a_bad_cutoff_no_more_often_than_promised(draws, sloppy):
    most = 0.1 + 2.33 * np.sqrt(0.1 * 0.9 / draws)
    assert _broken(draws, 0.9, ()) <= most
    # Windows of several thresholds share the level; each at the full level goes wrong by itself.
    assert 0.02 <= _broken(draws, 0.9, ("g",)) <= most < _broken(draws, sloppy, ("g",))


def _fewest(n, share, level, m):
    """The fewest of n successes with which m rows to come keep a share."""
    return next(k for k in range(n + 1) if p_of_next(Trials(k, n, share), m) <= level)


@over(("n", "m"), [(150, 100), (60, 30)])
def test_the_next_rows_keep_the_share_as_often_as_promised(n, m):
    share, level = 0.8, 0.1
    k = _fewest(n, share, level, m)
    rng = np.random.default_rng(5)
    kept = []
    for _ in range(4_000):
        first, later = rng.random(n), rng.random(m)
        cut = np.sort(first)[n - k]  # k of n lie at or above it
        kept.append((later >= cut).mean() >= share - 1e-12)
    assert np.mean(kept) >= 1 - level - 2.33 * np.sqrt(level * (1 - level) / 4_000)
    by_binomial = int(stats.binom.isf(level, n, share)) + 1
    assert abs(_fewest(n, share, level, 10**6) - by_binomial) <= 1


LADDER = "minimize deferral_rate subject to accuracy.decided >= 0.8"
BANDS = {"classes": (0, 1, DEFERRED)}


def test_the_rungs_are_those_of_all_bands():
    """What enumeration finds, from safe to bold."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    scores = np.round(rng.normal(1.5 * y, 1.0), 1)
    evidence, tests, _ = promised(LADDER, scores, y, y, **BANDS)
    times = np.ones(12)
    found = candidate_path(tests, evidence, times, near=Band(0.0, 1.0))
    cuts = [-np.inf, *np.unique(scores), np.inf]
    confusions = [evidence.confusion(Band(a, b)) for a in cuts for b in cuts if a <= b]
    counts = np.stack([c.counts.ravel() for c in confusions], axis=1)
    margins, scored = tests.margins(counts, confusions[0], times), tests.scores(counts)
    expected = path_rules_of(margins, scored)
    assert [one.margin for one in found] == pytest.approx(margins[expected])
    assert [one.score for one in found] == pytest.approx(scored[expected])
    for one in found:
        assert (evidence.confusion(one.rule).counts.ravel() == one.counts).all()


def test_of_many_cut_offs_those_near_the_rule_are_tried():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3_000)
    scores = rng.normal(2.0 * y, 1.0)
    evidence, tests, _ = promised(LADDER, scores, y, y, **BANDS)
    times, near = np.ones(12), Band(*np.sort(scores)[[700, 2_200]])
    confusion = evidence.confusion(near)
    margins = tests.margins(confusion.counts.reshape(-1, 1), confusion, times)
    found = candidate_path(tests, evidence, times, near=near)
    as_safe = [one.score for one in found if one.margin >= margins[0] - 0.5]
    assert max(as_safe) >= tests.score(confusion) - 0.02
    assert len(found) > 5


def test_bands_of_two_segments_are_too_many():
    y, g = np.array([0, 1] * 10), np.array([0] * 10 + [1] * 10)
    goal = LADDER.replace(" >=", ".min(g) >=")
    evidence, tests, _ = promised(goal, y + 0.1, y, g, decide_on=("g",), **BANDS)
    with pytest.raises(InputError, match="bands of 2 segments"):
        candidate_path(tests, evidence, np.ones(24), near=Band(0.0, 1.0))

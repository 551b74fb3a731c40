"""What must not matter: cuts into batches, rows of weight zero, predictions in between, scales."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from online.samples import KINDS, Known, fingerprint, numbers, online, stream
from setpoint.online import learners as at
from thinning import over, thinned

OWN = {
    "own": {"learner": SGDClassifier(loss="log_loss", random_state=0)},
    "own, scores": {"learner": SGDClassifier(loss="hinge", random_state=0)},
    "own, fofo": {"learner": GaussianNB(), "solver": "fofo"},
}
FORMS = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sparse.csr_matrix,
    "sparse float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}
CUTS = st.lists(st.integers(0, 400), max_size=12).map(lambda cuts: [0, *sorted(set(cuts)), 400])


def in_batches(clf, X, y, cuts, weight=None):
    """The decisions of a stream that comes in pieces."""
    decided = []
    for low, high in pairwise(cuts):
        if low < high:
            w = None if weight is None else weight[low:high]
            decided.extend(clf.predict_learn(X[low:high], y[low:high], sample_weight=w))
    return decided


@over("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_cuts_into_batches_do_not_matter(kind, form):
    X, y = stream()
    X = FORMS[form](X)
    whole = online(**KINDS[kind])
    decided = whole.predict_learn(X, y).tolist()
    assert 0 < sum(decided) < 400

    @settings(max_examples=2)
    @given(CUTS)
    def check(cuts):
        parts = online(**KINDS[kind])
        assert in_batches(parts, X, y, sorted({0, *cuts})) == decided
        assert fingerprint(parts) == fingerprint(whole)

    check()
    singly = online(**KINDS[kind])
    assert in_batches(singly, X, y, range(401)) == decided
    assert fingerprint(singly) == fingerprint(whole)


@pytest.mark.parametrize("kind", [*KINDS, "own", "own, scores"])
def test_weighted_rows_in_batches(kind):
    X, y = stream(seed=3)
    options = {**KINDS, **OWN}[kind]
    weight = np.random.default_rng(0).random(400) + 0.05
    whole, parts = online(**options), online(**options)
    decided = whole.predict_learn(X, y, sample_weight=weight).tolist()
    assert in_batches(parts, X, y, [0, 1, 2, 7, 90, 300, 400], weight) == decided
    assert numbers(parts) == numbers(whole)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.learner.. GaussianNB scored:UserWarning")
@pytest.mark.parametrize("kind", OWN)
def test_cuts_of_a_learner_of_your_own(kind):
    X, y = stream()
    whole, parts = online(**OWN[kind]), online(**OWN[kind])
    decided = whole.predict_learn(X, y).tolist()
    assert in_batches(parts, X, y, [0, 1, 2, 30, 31, 200, 400]) == decided
    assert fingerprint(parts) == fingerprint(whole)


@pytest.mark.parametrize("how", ["partial_fit", "fit"])
def test_fit_and_partial_fit_go_through_the_same_rows(how):
    X, y = stream()
    one, two = online(), online()
    one.predict_learn(X, y)
    if how == "fit":
        two.partial_fit(X[:50] * 3, y[:50])
        two.predict(X[:1], ids=["a"])
    getattr(two, how)(X, y)
    assert fingerprint(two) == fingerprint(one)


# ---------------------------------------------------------------------- weights
@over("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_weight_zero_leaves_no_trace(kind, form):
    X, y = stream()
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, 400) / 2
    X[weight == 0] *= 1e6  # a largest value must not be remembered either
    X, keep = FORMS[form](X), np.flatnonzero(weight)
    one, two = online(**KINDS[kind]), online(**KINDS[kind])
    one.partial_fit(X, y, sample_weight=weight)
    two.partial_fit(X[keep], y[keep], sample_weight=weight[keep])
    assert numbers(one) == numbers(two)


@pytest.mark.parametrize("kind", ["sketch nag", "own"])
def test_rows_of_weight_zero_may_come_alone(kind):
    X, y = stream()
    options = {**KINDS, **OWN}[kind]
    one, two = online(**options).partial_fit(X, y), online(**options).partial_fit(X, y)
    one.partial_fit(X[:1] * 1e6, y[:1], sample_weight=[0.0])
    one.predict_learn(X[:3], y[:3], sample_weight=np.zeros(3))
    assert numbers(one) == numbers(two)
    assert one.n_rows_seen_ == 400


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_one_are_none(kind):
    X, y = stream()
    one, two = online(**KINDS[kind]), online(**KINDS[kind])
    assert numbers(one.partial_fit(X, y)) == numbers(
        two.partial_fit(X, y, sample_weight=np.ones(400))
    )


@pytest.mark.parametrize("solver", ["half", "ofo", "ofo-rb"])
def test_only_relative_weights_move_the_threshold(solver):
    p = np.random.default_rng(0).beta(1, 3, 500)
    y = (np.random.default_rng(1).random(500) < p).astype(int)
    one, two = online(learner=Known(), solver=solver), online(learner=Known(), solver=solver)
    decided = one.predict_learn(p[:, None], y)
    np.testing.assert_array_equal(
        two.predict_learn(p[:, None], y, sample_weight=np.full(500, 4.0)), decided
    )
    assert one.threshold_ == two.threshold_


# ---------------------------------------------------------------------- predictions
@pytest.mark.parametrize(("kind", "form"), thinned(list(product(KINDS, FORMS)), 3))
def test_predictions_change_nothing(kind, form):
    X, y = stream()
    X = FORMS[form](X)
    clf = online(**KINDS[kind]).partial_fit(X[:200], y[:200])
    before = fingerprint(clf)
    larger = X[200:] * 1e3  # larger than any that was learnt
    clf.predict(larger)
    clf.predict_proba(larger)
    clf.decision_distribution(larger)
    clf.evaluate(larger, y[200:])
    clf.score(larger, y[200:])
    assert clf.goal_report_ == clf.goal_report_
    assert fingerprint(clf) == before
    plain = online(**KINDS[kind])
    assert numbers(plain.partial_fit(X, y)) == numbers(clf.partial_fit(X[200:], y[200:]))


@over(("kind", "form"), list(product([*KINDS, "own", "own, scores"], FORMS)), every=3)
def test_labels_that_come_at_once(kind, form):
    X, y = stream(150, seed=2)
    X, options = FORMS[form](X), {**KINDS, **OWN}[kind]
    one, two = online(**options), online(**options)
    decided = one.predict_learn(X, y).tolist()
    late = []
    for i in range(150):
        late.extend(two.predict(X[i : i + 1], ids=[i]))
        two.learn([i], y[i : i + 1])
    assert late == decided
    assert numbers(one) == numbers(two)
    assert one.goal_report_ == two.goal_report_


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_of_predict_are_those_of_the_next_row_learnt(kind):
    X, y = stream()
    clf = online(**KINDS[kind]).partial_fit(X[:300], y[:300])
    for i in range(300, 400):
        one = X[i : i + 1] * 2.0
        said, p = clf.predict(one)[0], clf.predict_proba(one)[0, 1]
        assert said == (p >= clf.threshold_)
        assert clf.predict_learn(one, y[i : i + 1])[0] == said


def test_late_rows_count_with_the_score_and_the_decision_of_then():
    X, y = stream(900)
    clf = online().partial_fit(X[:300], y[:300])
    said = clf.predict(X[300:600], ids=range(300))
    tally = clf.engine_.state.tally[at.WEIGHT_OF_ROWS].copy()
    clf.partial_fit(X[600:], 1 - y[600:])  # another world
    between = clf.engine_.state.tally[at.WEIGHT_OF_ROWS].copy()
    assert (clf.predict(X[300:600]) != said).any()
    clf.learn(range(299, -1, -1), y[300:600][::-1])
    counted = clf.engine_.state.tally[at.WEIGHT_OF_ROWS] - between
    for true in (0, 1):
        for decided in (0, 1):
            assert counted[true, decided] == ((y[300:600] == true) & (said == decided)).sum()
    assert tally.sum() == 300


# ---------------------------------------------------------------------- scales
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("constant", [False, True])
def test_scales_of_features_do_not_matter_to_nag(constant, form):
    X, y = stream()
    scale = 2.0 ** np.array([-20, 11, 0, 7, -3])
    one, two = online(constant_step=constant), online(constant_step=constant)
    decided = one.predict_learn(FORMS[form](X), y)
    np.testing.assert_array_equal(two.predict_learn(FORMS[form](X * scale), y), decided)
    assert one.threshold_ == two.threshold_
    assert one.goal_report_ == two.goal_report_


# ---------------------------------------------------------------------- the window
def test_after_a_window_of_new_rows_the_rule_depends_on_these_alone():
    rng = np.random.default_rng(0)
    size, past = 500, 1300
    p = rng.beta(1, 4, past + 2 * size)
    y = (rng.random(len(p)) < p).astype(int)
    y[:2] = 0, 1
    other = p.copy()
    other[:past] = rng.random(past)  # another past, in which labels say little of scores
    one, two = (online(learner=Known(), window=size) for _ in range(2))
    one.partial_fit(p[:past, None], y[:past])
    two.partial_fit(other[:past, None], y[:past])
    assert one.threshold_ != two.threshold_
    new = slice(past, past + size)
    for clf in (one, two):
        clf.partial_fit(p[new, None], y[new])
    rules = [clf.engine_.state.bins[: at.RULE_POSITIVE + 1] for clf in (one, two)]
    np.testing.assert_array_equal(*rules)
    assert rules[0].sum() == size
    soon = slice(past + size, past + size + 11)  # the rule is found anew within 2 % of the window
    for clf in (one, two):
        clf.partial_fit(p[soon, None], y[soon])
    assert one.threshold_ == two.threshold_
    shown = [clf.goal_report_.section("stream") for clf in (one, two)]
    assert shown[0].window_value != shown[1].window_value or shown[0].tp != shown[1].tp

"""The deployed model: ways to say what it decides, its score as a feature, where it is kept."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from ramp.samples import ramp, sample
from setpoint import Deployed, load_model, save_model
from setpoint.ramp.solvers.augmented_lagrangian import AugmentedLagrangian
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

S, NEW = sample(), sample(500, seed=2)
MILD = "minimize error_rate subject to churn <= 0.05"


DEPLOYED = LogisticRegression().fit(S.X, S.old)
OLD, SCORES = DEPLOYED.predict(S.X), DEPLOYED.decision_function(S.X)


def mild(X=S.X, y=S.y, **options):
    """A fit; the deployed model is given to it, or to the constructor as `own`."""
    given = {k: options.pop(k) for k in ("baseline", "sample_weight") if k in options}
    own = {"baseline": options.pop("own")} if "own" in options else {}
    return ramp(MILD, **own, **options).fit(X, y, **given)


def test_ways_to_say_what_the_deployed_model_decides():
    clf, off = mild(baseline=OLD), {"baseline_score_feature": False}
    assert clf.score_feature_ is None
    assert clf.coef_.shape == (1, 4)
    changed = np.mean(clf.predict(S.X) != OLD)
    assert 0.02 < changed <= 0.05
    frame = S.frame.assign(old=OLD, score=SCORES)
    same = [
        mild(baseline=Deployed(SCORES, threshold=0.0)),
        mild(own=FrozenEstimator(DEPLOYED), **off),
        mild(frame.drop(columns="old"), baseline=Deployed("score", threshold=0.0), **off),
        mild(frame.drop(columns="score"), own="old"),
    ]
    for other in same:
        np.testing.assert_allclose(other.coef_, clf.coef_, rtol=1e-6)
        assert other.goal_report_.constraints[0].value == pytest.approx(changed, abs=1e-12)
    # A column of decisions is not a feature, and need not be there to predict.
    assert np.array_equal(same[-1].predict(S.frame), clf.predict(S.X))
    assert np.array_equal(same[-1].predict(S.frame.assign(old=0)), clf.predict(S.X))


def test_the_deployed_score_is_a_feature():
    model, on = mild(baseline=DEPLOYED), mild(baseline=DEPLOYED, baseline_score_feature=True)
    column = mild(S.frame.assign(score=SCORES), baseline=Deployed("score", threshold=0.0))
    assert np.array_equal(on.coef_, model.coef_)
    assert model.coef_.shape == (1, 5)
    np.testing.assert_allclose(column.coef_, model.coef_, rtol=1e-9)
    scaled = [(A - A.mean(0)) / A.std(0) for A in (S.X, SCORES)]
    z = np.column_stack(scaled) @ model.coef_[0] + model.intercept_[0] - model.threshold_
    np.testing.assert_allclose(model.decision_function(S.X), z, atol=1e-12)
    assert model.score_feature_.cut == pytest.approx(-SCORES.mean() / SCORES.std())
    with pytest.raises(ValueError, match="no column 'score'"):
        column.predict(S.frame)
    sparse = ramp(MILD, preprocessor=None).fit(csr_matrix(S.X), S.y, baseline=DEPLOYED)
    plain = ramp(MILD, preprocessor=None).fit(S.X, S.y, baseline=DEPLOYED)
    np.testing.assert_allclose(sparse.coef_, plain.coef_, rtol=1e-4)
    # New rows are scored by the deployed model.
    found = model.evaluate(NEW.X, NEW.y, baseline=DEPLOYED).constraints[0].value
    by_hand = np.mean(model.predict(NEW.X) != DEPLOYED.predict(NEW.X))
    assert found == pytest.approx(by_hand, abs=1e-12)


def test_a_model_with_probabilities_gives_their_logit():
    model = GaussianNB().fit(S.X, S.y)
    p = model.predict_proba(S.X)[:, 1]
    logit = np.log(p / (1 - p))
    z = mild(baseline=model).score_feature_.values(S.X)
    np.testing.assert_allclose(z, (logit - logit.mean()) / logit.std(), atol=1e-6)


@over("labels", [("no", "yes"), ("yes", "no")])
def test_scores_of_the_deployed_model_point_to_the_positive_class(labels):
    """Whichever class comes first in the alphabet."""
    y = np.array(labels)[S.y]
    clf = mild(y=y, pos_label=labels[1], baseline=LogisticRegression().fit(S.X, y))
    assert np.corrcoef(clf.score_feature_.values(S.X), S.y)[0, 1] > 0.5
    assert clf.goal_report_.constraints[0].value <= 0.05


@over("score", [False, True])
def test_starts(score):
    """Wherever the search begins, it ends about as good."""
    options = {"baseline": DEPLOYED, "baseline_score_feature": score}
    best = mild(**options)
    for start in ("logistic", "zero", "baseline"):
        clf = mild(start=start, **options)
        assert clf.goal_report_.satisfied
        assert clf.goal_report_.objective.value <= best.goal_report_.objective.value + 0.006
        assert start != "logistic" or np.array_equal(clf.coef_, best.coef_)


def test_a_start_from_the_deployed_model_is_that_model(monkeypatch):
    starts, real = [], AugmentedLagrangian.__init__

    def seen(self, problem, start, **options):
        starts.append(problem.X @ start[:-1] + start[-1])
        real(self, problem, start, **options)

    monkeypatch.setattr(AugmentedLagrangian, "__init__", seen)
    for baseline in (DEPLOYED, S.old):
        mild(start="baseline", baseline=baseline)
    for z, old in zip(starts, (OLD, S.old), strict=True):
        assert np.mean((z >= 0) != old) < 0.01
        assert np.median(np.abs(z)) == pytest.approx(0.5)


@over("goal", ["minimize churn", "minimize error_rate subject to churn <= 0"])
def test_the_deployed_model_stays_a_candidate(goal):
    clf = ramp(goal, baseline=DEPLOYED).fit(S.X, S.y)
    assert clf.goal_report_.satisfied is not False
    assert np.array_equal(clf.predict(S.X), OLD)


@over("baseline", [FrozenEstimator(DEPLOYED), Deployed("score", threshold=0.0)])
def test_copies_have_the_deployed_model(baseline, tmp_path_factory):
    column = isinstance(baseline, Deployed)
    X = S.frame.assign(score=SCORES) if column else S.X
    clf, path = mild(X, own=baseline), tmp_path_factory.mktemp("model") / "a.skops"
    save_model(clf, path)
    for copy in (pickle.loads(pickle.dumps(clf)), load_model(path)):
        assert np.array_equal(copy.decision_function(X), clf.decision_function(X))
        found = copy.evaluate(X, S.y, **({} if column else {"baseline": baseline}))
        value = clf.goal_report_.objective.value
        assert found.objective.value == pytest.approx(value, abs=1e-12)
    if isinstance(baseline, FrozenEstimator):  # others are cloned without what they learnt
        assert np.array_equal(clone(clf).fit(X, S.y).coef_, clf.coef_)

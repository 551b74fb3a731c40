"""goal_scorer: feasible first without a jump, in model selection, with weights and columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, cross_validate

from classifiers.samples import DEPLOYED, GROUP, SCORES, WEIGHT, Y
from setpoint import Deployed, GoalError, RampClassifier, evaluate, goal_scorer
from setpoint.metrics import f1
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
X = SCORES[:, None]
FRAME = pd.DataFrame({"score": SCORES, "g": GROUP, "deployed": DEPLOYED})
ONE = DummyClassifier(strategy="constant", constant=1).fit(FRAME, Y)
RECALL = "maximize recall subject to"


class Cut:
    """Decides by a threshold on the first column."""

    classes_ = np.array([0, 1])

    def __init__(self, threshold):
        self.threshold = threshold

    def predict(self, X):
        return (np.asarray(X)[:, 0] >= self.threshold).astype(int)


DECIDED = Cut(1.0).predict(X)
REACHED = metrics.recall_score(Y, DECIDED)


def scored(goal, threshold=1.0, **options):
    return goal_scorer(goal, **options)(Cut(threshold), X, Y)


# ---------------------------------------------------------------------- values
@over(
    "found, wanted",
    [
        (scored(f1), metrics.f1_score(Y, DECIDED)),
        (scored("maximize recall subject to precision >= 0.1"), REACHED),
        (scored("minimize error_rate"), -np.mean(DECIDED != Y)),
        (scored("recall", pos_label=0), metrics.recall_score(Y, DECIDED, pos_label=0)),
        (
            goal_scorer("recall")(Cut(1.0), X, Y, sample_weight=WEIGHT),
            metrics.recall_score(Y, DECIDED, sample_weight=WEIGHT),
        ),
    ],
)
def test_the_objective_where_all_holds(found, wanted):
    assert found == pytest.approx(wanted, abs=1e-12)


def test_a_miss_costs_by_what_chance_does_not_explain_of_it():
    goal = f"{RECALL} precision >= 0.95"
    entry = evaluate(goal, Y, DECIDED).constraints[0]
    past = (0.95 - metrics.precision_score(Y, DECIDED)) / (entry.high - entry.value)
    assert scored(goal) == pytest.approx(REACHED - past / 4, abs=1e-9)
    # A miss that is four times as large as chance explains is below all that meets the goal.
    assert scored(goal, -5.0) < -1.0 < 0.0 <= scored(goal, 3.0)
    # The worst of several misses counts, and costs of any size come after all misses.
    one, other = "precision >= 0.9", "predicted_rate >= 0.6"
    apart = [scored(f"{RECALL} {c}") for c in (one, other)]
    assert scored(f"{RECALL} {one} and {other}") == min(apart) < max(apart)
    costs = "minimize cost({(0, 1): 500.0, (1, 0): 3.0}) subject to predicted_rate >= 0.5"
    assert scored(costs, 5.0) < scored(costs, -5.0) < -200  # cheap and not feasible; dear


def test_no_jump_at_a_bound():
    precision = metrics.precision_score(Y, DECIDED)
    below, at, above = (
        scored(f"{RECALL} precision >= {precision + x!r}") for x in (-1e-6, 0, 1e-6)
    )
    assert below == at == pytest.approx(REACHED, abs=1e-12)
    assert at - 1e-4 < above < at
    found = [scored(f"{RECALL} precision >= {x}") for x in (0.7, 0.8, 0.9, 0.99)]
    assert found == sorted(found, reverse=True)  # the more is missed the less it scores


def test_what_few_rows_or_none_score():
    scorer = goal_scorer(f"{RECALL} precision >= 0.9")
    tiny, labels = np.array([[0.0], [1.0]]), np.array([0, 1])
    assert np.isfinite(scorer(Cut(5.0), tiny, labels))
    assert scorer(Cut(5.0), tiny, labels) < scorer(Cut(0.5), tiny, labels)
    nobody = goal_scorer("maximize accuracy subject to recall.on(g='z') >= 0.5")
    assert np.isnan(nobody(ONE, FRAME, Y, sensitive_features=GROUP))


# ---------------------------------------------------------------------- columns, deployed models
def test_columns_of_X_and_the_deployed_model():
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.1"
    churn = "maximize accuracy subject to churn <= 1"
    for scorer in (
        goal_scorer(goal, sensitive_features="g"),
        goal_scorer(churn, baseline="deployed"),
        goal_scorer(churn, baseline=ONE),
    ):
        assert scorer(ONE, FRAME, Y) == pytest.approx(Y.mean())
    with pytest.raises(GoalError, match="X has it: pass `sensitive_features='g'`"):
        goal_scorer(goal)(ONE, FRAME, Y)
    with pytest.raises(GoalError, match=r"data sets \['new'\], and a scorer sees X alone"):
        goal_scorer("maximize recall subject to recall.on('new') >= 0.5")


def test_the_deployed_model_of_the_estimator():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] + rng.normal(size=300) > 0).astype(int)
    goal = "minimize error_rate subject to churn <= 0.2"
    said = (X["a"] > 0).to_numpy().astype(int)
    rows = X.assign(score=said - 0.5)
    baseline = Deployed("score", threshold=0.0)
    clf = RampClassifier(goal, random_state=0, baseline=baseline).fit(rows, y)
    assert goal_scorer(goal)(clf, rows, y) == goal_scorer(goal)(clf, rows, y, baseline=said)
    assert np.isfinite(cross_val_score(clf, rows, y, scoring=goal_scorer(goal), cv=2)).all()
    with pytest.raises(GoalError, match="pass its predictions as `baseline`"):
        goal_scorer(goal)(LogisticRegression().fit(X, y), X, y)


# ---------------------------------------------------------------------- in scikit-learn
def test_weights_are_routed(routing):
    scorer = goal_scorer("recall").set_score_request(sample_weight=True)
    model = LogisticRegression().set_fit_request(sample_weight=False)
    given = cross_validate(model, X, Y, scoring=scorer, params={"sample_weight": WEIGHT})
    plain = cross_validate(model, X, Y, scoring=goal_scorer("recall"))
    assert not np.allclose(given["test_score"], plain["test_score"])
    with pytest.raises(TypeError, match="set_score_request takes"):
        scorer.set_score_request(weight=True)

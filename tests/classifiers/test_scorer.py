"""goal_scorer: feasible first without a jump, in model selection, with weights and columns."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from plugin.samples import sample, table
from setpoint import Deployed, GoalError, RampClassifier, evaluate, goal_scorer
from setpoint.metrics import f1


class Constant:
    """Decides by a threshold on the first column."""

    classes_ = np.array([0, 1])

    def __init__(self, threshold):
        self.threshold = threshold

    def predict(self, X):
        return (np.asarray(X)[:, 0] >= self.threshold).astype(int)


def scored(text, threshold, **options):
    s = sample()
    return goal_scorer(text, **options)(Constant(threshold), s.scores[:, None], s.y)


def test_the_objective_where_all_holds():
    s = sample()
    decided = s.scores >= 1.0
    assert scored("f1", 1.0) == goal_scorer(f1)(Constant(1.0), s.scores[:, None], s.y)
    assert scored("maximize recall subject to precision >= 0.1", 1.0) == pytest.approx(
        recall_score(s.y, decided), abs=1e-12
    )
    assert scored("minimize error_rate", 1.0) == pytest.approx(-np.mean(decided != s.y), abs=1e-12)


def test_a_miss_costs_by_what_chance_does_not_explain_of_it():
    s = sample()
    goal = "maximize recall subject to precision >= 0.95"
    decided = s.scores >= 1.0
    entry = evaluate(goal, s.y, decided.astype(int)).constraints[0]
    past = (0.95 - precision_score(s.y, decided)) / (entry.high - entry.value)
    wanted = recall_score(s.y, decided) - past / 4
    assert scored(goal, 1.0) == pytest.approx(wanted, abs=1e-9)
    # A miss that is four times as large as chance explains is below all that meets the goal.
    far, met = scored(goal, -5.0), scored(goal, 3.0)
    assert far < -1.0 < 0.0 <= met


def test_no_jump_at_a_bound():
    s = sample()
    precision = precision_score(s.y, s.scores >= 1.0)
    below, at, above = (
        scored(f"maximize recall subject to precision >= {precision + x!r}", 1.0)
        for x in (-1e-6, 0.0, 1e-6)
    )
    assert below == at == pytest.approx(recall_score(s.y, s.scores >= 1.0), abs=1e-12)
    assert at - 1e-4 < above < at
    # The more is missed the less it scores.
    goals = (f"maximize recall subject to precision >= {x}" for x in (0.7, 0.8, 0.9, 0.99))
    found = [scored(goal, 1.0) for goal in goals]
    assert found == sorted(found, reverse=True)


def test_the_worst_of_several_misses_counts():
    one, other = "precision >= 0.9", "predicted_rate >= 0.6"
    apart = [scored(f"maximize recall subject to {c}", 1.0) for c in (one, other)]
    both = scored(f"maximize recall subject to {one} and {other}", 1.0)
    assert both == min(apart) < max(apart)


def test_a_miss_that_no_row_could_change_is_finite():
    class Tiny(Constant):
        """One row of each class."""

    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    scorer = goal_scorer("maximize recall subject to precision >= 0.9")
    assert np.isfinite(scorer(Tiny(5.0), X, y))
    assert scorer(Tiny(5.0), X, y) < scorer(Tiny(0.5), X, y)


def test_feasible_first_for_costs_of_any_size():
    costs = "cost({(0, 1): 500.0, (1, 0): 3.0})"
    goal = f"minimize {costs} subject to predicted_rate >= 0.5"
    assert scored(goal, -5.0) < -200  # feasible and dear
    assert scored(goal, 5.0) < scored(goal, -5.0)  # cheap and not feasible


def test_nan_where_something_has_no_rows():
    X, y = table()
    scorer = goal_scorer("maximize accuracy subject to recall.on(g='z') >= 0.5")
    model = DummyClassifier().fit(X, y)
    assert np.isnan(scorer(model, X, y, sensitive_features=X["g"]))


def test_columns_from_the_scorer_or_the_estimator():
    X, y = table()
    model = DummyClassifier(strategy="constant", constant=1).fit(X, y)
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.1"
    assert goal_scorer(goal, sensitive_features="g")(model, X, y) == pytest.approx(y.mean())
    with pytest.raises(GoalError, match="X has it: pass `sensitive_features='g'`"):
        goal_scorer(goal)(model, X, y)
    churn = "maximize accuracy subject to churn <= 1"
    assert goal_scorer(churn, baseline="deployed")(model, X, y) == pytest.approx(y.mean())
    assert goal_scorer(churn, baseline=model)(model, X, y) == pytest.approx(y.mean())


def test_the_deployed_model_of_the_estimator():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] + rng.normal(size=600) > 0).astype(int)
    goal = "minimize error_rate subject to churn <= 0.2"
    deployed = FrozenEstimator(LogisticRegression().fit(X[["a"]].to_numpy(), y))
    said = deployed.predict(X[["a"]].to_numpy())
    first = FrozenEstimator(make_pipeline(FunctionTransformer(_first), deployed))
    cases = [
        (X, {"baseline": first}),
        (X.assign(said=said), {"baseline": "said"}),
        (X.assign(score=said - 0.5), {"baseline": Deployed("score", threshold=0.0)}),
    ]
    for rows, options in cases:
        clf = RampClassifier(goal, random_state=0, **options).fit(rows, y)
        found = goal_scorer(goal)(clf, rows, y)
        assert found == goal_scorer(goal)(clf, rows, y, baseline=said)
        scores = cross_val_score(clf, rows, y, scoring=goal_scorer(goal), cv=2)
        assert np.isfinite(scores).all()
    with pytest.raises(GoalError, match="pass its predictions as `baseline`"):
        goal_scorer(goal)(LogisticRegression().fit(X, y), X, y)


def _first(X):
    return np.asarray(X)[:, :1]


def test_deployed_models_that_do_not_decide():
    X, y = table()
    model = DummyClassifier().fit(X, y)
    scorer = goal_scorer("maximize accuracy subject to churn <= 1", baseline=LogisticRegression())
    with pytest.raises(
        NotFittedError, match=r"^`baseline` is a LogisticRegression that is not fitt"
    ):
        scorer(model, X, y)
    with pytest.raises(ValueError, match=r"`baseline` holds decisions .*got continuous numbers"):
        scorer(model, X, y, baseline=np.linspace(-1, 1, len(y)))
    # The same words in fit, whatever the goal.
    for baseline, error, words in (
        (LogisticRegression(), NotFittedError, "`baseline` is a LogisticRegression that is not"),
        (
            np.append(np.nan, np.linspace(-1, 1, len(y) - 1)),
            ValueError,
            "got continuous numbers: of scores say",
        ),
    ):
        with pytest.raises(error, match=words):
            RampClassifier("f1").fit(X[["score"]], y, baseline=baseline)


def test_positive_label():
    s = sample()
    assert scored("recall", 1.0, pos_label=0) == pytest.approx(
        recall_score(s.y, s.scores >= 1.0, pos_label=0), abs=1e-12
    )


def test_weights():
    s = sample()
    scorer = goal_scorer("recall")
    found = scorer(Constant(1.0), s.scores[:, None], s.y, sample_weight=s.weight)
    wanted = recall_score(s.y, s.scores >= 1.0, sample_weight=s.weight)
    assert found == pytest.approx(wanted, abs=1e-12)


def test_in_cross_validation():
    s = sample()
    X = s.scores[:, None]
    model = make_pipeline(LogisticRegression())
    plain = cross_val_score(model, X, s.y, scoring="recall")
    np.testing.assert_allclose(cross_val_score(model, X, s.y, scoring=goal_scorer("recall")), plain)
    several = {"goal": goal_scorer("maximize recall subject to precision >= 0.6"), "f1": "f1"}
    assert set(cross_validate(model, X, s.y, scoring=several)) >= {"test_goal", "test_f1"}


def test_grid_search_picks_the_feasible_model():
    s = sample()
    search = GridSearchCV(
        DummyClassifier(strategy="constant", constant=1),
        {"constant": [0, 1]},
        scoring=goal_scorer("maximize recall subject to predicted_rate <= 0.5"),
    ).fit(s.scores[:, None], s.y)
    assert search.best_params_ == {"constant": 0}


def test_weights_are_routed():
    s = sample()
    with config_context(enable_metadata_routing=True):
        scorer = goal_scorer("recall").set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)
        given = cross_validate(
            model, s.scores[:, None], s.y, scoring=scorer, params={"sample_weight": s.weight}
        )["test_score"]
        plain = cross_validate(model, s.scores[:, None], s.y, scoring=goal_scorer("recall"))
        assert not np.allclose(given, plain["test_score"])
    with pytest.raises(TypeError, match="set_score_request takes"):
        scorer.set_score_request(weight=True)


def test_copies():
    scorer = goal_scorer("maximize recall subject to precision >= 0.9", sensitive_features="g")
    assert repr(scorer) == "goal_scorer('maximize recall subject to precision >= 0.9')"
    for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer, safe=False)):
        assert vars(copy) == vars(scorer)


def test_data_sets_are_refused_at_once():
    with pytest.raises(GoalError, match=r"data sets \['new'\], and a scorer sees X alone"):
        goal_scorer("maximize recall subject to recall.on('new') >= 0.5")

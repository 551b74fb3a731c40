"""What a first user ran into, each once."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from setpoint import (
    ConstantGoalWarning,
    InfeasibleError,
    PlugInClassifier,
    evaluate,
    load_model,
    save_model,
    solve,
)

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")


def scored(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return y + rng.normal(size=n), y


@pytest.mark.parametrize("n_groups", [13, 41])
@pytest.mark.parametrize("randomized", ["auto", False])
def test_many_groups_end_and_meet_the_goal(n_groups, randomized):
    s, y = scored(2000)
    group = np.arange(len(y)) % n_groups
    goal = "maximize accuracy subject to predicted_rate.difference(g) <= 0.05"
    report = solve(goal, s, y, sensitive_features={"g": group}, randomized=randomized).report
    assert report.constraints[0].satisfied
    assert report.gap is not None
    assert report.gap >= 0


def test_the_certificate_says_what_it_is_compared_with():
    s, y = scored(60)
    assert "No other rule without draws" in str(solve("mcc", s, y).report)
    assert "No other rule on these scores" in str(solve("f1", s, y).report)
    floor = solve("maximize recall subject to precision >= 0.6", s, y).report
    assert "less than one expected row" in " ".join(str(floor).split())


def test_a_bound_that_is_reached_is_called_optimal():
    s, y = scored(300)
    group = np.arange(len(y)) % 2
    deployed = (s > 0.4).astype(int)
    for text in (
        "macro_f1 subject to churn <= 0.2 and precision >= 0.2",
        "precision.mean(g) subject to predicted_rate.difference(g) <= 0.1",
        "accuracy subject to predicted_rate.difference(g) <= 0.1",
    ):
        for randomized in ("auto", False):
            report = solve(
                f"maximize {text}",
                s,
                y,
                sensitive_features={"g": group},
                baseline=deployed,
                randomized=randomized,
            ).report
            proved = report.gap is not None and report.gap <= 1e-9
            assert not (proved and report.status != "optimal"), text


def test_integers_that_float64_merges_are_refused():
    s, y = scored()
    with pytest.raises(ValueError, match=r"scores holds integers beyond 2\*\*53.*ranks"):
        solve("f1", 2**62 + np.argsort(np.argsort(s)), y)


def test_weights_that_cannot_be_squared_are_refused():
    s, y = scored()
    for weight in (1e308, 1e-320):
        with pytest.raises(ValueError, match="extreme values, the first at row 0"):
            solve("f1", s, y, sample_weight=np.full(len(y), weight))


def test_scores_and_data_sets_of_a_wrong_type():
    s, y = scored()
    with pytest.raises(TypeError, match="scores holds values of type NoneType"):
        solve("f1", None, y)
    with pytest.raises(TypeError, match=r"datasets must be a dict.*found list"):
        evaluate("f1", y, y, datasets=[1])
    with pytest.raises(ValueError, match="classes holds one class only"):
        solve("f1", s, y, classes=[0])


def test_rows_that_cannot_be_drawn_for_are_found_in_fit():
    s, y = scored(300)
    X = np.empty((len(y), 2), object)
    X[:, 0], X[:, 1] = s, [[1]] * len(y)
    model = make_pipeline(
        FunctionTransformer(lambda x: x[:, :1].astype(float)), LogisticRegression()
    )
    goal = "maximize recall subject to precision >= 0.7"
    with pytest.raises(TypeError, match=r"draw='row' cannot hash.*list.*randomized=False"):
        PlugInClassifier(model, goal, randomized="auto").fit(X, y)
    assert PlugInClassifier(model, goal).fit(X, y).predict(X).shape == y.shape


def test_the_reachable_value_is_distinct_from_the_bound():
    y = np.r_[np.ones(89_998, int), np.zeros(10_002, int)]
    with pytest.raises(InfeasibleError, match=r"the highest reachable is 0\.89998"):
        solve("maximize recall subject to precision >= 0.9", np.zeros(len(y)), y)


def test_an_infinite_optimum_at_nobody_is_announced():
    s, y = scored(100)
    with pytest.warns(ConstantGoalWarning, match="predicting 0 for everyone"):
        solve("maximize 1 / recall", s, y)


def test_counts_are_shown_only_for_shares():
    s, y = scored(200)
    with pytest.warns(ConstantGoalWarning):
        text = str(solve("maximize 1000 * recall", s, y).report)
    assert " of " not in text.split("1000 * recall = ")[1].split("\n")[0]


def test_numpy_numbers_are_numbers():
    s, y = scored(100)
    assert solve("f1", s, y, tol=np.float32(0.1)).report.status == "optimal"


def test_a_solution_shows_itself_in_a_notebook():
    s, y = scored(100)
    solution = solve("f1", s, y)
    assert solution._repr_html_() == solution.report._repr_html_()


def test_model_files_have_names_of_their_own(tmp_path):
    s, y = scored(200)
    clf = PlugInClassifier(LogisticRegression(), "f1").fit(s[:, None], y)
    save_model(clf, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert np.array_equal(again.predict(s[:, None]), clf.predict(s[:, None]))

"""A classifier in scikit-learn's house and out of it: parameters, copies, files, searches."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from conformance.cases import ALL, LATER, SMALLEST, fitted, new, rows_of
from setpoint import ModelFileError, PlugInClassifier, goal_scorer, load_model, save_model

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")


# ---------------------------------------------------------------------- parameters
@pytest.mark.parametrize("name", ALL)
def test_parameters_are_stored_untouched(name):
    s, model = rows_of(name), new(name, random_state=3, pos_label=1)
    values = model.get_params(deep=False)
    assert type(model)(**values).get_params(deep=False) == values
    shown = {key: repr(value) for key, value in values.items()}
    model.fit(s.X, s.y)
    after = model.get_params(deep=False)
    assert all(after[key] is values[key] for key in values)
    assert {key: repr(value) for key, value in after.items()} == shown
    assert type(model).__name__ in clone(model)._repr_html_()


@pytest.mark.parametrize("name", ALL)
def test_before_and_after_the_first_fit(name):
    model = new(name)
    for method in ("predict", "predict_proba", "decision_function", "decision_distribution"):
        if hasattr(fitted(name), method):
            with pytest.raises(NotFittedError):
                getattr(model, method)(LATER.X)
    for method in ("score", "evaluate"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(LATER.X, LATER.y)
    learnt = {a for a in dir(fitted(name)) if a.endswith("_") and a[0] != "_"}
    assert {"classes_", "positive_", "n_features_in_", "goal_report_", "rule_"} <= learnt
    assert [a for a in learnt if not hasattr(fitted(name), a)] == []
    assert [a for a in learnt if getattr(model, a, None) is not None] == []


# ---------------------------------------------------------------------- copies
def through_a_file(model, folder):
    save_model(model, folder / "m.skops")
    return load_model(folder / "m.skops")


WAYS = {
    "file": through_a_file,
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "copy": lambda model, _: copy.deepcopy(model),
}


@pytest.mark.parametrize("name", ALL)
def test_copies_decide_the_same(name, tmp_path):
    s = rows_of(name)
    frame, later = (pd.DataFrame(X, columns=list("abcd")) for X in (s.X, LATER.X))
    y, labels = (np.array(["no", "yes"])[codes] for codes in (s.y, LATER.y))
    model = new(name, pos_label="no").fit(frame, y)
    wanted = model.predict(later)
    for copied in WAYS.values():
        other = copied(model, tmp_path)
        assert type(other) is type(model)
        assert repr(other) == repr(model)
        assert other.goal_report_ == model.goal_report_
        assert other.positive_ == "no"
        assert other.classes_.tolist() == ["no", "yes"]
        assert other.feature_names_in_.tolist() == list("abcd")
        np.testing.assert_array_equal(other.predict(later), wanted)
        np.testing.assert_array_equal(
            other.decision_distribution(later), model.decision_distribution(later)
        )
        if not isinstance(model, PlugInClassifier):
            assert not hasattr(other, "evidence_")  # the rows of training stay at home
        assert other.evaluate(later, labels) == model.evaluate(later, labels)
        with pytest.raises(ValueError, match="feature names"):
            other.predict(later[list("dcba")])
    for way in ("file", "pickle"):  # of what has seen nothing yet
        again = WAYS[way](clone(model), tmp_path).fit(frame, y)
        np.testing.assert_array_equal(again.predict(later), wanted)


@pytest.mark.parametrize("name", ALL)
def test_a_damaged_file_is_refused_or_changes_nothing(name, tmp_path):
    model, path = fitted(name), tmp_path / "m.skops"
    save_model(model, path)
    content, rng = path.read_bytes(), np.random.default_rng(0)

    def found(data):
        path.write_bytes(data)
        try:
            return load_model(path)
        except ModelFileError as error:
            message = str(error)
        assert str(path) in message
        return None

    for share in np.linspace(0, 1, 10, endpoint=False):
        assert found(content[: int(share * len(content))]) is None
    for place in rng.choice(len(content), 25, replace=False):
        data = bytearray(content)
        data[place] ^= int(rng.integers(1, 256))
        other = found(bytes(data))
        if other is not None:
            np.testing.assert_array_equal(other.predict(LATER.X), model.predict(LATER.X))
            assert other.goal_report_ == model.goal_report_


# ---------------------------------------------------------------------- pipelines and searches


@pytest.mark.parametrize("name", ALL)
def test_searches_and_cross_validation(name):
    s, goal = rows_of(name), SMALLEST[name].goal
    grid = {"goal": [goal, "minimize false_negative_rate" if name == "ramp" else "jaccard"]}
    search = GridSearchCV(new(name), grid, scoring=goal_scorer(goal), cv=2, error_score="raise")
    search.fit(s.X, s.y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == max(scores)
    best = new(name, **search.best_params_).fit(s.X, s.y)
    np.testing.assert_array_equal(search.predict(LATER.X), best.predict(LATER.X))
    found = cross_val_score(new(name), s.X, s.y, scoring=goal_scorer(goal), cv=2)
    assert np.mean(found) == pytest.approx(scores[0])

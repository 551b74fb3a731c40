"""Model files: round trips, damage, foreign types, and a disk that is full."""

import functools
import io
import os
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from plugin.samples import sample, table
from setpoint import Goal, PlugInClassifier, maximize
from setpoint.classifiers import ModelFileError, load_model, save_model
from setpoint.classifiers import persistence as files
from setpoint.classifiers import persistence as model_facts
from setpoint.metrics import f1, precision, recall
from setpoint.solvers import HoldOut

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.search.ConstantGoalWarning"),
]
GOALS = {
    "text": "maximize recall subject to precision >= 0.7",
    "goal": maximize(recall).subject_to(precision >= 0.7, recall(label=0) >= 0.1),
    "metric": f1,
    "functions": Goal.parse(
        "maximize minimum(recall, 0.9) + 0.1 * sqrt(accuracy) / precision "
        "subject to abs(predicted_rate - prior) <= 0.3"
    ),
}


def fitted(goal="f1", **options):
    s = sample()
    X = np.column_stack([s.scores, s.deployed])
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return PlugInClassifier(model, goal, cv=2, **options).fit(X, s.y), X


@pytest.mark.parametrize("goal", GOALS)
def test_round_trip(goal, tmp_path):
    model, X = fitted(GOALS[goal], random_state=3)
    path = tmp_path / "model.skops"
    save_model(model, path)
    back = load_model(path)
    assert os.listdir(tmp_path) == ["model.skops"]
    assert back.goal == model.goal
    assert back.rule_ == model.rule_
    assert back.goal_report_ == model.goal_report_
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.decision_distribution(X), model.decision_distribution(X))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_round_trip_with_groups_and_draws(tmp_path):
    X, y = table()
    goal = (
        "maximize accuracy subject to recall.difference(g) <= 0.05 and accuracy.on(id=1003) >= 0.0"
    )
    inner = make_pipeline(SimpleImputer(), LogisticRegression())
    frame = X[["score", "noise"]]
    model = PlugInClassifier(inner, goal, cv=2, decide_on="g", randomized=True)
    model.fit(frame, y, sensitive_features=X[["g", "id"]])
    save_model(model, tmp_path / "m.skops")
    back = load_model(tmp_path / "m.skops")
    for m in (model, back):
        m.again = m.predict(frame, sensitive_features=X[["g"]])
    np.testing.assert_array_equal(model.again, back.again)


INNER = {
    "forest": RandomForestClassifier(3, max_depth=3, random_state=0),
    "boosted trees": GradientBoostingClassifier(n_estimators=3),
    "histograms": HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=2),
}


@pytest.mark.parametrize("inner", INNER)
def test_models_of_scikit_learn(inner, tmp_path):
    s = sample()
    X = np.column_stack([s.scores, s.deployed])
    model = PlugInClassifier(INNER[inner], "f1", cv=0.5)
    with threadpool_limits(1):
        save_model(model.fit(X, s.y), tmp_path / "m.skops")
        back = load_model(tmp_path / "m.skops")
        np.testing.assert_array_equal(back.predict(X), model.predict(X))


SPLITTERS = (
    KFold(2, shuffle=True, random_state=3),
    StratifiedKFold(2),
    RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    HoldOut(ShuffleSplit(1, random_state=0)),
    HoldOut(PredefinedSplit(np.repeat([-1, 0], [40, 20]))),
    TimeSeriesSplit(2),
)


@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
def test_splitters_of_scikit_learn(cv, tmp_path):
    X, y = np.arange(60.0)[:, None] % 17, np.arange(60) % 2
    model = PlugInClassifier(GaussianNB(), "f1", cv=cv).fit(X, y)
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops").cv
    assert type(again) is type(cv)
    assert str(again) == str(cv)


def test_trusted_types_are_all_that_skops_asks_about(tmp_path):
    model, _ = fitted(GOALS["functions"])
    asked = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    assert set(asked) <= set(files.TRUSTED_TYPES)
    skops.io.loads(skops.io.dumps(model), trusted=asked)


def test_trusted_types_exist():
    for name in files.TRUSTED_TYPES:
        module, _, attribute = name.rpartition(".")
        found = getattr(__import__(module, fromlist=[attribute]), attribute)
        assert f"{found.__module__}.{found.__qualname__}" == name


class Foreign:
    """A type from elsewhere."""

    opened = 0

    def __setstate__(self, state):
        Foreign.opened += 1
        self.__dict__.update(state)


def test_a_foreign_type_is_refused_and_named(tmp_path):
    model, _ = fitted()
    model.extra_ = Foreign()
    model.extra_.value = 1
    path = tmp_path / "m.skops"
    save_model(model, path)
    name = f"{Foreign.__module__}.Foreign"
    with pytest.raises(ModelFileError, match="types that are not trusted") as caught:
        load_model(path)
    assert name in str(caught.value)
    assert str(path) in str(caught.value)
    assert Foreign.opened == 0


def test_a_type_that_the_user_trusts(tmp_path):
    model, X = fitted()
    model.estimator_.steps[0][1].note_ = GOALS["goal"]
    path = tmp_path / "m.skops"
    save_model(model, path)
    np.testing.assert_array_equal(load_model(path, trusted=["a.B"]).predict(X), model.predict(X))


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "m.skops")


@pytest.fixture(scope="module")
def content():
    return skops.io.dumps(fitted()[0])


def outcome(path, data):
    """The model in a file, or None where it is refused by its name."""
    path.write_bytes(data)
    try:
        return load_model(path)
    except ModelFileError as error:
        message = str(error)
    assert str(path) in message
    return None


def test_a_file_cut_short_is_refused(content, tmp_path):
    for share in np.linspace(0, 1, 60, endpoint=False):
        cut = int(share * len(content))
        assert outcome(tmp_path / "m.skops", content[:cut]) is None, cut


def test_flipped_bytes_are_refused_or_change_nothing(content, tmp_path):
    model, X = fitted()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(content), 100, replace=False):
        data = bytearray(content)
        data[place] ^= int(rng.integers(1, 256))
        found = outcome(tmp_path / "m.skops", bytes(data))
        if found is not None:
            assert found.rule_ == model.rule_
            np.testing.assert_array_equal(found.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "files_in",
    [
        {},
        {"schema.json": b"no json"},
        {"schema.json": b"{}"},
        {"schema.json": b"[" * 100_000},
        {"schema.json": b'{"__class__": "system", "__module__": "os", "__loader__": "TypeNode"}'},
        {"other": b""},
    ],
    ids=["empty", "no json", "nothing", "deep", "foreign", "another archive"],
)
def test_archives_that_are_not_models(files_in, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files_in.items():
            archive.writestr(name, data)
    assert outcome(tmp_path / "m.skops", buffer.getvalue()) is None


@pytest.mark.parametrize("data", [b"", b"\x80\x04.", b"PK", b"not a model" * 1000])
def test_other_files(data, tmp_path):
    assert outcome(tmp_path / "m.skops", data) is None


def test_the_old_file_stays_when_the_disk_is_full(tmp_path, monkeypatch):
    path = tmp_path / "m.skops"
    save_model(fitted()[0], path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(fitted("accuracy")[0], path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.skops"]


def test_the_old_file_stays_when_the_model_cannot_be_written(tmp_path):
    model, _ = fitted()
    path = tmp_path / "m.skops"
    save_model(model, path)
    before = path.read_bytes()
    model.extra_ = (i for i in range(3))
    with pytest.raises(Exception, match="generator"):
        save_model(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.skops"]


def test_a_file_has_the_usual_rights(tmp_path):
    save_model(fitted()[0], tmp_path / "m.skops")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "m.skops").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("step", "mend"), [(1, "install a newer one"), (-1, "fit the model again and save it")]
)
def test_a_file_of_another_format_is_refused(step, mend, tmp_path, monkeypatch):
    clf, _ = fitted()
    written, read = model_facts.FORMAT + step, model_facts.FORMAT
    monkeypatch.setattr(model_facts, "FORMAT", written)
    save_model(clf, tmp_path / "other.skops")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=rf"in format {written}; .* format {read}: {mend}"):
        load_model(tmp_path / "other.skops")


def test_a_file_of_skops_itself_is_read(tmp_path):
    clf, X = fitted()
    skops.io.dump(clf, tmp_path / "plain.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "plain.skops").predict(X), clf.predict(X))


@pytest.mark.parametrize("function", [os.system, os.popen, eval, exec, __import__])
def test_a_partial_of_a_foreign_function_is_refused(function, tmp_path):
    # Boosting with categories holds a partial; that its type is trusted opens no door.
    skops.io.dump(functools.partial(function, "1"), tmp_path / "partial.skops")
    with pytest.raises(ModelFileError, match="types that are not trusted"):
        load_model(tmp_path / "partial.skops")

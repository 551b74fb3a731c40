"""Model files: round trips, damage, what they say of themselves, foreign types, a full disk."""

import functools
import io
import json
import os
import re
import sys
import warnings
import zipfile
from functools import cache

import numpy as np
import pytest
import skops.io
from sklearn import ensemble
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators
from threadpoolctl import threadpool_limits

from classifiers.samples import X, Y
from setpoint import Goal, ModelFileError, PlugInClassifier, load_model, maximize, save_model
from setpoint.classifiers import TRUSTED_TYPES, skops_io
from setpoint.metrics import precision, recall
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning"),
    pytest.mark.filterwarnings("ignore::setpoint.ConstantGoalWarning"),
]
FACTS = "setpoint.json"
LINE = make_pipeline(StandardScaler(), LogisticRegression())


@cache
def fitted():
    """To be looked at only."""
    return PlugInClassifier(LINE, "f1", cv=2).fit(X, Y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.skops"


def through(model, path):
    save_model(model, path)
    assert os.listdir(path.parent) == [path.name]
    return load_model(path)


def rewritten(model, path, change):
    """A file whose members are changed, by name and content."""
    save_model(model, path)
    data = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(data, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    path.write_bytes(data.getvalue())


# ---------------------------------------------------------------------- round trips
@over(
    "goal",
    [
        maximize(recall).subject_to(precision >= 0.7, recall(label=0) >= 0.1),
        Goal.parse(
            "maximize minimum(recall, 0.9) + 0.1 * sqrt(accuracy) / precision "
            "subject to abs(predicted_rate - prior) <= 0.3"
        ),
    ],
)
def test_goals_of_every_form(goal, path):
    model = PlugInClassifier(LINE, goal, cv=2, random_state=3).fit(X, Y)
    back = through(model, path)
    assert back.goal == model.goal
    assert back.rule_ == model.rule_
    assert back.goal_report_ == model.goal_report_
    np.testing.assert_array_equal(back.decision_distribution(X), model.decision_distribution(X))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    asked = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    assert set(asked) <= set(TRUSTED_TYPES)
    path.unlink()


@over(
    "inner",
    [
        ensemble.RandomForestClassifier(3, max_depth=3, random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4),
    ],
)
def test_models_of_scikit_learn(inner, path):
    with threadpool_limits(1):
        model = PlugInClassifier(inner, "f1", cv=0.5).fit(X, Y)
        np.testing.assert_array_equal(through(model, path).predict(X), model.predict(X))


def test_a_file_has_the_usual_rights_and_skops_may_write_it(path):
    save_model(fitted(), path)
    (path.parent / "plain").write_bytes(b"")
    assert path.stat().st_mode == (path.parent / "plain").stat().st_mode
    skops.io.dump(fitted(), path)
    np.testing.assert_array_equal(load_model(path).predict(X), fitted().predict(X))


# ---------------------------------------------------------------------- types
OTHERS = [
    "os.system",
    "sklearn.base.BaseEstimator",
    "sklearn.base.clone",
    "sklearn.linear_model._logistic.os",
    "sklearn.linear_model._logistic.Absent",
    "sklearn.linear_model.LogisticRegression",
    "sklearn.nowhere.LogisticRegression",
    "sklearn.utils._mocking.CheckingClassifier",
    "sklearn.externals.array_api_compat.torch.Tensor",
]
"""Names that are not those of estimators."""


def test_trusted_types_exist_and_are_what_scikit_learn_lists(monkeypatch):
    for name in TRUSTED_TYPES:
        module, _, attribute = name.rpartition(".")
        found = getattr(__import__(module, fromlist=[attribute]), attribute)
        assert f"{found.__module__}.{found.__qualname__}" == name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {f"{made.__module__}.{made.__name__}" for _, made in all_estimators()}
    listed = {name for name in names if name.startswith("sklearn.")}
    assert len(listed) > 150
    nodes = [
        {"__class__": own, "__module__": module, "__loader__": "ObjectNode"}
        for module, _, own in (name.rpartition(".") for name in [*listed, *OTHERS])
    ]
    schema = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as written:
        written.writestr("schema.json", json.dumps({**schema, "content": nodes, "protocol": 2}))
    assert skops_io() is skops.io
    for name in [name for name in sys.modules if name.partition(".")[0] == "skops"]:
        monkeypatch.delitem(sys.modules, name)  # as nobody had imported it
    assert skops_io().get_untrusted_types(data=data.getvalue()) == sorted(OTHERS)


class Foreign:
    """A type that setpoint does not know."""

    opened = 0

    def __setstate__(self, state):
        Foreign.opened += 1
        self.__dict__.update(state)


def test_a_foreign_type_is_refused_and_named_unless_it_is_trusted(path):
    model = PlugInClassifier(LINE, "f1", cv=2).fit(X, Y)
    model.extra_ = Foreign()
    model.extra_.value = 1
    save_model(model, path)
    name = f"{Foreign.__module__}.Foreign"
    with pytest.raises(ModelFileError, match="types that are not trusted") as caught:
        load_model(path)
    assert name in str(caught.value)
    assert str(path) in str(caught.value)
    assert Foreign.opened == 0
    assert load_model(path, trusted=[name]).extra_.value == 1
    # Boosting with categories holds a partial; that its type is trusted opens no door.
    for function in (os.system, os.popen, eval, exec, __import__):
        skops.io.dump(functools.partial(function, "1"), path)
        with pytest.raises(ModelFileError, match="types that are not trusted"):
            load_model(path)


# ---------------------------------------------------------------------- damage
SYSTEM = b'{"__class__": "system", "__module__": "os", "__loader__": "TypeNode"}'


@over("schema", [None, b"no json", b"{}", b"[" * 100_000, SYSTEM])
def test_files_that_are_not_models(schema, path):
    with zipfile.ZipFile(path, "w") as written:
        if schema is not None:
            written.writestr("schema.json", schema)
    with pytest.raises(ModelFileError, match=re.escape(str(path))):
        load_model(path)
    path.write_bytes(b"\x80\x04.")
    with pytest.raises(ModelFileError, match=re.escape(str(path))):
        load_model(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        load_model(path)


def test_the_old_file_stays_when_the_new_one_cannot_be_written(path, monkeypatch):
    save_model(fitted(), path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    for broken, message in ((fitted(), "No space left"), ((i for i in range(3)), "generator")):
        with monkeypatch.context() as patch:
            if broken is fitted():
                patch.setattr(os, "fsync", full)
            with pytest.raises(Exception, match=message):
                save_model(broken, path)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]


# ---------------------------------------------------------------------- facts
@over(
    "change",
    [
        {"format": "4"}, {"format": True}, {"format": 4.0}, b"", b"{}", b"[" * 100_000, b"\xff",
    ],
)  # fmt: skip
def test_facts_that_setpoint_never_writes(change, path):
    def changed(name, content):
        if name != FACTS:
            return content
        return change if isinstance(change, bytes) else json.dumps(json.loads(content) | change)

    rewritten(fitted(), path, changed)
    with pytest.raises(ModelFileError, match="is not what setpoint writes") as caught:
        load_model(path)
    assert str(path) in str(caught.value)


@over("number, mend", [(99, "install a newer one"), (3, "fit the model again and save it")])
def test_another_format_is_said_before_anything_else_of_the_file(number, mend, path):
    facts = json.dumps({"format": number, "setpoint": "9.1"})
    rewritten(fitted(), path, lambda name, was: facts if name == FACTS else was)
    with zipfile.ZipFile(path, "a") as written:
        written.writestr("of-the-future.bin", b"what this version does not know")
    words = rf"by setpoint 9\.1 in format {number}; .* format 4: {mend}"
    with pytest.raises(ModelFileError, match=words):
        load_model(path)

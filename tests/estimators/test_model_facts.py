"""What model files say of themselves."""

import io
import json
import zipfile
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from sklearn.naive_bayes import GaussianNB

import setpoint
from setpoint import (
    ModelFileError,
    ModelFileFacts,
    PlugInClassifier,
    describe_model,
    load_model,
    save_model,
)
from setpoint.estimators import model_facts
from setpoint.estimators.model_archive import FACTS
from setpoint.tables.model import TableModel
from setpoint.tables.schema import kinds_of

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")
GOAL = "maximize recall subject to precision >= 0.6"


@pytest.fixture(scope="module")
def fitted():
    r = np.random.default_rng(0)
    X = pd.DataFrame({"age": r.normal(size=300), "in\x1b[31mcome": r.normal(size=300)})
    y = np.where(X["age"] + r.normal(size=300) > 0, "bad", "good")
    return PlugInClassifier(GaussianNB(), GOAL, pos_label="bad", cv=2).fit(X, y), X


def test_facts_of_a_classifier(fitted, tmp_path):
    save_model(fitted[0], tmp_path / "m.skops")
    facts = describe_model(tmp_path / "m.skops")
    assert facts.model == "setpoint.plugin.classifier.PlugInClassifier"
    assert (facts.format, facts.setpoint) == (model_facts.FORMAT, setpoint.__version__)
    assert (facts.scikit_learn, facts.numpy) == (sklearn.__version__, np.__version__)
    assert (facts.goal, facts.classes, facts.target) == (GOAL, ("bad", "good"), None)
    assert (facts.columns, facts.n_columns, facts.n_rows) == (("age", "in\x1b[31mcome"), 2, 300)
    assert facts.n_bytes == (tmp_path / "m.skops").stat().st_size
    age = datetime.now(UTC) - datetime.fromisoformat(facts.written)
    assert timedelta(0) <= age < timedelta(minutes=10)
    text = str(facts)
    assert "columns  2: age, in\\x1b[31mcome" in text
    assert "classes  bad, good" in text
    assert "rows     300" in text
    assert "\x1b" not in text


def test_facts_of_a_model_of_tables(fitted, tmp_path):
    clf, X = fitted
    save_model(TableModel(clf, kinds_of(X), "risk"), tmp_path / "m.skops")
    facts = describe_model(str(tmp_path / "m.skops"))
    assert facts.model == "setpoint.tables.model.TableModel"
    assert (facts.target, facts.goal, facts.n_rows) == ("risk", GOAL, 300)
    assert facts.columns == tuple(X.columns)


def test_nothing_is_built_or_expanded(fitted, tmp_path, monkeypatch):
    save_model(fitted[0], tmp_path / "m.skops")
    monkeypatch.setattr("setpoint.estimators.persistence.skops_io", None)
    monkeypatch.setattr(skops.io, "loads", None)
    assert describe_model(tmp_path / "m.skops").goal == GOAL


def test_a_file_of_skops_says_nothing(fitted, tmp_path):
    path = tmp_path / "m.skops"
    skops.io.dump(fitted[0], path)
    assert describe_model(path) == ModelFileFacts(str(path), path.stat().st_size)


def test_more_columns_than_facts_may_hold(tmp_path):
    columns = [f"a column with a long name {i}" for i in range(40_000)]
    model = GaussianNB()
    model.feature_names_in_ = np.array(columns, dtype=object)
    model.n_features_in_, model.classes_ = len(columns), np.arange(3)
    facts = json.loads(model_facts.facts_of(model))
    assert (facts["columns"], facts["n_columns"], facts["classes"]) == ([], 40_000, [0, 1, 2])
    model.feature_names_in_ = model.feature_names_in_[:20_000]
    assert len(json.loads(model_facts.facts_of(model))["columns"]) == 20_000


def with_facts(model, path, change):
    """A file whose facts were changed."""
    save_model(model, path)
    data = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(data, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content) if name == FACTS else content)
    path.write_bytes(data.getvalue())


@pytest.mark.parametrize(
    "change",
    [
        {"format": "3"}, {"format": None}, {"format": True}, {"format": 3.0}, {"goal": 7},
        {"columns": "age"}, {"columns": [1.5]}, {"classes": [[]]}, {"n_rows": "many"},
        b"", b"[]", b"{}", b"7", b"null", b"[" * 100_000, b"\xff",
    ],
    ids=lambda change: str(change)[:30],
)  # fmt: skip
def test_facts_that_setpoint_never_writes(change, fitted, tmp_path):
    def changed(content):
        return change if isinstance(change, bytes) else json.dumps(json.loads(content) | change)

    with_facts(fitted[0], tmp_path / "m.skops", changed)
    with pytest.raises(ModelFileError, match="is not what setpoint writes") as caught:
        describe_model(tmp_path / "m.skops")
    assert str(tmp_path / "m.skops") in str(caught.value)


def test_a_newer_format_is_said_first(fitted, tmp_path):
    path = tmp_path / "m.skops"
    facts = {"format": 99, "setpoint": "9.1"}
    with_facts(fitted[0], path, lambda _: json.dumps(facts))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("of-the-future.bin", b"what this version does not know")
    for read in (load_model, describe_model):
        with pytest.raises(ModelFileError, match=r"by setpoint 9\.1 in format 99.* a newer one"):
            read(path)


def test_a_newer_setpoint_is_named_where_its_file_cannot_be_read(fitted, tmp_path):
    path = tmp_path / "m.skops"
    save_model(fitted[0], path)
    data = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(data, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == FACTS:
                content = json.dumps(json.loads(content) | {"setpoint": "9.1", "scikit_learn": "3"})
            if name == "schema.json":
                content = content.replace(b'"ObjectNode"', b'"NewerNode"')
            new.writestr(name, content)
    path.write_bytes(data.getvalue())
    wanted = r"written by setpoint 9\.1 \(here .*\) and scikit-learn 3 \(here"
    with pytest.raises(ModelFileError, match=wanted):
        load_model(path)

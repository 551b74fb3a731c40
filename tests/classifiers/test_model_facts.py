"""What model files say of themselves."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from setpoint import ModelFileError, PlugInClassifier, load_model, save_model
from setpoint.classifiers.persistence import FACTS

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")
GOAL = "maximize recall subject to precision >= 0.6"


@pytest.fixture(scope="module")
def fitted():
    r = np.random.default_rng(0)
    X = pd.DataFrame({"age": r.normal(size=300), "in\x1b[31mcome": r.normal(size=300)})
    y = np.where(X["age"] + r.normal(size=300) > 0, "bad", "good")
    return PlugInClassifier(GaussianNB(), GOAL, pos_label="bad", cv=2).fit(X, y), X


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
        {"format": "4"}, {"format": None}, {"format": True}, {"format": 4.0},
        b"", b"[]", b"{}", b"7", b"null", b"[" * 100_000, b"\xff",
    ],
    ids=lambda change: str(change)[:30],
)  # fmt: skip
def test_facts_that_setpoint_never_writes(change, fitted, tmp_path):
    def changed(content):
        return change if isinstance(change, bytes) else json.dumps(json.loads(content) | change)

    with_facts(fitted[0], tmp_path / "m.skops", changed)
    with pytest.raises(ModelFileError, match="is not what setpoint writes") as caught:
        load_model(tmp_path / "m.skops")
    assert str(tmp_path / "m.skops") in str(caught.value)


def test_a_newer_format_is_said_first(fitted, tmp_path):
    path = tmp_path / "m.skops"
    facts = {"format": 99, "setpoint": "9.1"}
    with_facts(fitted[0], path, lambda _: json.dumps(facts))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("of-the-future.bin", b"what this version does not know")
    with pytest.raises(ModelFileError, match=r"by setpoint 9\.1 in format 99.* a newer one"):
        load_model(path)


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

"""What a stored model holds, and the pages that it has."""

import json

import pytest

from setpoint import save_model
from setpoint.tables import TableModel
from table_models.samples import FAIR, fit_table


@pytest.fixture(scope="module")
def fitted(fitted_on):
    return fit_table(fitted_on, FAIR, baseline="old")


def test_the_facts_of_a_fit(fitted, tmp_path):
    save_model(fitted, tmp_path / "m.skops")
    found = TableModel.load(tmp_path / "m.skops")
    facts = found.to_dict()
    assert (str(found.rule_goal), found.judge_by) == (FAIR.replace("sex", '"sex"'), None)
    assert facts["rows"] == {"fitted": 900, "held_out": 300, "certifying": 0}
    assert facts["model"] == "LogisticRegression"
    assert (facts["solver"], facts["family"]) == ("exact", "plugin")
    assert facts["columns"] == {"sex": "category", "x": "number", "w": "number"}
    assert facts["rule"]["decides_on"] == ["sex"]
    assert facts["baseline"] == "old"
    assert found.judged == fitted.held_out
    assert found.judged_on == "300 rows held out"
    assert found.guarantee is None
    assert set(found.written) == {"when", "setpoint", "scikit-learn", "numpy"}
    assert "highspy" in fitted.written  # no file: as the report says


def test_they_are_plain_values(fitted):
    found = fitted.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert (found["classes"], found["positive"]) == (["no", "yes"], "yes")
    assert found["judged"]["verdict"] == fitted.held_out.verdict


def test_a_margin_has_two_goals_and_a_trained_model_a_name(fitted_on):
    found = fit_table(
        fitted_on, "maximize recall subject to precision >= 0.75", drop=["old"], solver="ero",
        judge_by="maximize recall subject to precision >= 0.7",
    )  # fmt: skip
    assert str(found.rule_goal).endswith("0.75")
    assert str(found.judge_by).endswith("0.7")
    assert found.to_dict()["model"] == "a linear model"


def test_what_was_certified(fitted_on, fresh):
    model = fit_table(
        fitted_on, "maximize recall subject to precision >= 0.6", drop=["old"],
        test_size=0.0, confidence=0.9,
    )  # fmt: skip
    shown = model
    assert shown.guarantee.state == "certified"
    assert shown.certified_holds
    assert shown.to_dict()["rows"]["certifying"] == shown.guarantee.rows
    assert shown.judged_on == f"{shown.guarantee.rows:,} rows that certify"
    moved = model.moved(fresh, bounds=["precision >= 0.65"])
    assert moved.guarantee is None
    assert moved.judged_on == "900 rows that the rule was chosen on"


def test_no_row_is_decided(fitted, monkeypatch):
    def fail(*_args, **_more):
        raise AssertionError

    for name in ("predict", "_scores", "evaluate"):
        monkeypatch.setattr(type(fitted.classifier), name, fail)
    assert fitted.judged.verdict is not None


def test_the_page_of_the_fit_is_that_which_the_fit_wrote(fitted, tmp_path):
    fitted.to_html(tmp_path / "fit.html")
    assert "the other 900" in (tmp_path / "fit.html").read_text("utf-8")

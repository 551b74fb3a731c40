"""What a stored model holds, and the pages that it has."""

import json

import pytest

from setpoint import save_model
from setpoint.tasks import move_rule, show_model
from tables.fits import fit_table

from .conftest import GOAL


@pytest.fixture(scope="module")
def fitted(fitted_on):
    return fit_table(fitted_on, GOAL, target="y", baseline="old")


def test_the_facts_of_a_fit(fitted, tmp_path):
    save_model(fitted, tmp_path / "m.skops")
    found = show_model(tmp_path / "m.skops")
    assert (str(found.goal), found.meant) == (GOAL.replace("sex", '"sex"'), found.goal)
    assert found.rows == {"fitted": 900, "held_out": 300, "certifying": 0}
    assert found.inside == "LogisticRegression"
    assert (found.solver, found.family) == ("exact", "plugin")
    assert dict(found.columns) == {"sex": "category", "x": "number", "w": "number"}
    assert found.decides_on == ("sex",)
    assert found.baseline == "old"
    assert found.judged == fitted.held_out
    assert found.where == "300 rows held out"
    assert found.guarantee is None
    assert set(found.written) == {"when", "setpoint", "scikit-learn", "numpy"}
    assert "highspy" in show_model(fitted).written  # no file: as the report says


def test_they_are_plain_values(fitted):
    found = show_model(fitted).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["classes"] == ["no", "yes"]
    assert found["positive"] == "yes"
    assert found["judged"]["verdict"] == fitted.held_out.verdict


def test_a_margin_has_two_goals(fitted_on):
    found = fit_table(
        fitted_on, "maximize recall subject to precision >= 0.75", target="y", drop=["old"],
        judge_by="maximize recall subject to precision >= 0.7",
    )  # fmt: skip
    shown = show_model(found)
    assert str(shown.goal).endswith("0.75")
    assert str(shown.meant).endswith("0.7")


def test_what_was_certified(fitted_on, fresh):
    model = fit_table(
        fitted_on, "maximize recall subject to precision >= 0.6", target="y", drop=["old"],
        test_size=0.0, confidence=0.9,
    )  # fmt: skip
    shown = show_model(model)
    assert shown.guarantee.state == "certified"
    assert shown.certified_holds
    assert shown.rows["certifying"] == shown.guarantee.rows
    assert shown.where == f"{shown.guarantee.rows:,} rows that certify"
    moved = show_model(move_rule(model, fresh, bounds=["precision >= 0.65"]).model)
    assert moved.guarantee is None
    assert moved.where == "900 rows that the rule was chosen on"


def test_no_row_is_decided(fitted, monkeypatch):
    def fail(*_args, **_more):
        raise AssertionError

    for name in ("predict", "_scores", "evaluate"):
        monkeypatch.setattr(type(fitted.classifier), name, fail)
    assert show_model(fitted).judged.verdict is not None


def test_a_trained_model_has_a_name(fitted_on):
    model = fit_table(fitted_on, "f1", target="y", solver="ero", drop=["old"])
    assert show_model(model).inside == "a linear model"


def test_the_page_of_the_fit_is_that_which_the_fit_wrote(fitted, tmp_path):
    show_model(fitted).to_html(tmp_path / "fit.html")
    assert "the other 900" in (tmp_path / "fit.html").read_text("utf-8")

"""Reports on goals whose objective is a metric without a formula."""

from dataclasses import replace

import numpy as np
import pytest

from report.page_reading import advice, checked, page_text, words_of
from report.pages import searched
from setpoint import BlackBox, Goal, GoalReport, evaluate
from setpoint.report import Entry, Search, SearchTrace, headline, plot_operating
from thinning import over

Y, DECIDED = (
    np.repeat(["no", "no", "yes", "yes"], [90, 10, 5, 15]),
    np.repeat(["no", "yes", "no", "yes"], [90, 10, 5, 15]),
)


def revenue(y_true, y_pred):
    return 40


def measured(name="shop:revenue", **more):
    """A report of that metric on 120 rows."""
    found = evaluate(BlackBox(revenue, name=name), Y, DECIDED, pos_label="yes")
    return replace(found, **more)


def test_not_evaluated_without_its_function():
    report = evaluate(BlackBox(revenue, name="shop:revenue").goal, Y, DECIDED, pos_label="yes")
    why = "it has no formula; evaluate(BlackBox(...), ...) calls its function"
    assert report.objective == Entry('blackbox("shop:revenue")', None, why=why)
    assert headline(report) == "The metric shop:revenue was not evaluated"
    for face in (words_of(report), checked(page_text(report)), report._repr_html_()):
        assert why in face
    with pytest.raises(ValueError, match="holds no operating points"):
        plot_operating(report)


def test_a_measured_objective_and_what_is_drawn_of_it():
    report = measured()
    assert (report.objective.value, report.warnings) == (40.0, ())
    text = words_of(report)
    assert 'blackbox("shop:revenue"): 40.0000, as high as possible' in text
    assert "Measured on 120 rows; the positive class is 'yes'." in text
    assert headline(report) == "The metric shop:revenue is 40.0000"
    assert GoalReport.from_json(report.to_json()) == report
    page = checked(page_text(report))
    assert "Make the metric shop:revenue as high as possible" in page
    # A number without an interval and without a bound has nothing to be drawn against.
    assert "The dot is what was counted." not in page
    entry = replace(report.objective, value=4280.0, low=4150.0, high=4400.0, interval="bootstrap")
    report = measured(objective=entry)
    faces = (words_of(report), checked(page_text(report)), report._repr_html_())
    assert "on new rows 4,150 to 4,400 (bootstrap)" in faces[0]
    assert "The dot is what was counted." in faces[1]
    assert "The thick bar is where the value is on new rows, each end with 95 %" in faces[1]
    assert "The upright stroke" not in faces[1]
    assert "4,150 to 4,400 bootstrap" in faces[1]
    assert "4,150 to 4,400 (bootstrap)</td>" in faces[2]
    counted = measured(objective=replace(entry, interval="delta"))
    assert "bootstrap" not in str(counted) + page_text(counted) + counted._repr_html_()


def test_advice_names_the_metric_and_what_an_adaptive_search_is_short_of():
    for status in ("feasible", "stationary"):
        assert advice(measured(status=status)).startswith(
            "It is not proved that this rule is the best: another one may do better by the metric "
            "shop:revenue."
        )
    wanted = "Allow the search more evaluations, or start it elsewhere, if this matters."
    assert wanted in advice(searched())
    assert wanted.replace("evaluations", "time") in advice(replace(searched(), sections=()))


@over("name", ["a$b$c_d^2:<lambda>", 'q"uote:f\\n', "m:<script>alert(1)</script>"])
def test_every_form_of_a_report_takes_every_name(name):
    trace = SearchTrace(tuple((i, 30.0 + i, float("inf"), 0.0) for i in range(1, 6)))
    report = measured(name, status="feasible", search=Search(calls=5), sections=(trace,))
    page = page_text(report, measured(name))
    assert "Make the metric" in checked(page)
    assert "<script" not in page + report._repr_html_()
    assert Goal.parse(report.goal) == BlackBox(revenue, name=name).goal
    assert len(report.to_frame()) == 1

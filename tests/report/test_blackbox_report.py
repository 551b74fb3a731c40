"""Reports on goals whose objective is a metric without a formula."""

from dataclasses import replace

import pytest

from report.pages import searched
from setpoint import BlackBox, Goal, GoalReport
from setpoint.counts import Confusion
from setpoint.program import link
from setpoint.report import Entry, Search, SearchTrace, goal_table, headline, report_on
from setpoint.report.advice import advice_of
from setpoint.report.page import page_text

NAMES = ["shop:revenue", "a$b$c_d^2:<lambda>", 'q"uote:f\\n', "m:<script>alert(1)</script>"]


def revenue(y_true, y_pred):
    return 40


def confusion():
    return Confusion.of_counts(("no", "yes"), [[90, 10], [5, 15], [0, 0]])


def reported(goal, objective=None, **more):
    report = report_on(link(goal, confusion().codebook), confusion(), objective=objective)
    return replace(report, **more)


def goal_of(name="shop:revenue"):
    return BlackBox(revenue, name=name).goal


def measured(name="shop:revenue", **more):
    goal = goal_of(name)
    entry = Entry(str(goal.objective), 40.0, rows=120, effective_rows=120.0, **more)
    return reported(goal, objective=entry)


def test_not_evaluated_without_a_measured_value():
    report = reported(goal_of())
    why = "it has no formula; evaluate(BlackBox(...), ...) calls its function"
    assert report.objective == Entry('blackbox("shop:revenue")', None, why=why)
    assert headline(report) == "The metric shop:revenue was not evaluated"
    assert f'blackbox("shop:revenue"): not evaluated, {why}' in " ".join(str(report).split())
    ((*_, value, _, limits, _, _),) = goal_table(report).rows
    assert (value.text, value.note, limits.text) == ("not evaluated", why, "-")
    page = " ".join(page_text(report).split())
    assert "The metric shop:revenue was not evaluated" in page
    assert why in page
    assert '<td style="text-align:left">not evaluated (' in report._repr_html_()
    assert why in report._repr_html_()
    assert report.counts.n_rows == 120


def test_a_measured_objective():
    report = measured()
    assert (report.objective.value, report.warnings) == (40.0, ())
    assert 'blackbox("shop:revenue"): 40.0000, as high as possible' in str(report)
    assert "Measured on 120 rows; the positive class is 'yes'." in str(report)
    assert headline(report) == "The metric shop:revenue is 40.0000"
    assert GoalReport.from_json(report.to_json()) == report


def test_a_bootstrap_interval_is_called_so():
    report = measured(low=35.0, high=44.0, interval="bootstrap")
    assert "on new rows 35.0000 to 44.0000 (bootstrap)" in str(report)
    page = " ".join(page_text(report).split())
    assert 'data-head="On new rows">35.0000 to 44.0000<small>bootstrap</small>' in page
    assert "35.0000 to 44.0000 (bootstrap)</td>" in report._repr_html_()
    counted = replace(report, objective=replace(report.objective, interval="delta"))
    assert "bootstrap" not in str(counted) + page_text(counted) + counted._repr_html_()


def test_the_page_refers_to_the_metric():
    page = " ".join(page_text(measured()).split())
    assert "The metric shop:revenue is 40.0000" in page
    assert "Make the metric shop:revenue as high as possible" in page


@pytest.mark.parametrize("status", ["feasible", "stationary"])
def test_advice_reads_as_a_sentence(status):
    goal = goal_of()
    entry = Entry(str(goal.objective), 40.0)
    report = reported(goal, status=status, objective=entry)
    (advice,) = advice_of(report)
    assert advice.what == (
        "It is not proved that this rule is the best: another one may do better by the metric "
        "shop:revenue."
    )


def test_an_adaptive_search_receives_its_budget():
    report = searched()
    remedies = [advice.remedy for advice in advice_of(report)]
    wanted = "Allow the search more evaluations, or start it elsewhere, if this matters."
    assert wanted in remedies
    assert "more time" not in " ".join(remedies)
    plain = [advice.remedy for advice in advice_of(replace(report, sections=()))]
    assert plain == [wanted.replace("evaluations", "time")]


@pytest.mark.parametrize("interval", [None, "bootstrap"])
def test_the_page_explains_what_it_draws(interval):
    ends = {} if interval is None else {"low": 4150.0, "high": 4400.0, "interval": interval}
    goal = goal_of()
    entry = Entry(str(goal.objective), 4280.0, rows=120, effective_rows=120.0, **ends)
    page = " ".join(page_text(reported(goal, objective=entry)).split())
    # A number without an interval and without a bound has nothing to be drawn against.
    assert ("The dot is what was counted." in page) is (interval is not None)
    bar = "The thick bar is where the value is on new rows, each end with 95 %"
    assert (bar in page) is (interval is not None)
    assert "The upright stroke" not in page
    assert "The metric shop:revenue is 4,280" in page
    assert ("4,150 to 4,400" in page) is (interval is not None)
    assert "e+03" not in page


@pytest.mark.parametrize("name", NAMES)
def test_every_form_of_a_report_takes_every_name(name, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    goal = goal_of(name)
    entry = Entry(str(goal.objective), 40.0, low=3.0, high=44.0, interval="bootstrap", rows=120)
    trace = SearchTrace(tuple((i, 30.0 + i, float("inf"), 0.0) for i in range(1, 6)))
    report = reported(
        goal, objective=entry, status="feasible", search=Search(calls=5), sections=(trace,)
    )
    path = tmp_path / "report.html"
    report.to_html(path, held_out=reported(goal))
    page = path.read_text(encoding="utf-8")
    assert "Make the metric" in page
    assert "<script" not in page
    assert "<script" not in report._repr_html_()
    assert Goal.parse(report.goal) == goal
    assert len(report.to_frame()) == 1


def test_pictures_that_need_a_formula_refuse():
    pytest.importorskip("matplotlib")
    from setpoint.report import plot_operating

    with pytest.raises(ValueError, match="holds no operating points"):
        plot_operating(reported(goal_of()))

"""Reports on goals whose objective is a metric without a formula."""

from dataclasses import replace

import pytest
from setpoint.report.page.advice import notes_of
from setpoint.report.page.cards import cards_of, verdict_of

from report.pages import searched
from setpoint import BlackBox, Goal, GoalReport
from setpoint.evidence import Confusion
from setpoint.program.link import link
from setpoint.report import Entry, report_on
from setpoint.report.page.page import page_text

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
    assert report.objective == Entry('blackbox("shop:revenue")', None)
    assert "not evaluated: it has no formula" in report.warnings[0]
    assert "not evaluated" in str(report)
    assert "no formula" in cards_of(report)[0].note
    assert any("no formula" in line for line in verdict_of(report, "rows").lines)
    assert report.counts.n_rows == 120


def test_a_measured_objective():
    report = measured()
    assert (report.objective.value, report.warnings) == (40.0, ())
    assert 'blackbox("shop:revenue") = 40.0000; on 120 rows' in str(report)
    assert GoalReport.from_json(report.to_json()) == report


def test_a_bootstrap_interval_is_called_so():
    report = measured(low=35.0, high=44.0, interval="bootstrap")
    assert "95 % bootstrap interval 35.0000 to 44.0000" in str(report)
    assert ("95 % bootstrap interval", "35.0000 to 44.0000") in cards_of(report)[0].facts


def test_the_page_refers_to_the_metric():
    report = measured()
    assert cards_of(report)[0].title == "The metric shop:revenue, as high as it goes"
    assert "The metric shop:revenue, to be as high as it goes, is 40" in " ".join(
        verdict_of(report, "rows").lines
    )


@pytest.mark.parametrize("status", ["feasible", "stationary"])
def test_advice_reads_as_a_sentence(status):
    goal = goal_of()
    entry = Entry(str(goal.objective), 40.0)
    report = reported(goal, status=status, objective=entry)
    notes = [note.what for note in notes_of(report)]
    assert any("another one may do better by the metric shop:revenue." in t for t in notes)


def test_an_adaptive_search_receives_its_budget():
    report = searched()
    assert "Allow the search more evaluations if this matters." in [
        note.remedy for note in notes_of(report)
    ]


@pytest.mark.parametrize("interval", [None, "bootstrap"])
def test_the_page_explains_what_it_draws(interval):
    ends = {} if interval is None else {"low": 4150.0, "high": 4400.0, "interval": interval}
    goal = goal_of()
    entry = Entry(str(goal.objective), 4280.0, rows=120, effective_rows=120.0, **ends)
    page = " ".join(page_text(reported(goal, objective=entry)).split())
    assert ("the thick bar its 95 %" in page) is (interval is not None)
    assert "On each line the dot is what was counted" in page
    assert "The upright stroke" not in page
    assert "4,4" in page
    assert "e+03" not in page


@pytest.mark.parametrize("name", NAMES)
def test_every_form_of_a_report_takes_every_name(name, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    goal = goal_of(name)
    entry = Entry(str(goal.objective), 40.0, low=3.0, high=44.0, interval="bootstrap", rows=120)
    trace = [(i, 30.0 + i, float("inf"), 0.0) for i in range(1, 6)]
    report = reported(goal, objective=entry, status="feasible", trace=trace, n_oracle_calls=5)
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
    from setpoint.report import OperatingPointDisplay

    with pytest.raises(ValueError, match="has no formula"):
        OperatingPointDisplay.from_predictions(goal_of(), [0, 1, 1, 0], [0.1, 0.4, 0.9, 0.3])

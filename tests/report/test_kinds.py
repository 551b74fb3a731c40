"""Reports of every kind: sections, measures of rows, deferring, metrics without formula, cards."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from report.page_reading import advice, checked, page_text, people, said, words_of
from report.pages import PLAIN, adaptive_summary, floor, sample, searched, three
from setpoint import BlackBox, Goal, GoalReport, InputError, PlugInClassifier, evaluate
from setpoint.counts import DEFERRED, Column, Rows
from setpoint.online import StreamSummary
from setpoint.program import link
from setpoint.report import (
    Entry,
    Prices,
    RuleFacts,
    Search,
    SearchTrace,
    TextSection,
    card_text,
    headline,
    report_on,
)
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

KNOWN = [
    Prices("mean cost", -3.5, (("accepting nobody", 7.0), ("accepting all", float("inf"))), 4.0),
    Prices("mean cost", 3.0, ()),
    SearchTrace(((1, 0.1, float("inf"), 0.5), (2, 0.2, 0.4, 0.0)), of_passes=False),
    SearchTrace(()),
    StreamSummary(0.3, 0.1, 8, 2, 2, 88, 50, 0.8, 4, 1, 1, 44, 1.1, 0.0, 0.012, 3, 4),
    adaptive_summary(),
    TextSection("The data", ("569 rows", "from <wdbc>.csv")),
]


def stored(*sections):
    """A report in JSON with these sections."""
    return PLAIN.to_dict() | {"sections": list(sections)}


def test_sections_go_to_json_and_back():
    for section in (*KNOWN, *three().sections, *floor().sections):
        report = replace(PLAIN, sections=(section,))
        (data,) = json.loads(json.dumps(report.to_dict(), allow_nan=False))["sections"]
        assert set(data) == {"name", "title", "lines", "values"}
        assert data["lines"] == list(section.lines())
        back = GoalReport.from_json(report.to_json())
        assert type(back.sections[0]) is type(section)
        # A frontier has gaps, which are not equal to themselves.
        gaps = section.name == "frontiers"
        assert back.to_json() == report.to_json() if gaps else back == report != PLAIN


UNKNOWN = {
    "title": "The weather",
    "name": "weather",
    "values": {"wind": [1, 2.5, "inf", None], "deep": {"b": True, "a": "é\u2028"}},
    "lines": ["It rains.", "It <b>pours</b>."],
}


def test_an_unknown_section_is_read_as_sentences_and_written_back_byte_for_byte():
    text = json.dumps(stored(UNKNOWN), ensure_ascii=False)
    report = GoalReport.from_json(text)
    assert report.sections == (
        TextSection("The weather", ("It rains.", "It <b>pours</b>."), UNKNOWN),
    )
    assert "\nThe weather\n  It rains.\n" in str(report)
    assert "<li>It &lt;b&gt;pours&lt;/b&gt;.</li>" in report._repr_html_()
    assert "<b>pours" not in page_text(report)
    assert report.to_json() == text
    written = report.to_dict()["sections"][0]
    written["title"] = "other"
    assert report.to_dict()["sections"] == [UNKNOWN]
    assert report.section("rain") is None


def test_what_is_not_a_section():
    spoilt = [None, "text", 3, [["name", "text"]]]
    for section in (*KNOWN[:6], floor().section("operating"), floor().section("frontiers")):
        (data,) = replace(PLAIN, sections=(section,)).to_dict()["sections"]
        (_, *less), values = data["values"].items(), data["values"]
        spoilt += [data | {"values": v} for v in (values | {"zzz": 1}, dict(less))]
    for gone in ("name", "title", "lines"):
        spoilt.append({k: v for k, v in UNKNOWN.items() if k != gone})
    for data in spoilt:
        with pytest.raises(ValueError, match="not a report"):
            GoalReport.from_dict(stored(data))
    with pytest.raises(TypeError, match="got one text"):
        TextSection("The data", "569 rows")


TWO = ("no", "yes")
MONEY = (
    "maximize profit(tp=amount - 5, fp=-5) subject to recall.weighted(amount) >= 0.5, "
    "recall.weighted(amount).difference(sex) <= 0.9"
)
DEFERS = (
    "minimize deferral_rate subject to accuracy.decided >= 0.8, "
    "deferral_rate.difference(sex) <= 0.9"
)
N = 600


def staked(text, classes=TWO):
    """A report, true and decided classes, and the amount of each row."""
    rng = np.random.default_rng(0)
    k = len(classes) - (DEFERRED in classes)
    y = rng.integers(0, k, N)
    d = np.where(rng.random(N) < 0.8, y, rng.integers(0, len(classes), N))
    amount, sex = rng.exponential(50.0, N), rng.choice(["F", "M"], N)
    goal, columns = Goal.parse(text), {"amount": Column(amount), "sex": Column(sex)}
    rows = Rows.from_arrays(classes, y, N, needs=goal.needs, columns=columns)
    return report_on(link(goal, rows.codebook), rows.confusion(d)), y, d, amount


def test_money_is_not_a_share_and_rows_count_once():
    found, y, d, amount = staked(MONEY)
    assert found.counts.n_rows == found.counts.total == found.objective.denominator == N
    assert found.objective.value == pytest.approx((d * np.where(y, amount - 5.0, -5.0)).mean())
    (share, _) = found.constraints
    assert share.numerator == pytest.approx(amount[(y == 1) & (d == 1)].sum())
    assert "Profit for 10,000 rows" in words_of(found)
    assert f"{100 * share.value:.1f} % (" in words_of(found)


def test_deferred_rows_are_a_column_of_their_own():
    found, y, d, _ = staked(DEFERS, (*TWO, DEFERRED))
    counts = found.counts
    assert (counts.classes, counts.positive) == (TWO, "yes")
    assert counts.deferred == (float((d[y == 0] == 2).sum()), float((d[y == 1] == 2).sum()), 0.0)
    assert counts.labelled == counts.total == N
    assert counts.of_class(1) == y.sum()
    assert [*people(found)][-1] == "deferred"
    assert sum(p.rows for p in people(found).values()) == pytest.approx(10_000)
    assert "are deferred to a person; of the others" in said(found, "people")[0]
    assert GoalReport.from_dict(found.to_dict()).counts == counts
    for face in (str(found).split("Groups")[1], found._repr_html_(), checked(page_text(found))):
        assert "deferred" in face
    text = "minimize cost({('yes', 'no'): 'amount', ('no', 'yes'): 5, ('no', 'defer'): 1})"
    assert "deferring everybody" in str(staked(text, (*TWO, DEFERRED))[0])
    goal = "minimize deferral_rate subject to accuracy.decided >= 0.5"
    found, *_ = staked(goal, ("a", "b", "c", DEFERRED))
    right, wrong, left = (p.rows for p in people(found).values())
    assert right + wrong + left == pytest.approx(10_000)


TRUE, DECIDED = (
    np.repeat(["no", "no", "yes", "yes"], [90, 10, 5, 15]),
    np.repeat(["no", "yes", "no", "yes"], [90, 10, 5, 15]),
)


def revenue(y_true, y_pred):
    return 40


def measured(name="shop:revenue", **more):
    """A report of that metric on 120 rows."""
    found = evaluate(BlackBox(revenue, name=name), TRUE, DECIDED, pos_label="yes")
    return replace(found, **more)


def test_not_evaluated_without_its_function():
    report = evaluate(BlackBox(revenue, name="shop:revenue").goal, TRUE, DECIDED, pos_label="yes")
    why = "it has no formula; evaluate(BlackBox(...), ...) calls its function"
    assert report.objective == Entry('blackbox("shop:revenue")', None, why=why)
    assert headline(report) == "The metric shop:revenue was not evaluated"
    for face in (words_of(report), checked(page_text(report)), report._repr_html_()):
        assert why in face


def test_advice_names_the_metric_and_what_an_adaptive_search_is_short_of():
    assert advice(measured(status="feasible")).startswith(
        "It is not proved that this rule is the best: another one may do better by the metric "
        "shop:revenue."
    )
    assert "Allow the search more evaluations" in advice(searched())
    assert "Allow the search more time" in advice(replace(searched(), sections=()))


@over("name", ["a$b$c_d^2:<lambda>", 'q"uote:f\\n<script>alert(1)</script>'])
def test_every_form_of_a_report_takes_every_name(name):
    trace = SearchTrace(tuple((i, 30.0 + i, float("inf"), 0.0) for i in range(1, 6)))
    report = measured(name, status="feasible", search=Search(calls=5), sections=(trace,))
    page = page_text(report, measured(name))
    assert "Make the metric" in checked(page)
    assert "<script" not in page + report._repr_html_()
    assert Goal.parse(report.goal) == BlackBox(revenue, name=name).goal
    assert len(report.to_frame()) == 1


def test_a_card_has_all_headings_and_what_the_report_knows():
    s, y, g = sample(300)
    goal = "maximize recall subject to recall.difference(g) <= 0.3, predicted_rate <= 0.5"
    model = PlugInClassifier(LogisticRegression(C=3), goal, cv=2)
    report = model.fit(s[:, None], y, sensitive_features={"g": g}).goal_report_
    held_out = model.evaluate(s[:200, None], y[:200], sensitive_features={"g": g[:200]})
    for text in (card_text(report, held_out=held_out), card_text(report, name="Returns")):
        for heading in ("Intended use", "What was measured", "The fit", "Versions and digests"):
            assert f"\n## {heading}\n" in text
        for part in (report.rule.text, report.goal, report.run.digests["model"]):
            assert part in text
    assert "\n# Returns\n" in text
    other = model.evaluate(s[:, None], y, goal="f1")
    with pytest.raises(InputError, match="`held_out` refers to the goal 'maximize f1'"):
        card_text(report, held_out=other)


def test_text_of_users_stays_text():
    report = GoalReport("maximize recall", Entry("recall", 0.5), rule=RuleFacts("a ``` b"))
    report = replace(report, warnings=("<script>alert(1)</script> | a [b](c)",))
    text = card_text(report, name="<b>")
    assert r"# \<b\>" in text
    assert "````text\na ``` b\n````" in text

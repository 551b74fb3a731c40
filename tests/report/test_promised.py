"""What is promised comes first in every face, and is nothing surer or vaguer than it is."""

import json
import math
import pickle
from dataclasses import replace
from html import unescape

import pytest
from matplotlib.figure import Figure

from report.page_reading import checked, part, read_part
from setpoint import Goal, NotCertifiable
from setpoint.guarantees import Guarantee, Shown, Unshown
from setpoint.guarantees.refusal import BestBounds
from setpoint.report import (
    UNCERTIFIED,
    Chapter,
    Counts,
    Entry,
    GoalReport,
    Header,
    Prose,
    Search,
    as_page,
    goal_table,
    headline,
    infeasible_document,
    refused,
    report_document,
    report_text,
    stricter_goal,
    with_guarantee,
)
from setpoint.report.advice import advice_of
from setpoint.report.displays import plot_rule_path
from setpoint.report.findings import caveats, few_rows, rows_in_words, summary
from setpoint.report.page import page_text
from setpoint.report.promised import assurances, best_limit, explained, statement

GOAL = "maximize recall subject to precision >= 0.9"
BOTH = f"{GOAL} and predicted_rate <= 0.2"
COUNTS = Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0)))
SAFE = "The rows that certify are drawn like those to come."
ASSUMED = "It is assumed that the rows that certify are drawn like those to come."
FLATTERS = "The rule was chosen on these very rows"
STATES = ("certified", "approximate", "not certified")


def styles(chapter):
    """How the blocks of a chapter and of those in it are shown."""
    inside = [style for c in chapter.blocks if isinstance(c, Chapter) for style in styles(c)]
    return [*inside, *(b.style for b in chapter.blocks if isinstance(b, Prose))]


def one_test(text="precision >= 0.9", **more):
    return Shown(
        **{
            "text": text, "confidence": 0.95, "p_value": 0.031, "kind": "binomial",
            "passed": True, "value": 0.93, "limit": 0.91,
        } | more
    )  # fmt: skip


FAILED = {"passed": False, "value": 0.88, "limit": 0.85432, "p_value": 0.4}


def report(goal=GOAL, guarantee=None, low=0.89, high=0.96, **more):
    """A report of a searched rule; its own limits leave the bound open."""
    bounds = Goal.parse(goal).constraints
    entries = tuple(
        Entry(
            str(c), value, c.rhs.value, low=a, high=b, relation=c.relation, few_rows=True,
            effective_rows=40.0,
        )
        for c, value, a, b in zip(bounds, (0.93, 0.15), (low, 0.12), (high, 0.25), strict=False)
    )  # fmt: skip
    objective = Entry(str(Goal.parse(goal).objective), 0.712, low=0.69, high=0.74)
    facts = GoalReport(
        goal, objective, entries, status="feasible", search=Search("plugin", "exact"),
        counts=COUNTS, **more,
    )  # fmt: skip
    return facts if guarantee is None else with_guarantee(facts, guarantee)


def promised(state="certified", tests=None, goal=GOAL, **more):
    """The same with a guarantee."""
    if tests is None:
        tests = (one_test(**(FAILED if state == "not certified" else {})),)
    given = {
        "rows": 1000, "tried": 20, "passed": 0 if state == "not certified" else 19,
        "reached": 0.712, "without": 0.743, "assumptions": SAFE,
    } | more  # fmt: skip
    level = min(t.confidence for t in tests)
    facts = {k: given.pop(k) for k in ("low", "high") if k in given}
    return report(goal, Guarantee(state, level, "path of rules", tests, **given), **facts)


def said(facts):
    return statement(facts)


def faces(facts):
    """The text, the notebook and the page as words."""
    return {
        "text": " ".join(str(facts).split()),
        "notebook": read_part(facts._repr_html_()),
        "page": checked(page_text(facts)).text.replace("\xa0", " "),
    }


# -- the first sentence -----------------------------------------------------------------
@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (promised(), "Certified at 95 % confidence: precision is at least 90 % on new rows drawn "
         "like these"),
        (promised(next_rows=1000), "Certified at 95 % confidence: precision is at least 90 % among "
         "the next 1,000 rows that it refers to"),
        (promised(tests=(one_test(), one_test("predicted_rate <= 0.2")), goal=BOTH),
         "Certified at 95 % confidence: precision is at least 90 % and predicted rate is at most "
         "20 % on new rows drawn like these"),
        (promised(tests=(one_test(confidence=0.999), one_test("predicted_rate <= 0.2")), goal=BOTH),
         "Certified: precision is at least 90 % (at 99.9 % confidence) and predicted rate is at "
         "most 20 % (at 95 % confidence) on new rows drawn like these"),
        # What is not promised is not said to be.
        (promised(goal=BOTH), "Certified at 95 % confidence: precision is at least 90 % on new "
         "rows drawn like these"),
        (promised("approximate"), "Approximately at 95 % confidence, and not certified: precision "
         "is at least 90 % on new rows drawn like these"),
        (promised("not certified"), "NOT certified: these rows do not show at 95 % confidence that "
         "precision is at least 90 % on new rows"),
        # Only what failed is named.
        (promised("not certified", (one_test(), one_test("predicted_rate <= 0.2", passed=False)),
                  BOTH),
         "NOT certified: these rows do not show at 95 % confidence that predicted rate is at most "
         "20 % on new rows"),
        (report(), ""),
    ],
)  # fmt: skip
def test_the_first_sentence(facts, words):
    assert said(facts) == words


def test_a_bound_that_is_measured_is_promised_as_it_was_written():
    text = "recall >= recall.baseline() - 0.01"
    goal = f"maximize precision subject to {text}"
    (constraint,) = Goal.parse(goal).constraints
    facts = GoalReport(
        goal, Entry("precision", 0.7), (Entry(str(constraint), 0.8, 0.75, relation=">="),)
    )
    shown = one_test(str(constraint), value=None, limit=None)
    facts = with_guarantee(facts, Guarantee("certified", 0.95, "one rule", (shown,), 500))
    assert said(facts) == (
        "Certified at 95 % confidence: recall is at least recall of the deployed model minus 0.01 "
        "on new rows drawn like these"
    )


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("face", ["text", "notebook", "page"])
def test_it_leads_every_face(state, face):
    facts = promised(state)
    words = faces(facts)[face]
    assert words.count(said(facts)) >= 1
    before = words[: words.index(said(facts))]
    assert "recall" not in before.replace(facts.goal, "").replace("Goal:", "")
    for text in (*assurances(facts), *explained(facts)):
        assert text in words


@pytest.mark.parametrize("face", ["text", "notebook", "page"])
def test_without_a_guarantee_nothing_is_said_of_one(face):
    words = faces(report())[face]
    assert "What is promised" not in words
    assert words.replace("confidence=0.95 certifies it on new rows", "").count("ertif") == 0
    assert FLATTERS in words


# -- verdicts ---------------------------------------------------------------------------
def test_a_test_decides_the_verdict_and_not_the_limits():
    assert report().verdict == "too close to call"
    facts = promised()
    (entry,) = facts.constraints
    assert (entry.verdict, entry.certified, entry.passed) == ("shown", 0.9, True)
    assert (facts.verdict, facts.is_certified) == ("shown", True)
    # A later try is tested more strictly than by these limits.
    shown = replace(report(low=0.91).constraints[0])
    assert shown.verdict == "shown"
    facts = promised("not certified", low=0.91)
    assert (facts.constraints[0].verdict, facts.is_certified) == ("too close to call", False)
    facts = promised("not certified", low=0.8, high=0.85)
    assert facts.verdict == "shown to fail"


def test_what_is_approximate_leaves_the_entries_alone():
    facts = promised("approximate")
    assert facts.constraints == report().constraints
    assert facts.is_certified is False
    assert report().is_certified is None


def test_what_is_not_promised_keeps_its_own_verdict():
    facts = promised(goal=BOTH)
    assert [e.verdict for e in facts.constraints] == ["shown", "too close to call"]
    assert facts.verdict == "too close to call"
    assert facts.is_certified
    assert summary(facts) == "Of 2 constraints: 1 certified, 1 too close to call."
    rows = goal_table(facts).rows
    assert [row[6].text for row in rows] == ["Objective", "Certified", "Too close to call"]
    assert [row[5].text for row in rows] == ["", "at least 90 %", ""]
    assert few_rows(facts)[0].startswith("predicted_rate <= 0.2: measured on few rows")
    assert len(few_rows(facts)) == 1


# -- what goes with it ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (promised(), [ASSUMED, "It costs 3.1 points of recall: 71.2 % instead of 74.3 %."]),
        (promised(without=0.712), [ASSUMED, "It costs nothing of recall on these rows."]),
        (promised(without=0.70), [ASSUMED, "It costs nothing of recall on these rows."]),
        (promised(without=0.722),
         [ASSUMED, "It costs 1.0 point of recall: 71.2 % instead of 72.2 %."]),
        (promised(without=None), [ASSUMED]),
        (promised(without=None, attempt=2),
         [ASSUMED, "This is try 2 on the same rows, tested at 99.2 %."]),
        (promised(tests=(one_test(kind="gaffke"),), without=None),
         [ASSUMED, "The test is not proved for this kind of rate; in simulations it holds."]),
        (promised(tests=(one_test(), one_test("predicted_rate <= 0.2", kind="drawn")), goal=BOTH,
                  without=None),
         [ASSUMED, "The test of predicted_rate <= 0.2 is not proved for this kind of rate; in "
          "simulations it holds."]),
        (promised("not certified"),
         ["On the 1,000 rows that certify precision is 88.0 %, and the best bound that they "
          "certify for this rule is 85.4 %.",
          "The safest rule costs 3.1 points of recall: 71.2 % instead of 74.3 %."]),
        (promised("not certified", without=0.712, tests=(one_test(**FAILED | {"limit": None}),)),
         ["On the 1,000 rows that certify precision is 88.0 %, on new rows 89.0 % to 96.0 %."]),
        (report(), []),
    ],
)  # fmt: skip
def test_what_it_assumes_and_costs(facts, words):
    assert assurances(facts) == words


def test_a_cost_of_something_else_than_a_share():
    goal = 'minimize cost({("no", "yes"): 1}) subject to recall >= 0.9'
    facts = GoalReport(
        goal, Entry(goal.split(" subject")[0][9:], 3.5),
        (Entry("recall >= 0.9", 0.93, 0.9, relation=">="),),
    )  # fmt: skip
    tests = (one_test("recall >= 0.9"),)
    found = Guarantee("certified", 0.95, "one rule", tests, 500, reached=3.5, without=3.2)
    facts = with_guarantee(facts, replace(found, assumptions=SAFE))
    assert assurances(facts) == [
        ASSUMED, "It costs 0.30 of mean cost: 3.50 instead of 3.20.",
    ]  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_no_face_promises_a_probability_of_this_rule(state):
    first = explained(promised(state))[0]
    if state == "approximate":
        assert "a guide" in first
    else:
        assert first == (
            "Of all draws of these rows at most 5 % give a certified rule that breaks its bound on "
            "new rows. This says how often the method errs, and not how likely this one rule is to "
            "keep its bound."
        )
    for words in faces(promised(state)).values():
        assert "probability" not in words
        assert "95 % chance" not in words


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "rules from safe to bold were tested one after the other: 19 passed before the first "
         "that did not, and the best of these is kept."),
        ({"passed": 20}, "all 20 passed, and the best of these is kept."),
        ({"passed": 0}, "not even the first passed. The safest is kept."),
    ],
)  # fmt: skip
def test_how_it_was_tried(more, words):
    assert words in explained(promised(**more))[1]


@pytest.mark.parametrize(
    ("method", "tried", "passed", "words"),
    [
        ("every cut-off", 3601, 2919, "On 1,000 rows 3,601 cut-offs were tested: 2,919 passed"),
        ("one rule", 1, 1, "One rule was tested on 1,000 rows."),
        ("rules in no order", 3, 0, "none passed. The first is kept."),
        ("list of rules", 3, 2, "in the order given, were tested one after the other: 2 passed"),
    ],
)
def test_other_ways_to_try(method, tried, passed, words):
    found = replace(promised().guarantee, method=method, tried=tried, passed=passed)
    assert words in explained(report(guarantee=found))[1]


def test_the_next_rows_are_drawn_too():
    first = explained(promised(next_rows=100))[0]
    assert "of all draws of these rows and of the next 100 at most 5 %" in first.lower()
    assert "among the latter" in first


# -- what must not be said --------------------------------------------------------------
@pytest.mark.parametrize("state", STATES)
def test_rows_that_certify_did_not_choose_the_rule(state):
    facts = promised(state)
    known = " ".join(caveats(facts))
    assert FLATTERS not in known
    assert "half the time" not in known
    assert "those that certify" in rows_in_words(facts)
    advice = " ".join(map(str, advice_of(facts)))
    assert "These rows chose the rule" not in advice
    assert ("not the one that was tested" in advice) == (state == "approximate")
    assert "Search with" not in advice
    assert "Allow the search" not in advice
    assert stricter_goal(facts) is None
    assert ("measured on few rows" in known) == (state == "approximate")


def test_approximate_scores_are_those_of_folds():
    facts = promised("approximate")
    facts = replace(facts, search=replace(facts.search, folds=5))
    assert "those that tested the rule (scores from 5-fold" in rows_in_words(facts)


def test_what_would_certify():
    (advice,) = advice_of(promised("not certified", rows_needed=4800))
    assert str(advice) == (
        "Precision is not certified. About 4,800 rows that certify would do. Or loosen the bound, "
        "or ask for less confidence."
    )
    (advice,) = advice_of(promised("not certified", rows_needed=1_000_001))
    assert advice.remedy == (
        "On the rows that the path was learnt on these scores hardly reach the bound: more rows "
        "may not help. Loosen the bound, or ask for less confidence."
    )
    assert advice_of(promised()) == []


@pytest.mark.parametrize("at_shell", [False, True])
def test_without_a_guarantee_the_option_is_named(at_shell):
    option = "--confidence 0.95" if at_shell else "confidence=0.95"
    words = f"and judge it by those; or {option} certifies it on new rows."
    assert words in " ".join(map(str, advice_of(report(), at_shell=at_shell)))
    assert words in " ".join(report_text(report(), at_shell=at_shell).split())
    header = Header(command="setpoint fit a.csv --goal {goal}") if at_shell else Header()
    page = checked(page_text(report(), header=header)).text
    assert page.replace("\xa0", " ").count(words) == 2  # in the box, and as text
    # A family that cannot certify does not offer it.
    other = replace(report(), search=Search("online"))
    assert "certifies" not in " ".join(map(str, advice_of(other)))


# -- the page ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("facts", "tone", "word"),
    [
        (promised(), "shown", "Certified"),
        (promised("approximate"), "open", "Approximate, not certified"),
        (promised("not certified"), "open", "Not certified"),
        (promised("not certified", low=0.8, high=0.85), "fails", "Not certified"),
        (promised(goal=BOTH), "open", "Too close to call"),
        (report(), "open", "Too close to call"),
    ],
)
def test_the_box(facts, tone, word):
    box = report_document(facts, header=Header()).chapters[0]
    assert (box.tone, box.word) == (tone, word)
    # Nothing is known here of other rules: no margin is advised.
    assert "command" not in styles(box)


def test_the_third_column():
    page = page_text(promised())
    assert ">Certified</th>" in page
    assert "at least 90 %" in read_part(part(page, 1))
    assert read_part(part(page, 1)).endswith("Certified")
    page = page_text(promised("not certified"))
    assert ">Could be certified</th>" in page
    assert "at least 85.4 % Too close to call" in read_part(part(page, 1)).replace("\xa0", " ")
    for facts in (promised("approximate"), report()):
        assert "ertified</th>" not in page_text(facts)
    html = unescape(promised()._repr_html_())
    assert ">Certified</th>" in html
    assert ">at least 90 %</td>" in html


def test_own_confidences_stand_in_the_column():
    tests = (one_test(confidence=0.99), one_test("predicted_rate <= 0.2"))
    rows = goal_table(promised(tests=tests, goal=BOTH)).rows[1:]
    assert [row[5].text for row in rows] == ["at least 90 % at 99 %", "at most 20 % at 95 %"]


@pytest.mark.parametrize(
    ("low", "high", "first"),
    [(0.91, 0.96, True), (0.89, 0.96, True), (0.8, 0.85, False)],
)
def test_rows_held_out_follow_what_is_promised_unless_they_refute_it(low, high, first):
    held_out = replace(report(low=low, high=high), status="evaluated")
    facts = promised()
    page = checked(page_text(facts, held_out)).text.replace("\xa0", " ")
    head = headline(facts if first else held_out)
    assert page.startswith(head)
    assert said(facts) in page
    assert headline(held_out) in page
    assert "flatter" not in page
    box = report_document(held_out, facts, header=Header()).chapters[0]
    assert box.word == ("Certified" if first else "Shown to fail")
    assert "command" not in styles(box)
    assert not any("either side" in a.what for a in advice_of(held_out, facts))
    text = report_text(held_out, facts)
    assert said(facts) in " ".join(text.split())


# -- JSON -------------------------------------------------------------------------------
@pytest.mark.parametrize("state", STATES)
def test_to_json_and_back(state):
    facts = promised(state, rows_needed=77, next_rows=5, path=((6.0, 0.5), (float("inf"), 0.7)))
    data = json.loads(facts.to_json())
    assert data["format"] == 3
    assert data["guarantee"]["state"] == state
    assert data["guarantee"]["constraints"][0]["text"] == "precision >= 0.9"
    back = GoalReport.from_dict(data)
    assert back == facts
    assert str(back) == str(facts)
    assert type(back.guarantee) is Guarantee


# -- refusals ---------------------------------------------------------------------------
def refusal(best=None, **more):
    found = replace(promised("not certified").guarantee, **more)
    return refused(Unshown(found, Goal.parse(GOAL), best or BestBounds()))


def test_a_refusal_in_words():
    text = "precision >= 0.9"
    best = BestBounds({text: 0.85}, {text: 0.85432}, {text: 0.88}, 0.413)
    error = refusal(best, rows_needed=4800)
    assert isinstance(error, NotCertifiable)
    first = (
        "Even the safest rule does not pass its test on the 1,000 rows that certify: they do not "
        "show precision >= 0.9 at 95 % confidence. "
    )
    assert error.finding == (
        f"{first}The most that they show of any rule tried is precision >= 0.85; recall is then "
        "41.3 %. About 4,800 rows that certify would do"
    )
    assert error.remedy == "`on_uncertified='nearest'` gives the safest rule without a guarantee"
    assert (error.constraint, error.value, error.limit, error.rows_needed, error.reached) == (
        text, 0.88, 0.85432, 4800, 0.413,
    )  # fmt: skip
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.reachable, back.reached) == (str(error), {text: 0.85}, 0.413)


def test_a_refusal_that_nothing_helps():
    error = refusal(BestBounds(out_of_reach=True))
    assert error.finding.endswith(
        "No rule tried comes near what was asked on these scores: more rows would not help. "
        "Loosen the bound, or ask for less confidence"
    )
    assert (error.limit, error.reachable) == (0.85432, {})


def test_an_absurd_number_of_rows_is_none():
    assert refusal(rows_needed=1_000_000).rows_needed == 1_000_000
    error = refusal(rows_needed=1_000_001)
    assert error.rows_needed is None
    assert "hardly reach the bound: more rows may not help. Loosen" in str(error)
    assert "do." not in str(refusal(rows_needed=None))


def test_a_confidence_of_its_own_is_said_once():
    text = "precision >= 0.9 with confidence 0.99"
    error = refusal(constraints=(one_test(text, confidence=0.99, **FAILED),))
    assert "they do not show precision >= 0.9 with confidence 0.99. Loosen" in str(error)


@pytest.mark.parametrize(
    ("limit", "text", "best"),
    [
        (0.85432, "precision >= 0.9", 0.854),
        (0.85432, "churn <= 0.1", 0.855),
        (None, "precision >= 0.9", None),
        (float("nan"), "precision >= 0.9", None),
        # Any rule has these.
        (0.0, "precision >= 0.9", None),
        (1.0, "churn <= 0.1", None),
    ],
)
def test_the_best_bound_is_rounded_to_the_safe_side(limit, text, best):
    assert best_limit(limit, text) == best


def test_the_page_of_a_refusal():
    goal = Goal.parse(GOAL)
    found = infeasible_document(goal, str(refusal()), headline=UNCERTIFIED)
    page = checked(as_page(found)).text
    assert page.startswith(UNCERTIFIED)
    assert "Even the safest rule does not pass" in page
    assert "What can be met" not in page


# -- the picture ------------------------------------------------------------------------
PATH = ((60.0, 0.3), (6.0, 0.5), (3.0, 0.6), (1.0, 0.7), (-20.0, 0.9))


def test_the_path_is_drawn_for_statisticians():
    page = page_text(promised(path=PATH, passed=2))
    assert "From safe to bold" in page
    assert "5 rules by margin and objective; the first 2 passed the test." in page
    assert page.index("For statisticians") < page.index("From safe to bold")
    for few in ((), PATH[:2], ((1.0, float("nan")),) * 5):
        assert "From safe to bold" not in page_text(promised(path=few, passed=1))


@pytest.mark.parametrize(
    ("path", "passed", "labels", "places"),
    [
        (PATH, 2, ["passed", "did not pass", "not tested any more"], 5),
        (PATH, 5, ["passed"], 5),
        (PATH, 0, ["did not pass", "not tested any more"], 5),
        (((float("inf"), 0.1), *PATH), 3, ["passed", "did not pass", "not tested any more"], 6),
        # A rule without an objective has no place, and is counted all the same.
        (((70.0, float("nan")), *PATH), 2, ["passed", "did not pass", "not tested any more"], 5),
        (((2.0, 0.5),) * 3, 3, ["passed"], 3),
    ],
)
def test_the_picture_of_a_path(path, passed, labels, places):
    ax = Figure().subplots()
    plot_rule_path(path, passed, "recall", ax=ax)
    handles, found = ax.get_legend_handles_labels()
    assert found == labels
    assert sum(len(h.get_xdata()) for h in handles) == places
    known = [math.isfinite(v) for _, v in path[:passed]]
    if "passed" in found:
        assert len(handles[found.index("passed")].get_xdata()) == sum(known)
    # Safe rules are on the left.
    left, right = ax.get_xlim()
    assert left > right
    line = ax.get_lines()[0].get_xdata()
    assert list(line) == sorted(line, reverse=True)

"""What is promised comes first in every face, and is nothing surer or vaguer than it is."""

import pickle
from dataclasses import replace

from report.page_reading import advice, checked, page_text, read_part, said, words_of
from report.pages import COUNTS
from setpoint import Goal, NotCertifiable
from setpoint.guarantees import BestBounds, Guarantee, Rung, Shown, Unshown
from setpoint.report import (
    Entry,
    GoalReport,
    Header,
    Search,
    goal_table,
    headline,
    refused,
    report_document,
    report_text,
    stricter_goal,
    with_guarantee,
)
from thinning import over

GOAL = "maximize recall subject to precision >= 0.9"
BOTH = f"{GOAL} and predicted_rate <= 0.2"
SAFE = "The rows that certify are drawn like those to come."
ASSUMED = "It is assumed that the rows that certify are drawn like those to come."
STATES = ("certified", "approximate", "not certified")
FAILED = {"passed": False, "value": 0.88, "limit": 0.85432, "p_value": 0.4}


def one_test(text="precision >= 0.9", **more):
    known = {"confidence": 0.95, "p_value": 0.031, "kind": "binomial", "passed": True}
    return Shown(**{"text": text, "value": 0.93, "limit": 0.91} | known | more)


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


def promised(state="certified", tests=None, goal=GOAL, method="path of rules", **more):
    """The same with a guarantee."""
    if tests is None:
        tests = (one_test(**(FAILED if state == "not certified" else {})),)
    given = {
        "rows": 1000, "tried": 20, "passed": 0 if state == "not certified" else 19,
        "reached": 0.712, "without": 0.743, "assumptions": SAFE,
    } | more  # fmt: skip
    level = min(t.confidence for t in tests)
    facts = {k: given.pop(k) for k in ("low", "high") if k in given}
    return report(goal, Guarantee(state, level, method, tests, **given), **facts)


def box(facts, held_out=None):
    """The box of the verdict on a page."""
    lead = (facts,) if held_out is None else (held_out, facts)
    return report_document(*lead, header=Header()).chapters[0]


@over(
    ("facts", "words"),
    [
        (promised(next_rows=1000), "Certified at 95 % confidence: precision is at least 90 % among "
         "the next 1,000 rows that it refers to"),
        (promised(tests=(one_test(confidence=0.999), one_test("predicted_rate <= 0.2")), goal=BOTH),
         "Certified: precision is at least 90 % (at 99.9 % confidence) and predicted rate is at "
         "most 20 % (at 95 % confidence) on new rows drawn like these"),
        (promised("approximate"), "Approximately at 95 % confidence, and not certified: precision "
         "is at least 90 % on new rows drawn like these"),
        # Only what failed is named.
        (promised("not certified", (one_test(), one_test("predicted_rate <= 0.2", passed=False)),
                  BOTH),
         "NOT certified: these rows do not show at 95 % confidence that predicted rate is at most "
         "20 % on new rows"),
    ],
)  # fmt: skip
def test_the_first_sentence(facts, words):
    assert headline(facts) == words


def explained(facts):
    """What exactly is promised, and how it was tested."""
    details = report_document(facts).chapters[-1]
    (found,) = (c for c in details.blocks if getattr(c, "title", "") == "What is promised")
    return [str(line) for line in found.blocks[0].lines]


@over("state", STATES)
def test_it_leads_every_face_and_is_not_called_probable(state):
    facts = promised(state)
    page, notebook = checked(page_text(facts)), read_part(facts._repr_html_())
    for words in (words_of(facts), notebook, page):
        before = words[: words.index(headline(facts))]
        assert "recall" not in before.replace(facts.goal, "").replace("Goal:", "")
        for text in (*box(facts).blocks[0].lines, *explained(facts)):
            assert text in words
        assert "probability" not in words
        assert "95 % chance" not in words
    first = explained(facts)[0]
    if state == "approximate":
        assert "a guide" in first
    else:
        assert "how often the method errs, and not how likely this one rule is to" in first


def test_a_test_decides_the_verdict_and_not_the_limits():
    assert report().verdict == "too close to call"
    facts = promised()
    (entry,) = facts.constraints
    assert (entry.verdict, entry.certified, entry.passed) == ("shown", 0.9, True)
    assert (facts.verdict, facts.is_certified) == ("shown", True)
    # A later try is tested more strictly than by these limits.
    assert report(low=0.91).constraints[0].verdict == "shown"
    facts = promised("not certified", low=0.91)
    assert (facts.constraints[0].verdict, facts.is_certified) == ("too close to call", False)
    assert promised("not certified", low=0.8, high=0.85).verdict == "shown to fail"
    facts = promised("approximate")
    assert facts.constraints == report().constraints
    assert (facts.is_certified, report().is_certified) == (False, None)


def test_what_is_not_promised_keeps_its_own_verdict():
    facts = promised(goal=BOTH)
    assert [e.verdict for e in facts.constraints] == ["shown", "too close to call"]
    assert facts.verdict == "too close to call"
    assert facts.is_certified
    assert "Of 2 constraints: 1 certified, 1 too close to call." in words_of(facts)
    (few,) = said(facts, "cautions")
    assert few.startswith("predicted_rate <= 0.2: measured on few rows")


MONEY = 'minimize cost({("no", "yes"): 1}) subject to precision >= 0.9'


@over(
    ("facts", "words"),
    [
        (promised(without=0.712), [ASSUMED, "It costs nothing of recall on these rows."]),
        (promised(without=0.722),
         [ASSUMED, "It costs 1.0 point of recall: 71.2 % instead of 72.2 %."]),
        (promised(goal=MONEY, reached=3.5, without=3.2),
         [ASSUMED, "It costs 0.30 of mean cost: 3.50 instead of 3.20."]),
        (promised(without=None, attempt=2),
         [ASSUMED, "This is try 2 on the same rows, tested at 99.2 %."]),
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
    ],
)  # fmt: skip
def test_what_it_assumes_and_costs(facts, words):
    assert box(facts).blocks[0].lines == (" ".join(words),)


@over(
    ("more", "words"),
    [
        ({"next_rows": 9}, "rules from safe to bold were tested one after the other: 19 passed "
         "before the first that did not, and the best of these is kept."),
        ({"passed": 20}, "all 20 passed, and the best of these is kept."),
        ({"method": "every cut-off", "tried": 3601, "passed": 2919},
         "On 1,000 rows 3,601 cut-offs were tested: 2,919 passed"),
        ({"method": "one rule", "tried": 1, "passed": 1}, "One rule was tested on 1,000 rows."),
    ],
)  # fmt: skip
def test_how_it_was_tried(more, words):
    first, tried, *_ = explained(promised(**more))
    assert words in tried
    assert ("and of the next 9 at most 5 %" in first) == ("next_rows" in more)


def test_rules_that_were_not_tested_and_bounds_that_hold_on_any_rows():
    tested = [Rung(0.1, 0.7, 1.0, i < 19) for i in range(20)]
    others = [Rung(m, v, 0.0, False) for m, v in ((0.1, 0.8), (-0.1, 0.99), (0.2, 0.85))]
    path = (*tested, *others)
    (line,) = box(promised(path=path)).blocks[0].lines
    assert line.endswith(
        "Of the 23 rules of the path 20 were tested and 19 passed. Of the others 3 kept the bounds "
        "where the path was learnt, and recall reached 85.0 % there."
    )
    (line,) = box(promised(path=path, rows_needed=2_300)).blocks[0].lines
    assert line.endswith("85.0 % there. About 2,300 rows that certify would do.")
    whole = tuple(replace(rung, passed=True) for rung in path)
    for more in ({"reached": 0.8}, {"path": path[:20]}, {"path": whole}):
        assert "rules of the path" not in box(promised(**{"path": path} | more)).blocks[0].lines[0]


def test_two_starts_are_named_with_their_shares():
    shares = ((0.3, True), (0.3, False), (0.7, True), (0.7, True), (0.7, False))
    path = tuple(Rung(4.0 - i, 0.5 + 0.1 * i, *own) for i, own in enumerate(shares))
    _, tried, *_ = explained(promised(path=path, tried=5, passed=3))
    assert tried.endswith(
        "were tested one after the other, beginning with rule 1 at 30 % of the level and with rule "
        "3 at 70 % of the level: 3 of 5 passed, and the best of these is kept."
    )


def test_of_bounds_that_hold_on_any_rows_the_test_says_so():
    sure = one_test("predicted_rate <= 1", kind="trivial")
    assert explained(promised(tests=(sure,)))[-1] == "predicted_rate <= 1 holds on any rows."


@over("state", STATES)
def test_rows_that_certify_did_not_choose_the_rule(state):
    facts = promised(state)
    known = " ".join(said(facts, "cautions"))
    assert "The rule was chosen on these very rows" not in known
    assert ("measured on few rows" in known) == (state == "approximate")
    assert ("not the one that was tested" in advice(facts)) == (state == "approximate")
    assert stricter_goal(facts) is None
    # Without a guarantee the option is named, but for a family that cannot certify.
    assert "or confidence=0.95 certifies it on new rows." in words_of(report())
    assert "or --confidence 0.95 certifies" in words_of(report_text(report(), at_shell=True))
    assert "certifies" not in advice(replace(report(), search=Search("online")))


def test_what_would_certify():
    for rows, words in ((4800, "About 4,800 rows that"), (1_000_001, "more rows may not help")):
        text = advice(promised("not certified", rows_needed=rows))
        assert text.startswith("Precision is not certified.")
        assert words in text
    assert advice(promised()) == ""


@over(
    ("facts", "head", "cell", "tone", "word"),
    [
        (promised("not certified", low=0.8, high=0.85), "Could be certified", "at least 85.4 %",
         "fails", "Not certified"),
        (promised("approximate"), "", "", "open", "Approximate, not certified"),
        (report(), "", "", "open", "Too close to call"),
        (promised(tests=(one_test(confidence=0.99), one_test("predicted_rate <= 0.2")), goal=BOTH),
         "Certified", "at least 90 % at 99 %, at most 20 % at 95 %", "shown", "Certified"),
        # The best bound is rounded to the safe side; what any rule has is not one.
        *((promised("not certified", (one_test(text, **FAILED | {"limit": limit}),),
                    f"maximize recall subject to {text}"),
           "Could be certified" if best else "", best, "open", "Not certified")
          for limit, text, best in (
              (0.85432, "precision >= 0.9", "at least 85.4 %"),
              (0.85432, "churn <= 0.1", "at most 85.5 %"), (None, "precision >= 0.9", ""),
              (0.0, "precision >= 0.9", ""), (1.0, "churn <= 0.1", ""),
          )),
    ],
)  # fmt: skip
def test_the_box_and_the_column_of_what_is_certified(facts, head, cell, tone, word):
    table = goal_table(facts)
    assert table.head[5] == head
    assert ", ".join(row[5].text for row in table.rows[1:]) == cell
    if facts.constraints[0].text.startswith("precision"):
        assert (box(facts).tone, box(facts).word) == (tone, word)


@over(("low", "high", "first"), [(0.89, 0.96, True), (0.8, 0.85, False)])
def test_rows_held_out_follow_what_is_promised_unless_they_refute_it(low, high, first):
    held_out = replace(report(low=low, high=high), status="evaluated")
    facts = promised()
    page = checked(page_text(facts, held_out))
    assert page.startswith(headline(facts if first else held_out))
    assert headline(facts) in page
    assert headline(held_out) in page
    assert box(facts, held_out).word == ("Certified" if first else "Shown to fail")
    assert said(held_out, "command", facts) == []
    assert headline(facts) in words_of(report_text(held_out, facts))


def refusal(best=None, **more):
    found = replace(promised("not certified").guarantee, **more)
    return refused(Unshown(found, Goal.parse(GOAL), best or BestBounds()))


def test_a_refusal_in_words():
    text = "precision >= 0.9"
    best = BestBounds({text: 0.85}, {text: 0.85432}, {text: 0.88}, 0.413)
    error = refusal(best, rows_needed=4800)
    assert isinstance(error, NotCertifiable)
    assert error.finding == (
        "Even the safest rule does not pass its test on the 1,000 rows that certify: they do not "
        "show precision >= 0.9 at 95 % confidence. The most that they show of any rule tried is "
        "precision >= 0.85; recall is then 41.3 %. About 4,800 rows that certify would do"
    )
    assert (error.constraint, error.value, error.limit) == (text, 0.88, 0.85432)
    assert (error.rows_needed, error.reached) == (4800, 0.413)
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.reachable, back.reached) == (str(error), {text: 0.85}, 0.413)


def test_a_refusal_that_nothing_helps():
    error = refusal(BestBounds(out_of_reach=True))
    assert "more rows would not help. Loosen the bound" in error.finding
    # An absurd number of rows is not said.
    assert refusal(rows_needed=1_000_000).rows_needed == 1_000_000
    error = refusal(rows_needed=1_000_001)
    assert error.rows_needed is None
    assert "hardly reach the bound: more rows may not help. Loosen" in str(error)

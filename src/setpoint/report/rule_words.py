"""The rule, how it was found and what is certified of it, in sentences."""

from __future__ import annotations

from setpoint.goals.goal import Goal
from setpoint.goals.populations import column_in_words
from setpoint.report.facts import Facts
from setpoint.report.findings import sentence
from setpoint.report.numbers import percent
from setpoint.report.promised import statement
from setpoint.report.units import shown, unit_of
from setpoint.tolerances import SATISFIED

__all__ = ["certificate", "covered", "how_found", "rule_lines"]

_HOW = {
    "optimal": "the best rule of its kind, proved",
    "feasible": "a rule that meets the goal; a better one may exist",
    "stationary": "no small change improves the rule; a better one may exist",
    "nearest": "no rule meets the goal; this one comes nearest",
}


def rule_lines(facts: Facts, goal: Goal) -> list[str]:
    """The rule in words, what it looks at, and what draws would gain."""
    rule = facts.rule
    lines = rule.text.split("\n") if rule.text else []
    if rule.decides_on:
        columns = ", ".join(map(column_in_words, rule.decides_on))
        lines.append(f"It looks at {columns} beside the score.")
    if rule.drawn > 0:
        lines.append(f"The decision on {percent(rule.drawn)} of the rows is drawn.")
    if facts.certificate.with_draws is not None:
        unit, entry = unit_of(goal.objective), facts.objective
        now = entry.value if entry.posteriors is None else entry.posteriors
        better = shown(facts.certificate.with_draws, unit)
        lines.append(f"With draws {entry.text} could reach {better} ({shown(now, unit)} without).")
    return lines


def how_found(facts: Facts) -> str:
    """How the rule was found, and why this way; "" for decisions that were only measured."""
    how, search = _HOW.get(facts.status, ""), facts.search
    if search.evidence == "soft" and facts.status in ("optimal", "feasible", "stationary"):
        how += ", judged by posteriors"
    return " ".join(f"{sentence(text)}." for text in (how, search.why) if text)


def certificate(facts: Facts, goal: Goal) -> str:
    """What is known of the objective beyond the rows, and what the gap says."""
    known, unit = facts.certificate, unit_of(goal.objective)
    sentences = []
    if facts.objective.posteriors is not None:
        sentences.append(_by_posteriors(facts, shown(facts.objective.posteriors, unit)))
    if known.gap is not None:
        out = f"{'Then no' if sentences else 'No'} other {known.rivals} on these scores has "
        if known.gap <= SATISFIED:
            out += "a better objective (proved)."
        else:
            out += f"an objective better by more than {shown(known.gap, unit)} (proved)."
        sentences.append(out)
        if any(e.denominator is not None for e in facts.entries):
            sentences.append(
                "Ratios with a denominator of less than one expected row are excluded."
            )
    return " ".join(sentences)


def covered(facts: Facts) -> str:
    """What is certified or proved of a rule, for who asks about one decision of it: a sentence.

    Examples
    --------
    >>> from setpoint.report.entry import Entry
    >>> from setpoint.report.facts import Certificate
    >>> print(covered(Facts("maximize recall", Entry("recall", 0.8))))
    Nothing is certified of the rule.
    >>> print(covered(Facts("maximize recall", Entry("recall", 0.8), certificate=Certificate(0.0))))
    On the scores that it was chosen on no other rule is better (proved), and nothing is \
certified on new rows; this is said of all rows together, not of a single one.
    """
    goal, known = Goal.parse(facts.goal), facts.certificate
    if facts.guarantee is not None:
        out = statement(facts, goal)
    elif known.gap is not None:
        better = "better"
        if known.gap > SATISFIED:
            better += f" by more than {shown(known.gap, unit_of(goal.objective))}"
        out = (
            f"On the scores that it was chosen on no other {known.rivals} is {better} (proved), "
            "and nothing is certified on new rows"
        )
    else:
        return "Nothing is certified of the rule."
    return f"{out}; this is said of all rows together, not of a single one."


def _by_posteriors(facts: Facts, value: str) -> str:
    """What soft evidence says."""
    known = facts.certificate
    past = known.violation or 0.0
    met = "" if not facts.constraints else " and every constraint is met"
    if past > SATISFIED:
        met = f" and a constraint is violated by {past:.3g}"
    out = "The rule was found on posteriors"
    if known.calibration is not None:
        out += (
            f", which differ from the labels by up to {percent(known.calibration)} of the rows in "
            "a pair of true and predicted class"
        )
    return f"{out}. If they are right, the objective is {value}{met}."

"""What a report finds, in sentences that every face shows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from setpoint.goals import (
    EVERYWHERE,
    Const,
    Constraint,
    Expression,
    Goal,
    Metric,
    Reduce,
    column_in_words,
    walk,
)
from setpoint.inference import FAILS, FEW_UNITS, OPEN, SHOWN
from setpoint.parameters import SATISFIED
from setpoint.report.entry import LEVEL, Entry, smallest_group
from setpoint.report.facts import Facts, GoalPart
from setpoint.report.numbers import count, named, percent, plural
from setpoint.report.operating import Plane, precision_band
from setpoint.report.promised import rows_of, statement

# --- What rules reach, by the cut-offs that a report knows ----------------------------------------


_LARGE = 0.1
"""A unit with such a share of the rows decides much by itself."""

_FEW = 10.0
"""Fewer rows accepted are a handful."""

_HARDLY_ANY = 0.05
"""A smaller share of the class is hardly anybody."""

_OF_ONE_CLASS = ("recall", "false_positive_rate", "specificity", "predicted_rate")
"""Shares of rows that no decision changes: the same for all groups where all are decided alike."""


class ShownFloor(NamedTuple):
    """The strictest floor on precision that rows show of any cut-off, and the recall there."""

    bound: float
    recall: float


def few_found(facts: Facts, part: GoalPart) -> str:
    """That a handful is found, of whom a precision says little; "" where it is not so."""
    known, x, positive = facts.counts.confusion, part.x, facts.counts.positive
    if not isinstance(x, Metric) or x.name != "precision" or len(known) != 3:
        return ""
    if x.population != EVERYWHERE or x.only_decided or x.label not in (None, positive):
        return ""
    (_, wrong), (missed, right) = known[0], known[1]
    held = right + missed + sum(facts.counts.deferred[1:2])
    if not 0.0 < right + wrong < _FEW or right >= _HARDLY_ANY * held:
        return ""
    assert positive is not None
    return f"almost nobody of {named(positive)} is found ({count(right)} of {count(held)})"


def best_precision(facts: Facts) -> ShownFloor | None:
    """The strictest floor on precision in whole per cent, by limits that hold at all cut-offs."""
    points = facts.one_curve
    if points is None:
        return None
    (curve,) = points.curves
    n = len(curve.recall)
    low, _ = precision_band(curve, points, 1.0 - 2.0 * (1.0 - LEVEL) / n)
    if not len(low):
        return None
    bound = math.floor(100.0 * float(low.max()) + 1e-9) / 100.0
    recall = np.array(curve.recall[n - len(low) :])
    return ShownFloor(bound, float(recall[low >= bound].max())) if bound > 0.0 else None


def is_reached(searched: Facts, goal: Goal) -> bool:
    """Whether some rule that is known meets other bounds on the rows that a rule was chosen on."""
    pairs = zip(searched.constraints, goal.constraints, strict=True)
    if all(_meets(*pair) for pair in pairs) or all(map(_is_gap, goal.constraints)):
        return True
    points = searched.one_curve
    if points is None:
        return False
    (curve,) = points.curves
    plane = Plane.of(goal, points)
    met = plane.slack(curve.false_positive_rate, curve.recall) >= -SATISFIED
    if plane.left_out:  # known at the bounds that were searched
        same = set(plane.left_out) <= set(searched.parsed_goal.constraints)
        met &= np.array(curve.feasible) if same and curve.feasible else False
    return bool(met.any())


def _meets(entry: Entry, c: Constraint) -> bool:
    """Whether the rule that was found does."""
    if entry.value is None or not isinstance(c.rhs, Const):
        return False
    past = c.rhs.value - entry.value
    return (past if c.relation == ">=" else -past) <= SATISFIED


def _is_gap(c: Constraint) -> bool:
    """Whether a rule that decides all rows alike meets a constraint."""
    x = c.lhs.inner if isinstance(c.lhs, Reduce) and c.lhs.kind == "difference" else None
    return isinstance(x, Metric) and c.relation == "<=" and x.name in _OF_ONE_CLASS


# --- What a report finds, in sentences that every face shows: verdict, values ---------------------


SEARCHED = ("optimal", "feasible", "stationary", "nearest")

_PLAIN = {
    "precision": "{value} of those accepted are right",
    "recall": "{value} of {cases} are found",
    "predicted_rate": "{value} of the rows are accepted",
    "accuracy": "{value} of the decisions are right",
    "error_rate": "{value} of the decisions are wrong",
    "churn": "{value} of the decisions differ from the deployed model's",
    "deferral_rate": "{value} of the rows are deferred to a person",
    "false_positive_rate": "{value} of the others are accepted",
    "specificity": "{value} of the others are left out",
}
"""Findings about metrics of all rows that people have words for."""

_OVER_CLASSES = {
    "min_recall", "balanced_accuracy", "g_mean", "h_mean", "q_mean", "macro_f1", "macro_precision",
}  # fmt: skip
"""Metrics that weigh all classes alike."""

_ORDER = (FAILS, OPEN, None, SHOWN)


_NOT_OF_ROWS = {"f1", "fbeta", "jaccard", "micro_f1", "profit", "value"}
"""Shares of counts that are not rows, such as 2 tp of 2 tp + fp + fn."""


def share_of_rows(part: GoalPart) -> str:
    """Counts, where they are of rows and their share is the value; "" where they are not."""
    x, value, k, n = part.x, part.entry.value, part.entry.numerator, part.entry.denominator
    of_rows = isinstance(x, Metric) and x.name not in _NOT_OF_ROWS and part.unit == "share"
    if not of_rows or value is None or k is None or not n or k > n:
        return ""
    return f"{count(k)} of {count(n)}" if abs(value * n - k) <= 1e-9 * n else ""


def headline(facts: Facts) -> str:
    """What is promised, or else what was found: the constraint that decides, or the objective."""
    promised, verdict = statement(facts), facts.verdict
    if promised:
        return promised
    if facts.status == "nearest":
        return "No rule meets the goal: this is the one that comes nearest"
    if not facts.parts:
        return sentence(_finding(facts, facts.aim))
    if verdict == OPEN:
        for part in facts.parts:
            few = few_found(facts, part) if part.entry.verdict == OPEN else ""
            if few:
                return f"At a precision of {part.asked(part.entry.bound)} {few}: {verdict}"
    if verdict == SHOWN and len(facts.parts) > 1:
        return f"All {len(facts.parts)} constraints hold: shown"
    part = min(facts.parts, key=lambda part: _ORDER.index(part.entry.verdict))
    if part.entry.verdict is None:
        return f"{sentence(part.words)} was not evaluated: {OPEN}"
    found, bound = sentence(_finding(facts, part)), part.asked(part.entry.bound)
    if part.of_none:
        return f"{found} ({bound} asked): {verdict}"
    where = f" on rows {fitted_on(facts)}" if facts.counts.seen > 0 else ""
    return f"{found}, {bound} asked: {verdict}{where}"


def fitted_on(facts: Facts) -> str:
    """How many of the rows the model was fitted on, after "rows": what they show flatters it."""
    return f"{percent(facts.counts.seen)} of which the model was fitted on"


def empty(x: Expression) -> str:
    """Which rows such a share lacks."""
    if isinstance(x, Metric) and x.only_decided:
        return "no row is decided"
    plain = isinstance(x, Metric) and x.population == EVERYWHERE and x.label is None
    return "no row is accepted" if plain else "no row is decided so"


def _finding(facts: Facts, part: GoalPart) -> str:
    x, positive = part.x, facts.counts.positive
    if part.entry.value is None:
        return f"{part.words} was not evaluated"
    if part.of_none:
        return f"{empty(x)}, so {part.words} cannot be counted"
    value = part.said(part.entry.value)
    few = "" if part.written is not None else few_found(facts, part)
    if few:
        return f"{few}; {part.words} is {value}"
    everywhere = isinstance(x, Metric) and x.population == EVERYWHERE and not x.only_decided
    if isinstance(x, Metric) and everywhere and x.name in _PLAIN:
        of_class = x.name not in ("accuracy", "error_rate", "churn", "deferral_rate")
        if not of_class or (positive is not None and x.label in (None, positive)):
            cases = "" if positive is None else named(positive)
            return _PLAIN[x.name].format(value=value, cases=cases)
    return f"{part.words} is {value}"


def summary(facts: Facts) -> str:
    """How many constraints have which verdict; "" where the headline says it all."""
    total = len(facts.constraints)
    if total < 2 or facts.verdict == SHOWN:
        return ""
    verdicts = [e.verdict for e in facts.constraints]
    certified = sum(bool(e.passed) for e in facts.constraints) if facts.is_certified else 0
    shown = verdicts.count(SHOWN) - certified
    numbers = {"certified": certified, SHOWN: shown}
    numbers |= {v: verdicts.count(v) for v in (OPEN, FAILS)}
    parts = [f"{n} {word}" for word, n in numbers.items() if n]
    if None in verdicts:
        parts.append(f"{verdicts.count(None)} not evaluated")
    return f"Of {plural(total, 'constraint')}: {', '.join(parts)}."


def rows_in_words(facts: Facts) -> str:
    """On which rows it was measured, and which class is the positive one."""
    text, counts = f"Measured on {rows_of(facts.counts)}", facts.counts
    folds = facts.search.folds
    crossed = f" (scores from {folds}-fold cross-validation)"
    if facts.section("stream") is not None:
        text += ", each decided by the rule of its moment"
    elif facts.guarantee is not None:
        some = folds in (None, 1)
        text += ", those that certify" if some else f", those that tested the rule{crossed}"
    elif facts.status in SEARCHED:
        how = {None: "", 1: " (held out from training)"}.get(folds, crossed)
        text += f", those that the rule was chosen on{how}"
    if facts.counts.positive is not None:
        text += f"; the positive class is {facts.counts.positive!r}"
    text, called, n = f"{text}.", counts.units_called, counts.n_rows
    if counts.units_alone:
        alone = plural(counts.units_alone, "row")
        text += f" Of {alone} the {called} are not known: each counts as one."
    if counts.units == n:
        return f"{text} The {called} have one row each: the same as without units."
    much = f"{n:,} rows tell as much as {n / (counts.design_effect or 1.0):,.0f}"
    return f"{text} Design effect {counts.design_effect:.2g}: {much}." if counts.units else text


def caveats(facts: Facts) -> list[str]:
    """What to know before any number is believed, the gravest first."""
    out = []
    if facts.status in SEARCHED and facts.constraints and facts.guarantee is None:
        out.append(
            "The rule was chosen on these very rows, so it looks better here than on new ones: a "
            "constraint that just holds here fails on new rows about half the time. Judge it by "
            "rows that took no part."
        )
    if facts.counts.seen > 0:
        out.append(
            f"{percent(facts.counts.seen)} of these rows are among those that the model was fitted "
            "on, so it looks better here than on new ones. Judge it by rows that took no part."
        )
    elif any(e.seen for e in facts.constraints):
        out.append(
            "These rows may have chosen the rule, which then looks better here than on new ones. "
            "Judge it by rows that took no part."
        )
    if facts.rule.drawn > 0:
        out.append(f"The decision on {percent(facts.rule.drawn)} of the rows is drawn.")
    called, few = facts.counts.units_called, facts.counts.effective_units
    if 0.0 < few < FEW_UNITS:
        out.append(f"Few units: limits are rough ({few:.3g} {called} of equal size tell as much).")
    if facts.counts.largest_unit >= _LARGE:
        out.append(
            f"One of the {called} has {percent(facts.counts.largest_unit)} of the rows: another "
            "like it changes every value, so limits are wide and little is promised; with "
            "`largest_unit` of Confidence it counts for less."
        )
    return out + few_rows(facts)


def few_rows(facts: Facts) -> list[str]:
    """A sentence for each constraint with a wide interval, but those that a guarantee judges."""
    return [
        f"{part.entry.text}: measured on few rows ({_behind(facts, part.entry, part.written)}): "
        f"{facts.counts.on_new} it may be anywhere from {part.limits}."
        for part in facts.parts
        if part.entry.few_rows and part.entry.passed is None and part.written is not None
    ]


def _behind(facts: Facts, entry: Entry, constraint: Constraint) -> str:
    """Which rows decide it."""
    if facts.counts.units:
        return f"{entry.effective_rows:,.0f} independent ones tell as much"
    small = smallest_group(constraint, facts.groups)
    if small is not None:
        return f"{small.rows:,} in the smallest group, {small.name}"
    counts = facts.counts
    sizes = {label: counts.of_class(code) for code, label in enumerate(counts.classes)}
    held = {label: size for label, size in sizes.items() if size > 0}
    # The smallest class decides how much what weighs all classes the same varies.
    if held and any(
        not e.columns
        if isinstance(e, Reduce)
        else isinstance(e, Metric) and e.name in _OVER_CLASSES
        for e in walk(constraint.lhs)
    ):
        label = min(held, key=lambda one: held[one])
        return f"{count(held[label])} in the smallest class, {label!r}"
    return f"{entry.effective_rows:,.0f} decide it"


def sentence(text: str) -> str:
    """A text with a capital letter and no full stop."""
    return text[:1].upper() + text[1:].rstrip(".")


# --- The rule, how it was found and what is certified of it, in sentences -------------------------


_HOW = {
    "optimal": "the best rule of its kind, proved",
    "feasible": "a rule that meets the goal; a better one may exist",
    "stationary": "no small change improves the rule; a better one may exist",
    "nearest": "no rule meets the goal; this one comes nearest",
}


def rule_lines(facts: Facts) -> list[str]:
    """The rule in words, what it looks at, and what draws would gain."""
    rule = facts.rule
    lines = rule.text.split("\n") if rule.text else []
    if rule.decides_on:
        columns = ", ".join(map(column_in_words, rule.decides_on))
        lines.append(f"It looks at {columns} beside the score.")
    if rule.drawn > 0:
        lines.append(f"The decision on {percent(rule.drawn)} of the rows is drawn.")
    if facts.certificate.with_draws is not None:
        aim, entry = facts.aim, facts.objective
        now = aim.said(entry.value if entry.posteriors is None else entry.posteriors)
        better = aim.said(facts.certificate.with_draws)
        lines.append(f"With draws {entry.text} could reach {better} ({now} without).")
    return lines


def how_found(facts: Facts) -> str:
    """How the rule was found, and why this way; "" for decisions that were only measured."""
    how, search = _HOW.get(facts.status, ""), facts.search
    if search.evidence == "soft" and facts.status in ("optimal", "feasible", "stationary"):
        how += ", judged by posteriors"
    return " ".join(f"{sentence(text)}." for text in (how, search.why) if text)


def certificate(facts: Facts) -> str:
    """What is known of the objective beyond the rows, and what the gap says."""
    known, sentences = facts.certificate, []
    if facts.objective.posteriors is not None:
        sentences.append(_by_posteriors(facts))
    if known.gap is not None:
        out = f"{'Then no' if sentences else 'No'} other {known.rivals} on these scores has "
        if known.gap <= SATISFIED:
            out += "a better objective (proved)."
        else:
            out += f"an objective better by more than {facts.aim.said(known.gap)} (proved)."
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
    known = facts.certificate
    if facts.guarantee is not None:
        out = statement(facts)
    elif known.gap is not None:
        better = "better"
        if known.gap > SATISFIED:
            better += f" by more than {facts.aim.said(known.gap)}"
        out = (
            f"On the scores that it was chosen on no other {known.rivals} is {better} (proved), "
            "and nothing is certified on new rows"
        )
    else:
        return "Nothing is certified of the rule."
    return f"{out}; this is said of all rows together, not of a single one."


def _by_posteriors(facts: Facts) -> str:
    """What soft evidence says."""
    known, value = facts.certificate, facts.aim.said(facts.objective.posteriors)
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

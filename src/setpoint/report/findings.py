"""What a report finds, in sentences that every face shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    in_words,
    walk,
)
from setpoint.inference import FAILS, OPEN, SHOWN
from setpoint.parameters import SATISFIED
from setpoint.report.entry import LEVEL, Entry, smallest_group
from setpoint.report.facts import Facts
from setpoint.report.numbers import asked, count, named, percent, plural, shown, unit_of
from setpoint.report.promised import statement

# --- What rules reach, by the cut-offs that a report knows ----------------------------------------


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


def few_found(facts: Facts, x: Expression) -> tuple[float, float] | None:
    """How many of how many of the class are found, where a precision is one of a handful."""
    known = facts.counts.confusion
    if not isinstance(x, Metric) or x.name != "precision" or len(known) != 3:
        return None
    if x.population != EVERYWHERE or x.only_decided or x.label not in (None, facts.counts.positive):
        return None
    (_, wrong), (missed, right) = known[0], known[1]
    held = right + missed + sum(facts.counts.deferred[1:2])
    handful = 0.0 < right + wrong < _FEW and right < _HARDLY_ANY * held
    return (right, held) if handful else None


def best_precision(facts: Facts) -> ShownFloor | None:
    """The strictest floor on precision in whole per cent, by limits that hold at all cut-offs."""
    from setpoint.report.displays.curves import precision_band

    found = facts.section("operating")
    if found is None or len(found.points.curves) != 1:
        return None
    (curve,) = found.points.curves
    n = len(curve.recall)
    low, _ = precision_band(curve, found.points, 1.0 - 2.0 * (1.0 - LEVEL) / n)
    if not len(low):
        return None
    bound = math.floor(100.0 * float(low.max()) + 1e-9) / 100.0
    recall = np.array(curve.recall[n - len(low) :])
    return ShownFloor(bound, float(recall[low >= bound].max())) if bound > 0.0 else None


def is_reached(searched: Facts, goal: Goal) -> bool:
    """Whether some rule that is known meets other bounds on the rows that a rule was chosen on."""
    if _meets(searched.constraints, goal.constraints) or all(map(_is_gap, goal.constraints)):
        return True
    found = searched.section("operating")
    if found is None or len(found.points.curves) != 1:
        return False
    from setpoint.report.displays.curves import Plane

    (curve,) = found.points.curves
    plane = Plane.of(goal, found.points)
    met = plane.slack(curve.false_positive_rate, curve.recall) >= -SATISFIED
    if plane.left_out:  # known at the bounds that were searched
        same = set(plane.left_out) <= set(searched.parsed_goal.constraints)
        met &= np.array(curve.feasible) if same and curve.feasible else False
    return bool(met.any())


def _meets(entries: Sequence[Entry], constraints: Sequence[Constraint]) -> bool:
    """Whether the rule that was found does."""
    for entry, c in zip(entries, constraints, strict=True):
        if entry.value is None or not isinstance(c.rhs, Const):
            return False
        past = c.rhs.value - entry.value
        if (past if c.relation == ">=" else -past) > SATISFIED:
            return False
    return True


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


def share_of_rows(entry: Entry, x: Expression) -> str:
    """Counts, where they are of rows and their share is the value; "" where they are not."""
    k, n = entry.numerator, entry.denominator
    of_rows = isinstance(x, Metric) and x.name not in _NOT_OF_ROWS and unit_of(x) == "share"
    if not of_rows or entry.value is None or k is None or not n or k > n:
        return ""
    return f"{count(k)} of {count(n)}" if abs(entry.value * n - k) <= 1e-9 * n else ""


def headline(facts: Facts) -> str:
    """What is promised, or else what was found: the constraint that decides, or the objective."""
    promised = statement(facts)
    if promised:
        return promised
    if facts.status == "nearest":
        return "No rule meets the goal: this is the one that comes nearest"
    if not facts.constraints:
        return sentence(_finding(facts, facts.objective, facts.parsed_goal.objective))
    verdict = facts.verdict
    pairs = list(facts.pairs)
    entry, constraint = min(pairs, key=lambda pair: _ORDER.index(pair[0].verdict))
    if verdict == OPEN:
        few = next((p for p in pairs if p[0].verdict == OPEN and few_found(facts, p[1].lhs)), None)
        if few is not None:
            at = f"at a precision of {asked(few[1], few[0].bound)} {_hardly_any(facts, few[1].lhs)}"
            return f"{sentence(at)}: {verdict}"
    if verdict == SHOWN and len(pairs) > 1:
        return f"All {len(pairs)} constraints hold: shown"
    if entry.verdict is None:
        return f"{sentence(in_words(constraint.lhs))} was not evaluated: {OPEN}"
    if counts_nothing(entry):
        found = sentence(_finding(facts, entry, constraint.lhs))
        return f"{found} ({asked(constraint, entry.bound)} asked): {verdict}"
    found = _finding(facts, entry, constraint.lhs)
    where = f" on rows {fitted_on(facts)}" if facts.counts.seen > 0 else ""
    return f"{sentence(found)}, {asked(constraint, entry.bound)} asked: {verdict}{where}"


def fitted_on(facts: Facts) -> str:
    """How many of the rows the model was fitted on, after "rows": what they show flatters it."""
    return f"{percent(facts.counts.seen)} of which the model was fitted on"


def counts_nothing(entry: Entry) -> bool:
    """Whether a share is one of no rows, such as of those accepted: then its 0 says nothing."""
    return entry.denominator == 0.0 and entry.value == 0.0


def empty(x: Expression) -> str:
    """Which rows such a share lacks."""
    if isinstance(x, Metric) and x.only_decided:
        return "no row is decided"
    plain = isinstance(x, Metric) and x.population == EVERYWHERE and x.label is None
    return "no row is accepted" if plain else "no row is decided so"


def _finding(facts: Facts, entry: Entry, x: Expression) -> str:
    if entry.value is None:
        return f"{in_words(x)} was not evaluated"
    if counts_nothing(entry):
        return f"{empty(x)}, so {in_words(x)} cannot be counted"
    value = shown(entry.value, unit_of(x))
    if entry.relation is None and few_found(facts, x):
        return f"{_hardly_any(facts, x)}; {in_words(x)} is {value}"
    everywhere = isinstance(x, Metric) and x.population == EVERYWHERE and not x.only_decided
    if isinstance(x, Metric) and everywhere and x.name in _PLAIN:
        positive = facts.counts.positive if x.label is None else x.label
        of_class = x.name not in ("accuracy", "error_rate", "churn", "deferral_rate")
        if not of_class or (positive is not None and (x.label in (None, facts.counts.positive))):
            cases = "" if positive is None else named(positive)
            return _PLAIN[x.name].format(value=value, cases=cases)
    return f"{in_words(x)} is {value}"


def _hardly_any(facts: Facts, x: Expression) -> str:
    """That a handful is found, of whom a precision says little."""
    found = few_found(facts, x)
    positive = facts.counts.positive
    assert found is not None
    assert positive is not None
    cases = named(positive)
    return f"almost nobody of {cases} is found ({count(found[0])} of {count(found[1])})"


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
    text = f"Measured on {plural(facts.counts.n_rows, 'row')}"
    folds = facts.search.folds
    if facts.section("stream") is not None:
        text += ", each decided by the rule of its moment"
    elif facts.guarantee is not None:
        text += (
            ", those that certify"
            if folds in (None, 1)
            else (f", those that tested the rule (scores from {folds}-fold cross-validation)")
        )
    elif facts.status in SEARCHED:
        text += ", those that the rule was chosen on"
        if folds is not None:
            text += (
                " (held out from training)"
                if folds == 1
                else f" (scores from {folds}-fold cross-validation)"
            )
    if facts.counts.positive is not None:
        text += f"; the positive class is {facts.counts.positive!r}"
    return f"{text}."


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
    return out + few_rows(facts)


def few_rows(facts: Facts) -> list[str]:
    """A sentence for each constraint with a wide interval, but those that a guarantee judges."""
    return [_few(facts, e, c) for e, c in facts.pairs if e.few_rows and e.passed is None]


def _few(facts: Facts, entry: Entry, constraint: Constraint) -> str:
    unit = unit_of(constraint.lhs)
    return (
        f"{entry.text}: measured on few rows ({_behind(facts, entry, constraint)}): "
        f"{facts.counts.on_new} it may be anywhere from {shown(entry.low, unit)} to "
        f"{shown(entry.high, unit)}."
    )


def _behind(facts: Facts, entry: Entry, constraint: Constraint) -> str:
    """Which rows decide it."""
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
        unit, entry = unit_of(facts.parsed_goal.objective), facts.objective
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


def certificate(facts: Facts) -> str:
    """What is known of the objective beyond the rows, and what the gap says."""
    known, unit = facts.certificate, unit_of(facts.parsed_goal.objective)
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
    known = facts.certificate
    if facts.guarantee is not None:
        out = statement(facts)
    elif known.gap is not None:
        better = "better"
        if known.gap > SATISFIED:
            better += f" by more than {shown(known.gap, unit_of(facts.parsed_goal.objective))}"
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

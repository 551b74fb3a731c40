"""What is promised, and goals to copy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from setpoint import guarantees
from setpoint.goals import Const, Constraint, Expression, Goal, column_in_words, value_in_words
from setpoint.parameters import SATISFIED
from setpoint.program import range_of
from setpoint.report.entry import Entry
from setpoint.report.facts import Facts, GoalPart
from setpoint.report.numbers import Counts, percent, plural, shown_bound

if TYPE_CHECKING:
    from setpoint.guarantees import Guarantee, Shown


# --- Goals near one that no rule meets: each can be met -------------------------------------------


def goals_to_copy(goal: Goal, reachable: Mapping[str, float]) -> list[Goal]:
    """The goal with one bound moved to what is reachable, for each bound that can be moved.

    Examples
    --------
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.9 and predicted_rate >= 0.2")
    >>> reachable = {"precision >= 0.9": 0.7219, "predicted_rate >= 0.2": 0.031}
    >>> for near in goals_to_copy(goal, reachable):
    ...     print(near)
    maximize recall subject to precision >= 0.721 and predicted_rate >= 0.2
    maximize recall subject to precision >= 0.9 and predicted_rate >= 0.03
    """
    out = []
    for i, constraint in enumerate(goal.constraints):
        best = reachable.get(str(constraint), math.nan)
        if math.isfinite(best) and isinstance(constraint.rhs, Const):
            moved = list(goal.constraints)
            bound = inwards(best, constraint.relation == ">=")
            moved[i] = replace(constraint, rhs=Const(bound))
            out.append(replace(goal, constraints=tuple(moved)))
    return out


def between_bounds(goal: Goal, blamed: Mapping[str, float]) -> tuple[Goal, Constraint] | None:
    """The goal whose frontier shows what two bounds cost each other, and the bound that moves.

    Examples
    --------
    >>> goal = Goal.parse("maximize f1 subject to precision >= 0.9 and recall >= 0.5")
    >>> other, moving = between_bounds(goal, {"precision >= 0.9": 0.6, "recall >= 0.5": 0.4})
    >>> print(other, "|", moving)
    maximize recall subject to precision >= 0.9 | precision >= 0.9
    """
    known = [c for c in goal.constraints if str(c) in blamed and isinstance(c.rhs, Const)]
    if not 1 <= len(known) == len(blamed) <= 2:
        return None
    moving, *others = known
    if not others:
        return goal, moving
    kept = tuple(c for c in goal.constraints if c not in others)
    sense = "maximize" if others[0].relation == ">=" else "minimize"
    return Goal(sense, others[0].lhs, kept), moving  # type: ignore[arg-type]


def inwards(value: float, floor: bool) -> float:
    """The value in three digits at most, rounded to where it can be met.

    Examples
    --------
    >>> inwards(0.72198, True), inwards(0.72198, False)
    (0.721, 0.722)
    """
    if value == 0.0:
        return 0.0
    scale = 10.0 ** (2 - math.floor(math.log10(abs(value))))
    scale = min(scale, 1000.0) if abs(value) > 0.01 else scale
    moved = (math.floor if floor else math.ceil)(value * scale - (1e-9 if floor else -1e-9))
    return float(f"{moved / scale:.12g}")


# --- The bound that is meant, beside the bound that a rule was searched with ----------------------


def with_searched_bounds(
    entries: Sequence[Entry], meant: Goal, searched: Goal
) -> tuple[Entry, ...]:
    """The entries of the goal that is meant, with the bounds that the rule was searched with.

    Examples
    --------
    >>> meant = Goal.parse("maximize recall subject to precision >= 0.5")
    >>> searched = Goal.parse("maximize recall subject to precision >= 0.54")
    >>> (entry,) = with_searched_bounds([Entry("precision >= 0.5", 0.55, 0.5)], meant, searched)
    >>> entry.bound, entry.worked
    (0.5, 0.54)
    """
    asked: dict[tuple[Expression, str], list[float]] = {}
    for c in searched.constraints:
        if isinstance(c.rhs, Const):
            asked.setdefault((c.lhs, c.relation), []).append(c.rhs.value)
    out = list(entries)
    for i, c in enumerate(meant.constraints):
        bounds = asked.get((c.lhs, c.relation), [])
        if bounds and isinstance(c.rhs, Const) and c.rhs.value not in bounds:
            strictest = max if c.relation == ">=" else min
            out[i] = replace(out[i], worked=strictest(bounds))
    return tuple(out)


def same_sides(one: Goal, other: Goal) -> bool:
    """Whether two goals want the same, but for the numbers that bound it.

    Examples
    --------
    >>> meant = Goal.parse("maximize recall subject to precision >= 0.5")
    >>> same_sides(meant, Goal.parse("maximize recall subject to precision >= 0.54"))
    True
    >>> same_sides(meant, Goal.parse("maximize recall subject to accuracy >= 0.5"))
    False
    """
    sides = [{(c.lhs, c.relation) for c in goal.constraints} for goal in (one, other)]
    return (one.sense, one.objective, sides[0]) == (other.sense, other.objective, sides[1])


# --- What is promised on new rows, in sentences: the first that is read ---------------------------


STATES = {
    "certified": "Certified",
    "approximate": "Approximate, not certified",
    "not certified": "Not certified",
}

_TRIED = {
    "path of rules": "rules from safe to bold",
    "every cut-off": "cut-offs",
    "list of rules": "rules, in the order given,",
    "rules in no order": "rules, at stricter levels for being several,",
    "cross-validation": "rules",
}

_WORTH = 0.1
"""What was not tested is worth a word where it differs by so much of the objective."""

_MOST_NAMED = 8
_SMALLEST = 1e-4
"""Chances below it are all the same."""


def sure(confidence: float) -> str:
    """A confidence in words.

    Examples
    --------
    >>> sure(0.95), sure(0.999)
    ('95 % confidence', '99.9 % confidence')
    """
    return f"{shown_bound(confidence, 'share')} confidence"


# ---------------------------------------------------------------------- the first sentence
def statement(facts: Facts) -> str:
    """What is promised, in one sentence without a full stop; "" where nothing was asked for."""
    guarantee = facts.guarantee
    if guarantee is None:
        return ""
    promised = list(_promised(facts))
    if guarantee.state == "not certified":
        promised = [p for p in promised if not p[0].passed] or promised
        return (
            f"NOT certified: these rows do not show{_at_once(promised)} that "
            f"{_joined(promised)} on new rows"
        )
    if guarantee.state == "approximate":
        start = f"Approximately{_at_once(promised)}, and not certified: "
        return f"{start}{_joined(promised)} {_where(guarantee, promised)}"
    return f"Certified{_at_once(promised)}: {_joined(promised)} {_where(guarantee, promised)}"


def _promised(facts: Facts) -> Iterator[tuple[Shown, GoalPart]]:
    """What is promised, and the part of the goal that it is about."""
    assert facts.guarantee is not None
    found = {c.text: c for c in facts.guarantee.constraints}
    return ((found[p.entry.text], p) for p in facts.parts if p.entry.text in found)


def _at_once(promised: Sequence[tuple[Shown, GoalPart]]) -> str:
    """The confidence, where it is one for all."""
    levels = {s.confidence for s, _ in promised}
    return f" at {sure(levels.pop())}" if len(levels) == 1 else ""


def _joined(promised: Sequence[tuple[Shown, GoalPart]]) -> str:
    """What holds, with the confidence of each where they differ."""
    own = not _at_once(promised)
    return listed(
        [
            f"{part.words} is {part.demand}" + (f" (at {sure(s.confidence)})" if own else "")
            for s, part in promised
        ]
    )


def _where(guarantee: Guarantee, promised: Sequence[tuple[Shown, GoalPart]]) -> str:
    if guarantee.next_rows is None:
        return f"on new rows drawn like these{_of_groups(guarantee)}"
    each = "it refers" if len(promised) == 1 else "each refers"
    return f"among the next {plural(guarantee.next_rows, 'row')} that {each} to"


def _of_groups(guarantee: Guarantee) -> str:
    """The groups that a promise is about, by name: of one that no row showed it says nothing."""
    texts = []
    for columns, groups in guarantee.groups:
        names = ["/".join(map(value_in_words, values)) for values in groups]
        if len(names) > _MOST_NAMED:
            names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
        texts.append(f"{listed(names)} of {listed([column_in_words(c) for c in columns])}")
    if not texts:
        return ""
    rest = "how many rows belong to others is not known"
    if guarantee.others is not None:
        most = percent(inwards(guarantee.others[1], floor=False))
        rest = f"at most {most} of rows belong to others (95 %; {guarantee.others[0]:,} seen)"
    return f", for the groups {listed(texts)} alone; {rest}"


# ---------------------------------------------------------------------- what goes with it
def assurances(facts: Facts) -> list[str]:
    """What a promise assumes, how sure its test is, and what it costs; why there is none."""
    guarantee = facts.guarantee
    if guarantee is None:
        return []
    out = failures(facts) if guarantee.state == "not certified" else [_assumed(guarantee)]
    out.append(_capped(facts, guarantee))
    guessed = [c for c in guarantee.constraints if not c.is_exact]
    if guessed:
        of = f" of {listed([c.text for c in guessed])}"
        some = of if len(guessed) < len(guarantee.constraints) else ""
        out.append(f"The test{some} is not proved for this kind of rate; in simulations it holds.")
    if guarantee.attempt > 1:
        tested = {1.0 - guarantees.level_of_try(1.0 - c.confidence, guarantee.attempt): None
                  for c in guarantee.constraints}  # fmt: skip
        levels = listed([percent(level) for level in tested])
        out.append(f"This is try {guarantee.attempt} on the same rows, tested at {levels}.")
    return [text for text in [*out, _cost(facts, guarantee), _untested(facts, guarantee)] if text]


def _assumed(guarantee: Guarantee) -> str:
    text = guarantee.assumptions
    if guarantee.state == "approximate" or not text:
        return text
    return f"It is assumed that {text[0].lower()}{text[1:]}"


def _capped(facts: Facts, guarantee: Guarantee) -> str:
    """How many units count for less than they are, and what that changes."""
    most, n = guarantee.largest_unit, guarantee.units
    if most is None:
        return ""
    large = f"{guarantee.units_called.capitalize()} of more than {most:g} rows"
    out = f"{large if n else f'Rows that weigh more than {most:g}'} count as {most:g}"
    moved = [
        f"{part.words} is then {part.said(s.value)}, and {part.said(s.uncapped)} as given"
        for s, part in _promised(facts)
        if part.said(s.uncapped) not in ("-", part.said(s.value))
    ]
    return f"{'; '.join([f'{out}: {guarantee.capped:,} of {n or guarantee.rows:,}', *moved])}."


def rows_of(found: Counts | Guarantee) -> str:
    """How many rows, and of how many units."""
    rows = plural(found.n_rows if isinstance(found, Counts) else found.rows, "row")
    return f"{found.units:,} {found.units_called}, {rows}" if found.units else rows


def failures(facts: Facts) -> list[str]:
    """For each constraint that was not certified its value, and what could be."""
    assert facts.guarantee is not None
    out = []
    for found, part in _promised(facts):
        if found.passed or found.value is None:
            continue
        text = (
            f"On the {rows_of(facts.guarantee)} that certify {part.words} "
            f"is {part.said(found.value)}"
        )
        best = best_bound(part)
        if best:
            text += f", and the best bound that they certify for this rule is {best}"
        elif part.entry.low is not None and part.entry.interval != "exact":
            text += f", on new rows {part.limits}"
        out.append(f"{text}.")
    return out


def best_bound(part: GoalPart) -> str:
    """The strictest bound that could be certified, in words; "" where there is none."""
    best = best_limit(part.entry.certified, part.entry.text)
    return "" if best is None else shown_bound(best, part.unit)


def best_limit(limit: float | None, text: str) -> float | None:
    """The strictest bound that could be certified, in few digits; None where it says nothing.

    Examples
    --------
    >>> best_limit(0.45678, "precision >= 0.9"), best_limit(0.45678, "churn <= 0.1")
    (0.456, 0.457)
    """
    if limit is None or not math.isfinite(limit):
        return None
    (constraint,) = Goal.parse(f"maximize accuracy subject to {text}").constraints
    best, (low, high) = inwards(limit, constraint.relation == ">="), range_of(constraint.lhs)
    return best if low < best < high else None


def _cost(facts: Facts, guarantee: Guarantee) -> str:
    """What the objective loses by it on the rows that certify."""
    now, free, aim = guarantee.reached, guarantee.without, facts.aim
    if now is None or free is None or not math.isfinite(now - free):
        return ""
    loss = free - now if facts.parsed_goal.sense == "maximize" else now - free
    if loss <= SATISFIED:
        free_of_cost = guarantee.state != "not certified"
        return f"It costs nothing of {aim.words} on these rows." if free_of_cost else ""
    much = aim.said(loss)
    if aim.unit == "share":
        much = much.removesuffix(" %")
        much += " point" if much == "1.0" else " points"
    what = "The safest rule costs" if guarantee.state == "not certified" else "It costs"
    return f"{what} {much} of {aim.words}: {aim.said(now)} instead of {aim.said(free)}."


def _untested(facts: Facts, guarantee: Guarantee) -> str:
    """What rules that did not pass would have reached, as they looked beforehand."""
    rest = [r.objective for r in guarantee.path if not r.passed and r.margin > 0.0]
    rest = [value for value in rest if math.isfinite(value)]
    if guarantee.state == "not certified" or not rest:
        return ""
    best = max(rest) if facts.parsed_goal.sense == "maximize" else min(rest)
    now = guarantee.reached
    if now is None or abs(best - now) < _WORTH * abs(now):
        return ""
    text = (
        f"Of the {len(guarantee.path)} rules of the path {guarantee.tried} were tested and "
        f"{guarantee.passed} passed. Of the others {len(rest)} kept the bounds where the path was "
        f"learnt, and {facts.aim.words} reached {facts.aim.said(best)} there."
    )
    return f"{text} {more_rows(guarantee)}" if guarantee.helped_by_rows else text


def more_rows(guarantee: Guarantee) -> str:
    """How many rows would certify the rule that promised most; "" where that is not known."""
    if guarantee.rows_needed is None:
        return ""
    if not guarantee.helped_by_rows:
        return (
            "On the rows that the path was learnt on these scores hardly reach the bound: more "
            "rows may not help."
        )
    return f"About {guarantee.rows_needed:,} rows that certify would do."


def promising(facts: Facts, fitted: Facts | None) -> Facts:
    """The facts with what is promised of a rule: its own, or those of the rows that chose it."""
    return facts if fitted is None or facts.guarantee is not None else fitted


def certified_in_words(facts: Facts, part: GoalPart) -> str:
    """What is certified of a constraint, or could be; "" where nothing is promised of it."""
    if part.entry.passed is None or facts.guarantee is None:
        return ""
    best = "" if facts.is_certified else best_bound(part)
    if not facts.is_certified and not best:
        return ""
    out = f"{part.way} {best}" if best else part.demand
    own = {c.text: c.confidence for c in facts.guarantee.constraints}
    at = f" at {shown_bound(own[part.entry.text], 'share')}" if len({*own.values()}) > 1 else ""
    return f"{out}{at}"


# ---------------------------------------------------------------------- the small print
def explained(facts: Facts) -> list[str]:
    """What exactly is promised, and how it was tested."""
    guarantee = facts.guarantee
    if guarantee is None:
        return []
    return [_promise(guarantee), _way(guarantee), *map(_test, guarantee.constraints)]


def _promise(guarantee: Guarantee) -> str:
    levels = {c.confidence for c in guarantee.constraints} or {guarantee.confidence}
    risk = f"at most {shown_bound(round(1.0 - min(levels), 12), 'share')}"
    drawn, where = f"these {guarantee.units_called or 'rows'}", "on new rows"
    if guarantee.next_rows is not None:
        drawn = f"these rows and of the next {guarantee.next_rows:,}"
        where = "among the latter"
    if guarantee.state == "approximate":
        return (
            f"The tests are those by which of all draws of {drawn} {risk} would give a certified "
            f"rule that breaks its bound {where}. Here they are a guide: what they looked at are "
            "scores of other models, fitted on parts of the rows."
        )
    each = " " if len(levels) == 1 else ", and for each bound at most one minus its confidence, "
    return (
        f"Of all draws of {drawn} {risk}{each}give a certified rule that breaks "
        f"its bound {where}. This says how often the method errs, and not how likely this one rule "
        "is to keep its bound."
    )


def _way(guarantee: Guarantee) -> str:
    """What was tried, and what passed."""
    n = guarantee.tried
    if n == 1 and guarantee.method != "path of rules":
        return f"One rule was tested on {rows_of(guarantee)}."
    what = _TRIED.get(guarantee.method, "rules")
    rows = rows_of(guarantee)
    all_at_once = guarantee.method in ("every cut-off", "rules in no order")
    if guarantee.passed == 0:
        first = "first" if "list" in guarantee.method or "order" in guarantee.method else "safest"
        none = "none" if all_at_once or len(guarantee.starts) > 1 else "not even the first"
        return f"On {rows} {what} were tested: {none} passed. The {first} is kept."
    if all_at_once:
        best = f"{guarantee.passed:,} passed, and the best of these is kept."
        return f"On {rows} {n:,} {what} were tested: {best}"
    out = f"On {rows} {what} were tested one after the other"
    begun = [
        f"rule {i + 1} at {shown_bound(round(share, 6), 'share')} of the level"
        for i, share in guarantee.starts.items()
    ]
    if len(begun) > 1:
        out = f"{out}, beginning with {' and with '.join(begun)}"
    many = f"{guarantee.passed:,} passed before the first that did not"
    if guarantee.passed == n:
        many = f"all {n:,} passed"
    elif len(begun) > 1:
        many = f"{guarantee.passed:,} of {n:,} passed"
    return f"{out}: {many}, and the best of these is kept."


def _test(found: Shown) -> str:
    """The test of one constraint."""
    if found.kind == "trivial":
        return f"{found.text} holds on any rows."
    proof = "proved" if found.is_exact else "not proved"
    chance = f"of {percent(found.p_value)}" if found.p_value >= _SMALLEST else "below 0.01 %"
    return (
        f"{found.text}: rows as good as these have a chance {chance} where the bound is just "
        f"broken (test: {found.kind}, {proof})."
    )


def listed(texts: Sequence[str]) -> str:
    """Texts as one list in a sentence."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"

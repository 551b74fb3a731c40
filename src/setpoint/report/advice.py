"""What a report advises: what is not certain, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

from setpoint import guarantees
from setpoint.counts import Evidence
from setpoint.goals import Const, Constraint, Expression, Goal, Reduce, in_words, walk
from setpoint.inference import FAILS, OPEN, SHOWN, verdict_of
from setpoint.parameters import SATISFIED
from setpoint.program import range_of
from setpoint.report.entry import LEVEL, Entry
from setpoint.report.facts import Facts, GoalPart
from setpoint.report.findings import (
    SEARCHED,
    best_precision,
    certificate,
    empty,
    few_found,
    is_reached,
    sentence,
)
from setpoint.report.numbers import percent, shown, unit_of
from setpoint.report.promised import more_rows, promising, rows_of, sure

if TYPE_CHECKING:
    from setpoint.guarantees import BestBounds, NotCertifiable, Unshown


# --- What is not certain, and what to do about it -------------------------------------------------


_MORE = 0.7
"""Margins are the distance from the value to its limit at 95 %, and so much of that on top.

The limit itself is 1.645 standard errors away. A rule searched with that margin is shown in half
of the draws; with .84 standard errors of both samples on top, in four of five.
"""

_CERTIFYING = ("plugin", "ramp", "penalty", "surrogates")
"""Families that certify."""

_normal = NormalDist().inv_cdf

_MOST_TIMES = 50
"""Advice asks for at most so many times the rows that there are."""


@dataclass(frozen=True)
class Advice:
    """Something that is not certain, and its remedy ("" where there is none to give)."""

    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}".strip()


def advice_of(facts: Facts, fitted: Facts | None = None, *, at_shell: bool = False) -> list[Advice]:
    """What to do next, the gravest first."""
    promised = promising(facts, fitted)
    out = [*_unreachable(facts), *_uncertified(promised)]
    # The bounds of both may differ by a margin.
    others = () if fitted is None else fitted.parts
    before = {(part.x, part.way): part.entry for part in others}
    stricter = None if promised.guarantee is not None else stricter_goal(facts, fitted)
    nothing = (None,) * len(facts.constraints)
    margins = nothing if stricter is None else stricter.constraints
    for part, margin in zip(facts.parts, margins, strict=True):
        entry, first = part.entry, before.get((part.x, part.way))
        if entry.passed is not None or (entry.seen and entry.verdict == OPEN):
            continue
        if entry.verdict == OPEN and few_found(facts, part):
            out.append(_ask_for_less(facts, entry))
        elif entry.verdict != OPEN or first is None or not first.passed:
            out += _constraint(part, first, margin)
    if facts.counts.seen > 0.0 and facts.constraints:
        what = "Rows that the model was fitted on show nothing of new ones."
        out.append(Advice(what, "Judge the rule by rows that took no part."))
    if fitted is None and facts.status in SEARCHED and facts.constraints:
        out += _flattered(facts, at_shell)
    return [*out, *_search(facts if fitted is None else fitted)]


def _flattered(facts: Facts, at_shell: bool) -> Iterator[Advice]:
    """Rows that chose the rule, or a model that was fitted again, where nothing else is known."""
    if facts.guarantee is None:
        remedy = "Measure the rule on rows that took no part in the search, and judge it by those"
        if facts.search.family in _CERTIFYING:
            option = "--confidence 0.95" if at_shell else "confidence=0.95"
            remedy += f"; or {option} certifies it on new rows"
        yield Advice("These rows chose the rule, so they flatter it.", f"{remedy}.")
    elif facts.guarantee.state == "approximate":
        option = "" if at_shell else " (guarantee='certified')"
        yield Advice(
            "The model that decides is not the one that was tested.",
            "Measure the rule on rows that took no part, or let a part of the rows certify it"
            f"{option}.",
        )


def _uncertified(facts: Facts) -> Iterator[Advice]:
    """What would certify a rule that is not."""
    guarantee = facts.guarantee
    if guarantee is None or guarantee.state != "not certified":
        return
    first = more_rows(guarantee)
    loosen = "Or loosen" if guarantee.helped_by_rows else "Loosen"
    remedy = f"{first} {loosen} the bound, or ask for less confidence.".strip()
    for part in facts.parts:
        if part.entry.passed is False:
            yield Advice(f"{sentence(part.words)} is not certified.", remedy)


def _unreachable(facts: Facts) -> Iterator[Advice]:
    if facts.status != "nearest":
        return
    what = "No rule of this kind meets every constraint on these scores"
    remedy = "Loosen a constraint, or give the model better data to learn from."
    blame = sorted(facts.search.blame.items(), key=lambda pair: -abs(pair[1]))
    if blame:
        shares = ", ".join(f"{text} ({percent(abs(share))})" for text, share in blame)
        what += f". What cannot hold together, with the share of each in it: {shares}"
        first = ", which weighs most" if len(blame) > 1 else ""
        remedy = f"Loosen {blame[0][0]} first{first}, or give the model better data to learn from."
    yield Advice(f"{what}.", remedy)


def stricter_goal(facts: Facts, fitted: Facts | None = None) -> Goal | None:
    """The goal to search with, so that the one that is meant is shown; None if there is none."""
    if facts.verdict != OPEN or facts.status == "nearest" or facts.counts.seen > 0.0:
        return None
    if facts.guarantee is not None:
        return None  # its tests keep the margin
    goal, moved = facts.parsed_goal, list[Constraint]()
    for entry, written in zip(facts.constraints, goal.constraints, strict=True):
        bound = _margin(entry)
        if entry.verdict == OPEN:
            bound = _tightened(entry, written, facts.level if entry.level is None else entry.level)
            if bound is None:
                return None
        moved.append(written if bound is None else replace(written, rhs=Const(bound)))
    # Where nothing was counted there is no margin to move; nothing meets a floor above a cap.
    if moved == list(goal.constraints) or _crossed(moved):
        return None
    stricter, searched = replace(goal, constraints=tuple(moved)), fitted or facts
    known = searched.status in SEARCHED or searched.section("operating") is not None
    if known and not is_reached(searched, stricter):
        return None
    return stricter


def _crossed(constraints: Sequence[Constraint]) -> bool:
    """Whether one side is to lie above one bound and below a smaller one."""
    room: dict[Expression, tuple[float, float]] = {}
    for c in constraints:
        if isinstance(c.rhs, Const):
            low, high = room.get(c.lhs, (-math.inf, math.inf))
            up, bound = c.relation == ">=", c.rhs.value
            room[c.lhs] = (max(low, bound), high) if up else (low, min(high, bound))
    return any(low >= high for low, high in room.values())


def _margin(entry: Entry) -> float | None:
    """The bound that the rule was searched with, where it is stricter than the one meant."""
    if entry.worked is None or entry.bound is None:
        return None
    stricter = entry.worked > entry.bound if entry.relation == ">=" else entry.worked < entry.bound
    return entry.worked if stricter else None


def _tightened(entry: Entry, written: Constraint, level: float) -> float | None:
    """The bound that is meant moved by the margin, if a value can be there at all."""
    if _margin(entry) is not None or not isinstance(written.rhs, Const):
        return None
    if entry.value is None or entry.low is None or entry.high is None or entry.bound is None:
        return None
    up = written.relation == ">="
    reach = entry.value - entry.low if up else entry.high - entry.value
    # A limit at another level is so many standard errors further away, and what is on top is not.
    reach *= 1.0 + _MORE * (_normal(LEVEL) / _normal(level))
    if not math.isfinite(reach) or reach <= SATISFIED:
        return None
    low, high = range_of(written.lhs)
    scale = 10.0 ** (1 - math.floor(math.log10(reach)))
    moved = (entry.bound + reach if up else entry.bound - reach) * scale
    moved = (math.ceil(moved - 1e-9) if up else math.floor(moved + 1e-9)) / scale
    # At the very end of the range only a trivial rule would do.
    return float(f"{moved:.12g}") if low < moved < high else None


def _constraint(
    part: GoalPart, before: Entry | None, margin: Constraint | None
) -> Iterator[Advice]:
    """What one constraint leaves open."""
    entry, what = part.entry, sentence(part.words)
    if entry.verdict is None:
        yield Advice(
            f"{what} was not evaluated: {entry.why or 'there are no rows to count it on'}.",
            "Add rows of this kind that have labels, or leave the constraint out.",
        )
    elif part.of_none:
        yield Advice(
            f"{sentence(empty(part.x))} here, so {part.words} stays open.",
            "Loosen a bound so that the rule accepts some, or give the model better data.",
        )
    elif entry.verdict == FAILS:
        remedy = "Choose the rule anew, on rows like these."
        if before is not None and _held(before, part):
            what += " held on the rows that the rule was chosen on and fails on these, so it was"
            what += " hardly chance: the rule fits those rows too closely, or these are of another"
            yield Advice(f"{what} kind.", remedy)
        else:
            yield Advice(f"{what} fails: {part.asked(entry.bound)} was asked.", remedy)
    elif entry.verdict == OPEN:
        yield Advice(
            f"{what} may lie on either side of the bound on new rows.",
            " ".join(_closer(part, margin)),
        )


def _ask_for_less(facts: Facts, entry: Entry) -> Advice:
    """What to ask of scores of which the best are too few: more rows do not make them better."""
    what, best = "These scores hardly find anybody at the precision that is asked.", None
    if entry.relation == ">=":
        best = best_precision(facts)
    if best is None or entry.bound is None or best.bound >= entry.bound:
        return Advice(what, "Ask for less, or give the model better data to learn from.")
    return Advice(
        what,
        f"Ask for less: precision >= {best.bound:g} is shown on these rows where "
        f"{percent(best.recall)} of the class are found.",
    )


def _held(before: Entry, part: GoalPart) -> bool:
    """Whether the bound that is meant held on the rows of the search; theirs may be another."""
    if not part.fixed:
        return bool(before.satisfied)
    bound, written = part.entry.bound, part.written
    if before.value is None or bound is None or written is None:
        return False
    return verdict_of(before.value, before.value, bound, written.relation) == SHOWN


def _closer(part: GoalPart, margin: Constraint | None) -> Iterator[str]:
    """How to get a verdict: a margin where one is possible and not yet there, or more rows."""
    entry = part.entry
    searched = _margin(entry)
    if margin is not None:
        assert isinstance(margin.rhs, Const)
        yield f"Search with {part.asked(margin.rhs.value)} and judge by {part.asked(entry.bound)}."
    elif searched is not None:
        worked = part.asked(searched)
        yield f"The rule was searched with a margin already ({worked}): more rows decide."
    times = 0.0
    if entry.value is not None and entry.bound is not None and entry.slack:
        past = entry.low if entry.value > entry.bound else entry.high
        if past is not None:
            # An interval shrinks with the root of the number of rows.
            times = ((past - entry.value) / entry.slack) ** 2
    if 1.0 < times <= _MOST_TIMES:
        first = "Measure" if margin is None else "Or measure"
        yield f"{first} on about {math.ceil(times)} times as many rows of this kind."
    elif margin is None:
        yield "Collect more rows of this kind."
    if any(isinstance(e, Reduce) and e.columns for e in walk(part.x)):
        yield "Small groups can be joined."


def _search(facts: Facts) -> Iterator[Advice]:
    """What is not known of the rule's optimality, where it is worth a search."""
    goal, known = facts.parsed_goal, facts.certificate
    objective = facts.aim.words
    better = f"do better by {objective}" if goal.is_blackbox else f"reach a better {objective}"
    certified = facts.guarantee is not None  # a longer search does not lower what that costs
    if facts.status in ("feasible", "stationary") and known.gap is None and not certified:
        more = "time" if facts.section("adaptive") is None else "evaluations"
        yield Advice(
            f"It is not proved that this rule is the best: another one may {better}.",
            f"Allow the search more {more}, or start it elsewhere, if this matters.",
        )
    elif known.gap is not None and facts.status == "feasible" and known.gap > _width(facts):
        yield Advice(certificate(facts), "Allow the search more time.")
    if facts.search.evidence == "soft":
        yield Advice(
            "The rule was chosen by the model's probabilities and not by true classes.",
            "Trust what was counted on true classes; check that the probabilities are right "
            "(calibrated), or choose the rule by true classes.",
        )


def _width(facts: Facts) -> float:
    """Half the interval of the objective: a smaller gap does not matter beside it."""
    entry = facts.objective
    if entry.low is None or entry.high is None:
        return SATISFIED
    return max((entry.high - entry.low) / 2.0, SATISFIED)


# --- Why no rule is certified, and what could be --------------------------------------------------


def refused(left: Unshown) -> NotCertifiable:
    """What was tried, why it failed, and what could be certified."""
    guarantee, goal, best = left.guarantee, left.goal, left.best
    failed = [c for c in guarantee.constraints if c.text in best.bounds or not c.passed]
    failed = failed or list(guarantee.constraints)
    worst = max(failed, key=lambda c: (c.text in best.bounds, c.p_value))
    rule = "The rule does" if guarantee.method == "one rule" else "Even the safest rule does"
    texts = [  # some say their confidence already
        c.text if " with confidence " in c.text else f"{c.text} at {sure(c.confidence)}"
        for c in failed
    ]
    more = "No rule tried comes near what was asked on these scores: more rows would not help"
    said = [
        f"{rule} not pass its test on the {rows_of(guarantee)} that certify: they do not show "
        f"{' and '.join(texts)}",
        _best_in_words(goal, best),
        more if best.out_of_reach else sentence(more_rows(guarantee)),
        "" if best.bounds else "Loosen the bound, or ask for less confidence",
    ]
    error = guarantees.NotCertifiable(
        ". ".join(text for text in said if text),
        worst.text,
        best.values.get(worst.text, worst.value),
        best.limits.get(worst.text, worst.limit),
        guarantee.rows_needed if guarantee.helped_by_rows else None,
        dict(best.bounds),
        best.reached,
        "`on_uncertified='nearest'` gives the safest rule without a guarantee",
    )
    error.rule = best.rule
    error.evidence = left.rows if isinstance(left.rows, Evidence) else None
    return error


def _best_in_words(goal: Goal, best: BestBounds) -> str:
    """The bounds that could be certified, and what is then reached."""
    known = [(c, best.bounds[str(c)]) for c in goal.constraints if str(c) in best.bounds]
    if not known:
        return ""
    texts = [f"{c.lhs} {c.relation} {bound:.6g}" for c, bound in known]
    out = f"The most that they show of any rule tried is {' and '.join(texts)}"
    if best.reached is None:
        return out
    reached = shown(best.reached, unit_of(goal.objective))
    return f"{out}; {in_words(goal.objective)} is then {reached}"

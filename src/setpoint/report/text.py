"""A report as text, in a notebook and as a card, and what it advises."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from statistics import NormalDist

from setpoint.counts import Evidence
from setpoint.errors import InputError
from setpoint.goals import (
    Const,
    Constraint,
    Expression,
    Goal,
    Reduce,
    goal_in_words,
    in_words,
    walk,
)
from setpoint.guarantees import (
    BestBounds,
    Guarantee,
    NotCertifiable,
    Shown,
    Unshown,
)
from setpoint.inference import FAILS, OPEN, SHOWN, verdict_of
from setpoint.parameters import SATISFIED
from setpoint.program import range_of
from setpoint.report.entry import LEVEL, Entry
from setpoint.report.facts import TITLE, Facts
from setpoint.report.findings import (
    SEARCHED,
    Line,
    best_precision,
    caveats,
    certificate,
    certified_head,
    counts_nothing,
    empty,
    few_found,
    headline,
    how_found,
    is_reached,
    lines_of,
    rows_in_words,
    rule_lines,
    sentence,
    summary,
)
from setpoint.report.numbers import (
    asked,
    cleaned,
    in_ten_thousand,
    percent,
    plural,
    printed,
    shortened,
    shown,
    shown_bound,
    unit_of,
)
from setpoint.report.promised import (
    GroupTable,
    assurances,
    explained,
    more_rows,
    promising,
    sure,
)

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
    goal = Goal.parse(facts.goal)
    promised = promising(facts, fitted)
    out = [*_unreachable(facts), *_uncertified(promised)]
    before = {} if fitted is None else _by_side(fitted)
    stricter = None if promised.guarantee is not None else stricter_goal(facts, goal, fitted)
    nothing = (None,) * len(goal.constraints)
    margins = nothing if stricter is None else stricter.constraints
    for entry, written, margin in zip(facts.constraints, goal.constraints, margins, strict=True):
        if entry.passed is not None or (entry.seen and entry.verdict == OPEN):
            continue
        first = before.get((written.lhs, written.relation))
        if entry.verdict == OPEN and few_found(facts, written.lhs):
            out.append(_ask_for_less(facts, entry))
            continue
        if entry.verdict == OPEN and first is not None and first.passed:
            continue
        out += _constraint(entry, first, written, margin)
    if facts.counts.seen > 0.0 and facts.constraints:
        what = "Rows that the model was fitted on show nothing of new ones."
        out.append(Advice(what, "Judge the rule by rows that took no part."))
    if fitted is None and facts.status in SEARCHED and facts.constraints:
        out += _flattered(facts, at_shell)
    return [*out, *_search(facts if fitted is None else fitted, goal)]


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
    goal = Goal.parse(facts.goal)
    for entry, written in zip(facts.constraints, goal.constraints, strict=True):
        if entry.passed is not False:
            continue
        first = more_rows(guarantee)
        loosen = "Or loosen" if guarantee.helped_by_rows else "Loosen"
        loosen += " the bound, or ask for less confidence."
        what = f"{sentence(in_words(written.lhs))} is not certified."
        yield Advice(what, f"{first} {loosen}".strip())


def _by_side(facts: Facts) -> dict[tuple[Expression, str], Entry]:
    """The entries by what they bound: the bounds may differ by a margin."""
    written = Goal.parse(facts.goal).constraints
    return {(c.lhs, c.relation): entry for c, entry in zip(written, facts.constraints, strict=True)}


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


def stricter_goal(facts: Facts, goal: Goal, fitted: Facts | None = None) -> Goal | None:
    """The goal to search with, so that the one that is meant is shown; None if there is none."""
    if facts.verdict != OPEN or facts.status == "nearest" or facts.counts.seen > 0.0:
        return None
    if facts.guarantee is not None:
        return None  # its tests keep the margin
    moved = []
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
    entry: Entry, before: Entry | None, written: Constraint, margin: Constraint | None
) -> Iterator[Advice]:
    """What one constraint leaves open."""
    what = sentence(in_words(written.lhs))
    bound = asked(written, entry.bound)
    if entry.verdict is None:
        yield Advice(
            f"{what} was not evaluated: {entry.why or 'there are no rows to count it on'}.",
            "Add rows of this kind that have labels, or leave the constraint out.",
        )
    elif counts_nothing(entry):
        yield Advice(
            f"{sentence(empty(written.lhs))} here, so {in_words(written.lhs)} stays open.",
            "Loosen a bound so that the rule accepts some, or give the model better data.",
        )
    elif entry.verdict == FAILS:
        remedy = "Choose the rule anew, on rows like these."
        if before is not None and _held(before, entry, written):
            what += " held on the rows that the rule was chosen on and fails on these, so it was"
            what += " hardly chance: the rule fits those rows too closely, or these are of another"
            yield Advice(f"{what} kind.", remedy)
        else:
            yield Advice(f"{what} fails: {bound} was asked.", remedy)
    elif entry.verdict == OPEN:
        yield Advice(
            f"{what} may lie on either side of the bound on new rows.",
            " ".join(_closer(entry, written, margin)),
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


def _held(before: Entry, entry: Entry, written: Constraint) -> bool:
    """Whether the bound that is meant held on the rows of the search; theirs may be another."""
    if not isinstance(written.rhs, Const):
        return bool(before.satisfied)
    if before.value is None or entry.bound is None:
        return False
    return verdict_of(before.value, before.value, entry.bound, written.relation) == SHOWN


def _closer(entry: Entry, written: Constraint, margin: Constraint | None) -> Iterator[str]:
    """How to get a verdict: a margin where one is possible and not yet there, or more rows."""
    searched = _margin(entry)
    if margin is not None:
        assert isinstance(margin.rhs, Const)
        with_margin = asked(written, margin.rhs.value)
        yield f"Search with {with_margin} and judge by {asked(written, entry.bound)}."
    elif searched is not None:
        worked = asked(written, searched)
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
    if any(isinstance(e, Reduce) and e.columns for e in walk(written.lhs)):
        yield "Small groups can be joined."


def _search(facts: Facts, goal: Goal) -> Iterator[Advice]:
    """What is not known of the rule's optimality, where it is worth a search."""
    objective, known = in_words(goal.objective), facts.certificate
    better = f"do better by {objective}" if goal.is_blackbox else f"reach a better {objective}"
    certified = facts.guarantee is not None  # a longer search does not lower what that costs
    if facts.status in ("feasible", "stationary") and known.gap is None and not certified:
        more = "time" if facts.section("adaptive") is None else "evaluations"
        yield Advice(
            f"It is not proved that this rule is the best: another one may {better}.",
            f"Allow the search more {more}, or start it elsewhere, if this matters.",
        )
    elif known.gap is not None and facts.status == "feasible" and known.gap > _width(facts):
        yield Advice(certificate(facts, goal), "Allow the search more time.")
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


# --- A report as text that the person who set the goal can read -----------------------------------


WIDTH = 79

_MOST_GROUPS = 40
_MOST_COLUMNS = 16
"""Of the table of groups."""

_NAME = 30
"""Characters of a group's name in the table."""

_MOST_WARNINGS = 30


def report_text(facts: Facts, fitted: Facts | None = None, *, at_shell: bool = False) -> str:
    """The whole report, 79 columns wide."""
    goal = Goal.parse(facts.goal)
    out = [_filled(f"Goal: {facts.goal}", 0, 6), ""]
    if fitted is not None and facts.guarantee is None and fitted.guarantee is not None:
        meant = Goal.parse(fitted.goal)
        out += [_filled(f"{headline(fitted, meant)}.", 0)]
        out += [_filled(" ".join(assurances(fitted, meant)), 0), ""]
    out += [_filled(f"{headline(facts, goal)}.", 0)]
    people = in_ten_thousand(facts.counts)
    money = facts.section("prices")
    first = [summary(facts), " ".join(assurances(facts, goal)), people]
    first += [] if money is None else list(money.lines())
    first += [rows_in_words(facts), *caveats(facts)]
    out += [_filled(text, 0) for text in first if text]
    sure = f"each end with {100 * facts.level:.4g} % confidence"
    out += ["", f"What was reached ({facts.counts.on_new}: {sure})"]
    for line in lines_of(facts, goal):
        out += [_filled(text, 2 if i == 0 else 4, 4) for i, text in enumerate(entry_lines(line))]
    if facts.deployed is not None:
        lines = facts.deployed.lines(goal, facts.counts)
        out += ["", TITLE, *_listed(lines)]
    advice = [str(a) for a in advice_of(facts, fitted, at_shell=at_shell)]
    if advice:
        out += ["", "What to do", *_listed(advice)]
    rule = rule_lines(facts, goal)
    if rule:
        out += ["", "Rule", *(_indented(line) for line in rule)]
    for section in facts.sections:
        lines = [] if section is money else list(section.lines())
        if lines:
            out += ["", section.title, *(_filled(line, 2, 2) for line in lines)]
    if facts.groups:
        out += ["", "Groups", *_group_lines(facts)]
    found = [text for text in (how_found(facts), certificate(facts, goal)) if text]
    if found:
        out += ["", "How it was found", *(_filled(text, 2) for text in found)]
    if facts.guarantee is not None:
        out += ["", "What is promised", *_listed(explained(facts))]
    notes = list(dict.fromkeys([*(fitted.warnings if fitted else ()), *facts.warnings]))
    if notes:
        more = len(notes) - _MOST_WARNINGS
        rest = [f"and {more:,} more notes like these"] if more > 0 else []
        out += ["", "Please note", *_listed([*notes[:_MOST_WARNINGS], *rest])]
    return printed("\n".join(out))


def entry_lines(line: Line) -> list[str]:
    """One part of the goal: its value and counts; then what holds on new rows."""
    entry = line.entry
    value = line.value + (f" ({line.counts})" if line.counts else "")
    rows = f", {entry.why}" if entry.why else ""
    out = [f"{entry.text}: {value}{rows}"]
    if entry.relation is None and entry.value is not None:
        out[0] += f", {line.wanted}"
    limits = f"{line.where} {line.limits}" if line.limits else ""
    if limits and entry.interval == "bootstrap":
        limits += " (bootstrap)"
    if entry.relation is not None and entry.value is not None:
        limits += f"{': ' if limits else ''}{line.verdict}"
        if entry.worked is not None:
            limits += f" (searched with {shown_bound(entry.worked, line.unit)})"
    if line.certified and line.verdict != "certified":
        limits += f"; could be certified: {line.certified}"
    return [*out, limits] if limits else out


def _group_lines(facts: Facts) -> list[str]:
    """The groups as a table, in pieces where it is too wide; intervals of what is compared."""
    table = GroupTable.of(facts)
    rows = [table.head, *table.rows[:_MOST_GROUPS]]
    names = [shortened(row[0], _NAME) for row in rows]
    first = max(map(len, names))
    wide = [max(len(row[i]) for row in rows) for i in range(len(table.head))]
    out: list[str] = []
    last = min(len(table.head), _MOST_COLUMNS)
    start = 1
    while start < last:
        end, room = start + 1, WIDTH - 4 - first - wide[start]
        while end < last and room >= wide[end] + 2:
            room -= wide[end] + 2
            end += 1
        out += [""] if start > 1 else []
        for name, row in zip(names, rows, strict=True):
            cells = [f"{row[i]:>{wide[i]}}" for i in range(start, end)]
            out.append(f"  {'  '.join([f'{name:<{first}}', *cells])}".rstrip())
        start = end
    if len(table.rows) > _MOST_GROUPS:
        out.append(f"  and {plural(len(table.rows) - _MOST_GROUPS, 'more group')}")
    if len(table.head) > last:
        out.append(f"  and {plural(len(table.head) - last, 'more metric')} of each group")
    return out


def _listed(lines: Iterable[str]) -> list[str]:
    return [_filled(f"- {line}", 2, 2) for line in lines]


def _filled(text: str, indent: int, hang: int = 0) -> str:
    return "\n".join(
        textwrap.fill(
            line,
            WIDTH,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_on_hyphens=False,
            break_long_words=False,
        )
        for line in text.split("\n")
    )


def _indented(line: str) -> str:
    depth = len(line) - len(line.lstrip())
    return _filled(line.lstrip(), 2 + depth, 2)


# --- A report as short HTML for notebooks, with every caveat: no scripts --------------------------


_LEFT = ' style="text-align:left"'


def report_html(facts: Facts) -> str:
    """The finding, the parts of the goal as a table, and what to beware of; all text is escaped."""
    goal = Goal.parse(facts.goal)
    first = [
        summary(facts),
        " ".join(assurances(facts, goal)),
        in_ten_thousand(facts.counts),
        rows_in_words(facts),
    ]
    limits = f"{facts.counts.on_new} ({100 * facts.level:.4g} % confidence for each end)"
    lines = lines_of(facts, goal)
    third = certified_head(lines, facts).lower()
    names = ("", "value", "rows", limits, *([third] if third else []), "verdict")
    head = "".join(f"<th{_LEFT}>{t}</th>" for t in names)
    rows = "".join(_row(line, bool(third)) for line in lines)
    out = [
        f"<p><code>{_text(facts.goal)}</code></p>",
        f"<p><strong>{_text(headline(facts, goal))}.</strong></p>",
        *(f"<p>{_text(text)}</p>" for text in first if text),
        _bullets("", caveats(facts)),
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>",
    ]
    if facts.deployed is not None:
        out.append(_bullets(TITLE, facts.deployed.lines(goal, facts.counts)))
    out += [_bullets(s.title, s.lines()) for s in facts.sections]
    out.append(_bullets("What to do", [str(a) for a in advice_of(facts)]))
    out.append(_bullets("Rule", [*rule_lines(facts, goal), certificate(facts, goal)]))
    out.append(_bullets("What is promised", explained(facts)))
    out.append(_bullets("Please note", facts.warnings))
    return f'<div class="setpoint-report">{"".join(out)}</div>'


def _row(line: Line, with_certified: bool) -> str:
    entry = line.entry
    verdict = line.wanted if entry.relation is None else line.verdict
    if entry.worked is not None:
        verdict += f" (searched with {shown_bound(entry.worked, line.unit)})"
    limits = line.limits
    if limits and entry.interval == "bootstrap":
        limits += " (bootstrap)"
    third = [line.certified] if with_certified else []
    cells = (entry.text, line.value, line.counts or entry.why, limits, *third, verdict)
    return "<tr>" + "".join(f"<td{_LEFT}>{_text(c)}</td>" for c in cells) + "</tr>"


def _bullets(title: str, lines: Sequence[str]) -> str:
    known = [line for line in lines if line]
    if not known:
        return ""
    head = f"<p><strong>{_text(title)}</strong></p>" if title else ""
    return f"{head}<ul>{''.join(f'<li>{_text(line)}</li>' for line in known)}</ul>"


def _text(text: str) -> str:
    return escape(cleaned(text)).replace("\n", "<br>")


# --- A model card in Markdown: the goal, what was measured and on which rows ----------------------


HEADINGS = ("Intended use", "What was measured", "The fit", "Versions and digests")


def card_text(facts: Facts, *, name: str = "", held_out: Facts | None = None) -> str:
    """The card of a model as Markdown.

    Examples
    --------
    >>> from setpoint.report.entry import Entry
    >>> text = card_text(Facts("maximize recall", Entry("recall", 0.8)), name="Loans")
    >>> text.splitlines()[4]
    '# Loans'
    """
    if held_out is not None and held_out.goal != facts.goal:
        raise InputError(
            f"`held_out` refers to the goal {held_out.goal!r}, and the model to {facts.goal!r}"
        )
    words = (
        f"{goal_in_words(Goal.parse(facts.goal), facts.counts.positive)}. As a goal of setpoint:"
    )
    judged = report_text(facts) if held_out is None else report_text(held_out, facts)
    run = facts.run
    made_by = [f"- {key} {text}" for key, text in run.versions.items()]
    made_of = [f"- digest of {key}: {text}" for key, text in run.digests.items()]
    parts = [
        f"{_card_lines(words)}\n\n{_code(facts.goal)}",
        _code(judged),
        _code(facts.rule.text if held_out is None else report_text(facts)),
        "\n".join([f"- fitted {run.when} UTC", *map(_card_lines, [*made_by, *made_of])]),
    ]
    blocks = [f"## {heading}\n\n{part}" for heading, part in zip(HEADINGS, parts, strict=True)]
    head = "---\nlibrary_name: setpoint\n---"
    return "\n\n".join([head, f"# {_card_lines(name or 'A classifier')}", *blocks]) + "\n"


def _card_lines(text: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", " ".join(cleaned(text).split()))


def _code(text: str) -> str:
    """A block of code, longer fenced than anything in it."""
    fence = "`" * max(3, 1 + max((len(x) for x in re.findall("`+", text)), default=0))
    return f"{fence}text\n{cleaned(text)}\n{fence}"


# --- Why no rule is certified, and what could be --------------------------------------------------


def refused(left: Unshown) -> NotCertifiable:
    """What was tried, why it failed, and what could be certified."""
    guarantee, goal, best = left.guarantee, left.goal, left.best
    failed = [c for c in guarantee.constraints if c.text in best.bounds or not c.passed]
    failed = failed or list(guarantee.constraints)
    worst = max(failed, key=lambda c: (c.text in best.bounds, c.p_value))
    rule = "The rule does" if guarantee.method == "one rule" else "Even the safest rule does"
    asked = " and ".join(map(_asked, failed))
    needed = guarantee.rows_needed if guarantee.helped_by_rows else None
    said = [
        f"{rule} not pass its test on the {guarantee.rows:,} rows that certify: they do not show "
        f"{asked}",
        _best_in_words(goal, best),
        _rows_in_words(guarantee, best),
        "" if best.bounds else "Loosen the bound, or ask for less confidence",
    ]
    error = NotCertifiable(
        ". ".join(text for text in said if text),
        worst.text,
        best.values.get(worst.text, worst.value),
        best.limits.get(worst.text, worst.limit),
        needed,
        dict(best.bounds),
        best.reached,
        "`on_uncertified='nearest'` gives the safest rule without a guarantee",
    )
    error.rule = best.rule
    error.evidence = left.rows if isinstance(left.rows, Evidence) else None
    return error


def _asked(c: Shown) -> str:
    """A constraint with its confidence, which its text may have already."""
    return c.text if " with confidence " in c.text else f"{c.text} at {sure(c.confidence)}"


def _best_in_words(goal: Goal, best: BestBounds) -> str:
    """The bounds that could be certified, and what is then reached."""
    if not best.bounds:
        return ""
    texts = []
    for c in goal.constraints:
        bound = best.bounds.get(str(c))
        if bound is not None:
            texts.append(f"{c.lhs} {c.relation} {bound:.6g}")
    out = f"The most that they show of any rule tried is {' and '.join(texts)}"
    if best.reached is None:
        return out
    reached = shown(best.reached, unit_of(goal.objective))
    return f"{out}; {in_words(goal.objective)} is then {reached}"


def _rows_in_words(guarantee: Guarantee, best: BestBounds) -> str:
    """How many rows would certify what was asked, if any do."""
    if best.out_of_reach:
        return "No rule tried comes near what was asked on these scores: more rows would not help"
    return sentence(more_rows(guarantee))

"""What a reader sees, as values: the order and the words of a report, whatever shows them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals import Const, Goal, Label, expression_of, glossary, goal_in_words, in_words
from setpoint.inference import FAILS, OPEN, SHOWN
from setpoint.report.advice import advice_of, stricter_goal
from setpoint.report.displays.sections import pictures_of, pictures_of_refused
from setpoint.report.entry import GroupRow
from setpoint.report.facts import SIZE, TITLE, Facts, GoalPart, Picture, TextSection
from setpoint.report.findings import (
    caveats,
    certificate,
    empty,
    headline,
    how_found,
    rows_in_words,
    rule_lines,
    sentence,
    share_of_rows,
    summary,
)
from setpoint.report.numbers import (
    Unit,
    asked,
    in_ten_thousand,
    number,
    parts_of,
    plural,
    shortened,
    shown,
    shown_bound,
    unit_of,
)
from setpoint.report.operating import OperatingPoints
from setpoint.report.promised import (
    STATES,
    assurances,
    certified_in_words,
    explained,
    promising,
    rows_of,
    same_sides,
)
from setpoint.report.text import (
    Block,
    Cell,
    Chapter,
    Document,
    Figures,
    Grid,
    Header,
    Prose,
    Shares,
    Tone,
    as_markdown,
    as_text,
    as_written,
    axis_for,
    bar_on,
    command_for,
)

if TYPE_CHECKING:
    from setpoint.search import Frontier


# --- The document of a report ---------------------------------------------------------------------


HELD_OUT = "On rows that took no part in choosing the rule"
CHOSEN_ON = "On the rows the rule was chosen on"
TESTING = "On the rows that tested the rule"

_MOST = 4
"""More cautions and more advice than so many are folded."""

_MOST_NOTES = 30


def report_document(
    lead: Facts,
    chosen: Facts | None = None,
    *,
    at_shell: bool = False,
    header: Header | None = None,
    about: Sequence[TextSection] = (),
    texts: Sequence[tuple[str, str]] = (),
) -> Document:
    """A rule, by the rows that judge it and those that chose it; with a header, as on a page."""
    own, on_page = lead if chosen is None else chosen, header is not None
    if not same_sides(lead.parsed_goal, own.parsed_goal):
        raise InputError(f"`held_out` is a report on another goal: {lead.goal!r}, not {own.goal!r}")
    said = lead if _is_refuted(own, lead) else promising(lead, own)
    said = lead if said.guarantee is None else said
    money, rule = lead.section("prices"), own if own.rule.text else lead
    rooms, details = list[Chapter](), list[Picture]()
    for title, lines, pictures in _rooms(own, lead):
        figures = Figures([p for p in pictures if not p.detail], wide=not lines and not rooms)
        room = Chapter(title, [Prose(lines, "each", "users"), figures])
        rooms += [room] if room else []
        details += [p for p in pictures if p.detail]
    details += [*group_pictures(lead), *path_pictures(own)]
    drawn = [c for c in rooms if isinstance(c.blocks[0], Figures)]
    inside = [Chapter(s.title, [Prose(s.lines(), "list", "users")]) for s in about]
    copies = [Chapter(title, [Prose((text,), "code")]) for title, text in texts]
    words = [f"{name}: {text}" for name, text in glossary(lead.parsed_goal)]
    rows = rows_of(lead.counts)
    return Document(
        headline(said),
        lead.goal,
        goal_in_words(lead.parsed_goal, lead.counts.positive),
        [
            _verdict(lead, chosen, header, at_shell),
            Chapter(
                "What was asked",
                [*_asked(lead), Prose(words, "glossary")],
                f"What was reached ({lead.counts.on_new}: each end with {100 * lead.level:.4g} % "
                "confidence)",
            ),
            *_against(lead),
            *drawn,
            *_groups(lead, on_page),
            *(c for c in rooms if c not in drawn),
            Chapter("The rule", list(_rule(rule, own, lead)), "Rule"),
            Chapter(
                "For statisticians", list(_small_print(own, lead, details, on_page)), folded=True
            ),
            Chapter("Columns and data", inside, folded=True),
            Chapter("As text", copies, folded=True),
        ],
        [
            Prose((in_ten_thousand(lead.counts),), style="people"),
            Shares([("", parts_of(lead.counts))]),
            Prose(() if money is None else money.lines(), "each", "money"),
        ],
        (header or Header()).line(lead.run.when[:10], lead.run.versions.get("setpoint", ""), rows),
        list(_run(own)),
    )


def _is_refuted(own: Facts, lead: Facts) -> bool:
    """Whether other rows than those that certify show that the goal fails."""
    return lead is not own and own.guarantee is not None and lead.verdict == FAILS


def _verdict(lead: Facts, chosen: Facts | None, header: Header | None, at_shell: bool) -> Chapter:
    """The verdict on the rows that judge, what to beware of, and what to do."""
    own = lead if chosen is None else chosen
    promise, lines = assurances(own), [summary(lead), rows_in_words(lead)]
    if _is_refuted(own, lead):
        promise.insert(0, f"{headline(own)}.")
    elif lead is not own and own.guarantee is not None:
        lines.insert(0, f"{headline(lead)}.")
    if chosen is not None:
        lines.append("These rows took no part in choosing the rule.")
    cautions = [*(() if header is None else header.cautions), *caveats(lead)]
    advice = dict.fromkeys(advice_of(lead, chosen, at_shell=at_shell))
    search: list[Block] = []
    to_search = header is not None and own.guarantee is None
    stricter = stricter_goal(lead, chosen) if to_search else None
    if stricter is not None and header is not None:
        what = "To search with the margin" + ("" if header.command else ", the goal is")
        command = command_for(stricter, header)
        search = [Prose((f"{what}:",)), Prose((command,), "code", "command")]
    tone, word = _word(own, lead)
    blocks: list[Block] = [
        Prose((" ".join(promise),)),
        Prose(lines),
        Prose(list(dict.fromkeys(cautions)), "list", "cautions", _MOST),
        Chapter("What to do", [Prose(list(advice), "list", "advice", _MOST), *search]),
    ]
    return Chapter("", blocks, tone=tone, word=word)


def _word(own: Facts, lead: Facts) -> tuple[Tone, str]:
    """How the goal stands, and the word for it."""
    tone: Tone = tone_of(lead.verdict) if lead.constraints else "plain"
    word = "" if tone == "plain" else sentence(lead.verdict or NOT_EVALUATED)
    promised = promising(lead, own).guarantee
    # What no promise is about may leave the goal open.
    if promised is None or _is_refuted(own, lead):
        return tone, word
    if promised.state != "certified":
        return "fails" if tone == "fails" else "open", STATES[promised.state]
    return (tone, word) if lead is own and tone != "shown" else ("shown", STATES["certified"])


NOT_EVALUATED = "not evaluated"

_TONES: dict[str | None, Tone] = {SHOWN: "shown", OPEN: "open", FAILS: "fails", None: "unknown"}


def tone_of(verdict: str | None) -> Tone:
    """The tone of a verdict.

    Examples
    --------
    >>> tone_of("too close to call"), tone_of(None)
    ('open', 'unknown')
    """
    return _TONES[verdict]


# ---------------------------------------------------------------------- the parts of the goal
_LONGEST = 100
"""Characters of one part; the goal above the table is whole."""


def _asked(facts: Facts) -> list[Block]:
    """The objective and every constraint, and how to read what is drawn."""
    table, on_new = goal_table(facts), facts.counts.on_new
    known = [row[1].bar for row in table.rows if row[1].bar is not None]
    hints = [
        "The dot is what was counted.",
        f"The thick bar is where the value is {on_new}, each end with {100 * facts.level:.4g} % "
        "confidence." if any(b.interval for b in known) else "",
        "The upright stroke is the bound; on the shaded side it holds."
        if any(b.bound is not None for b in known) else "",
        "The ring is the deployed model." if any(b.other is not None for b in known) else "",
    ]  # fmt: skip
    return [table, Prose(hints if known else (), "hint")]


def goal_table(facts: Facts) -> Grid:
    """The objective, then the constraints."""
    parts = zip((facts.aim, *facts.parts), _of_deployed(facts), strict=True)
    rows, lines = zip(*(_part(facts, *part) for part in parts), strict=True)
    head = ["Part of the goal", "On an axis", "Value", "Asked", sentence(facts.counts.on_new)]
    promised = "Certified" if facts.is_certified else "Could be certified"
    head += [promised if any(row[5].text for row in rows) else "", "Verdict"]
    return Grid(head, rows, "parts", lines)


def _part(facts: Facts, part: GoalPart, other: float | None) -> tuple[list[Cell], list[str]]:
    """One part of the goal, in columns; in lines its value, then what holds on new rows."""
    entry, low, high = part.entry, part.entry.low, part.entry.high
    if entry.interval == "exact":
        low = high = None
    value, counts = "not evaluated", ""
    if part.of_none:
        value, counts = "not counted", empty(part.x)
    elif entry.value is not None:
        value, counts = part.said(entry.value), share_of_rows(part)
    limits = "" if low is None else part.limits
    if limits and entry.level is not None:
        limits += f" (at {100 * entry.level:.10g} %)"
    way = "bootstrap" if limits and entry.interval == "bootstrap" else ""
    first = f"{entry.text}: {value}{counts and f' ({counts})'}{entry.why and f', {entry.why}'}"
    second = limits and f"{facts.counts.on_new} {limits}{way and ' (bootstrap)'}"
    if part.written is None:
        wanted = f"as {'high' if facts.parsed_goal.sense == 'maximize' else 'low'} as possible"
        first += "" if entry.value is None else f", {wanted}"
        searched, certified, verdict = "", "", Cell("Objective", tone="plain")
    else:
        wanted, certified = part.asked(entry.bound), certified_in_words(facts, part)
        searched = "" if entry.worked is None else f"searched with {part.asked(entry.worked)}"
        passed = facts.is_certified and entry.passed
        word = "certified" if passed else entry.verdict or NOT_EVALUATED
        verdict = Cell(sentence(word), tone=tone_of(entry.verdict))
        if entry.value is not None:
            second += f"{second and ': '}{word}"
            if entry.worked is not None:
                second += f" (searched with {shown_bound(entry.worked, part.unit)})"
        if certified and not passed:
            second += f"; could be certified: {certified}"
    bar = bar_on(
        None, part.unit, entry.value, low=low, high=high, bound=entry.bound,
        relation=entry.relation, other=other,
    )  # fmt: skip
    return [
        Cell(shortened(sentence(part.words), _LONGEST), code=entry.text),
        Cell(bar=bar),
        Cell(value, counts or entry.why, style="strong"),
        Cell(wanted, searched),
        Cell(limits or "-", way, style="limits"),
        Cell(certified),
        verdict,
    ], [first, second] if second else [first]


def _of_deployed(facts: Facts) -> Sequence[float | None]:
    """The deployed model's values of the same parts, where they were counted."""
    found, nothing = facts.deployed, [None] * len(facts.constraints)
    met = [] if found is None else [e.value for e in found.constraints]
    own = None if found is None else found.objective
    return [own, *(met if len(met) == len(nothing) else nothing)]


# ---------------------------------------------------------------------- what rooms add
def _against(lead: Facts) -> Iterator[Chapter]:
    """What changes against the deployed model, and both in people."""
    found, counts = lead.deployed, lead.counts
    if found is None:
        return
    both = []
    if found.confusion and found.changed > 0.0:
        both = [("This rule", parts_of(counts)),
                ("The deployed model", parts_of(counts, found.confusion))]  # fmt: skip
    yield Chapter(
        TITLE, [Shares(both), Prose(found.lines(lead.parsed_goal, counts), "list", "apart")]
    )


def _rooms(own: Facts, lead: Facts) -> Iterator[tuple[str, Sequence[str], list[Picture]]]:
    """Title, sentences and pictures of each section, those of the rows held out first."""
    seen = {s.name for s in lead.sections} - {TextSection.name}
    rest = () if own is lead else [s for s in own.sections if s.name not in seen]
    for facts, sections in ((lead, lead.sections), (own, rest)):
        rows = "" if own is lead else HELD_OUT if facts is lead else where(own)
        for section in sections:
            if section.name != "prices":  # said at the top
                pictures = [replace(p, rows=rows) for p in section.pictures(facts)]
                yield section.title, section.lines(), pictures


def where(own: Facts) -> str:
    """On which rows, beside those held out."""
    return CHOSEN_ON if own.guarantee is None else TESTING


def _rule(rule: Facts, own: Facts, lead: Facts) -> Iterator[Block]:
    """The rule as it stands, and sentences on what it looks at and what it draws."""
    yield Prose((rule.rule.text,), "code", "rule")
    lines = rule_lines(replace(rule, rule=replace(rule.rule, text="")))
    if own is not lead and own.certificate.with_draws is not None:
        # Other rows lead, with another value of the objective.
        lines[-1] = f"{where(own)}: {lines[-1][:1].lower()}{lines[-1][1:]}"
    yield Prose(lines, "each")


def _small_print(
    own: Facts, lead: Facts, pictures: Sequence[Picture], on_page: bool
) -> Iterator[Chapter | Figures]:
    """For statisticians: how it was found, what is promised, and on which rows it was chosen."""
    how = (how_found(own), certificate(own))
    yield Chapter("How the rule was found", [Prose((x,)) for x in how], "How it was found")
    yield Chapter("What is promised", [Prose(explained(own), "list")])
    if own is not lead and on_page:
        rows = f"{rows_of(own.counts)}, which took no part in learning the rules "
        rows += "that were tried."
        if own.guarantee is None:
            rows = f"{rows_of(own.counts)}. They flatter the rule, which was chosen "
            rows += "to look well on them."
        yield Chapter(where(own), [Prose((rows,)), *_asked(own)[:1]])
    yield Figures(pictures)
    notes = list(dict.fromkeys([*own.warnings, *lead.warnings]))
    if len(notes) > _MOST_NOTES:
        notes[_MOST_NOTES:] = [f"and {len(notes) - _MOST_NOTES:,} more notes like these"]
    yield Chapter("Please note", [Prose(notes, "list")])


def _run(facts: Facts) -> Iterator[str]:
    """What may differ between two runs of the same thing."""
    if facts.run.seconds is not None:
        yield f"search {facts.run.seconds:.3g} seconds"
    if facts.search.calls is not None:
        yield f"passes over the data {facts.search.calls:,}"
    yield from (f"{name} {text}" for name, text in facts.run.versions.items())
    yield from (f"{name}, digest {text}" for name, text in facts.run.digests.items())


# ---------------------------------------------------------------------- groups
_NAME = 90
"""Characters of a group's name; the whole of it is the cell's title."""

_MOST_GROUPS, _ENDS, _MOST_FOLDED = 60, 20, 200
"""So many groups are shown, and drawn; of more the ends, and some of the others are folded."""


def _groups(facts: Facts, on_page: bool) -> Iterator[Chapter]:
    """The groups in one table, with a dot for each group on one axis."""
    if not facts.groups:
        return
    table = group_table(facts)
    rows = table.rows
    if not on_page:
        short = [row[:_MOST_COLUMNS] for row in rows[:_MOST_LINES]]
        left = len(rows) - len(short), len(table.head) - _MOST_COLUMNS
        more = f"and {plural(left[0], 'more group')}" if left[0] > 0 else ""
        also = f"and {plural(left[1], 'more metric')} of each group" if left[1] > 0 else ""
        grid = Grid(table.head[:_MOST_COLUMNS], short)
        yield Chapter("Groups", [grid, Prose([more, also], "each")])
        return
    if len(rows) <= _MOST_GROUPS:
        yield Chapter("Groups", [table])
        return
    compared = [g.metric for g in facts.compared]
    by = (compared or [facts.groups[0].metric])[0]
    value = {g.columns: g.value for g in facts.groups if g.metric == by}
    groups = dict.fromkeys(g.columns for g in facts.groups)
    known = [(value.get(key), i) for i, key in enumerate(groups)]
    order = [i for _, i in sorted((v, i) for v, i in known if v is not None)]
    low, high = order[:_ENDS], order[_ENDS:][-_ENDS:]
    rest = [i for i in [*order, *(i for v, i in known if v is None)] if i not in {*low, *high}]
    what = _HEADS.get(by, by) if compared else by
    note = f"Of {len(rows):,} groups the {len(low)} lowest and the {len(high)} highest by {what}."
    others = [[replace(cell, bar=None) for cell in rows[i]] for i in rest[:_MOST_FOLDED]]
    folded = Chapter("The other groups", [replace(table, rows=others)], folded=True)
    shown = replace(table, rows=[rows[i] for i in [*low, *high]])
    yield Chapter("Groups", [Prose((note,), style="hint"), shown, folded])


_HEADS = {
    "prior": "true share",
    "predicted_rate": "accepted",
    "recall": "found",
    "precision": "right",
    "accuracy": "right",
    "deferral_rate": "deferred",
}


def group_table(facts: Facts) -> Grid:
    """One row for each group: what explains it, its cut-off, what the goal compares."""
    groups: dict[tuple[tuple[str, Label], ...], dict[str, GroupRow]] = {}
    ends: dict[str, list[float | None]] = {}
    for g in facts.groups:
        groups.setdefault(g.columns, {})[g.metric] = g
        ends.setdefault(g.metric, []).extend((g.value, g.low, g.high))
    units = {m: unit_of(expression_of(m)) for m in ends}
    compared = dict.fromkeys(g.metric for g in facts.compared)
    axes = {m: axis_for(ends[m], units[m]) for m in compared}
    explaining = [m for m in units if m not in compared]
    cutoffs = facts.rule.cutoffs if len(facts.rule.cutoffs) > 1 else ()
    rows = []
    for columns, own in groups.items():
        name = next(iter(own.values())).name
        row = [Cell(shortened(name, _NAME), whole=name)]
        row += [Cell(f"{max(g.rows for g in own.values()):,}")]
        row += [Cell(_rate(own, m, units[m], interval=False)) for m in explaining]
        if cutoffs:
            within = [cut for key, cut in cutoffs if set(key) <= set(columns)]
            row.append(Cell(number(within[0]) if len(within) == 1 else "several"))
        for m in compared:
            found, axis, bar = own.get(m), axes[m], None
            if found is not None and axis is not None:
                bar = bar_on(axis, units[m], found.value, low=found.low, high=found.high)
            row.append(Cell(_rate(own, m, units[m]), bar=bar))
        rows.append(row)
    middle = ["cut-off"] if cutoffs else []
    head = ["group", "rows", *(_HEADS.get(m, m) for m in explaining), *middle]
    head += [_HEADS.get(m, m) for m in compared]
    return Grid(head, rows, "groups one" if len(compared) == 1 else "groups")


def _rate(own: Mapping[str, GroupRow], metric: str, unit: Unit, *, interval: bool = True) -> str:
    """The metric of a group; where no row is accepted the 0 of a precision counts nothing."""
    row, accepted = own.get(metric), own.get("predicted_rate")
    if row is None or row.value is None:
        return "no rows"
    if metric == "precision" and row.value == 0.0 and accepted and accepted.value == 0.0:
        return "no rows"
    value = shown(row.value, unit)
    if not interval or row.low is None:
        return value
    return f"{value} ({shown(row.low, unit)} to {shown(row.high, unit)})"


_MOST_LINES, _MOST_COLUMNS = 40, 16
"""Where a table is text."""

_FRAME, _ROW = 0.9, 0.22
"""Inches: a picture of groups without its rows, and one row of it."""


def group_pictures(facts: Facts) -> Iterator[Picture]:
    """Each compared metric over its groups, with what the goal asks of them."""
    rows = facts.compared
    for metric in dict.fromkeys(g.metric for g in rows):
        own = tuple(_printable(g) for g in rows if g.metric == metric)
        if len(own) > _MOST_GROUPS or all(g.value is None for g in own):
            continue
        yield Picture(
            f"{in_words(expression_of(metric))} by group".capitalize(),
            _plot_of(own, facts.parsed_goal, facts.level),
            f"{metric} in each of {len(own)} groups; the table has the numbers.",
            f"A point is the value of one group, the line through it where it is on new rows, each "
            f"end with {100 * facts.level:.4g} % confidence. Where lines overlap, groups may "
            "differ by chance alone.",
            (SIZE[0], _FRAME + _ROW * max(len(own), 4)),
            detail=True,
        )


def _plot_of(rows: tuple[GroupRow, ...], goal: Goal, level: float) -> Any:
    from setpoint.report.displays import plot_groups

    return lambda ax: plot_groups(rows, goal, level, ax=ax)


def _printable(row: GroupRow) -> GroupRow:
    """The row with values that leave room for the picture."""
    short = [(c, shortened(v, 18) if isinstance(v, str) else v) for c, v in row.columns]
    return replace(row, columns=tuple(short))


def path_pictures(facts: Facts) -> Iterator[Picture]:
    """The path of rules that were tested, where there was one."""
    guarantee = facts.guarantee
    if guarantee is None or sum(math.isfinite(r.objective) for r in guarantee.path) < 3:
        return
    from setpoint.report.displays import plot_rule_path

    path = guarantee.path
    yield Picture(
        "From safe to bold",
        lambda ax: plot_rule_path(path, facts.objective.text, ax=ax),
        f"{len(path)} rules by margin and objective; {guarantee.passed} passed the test.",
        "Each mark is a rule, as it looked where the path was learnt. To the left it lies further "
        "within its bounds, in standard errors of the rows that certify. They were tested from the "
        "left, and from a second start, each time up to the first that did not pass.",
        detail=True,
    )


# --- The document of a goal that no rule meets: what can be met -----------------------------------


NO_RULE = "No rule meets the goal"
UNCERTIFIED = "No rule is certified to meet the goal on new rows"


def infeasible_document(
    goal: Goal,
    message: str,
    reachable: Sequence[tuple[str, float | None]] = (),
    frontier: Frontier | None = None,
    goals: Sequence[str] = (),
    header: Header | None = None,
    headline: str = NO_RULE,
    points: OperatingPoints | None = None,
) -> Document:
    """What can be met, bound by bound, at what price, and goals to copy."""
    header, refused = header or Header(), headline == UNCERTIFIED
    pictures = [] if frontier is None else list(pictures_of((frontier,)))
    if points is not None and goals:
        pictures += pictures_of_refused(points, goal, Goal.parse(goals[0]))
    reached = "The most that these rows show" if refused else "The best that a rule reaches"
    copies: list[Block] = []
    for text in goals:
        command = [command_for(text, header)] if header.command else []
        copies.append(Prose([text, *command], "code", "command"))
    hint = "Each with the other bounds kept. The dot is the best that is reached"
    if refused:
        hint = "All of them together. The dot is the most that is shown"
    return Document(
        headline,
        str(goal),
        goal_in_words(goal),
        [
            Chapter(
                "",
                [Prose((f"{sentence(message)}.",), style="lead"),
                 Prose(header.cautions, "list", "cautions")],
                tone="fails",
            ),
            Chapter(
                f"What can be {'shown' if refused else 'met'}, bound by bound",
                [
                    Grid(["Bound", "On an axis", "Asked", reached],
                          [_reached(goal, *one) for one in reachable], "parts reach"),
                    Prose((f"{hint}; on the shaded side of the stroke the bound holds.",), "hint"),
                ] if reachable else [],
            ),
            Chapter(
                "Every cut-off" if refused else "Between the bounds", [Figures(pictures, True)]
            ),
            Chapter(
                "A goal that is certified on these rows, to copy"
                if refused
                else "Goals that can be met, to copy",
                copies,
            ),
        ],
        top=header.line(datetime.now(UTC).date().isoformat(), version("setpoint")),
    )  # fmt: skip


def _reached(goal: Goal, text: str, value: float | None) -> list[Cell]:
    """One bound: what is asked, and the best that a rule reaches."""
    written = {str(c): c for c in goal.constraints}.get(text)
    if written is None:
        best = "not known" if value is None else number(value)
        return [Cell(text), Cell(), Cell(), Cell(best, style="strong")]
    unit = unit_of(written.lhs)
    bound = written.rhs.value if isinstance(written.rhs, Const) else None
    bar = bar_on(None, unit, value, bound=bound, relation=written.relation)
    wanted = asked(written, bound) if bound is not None else in_words(written.rhs)
    best = "not known" if value is None else shown(value, unit)
    return [Cell(sentence(in_words(written.lhs)), code=text), Cell(bar=bar), Cell(wanted),
            Cell(best, style="strong")]  # fmt: skip


# --- A report as text, and the card of its model -------------------------------------------------


def report_text(facts: Facts, fitted: Facts | None = None, *, at_shell: bool = False) -> str:
    """The whole report, 79 columns wide."""
    return as_text(report_document(facts, fitted, at_shell=at_shell))


HEADINGS = ("Intended use", "What was measured", "The fit", "Versions and digests")


def card_text(facts: Facts, *, name: str = "", held_out: Facts | None = None) -> str:
    """The card of a model: the goal, what was measured and on which rows.

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
    words = goal_in_words(facts.parsed_goal, facts.counts.positive)
    judged = report_text(facts) if held_out is None else report_text(held_out, facts)
    made = [f"fitted {facts.run.when} UTC", *(f"{k} {v}" for k, v in facts.run.versions.items())]
    made += [f"digest of {key}: {text}" for key, text in facts.run.digests.items()]
    use = [Prose((f"{words}. As a goal of setpoint:",)), Prose((facts.goal,), "code")]
    fit = Prose((facts.rule.text if held_out is None else report_text(facts),), "code")
    inside = (use, [Prose((judged,), "code")], [fit], [Prose(made, "list")])
    chapters = [Chapter(*pair) for pair in zip(HEADINGS, inside, strict=True)]
    blocks = ["---\nlibrary_name: setpoint\n---", f"# {as_written(name or 'A classifier')}"]
    return "\n\n".join([*blocks, *(x for c in chapters for x in as_markdown(c))]) + "\n"

"""What a reader sees, as values: the order and the words of a report, whatever shows them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from setpoint.errors import InputError
from setpoint.goals import Const, Goal, expression_of, glossary, goal_in_words, in_words
from setpoint.inference import FAILS, OPEN, SHOWN
from setpoint.report.advice import advice_of, stricter_goal
from setpoint.report.blocks import (
    Bar,
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
    axis_for,
    bar_on,
    command_for,
)
from setpoint.report.entry import GroupRow
from setpoint.report.facts import SIZE, TITLE, Facts, Picture, TextSection
from setpoint.report.findings import (
    Line,
    caveats,
    certificate,
    certified_head,
    entry_lines,
    headline,
    how_found,
    lines_of,
    rows_in_words,
    rule_lines,
    sentence,
    summary,
)
from setpoint.report.numbers import (
    asked,
    in_ten_thousand,
    number,
    parts_of,
    plural,
    shortened,
    shown,
    unit_of,
)
from setpoint.report.operating import OperatingPoints
from setpoint.report.promised import (
    STATES,
    GroupTable,
    assurances,
    explained,
    promising,
    same_sides,
)
from setpoint.report.sections import pictures_of, pictures_of_refused
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
    goal = Goal.parse(lead.goal)
    if not same_sides(goal, Goal.parse(own.goal)):
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
    details += [*group_pictures(lead, goal), *path_pictures(own)]
    drawn = [c for c in rooms if isinstance(c.blocks[0], Figures)]
    inside = [Chapter(s.title, [Prose(s.lines(), "list", "users")]) for s in about]
    copies = [Chapter(title, [Prose((text,), "code")]) for title, text in texts]
    rows = plural(lead.counts.n_rows, "row")
    return Document(
        headline(said, Goal.parse(said.goal)),
        lead.goal,
        goal_in_words(goal, lead.counts.positive),
        [
            _verdict(lead, chosen, goal, header, at_shell),
            Chapter(
                "What was asked",
                [*_asked(lead, goal), _glossary(goal)],
                f"What was reached ({lead.counts.on_new}: each end with {100 * lead.level:.4g} % "
                "confidence)",
            ),
            *_against(lead, goal),
            *drawn,
            *_groups(lead, on_page),
            *(c for c in rooms if c not in drawn),
            Chapter("The rule", list(_rule(rule, own, lead, goal)), "Rule"),
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


def _verdict(
    lead: Facts, chosen: Facts | None, goal: Goal, header: Header | None, at_shell: bool
) -> Chapter:
    """The verdict on the rows that judge, what to beware of, and what to do."""
    own = lead if chosen is None else chosen
    promise, lines = assurances(own, Goal.parse(own.goal)), [summary(lead), rows_in_words(lead)]
    if _is_refuted(own, lead):
        promise.insert(0, f"{headline(own, Goal.parse(own.goal))}.")
    elif lead is not own and own.guarantee is not None:
        lines.insert(0, f"{headline(lead, goal)}.")
    if chosen is not None:
        lines.append("These rows took no part in choosing the rule.")
    cautions = [*(() if header is None else header.cautions), *caveats(lead)]
    advice = dict.fromkeys(advice_of(lead, chosen, at_shell=at_shell))
    search: list[Block] = []
    to_search = header is not None and own.guarantee is None
    stricter = stricter_goal(lead, goal, chosen) if to_search else None
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


def _asked(facts: Facts, goal: Goal) -> list[Block]:
    """The objective and every constraint, and how to read what is drawn."""
    lines, on_new = lines_of(facts, goal), facts.counts.on_new
    bars = [_bar(line, x) for line, x in zip(lines, _of_deployed(facts), strict=True)]
    worked = [""] + [
        "" if e.worked is None else f"searched with {asked(c, e.worked)}"
        for e, c in zip(facts.constraints, goal.constraints, strict=True)
    ]
    rows = [
        [
            Cell(shortened(sentence(line.words), _LONGEST), code=line.entry.text),
            Cell(bar=bar),
            Cell(line.value, line.counts or line.entry.why, style="strong"),
            Cell(line.wanted, searched),
            Cell(
                line.limits or "-",
                "bootstrap" if line.limits and line.entry.interval == "bootstrap" else "",
                style="limits",
            ),
            Cell(line.certified),
            Cell(sentence(line.verdict) or "Objective", tone=_tone(line)),
        ]
        for line, bar, searched in zip(lines, bars, worked, strict=True)
    ]
    head = ["Part of the goal", "On an axis", "Value", "Asked", sentence(on_new)]
    head += [certified_head(lines, facts), "Verdict"]
    known = [bar for bar in bars if bar is not None]
    hints = [
        "The dot is what was counted.",
        f"The thick bar is where the value is {on_new}, each end with {100 * facts.level:.4g} % "
        "confidence." if any(b.interval for b in known) else "",
        "The upright stroke is the bound; on the shaded side it holds."
        if any(b.bound is not None for b in known) else "",
        "The ring is the deployed model." if any(b.other is not None for b in known) else "",
    ]  # fmt: skip
    return [Grid(head, rows, "parts", [entry_lines(x) for x in lines]),
            Prose(hints if known else (), "hint")]  # fmt: skip


def _tone(line: Line) -> Tone:
    return "plain" if line.entry.relation is None else tone_of(line.entry.verdict)


def _bar(line: Line, other: float | None) -> Bar | None:
    entry = line.entry
    low, high = (None, None) if entry.interval == "exact" else (entry.low, entry.high)
    axis = axis_for([entry.value, entry.bound, low, high, other], line.unit)
    return bar_on(
        axis, line.unit, entry.value, low=low, high=high, bound=entry.bound,
        relation=entry.relation, other=other,
    )  # fmt: skip


def _of_deployed(facts: Facts) -> Sequence[float | None]:
    """The deployed model's values of the same parts, where they were counted."""
    found, nothing = facts.deployed, [None] * len(facts.constraints)
    if found is None:
        return [None, *nothing]
    met = [e.value for e in found.constraints]
    return [found.objective, *(met if len(met) == len(nothing) else nothing)]


def _glossary(goal: Goal) -> Prose:
    return Prose([f"{name}: {words}" for name, words in glossary(goal)], "glossary")


# ---------------------------------------------------------------------- what rooms add
def _against(lead: Facts, goal: Goal) -> Iterator[Chapter]:
    """What changes against the deployed model, and both in people."""
    found, counts = lead.deployed, lead.counts
    if found is None:
        return
    both = []
    if found.confusion and found.changed > 0.0:
        both = [("This rule", parts_of(counts)),
                ("The deployed model", parts_of(counts, found.confusion))]  # fmt: skip
    yield Chapter(TITLE, [Shares(both), Prose(found.lines(goal, counts), "list", "apart")])


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


def _rule(rule: Facts, own: Facts, lead: Facts, goal: Goal) -> Iterator[Block]:
    """The rule as it stands, and sentences on what it looks at and what it draws."""
    yield Prose((rule.rule.text,), "code", "rule")
    lines = rule_lines(replace(rule, rule=replace(rule.rule, text="")), goal)
    if own is not lead and own.certificate.with_draws is not None:
        # Other rows lead, with another value of the objective.
        lines[-1] = f"{where(own)}: {lines[-1][:1].lower()}{lines[-1][1:]}"
    yield Prose(lines, "each")


def _small_print(
    own: Facts, lead: Facts, pictures: Sequence[Picture], on_page: bool
) -> Iterator[Chapter | Figures]:
    """For statisticians: how it was found, what is promised, and on which rows it was chosen."""
    goal = Goal.parse(own.goal)
    how = (how_found(own), certificate(own, goal))
    yield Chapter("How the rule was found", [Prose((x,)) for x in how], "How it was found")
    yield Chapter("What is promised", [Prose(explained(own), "list")])
    if own is not lead and on_page:
        rows = f"{plural(own.counts.n_rows, 'row')}, which took no part in learning the rules "
        rows += "that were tried."
        if own.guarantee is None:
            rows = f"{plural(own.counts.n_rows, 'row')}. They flatter the rule, which was chosen "
            rows += "to look well on them."
        yield Chapter(where(own), [Prose((rows,)), *_asked(own, goal)[:1]])
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
    table = GroupTable.of(facts)
    bars = [_group_bars(facts, metric) for metric in table.metrics]
    plain = len(table.head) - len(bars)
    groups, rows = list(dict.fromkeys(g.columns for g in facts.groups)), []
    for columns, row in zip(groups, table.rows, strict=True):
        name = Cell(shortened(row[0], _NAME), whole=row[0])
        drawn = [Cell(x, bar=b.get(columns)) for x, b in zip(row[plain:], bars, strict=True)]
        rows.append([name, *map(Cell, row[1:plain]), *drawn])
    style = "groups one" if len(bars) == 1 else "groups"
    if not on_page:
        short = [row[:_MOST_COLUMNS] for row in rows[:_MOST_LINES]]
        left = len(rows) - len(short), len(table.head) - _MOST_COLUMNS
        more = [f"and {plural(left[0], 'more group')}"] if left[0] > 0 else []
        more += [f"and {plural(left[1], 'more metric')} of each group"] if left[1] > 0 else []
        head = table.head[:_MOST_COLUMNS]
        yield Chapter("Groups", [Grid(head, short, style), Prose(more, "each")])
        return
    if len(rows) <= _MOST_GROUPS:
        yield Chapter("Groups", [Grid(table.head, rows, style)])
        return
    by = (table.metrics or (facts.groups[0].metric,))[0]
    value = {g.columns: g.value for g in facts.groups if g.metric == by}
    known = [(value.get(key), i) for i, key in enumerate(groups)]
    order = [i for _, i in sorted((v, i) for v, i in known if v is not None)]
    low, high = order[:_ENDS], order[_ENDS:][-_ENDS:]
    rest = [i for i in [*order, *(i for v, i in known if v is None)] if i not in {*low, *high}]
    what = table.head[plain] if table.metrics else by
    note = f"Of {len(rows):,} groups the {len(low)} lowest and the {len(high)} highest by {what}."
    others = [[replace(cell, bar=None) for cell in rows[i]] for i in rest[:_MOST_FOLDED]]
    folded = Chapter("The other groups", [Grid(table.head, others, style)], folded=True)
    shown = Grid(table.head, [rows[i] for i in [*low, *high]], style)
    yield Chapter("Groups", [Prose((note,), style="hint"), shown, folded])


def _group_bars(facts: Facts, metric: str) -> dict[object, Bar | None]:
    """The bars of one metric, on one axis for all groups."""
    rows = [g for g in facts.groups if g.metric == metric]
    unit = unit_of(expression_of(metric))
    axis = axis_for([x for g in rows for x in (g.value, g.low, g.high)], unit)
    return {g.columns: bar_on(axis, unit, g.value, low=g.low, high=g.high) for g in rows}


_MOST_LINES, _MOST_COLUMNS = 40, 16
"""Where a table is text."""

_FRAME, _ROW = 0.9, 0.22
"""Inches: a picture of groups without its rows, and one row of it."""


def group_pictures(facts: Facts, goal: Goal) -> Iterator[Picture]:
    """Each compared metric over its groups, with what the goal asks of them."""
    rows = [g for g in facts.groups if g.compared]
    for metric in dict.fromkeys(g.metric for g in rows):
        own = tuple(_printable(g) for g in rows if g.metric == metric)
        if len(own) > _MOST_GROUPS or all(g.value is None for g in own):
            continue
        yield Picture(
            f"{in_words(expression_of(metric))} by group".capitalize(),
            _plot_of(own, goal, facts.level),
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
    if guarantee is None or sum(math.isfinite(value) for _, value in guarantee.path) < 3:
        return
    from setpoint.report.displays import plot_rule_path

    path, passed = guarantee.path, guarantee.passed
    yield Picture(
        "From safe to bold",
        lambda ax: plot_rule_path(path, passed, facts.objective.text, ax=ax),
        f"{len(path)} rules by margin and objective; the first {passed} passed the test.",
        "Each mark is a rule, as it looked where the path was learnt. To the left it lies further "
        "within its bounds, in standard errors of the rows that certify. They were tested from the "
        "left up to the first that did not pass.",
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
    bar = bar_on(
        axis_for([value, bound], unit), unit, value, bound=bound, relation=written.relation
    )
    wanted = asked(written, bound) if bound is not None else in_words(written.rhs)
    best = "not known" if value is None else shown(value, unit)
    return [Cell(sentence(in_words(written.lhs)), code=text), Cell(bar=bar), Cell(wanted),
            Cell(best, style="strong")]  # fmt: skip

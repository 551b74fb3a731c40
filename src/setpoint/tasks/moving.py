"""The rule of a stored model, moved or explored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError, InputTypeError, listed
from setpoint.goals import Constraint, Goal, as_goal
from setpoint.tables import note, step, warnings_as_notes
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.loaded import LoadedModel, decide_new_groups, load_and_read
from setpoint.tables.rows import (
    Reading,
    check_one_table,
    columns_named,
    only_one_stdin,
    open_model,
    read,
)

if TYPE_CHECKING:
    from setpoint.explorer import Explorer
    from setpoint.report import GoalReport, TextSection
    from setpoint.rules import Rule
    from setpoint.search import Frontier
    from setpoint.tables import TableModel


# --- The rule of a stored model, moved to another bound or another place --------------------------


@dataclass(frozen=True, eq=False)
class MovedRule:
    """A stored model with another rule."""

    model: TableModel
    goal: Goal
    before: LoadedModel

    @property
    def report(self) -> GoalReport:
        """What the rule reaches on these rows."""
        found: GoalReport = self.model.classifier.goal_report_
        return found

    def about(self) -> list[TextSection]:
        """Sections of the page: the data, and the model."""
        from setpoint.report import TextSection

        table = self.before.table
        return [
            TextSection("The data", (f"{self.before.part.n_rows:,} rows from {table.name}",
                                     *table.notes)),
            TextSection("The model", self.model.notes),
        ]  # fmt: skip


def move_rule(
    model: Any,
    table: Any,
    *,
    bounds: Sequence[str] = (),
    line: float | None = None,
    rule: Rule | str | None = None,
    target: str | None = None,
    baseline: str | None = None,
    datasets: Mapping[str, Any] | None = None,
    skip_unlabelled: bool = False,
    trust: Sequence[str] = (),
    reading: Reading | None = None,
) -> MovedRule:
    """Move the rule of a stored model, without fitting the model again.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import fit_table, move_rule
    >>> goal = "maximize recall subject to precision >= 0.95"
    >>> fitted = fit_table(tumours()[::2], goal, target="diagnosis", pos_label="malignant")
    >>> moved = move_rule(fitted.model, tumours()[1::2], bounds=["precision >= 0.8"])
    >>> print(moved.goal)
    maximize recall subject to precision >= 0.8
    >>> moved.report.satisfied
    True
    """
    from setpoint.plugin import with_goal, with_rule
    from setpoint.search import InfeasibleError

    if isinstance(bounds, str):
        bounds = [bounds]
    chosen = _rule_given(bounds, line, rule)
    found = open_model(model, trust)
    own = Goal.parse(found.classifier.goal_report_.goal)
    if own.is_blackbox:
        raise InputError(
            f"the goal is a metric without a formula, {own.objective}, whose rule cannot be moved "
            "by a goal; fit for another one"
        )
    goal = moved_goal(own, bounds)
    looks = _columns_of(chosen, found)
    loaded = load_and_read(
        found, table, Reading() if reading is None else reading, target=target,
        baseline=baseline, files=datasets or {}, judging=True, goal=goal,
        skip_unlabelled=skip_unlabelled, beside=dict.fromkeys(looks, "`rule`"),
    )  # fmt: skip
    with warnings_as_notes(), step("moving the rule"):
        try:
            if chosen is None:
                clf = with_goal(found.classifier, goal, **loaded.rows())
            else:
                clf = with_rule(found.classifier, chosen, goal, **loaded.rows())
        except InfeasibleError as error:
            error.goal = goal
            raise
    if found.classifier.goal_report_.guarantee is not None:
        note(
            "what was certified in the fit was certified of the old rule; nothing is certified of "
            "the new one"
        )
    source = "a model" if isinstance(model, type(found)) else str(model)
    stored = replace(
        found,
        classifier=clf,
        target=loaded.model.target,
        dataset_names=goal.needs.datasets,
        notes=(*found.notes, _moved_note(source, own, goal, line, chosen, loaded)),
        judge_by=None if chosen is None else found.judge_by,
        held_out=None,
    )
    if chosen is None and found.judge_by is not None:
        note(f"the model was judged by '{found.judge_by}'; the new one is by '{goal}'")
    return MovedRule(stored, goal, loaded)


def _rule_given(bounds: Sequence[str], line: float | None, rule: Rule | str | None) -> Rule | None:
    """The rule to move to; None: the bounds say where."""
    from setpoint.rules import Rule, RuleFormatError, Threshold

    ways = {"bounds": bool(bounds), "line": line is not None, "rule": rule is not None}
    named = [f"`{name}`" for name, given in ways.items() if given]
    if not named:
        raise InputError(
            "say where the rule goes: `bounds`, such as 'precision >= 0.8', `line` or `rule`"
        )
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)} each move the rule: leave all but one out")
    if line is not None:
        if not math.isfinite(line):
            raise InputError(f"`line` is a finite number, got {line}")
        return Threshold(line)
    if isinstance(rule, str):
        try:
            return Rule.from_json(rule)
        except RuleFormatError as error:
            raise InputError(f"`rule` is not a rule as JSON: {error}") from None
    if rule is not None and not isinstance(rule, Rule):
        raise InputTypeError(f"`rule` is a Rule, or one as JSON, found {type(rule).__name__}")
    return rule


def _columns_of(rule: Rule | None, model: TableModel) -> list[str]:
    """The columns that a rule looks at beside the score."""
    if rule is None or not rule.needs_segments:
        return []
    looks = [name for name, _ in rule.segment_keys[0]]
    given = model.classifier.sensitive_features
    known = [] if given is None else list(given)
    missing = [name for name in looks if name not in known]
    if missing:
        those = f"only at {listed(known)}" if known else "at none"
        raise InputError(
            f"`rule` looks at the column {missing[0]!r} beside the score, and rules of this model "
            f"can look {those}; a fit with such a goal, or with `decide_on`, lets them"
        )
    return looks


def moved_goal(goal: Goal, bounds: Sequence[str]) -> Goal:
    """A goal with other bounds, and without confidences, which only a fit can keep.

    Examples
    --------
    >>> own = Goal.parse("maximize recall subject to precision >= 0.9 and predicted_rate <= 0.5")
    >>> print(moved_goal(own, ["precision >= 0.8"]))
    maximize recall subject to precision >= 0.8 and predicted_rate <= 0.5
    """
    constraints, sides = list(goal.constraints), set[tuple[str, str]]()
    for text in bounds:
        new = _constraint(goal, text)
        if (str(new.lhs), new.relation) in sides:
            raise InputError(f"`bounds`: {text!r} has a left side that was given a bound already")
        sides.add((str(new.lhs), new.relation))
        places = [
            i
            for i, c in enumerate(constraints)
            if (str(c.lhs), c.relation) == (str(new.lhs), new.relation)
        ]
        if len(places) > 1:
            raise InputError(
                f"`bounds`: {text!r} has the left side of several constraints of the goal, "
                f"{' and '.join(str(constraints[i]) for i in places)}; fit for the new goal instead"
            )
        if places:
            constraints[places[0]] = new
        else:
            note(f"the goal had no such bound, so {new} is added to it")
            constraints.append(new)
    if any(c.confidence is not None for c in constraints):
        note("the goal asks for a confidence, and a rule that is moved is not certified")
        constraints = [replace(c, confidence=None) for c in constraints]
    return replace(goal, constraints=tuple(constraints))


def _constraint(goal: Goal, text: str) -> Constraint:
    """A constraint from its text."""
    if not any(sign in text for sign in (">=", "<=", "≥", "≤", " at ")):
        raise InputError(
            f"`bounds`: {text!r} is not a constraint; write its bound too, as in 'precision >= 0.8'"
        )
    found = Goal.parse(f"{goal.sense} {goal.objective} subject to {text}").constraints
    if len(found) != 1:
        raise InputError(
            f"`bounds`: {text!r} is {len(found)} constraints; give them one by one"
        )  # fmt: skip
    if found[0].confidence is not None:
        raise InputError(
            f"`bounds`: {text!r} asks for a confidence, and a rule that is moved is not certified; "
            "leave the confidence out, or fit for the new goal"
        )
    return found[0]


def _moved_note(
    source: str,
    own: Goal,
    goal: Goal,
    line: float | None,
    chosen: Rule | None,
    loaded: LoadedModel,
) -> str:
    """The sentence that stays with the model."""
    moved = f"moved to '{goal}'"
    if chosen is not None:
        moved = "replaced by one that was given, and measured"
    if line is not None:
        moved = f"moved to the score {line:g} and measured"
    rows = f"{loaded.part.n_rows:,} rows of {loaded.table.name}"
    return f"The rule of {source}, which was found for '{own}', was {moved} on {rows}"


# --- What other bounds would mean for the rule of a stored model ----------------------------------


@dataclass(frozen=True, eq=False)
class TableFrontier:
    """The best objective at each bound, on the rows of a table."""

    frontier: Frontier
    loaded: LoadedModel


def frontier_of_table(
    model: Any,
    table: Any,
    *,
    vary: str | None = None,
    values: Sequence[float] | None = None,
    target: str | None = None,
    baseline: str | None = None,
    datasets: Mapping[str, Any] | None = None,
    skip_unlabelled: bool = False,
    trust: Sequence[str] = (),
    reading: Reading | None = None,
) -> TableFrontier:
    """The best objective as the bound of one constraint moves."""
    from setpoint.plugin import frontier
    from setpoint.search import InfeasibleError

    loaded = load_and_read(
        model, table, Reading() if reading is None else reading,
        trust=trust, target=target, baseline=baseline, files=datasets or {}, vary=vary,
        skip_unlabelled=skip_unlabelled,
    )  # fmt: skip
    with warnings_as_notes(), step("moving the bound"):
        try:
            found = frontier(loaded.model.classifier, vary=vary, values=values, **loaded.rows())
        except InfeasibleError as error:
            error.goal = loaded.goal
            raise
    return TableFrontier(found, loaded)


# --- The page on which the bounds of a stored model's goal are moved by hand ----------------------


_COUNTING = "counting what every cut-off does"

CHECKED = 0.3
"""The share of the rows set apart for the check, where no table is named for it."""


@dataclass(frozen=True, eq=False)
class ExploredTable:
    """The explorer of a stored model on the rows of a table."""

    explorer: Explorer
    loaded: LoadedModel


def explore_table(
    model: Any,
    table: Any,
    *,
    check: Any = CHECKED,
    goal: Any = None,
    other_goal: Any = None,
    by: Sequence[str] = (),
    target: str | None = None,
    baseline: str | None = None,
    skip_unlabelled: bool = False,
    unknown_group: str = "raise",
    trust: Sequence[str] = (),
    reading: Reading | None = None,
) -> ExploredTable:
    """The operating-point explorer of a stored model.

    Examples
    --------
    >>> from setpoint.tables import tumours
    >>> from setpoint.tasks import explore_table, fit_table
    >>> goal = "maximize recall subject to precision >= 0.9"
    >>> fitted = fit_table(tumours()[::2], goal, target="diagnosis", pos_label="malignant")
    >>> explore_table(fitted.model, tumours()[1::2]).loaded.part.n_rows
    284
    """
    reading = Reading() if reading is None else reading
    share = isinstance(check, (int, float)) and not isinstance(check, bool)
    if share and not 0 <= check < 1:
        raise InputError(f"`check` is a table, or a share from 0 to below 1, got {check}")
    only_one_stdin([table] if share else [table, check])
    found = open_model(model, trust)
    decide_new_groups(found.classifier, unknown_group)
    whole = read(table, reading, found.columns)
    by = columns_named("by", by, list(whole.frame.columns), whole.name)
    other = None if other_goal is None else as_goal(other_goal)
    beside = dict.fromkeys(by, "`by`")
    if other is not None:
        check_one_table(other)
        beside |= dict.fromkeys(other.needs.columns.get(None, {}), "`other_goal`")

    def loaded_from(source: Any) -> LoadedModel:
        return load_and_read(
            found, source, reading, trust=trust, target=target, baseline=baseline,
            judging=True, goal=goal, skip_unlabelled=skip_unlabelled,
            beside=beside,
        )  # fmt: skip

    loaded = loaded_from(whole)
    apart = check if share else _rows(loaded_from(check))
    with warnings_as_notes(), step(_COUNTING):
        # A copy has none of the rows of its fit: bounds move on the rows of the table.
        explorer = copy(loaded.model.classifier).explore(
            **_rows(loaded), check=apart, by=list(by) or None, goal=loaded.goal, other_goal=other
        )
    return ExploredTable(explorer, loaded)


def _rows(loaded: LoadedModel) -> dict[str, Any]:
    """The rows as `explore` takes them."""
    return {"X": loaded.part.X, "y": loaded.part.y, **loaded.part.sides()}


def explore_fit(fitted: FittedTable) -> Explorer:
    """The explorer of a fit: bounds move on the rows of the fit, those held out check."""
    held = fitted.held
    apart = {} if held is None else {"X": held.X, "y": held.y, **held.sides()}
    with warnings_as_notes(), step(_COUNTING):
        found: Explorer = fitted.classifier.explore(**apart)
    return found

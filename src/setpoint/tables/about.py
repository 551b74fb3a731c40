"""What there is to say of a fit on a table, and its pages."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError, InputTypeError
from setpoint.goals import Const, Constraint, Goal
from setpoint.parameters import SATISFIED
from setpoint.tables.roles import counted, sides
from setpoint.tables.rows import check_column, note, step, warnings_as_notes

if TYPE_CHECKING:
    from setpoint.explorer import Explorer
    from setpoint.guarantees import NotCertifiable
    from setpoint.report import GoalReport, Header, OperatingPoints
    from setpoint.rules import Rule
    from setpoint.search import Frontier, InfeasibleError
    from setpoint.tables.fitted import FittedModel
    from setpoint.tables.model import TableModel
    from setpoint.tables.table import Table


# --- Which rows a report of a fit is on, in words -------------------------------------------------


def certifying(fitted: TableModel) -> str:
    """The rows that certify."""
    assert fitted.guarantee is not None
    where = f"of {fitted.certify_on}" if fitted.certify_on else "set apart"
    return f"{counted(fitted.guarantee.rows)} {where}"


def judged_on(fitted: TableModel) -> str:
    """The rows held out, or else those of the other report."""
    if fitted.held_out is None:
        return chosen_on(fitted)
    out = f"{counted(fitted.n_held_out)} held out"
    if fitted.validation is not None:
        out += f" of {fitted.name}"
    sets = {name: rows for name, rows in fitted.datasets.items() if not rows.held_out}
    both = (f", and on the {counted(n.fitted)} of {name}, not held out" for name, n in sets.items())
    return out + "".join(both)


def chosen_on(fitted: TableModel) -> str:
    """The rows that the rule was chosen on, or that certify."""
    if fitted.guarantee is not None:
        return certifying(fitted)
    n = fitted.report.counts.n_rows
    if fitted.validation is not None:
        return f"the {n:,} rows of {fitted.name} by which the model was chosen"
    if not fitted.choice.trains or fitted.report.search.folds:
        return f"{n:,} rows, by cross-validation"
    if n >= (fitted.fitted_rows or 0):  # and those of further data sets
        return f"the {n:,} rows that the model was trained on"
    return f"the {n:,} rows by which the model was chosen"


# --- Sentences on the data and the model of a fit, for its page -----------------------------------


_MOST = 12
_NOUNS = {"linear": "A linear model", "mlp": "A network with three layers of 64"}


def about_fit(
    table: Table,
    others: Mapping[str, Table],
    fitted: TableModel,
    validation: Table | None = None,
) -> list[tuple[str, list[str]]]:
    """Sections of the page: a title and sentences."""
    n_rows, n_columns = table.frame.shape
    classes = ", ".join(f"{label} ({n:,} rows)" for label, n in fitted.classes.items())
    data = [
        f"{n_rows:,} rows and {n_columns:,} columns from {table.name}",
        f"The target is {fitted.target}: {classes}",
    ]
    drawn = (
        f"drawn with seed {fitted.random_state} in the proportions of the classes, were held out"
    )
    own, measured, guarantee = fitted.fitted_rows, fitted.validation, fitted.guarantee
    if measured is not None:
        # The metric was not measured on the training rows.
        line = f"The metric was measured on {measured.fitted:,} rows of {fitted.name}"
        line += f"; {measured.held_out:,} others, {drawn}" if measured.held_out else ""
        data.append(f"{line}; the model was trained on {own:,} rows")
    elif fitted.held_out is not None:
        line = f"{fitted.n_held_out:,} rows, {drawn}"
        data.append(f"{line}; the model and its rule come from the other {own:,}")
    if guarantee is not None:
        line = f"{counted(guarantee.rows)} of {fitted.certify_on} certify, and took no other part"
        if not fitted.certify_on:
            of = "them and of the data sets" if fitted.datasets else "them"
            line = f"Of {of} {counted(guarantee.rows)} certify and took no other part"
        data.append(line)
    for name, other in others.items():
        rows = fitted.datasets[name]
        line = f"The data set {name}: {counted(len(other.frame))} from {other.name}"
        if rows.held_out or fitted.held_out is not None:
            line += f", {f'{rows.held_out:,}' if rows.held_out else 'none'} of them held out"
        if rows.shared:
            line += f"; {rows.shared:,} are rows of another table too, and on the same side there"
        data.append(line)
    tables = (table, *others.values(), *([] if validation is None else [validation]))
    data += [f"{t.name}: {note}" for t in tables for note in t.notes]
    sections = [("The data", data), ("The model", about_model(fitted))]
    if fitted.candidates:
        sections.append(("What was tried", _tried(fitted)))
    return sections


def about_model(fitted: TableModel) -> list[str]:
    """Sentences on the model: what it is, and what it looks at."""
    from setpoint.tables.features import described

    roles, clf, choice = fitted.roles, fitted.classifier, fitted.choice
    if choice.trains:
        model = [
            _NOUNS[choice.model]
            + f", trained for the goal by {choice.solver}, seed {fitted.random_state}"
        ]
        inner = clf.preprocessor
    else:
        chosen = getattr(clf, "choice_", None)
        name = choice.model if chosen is None else f"{chosen.chosen}, chosen under the goal"
        model = [f"The model inside is {name}, with seed {fitted.random_state}"]
        inner = clf.estimator if chosen is None else clf.estimator_
    parts = dict(getattr(inner, "named_estimators_", {"": inner}))  # of a mean each
    for name, part in parts.items():
        said = described(part, roles.features, dict(roles.left_out))
        model += [f"For {name}: {line}" if name else line for line in said if line not in model]
    if (metric := fitted.metric) is not None:
        what = "decisions" if metric.takes == "predictions" else "scores"
        given = ", ".join(
            ["the labels", f"the {what}", *([_some(metric.columns)] * bool(metric.columns))]
        )
        better = "higher" if metric.greater_is_better else "lower"
        model.append(f"The metric {metric.name}, of which {better} is better, is given {given}")
    for why in dict.fromkeys(roles.hidden.values()):
        names = [name for name, reason in roles.hidden.items() if reason == why]
        model.append(f"Not shown to the model, {why}: {_some(names)}")
    if roles.scores is not None:
        model.append(
            f"The deployed model's scores, {roles.scores.name}, are one more feature; it decides "
            f"positive from {fitted.baseline_threshold:g} on"
        )
    if roles.decides_on:
        shown = _some([c.name for c in roles.decides_on])
        model.append(f"The rule may look at these beside the score: {shown}")
    return model


def model_inside(classifier: Any) -> str:
    """The model that gives the scores, by its name."""
    found = getattr(classifier, "estimator_", None)
    if found is None:
        module = getattr(classifier, "module", "linear")
        names = {"linear": "a linear model", "mlp": "a network with three layers of 64"}
        name = names.get(module) if isinstance(module, str) else None
        return name or str(getattr(module, "__name__", type(module).__name__))
    while hasattr(found, "steps"):
        found = found.steps[-1][1]
    choice = getattr(classifier, "choice_", None)
    name = type(found).__name__
    return name if choice is None else f"{name} ({choice.chosen}, chosen under the goal)"


def _tried(fitted: TableModel) -> list[str]:
    """The best of each method, the one that was taken first."""
    from setpoint.report import number

    named = fitted.report.objective.text
    lines = [
        "The best model of each method with its best threshold, counted on "
        f"{chosen_on(fitted)}; the first was taken"
    ]
    for found in fitted.candidates:
        line = f"{found['method']}: {named} = {number(found['objective'])}"
        if found["violation"] > SATISFIED:
            line += f", misses the constraints by {number(found['violation'])}"
        lines.append(line)
    return lines


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


# --- The pages of a fit: of one that was judged ---------------------------------------------------


def write_page(
    fitted: TableModel, path: Any, header: Header, frontiers: tuple[Frontier, ...] = ()
) -> None:
    """Write the page of a fit."""
    from setpoint.report import Frontiers, TextSection

    about = [TextSection(title, tuple(lines)) for title, lines in fitted.about]
    report = replace(fitted.report, sections=(*fitted.report.sections, Frontiers(frontiers)))
    report.to_html(path, held_out=fitted.held_out, about=about, header=header)


def costs_of_constraints(fitted: TableModel) -> tuple[Frontier, ...]:
    """What each constraint costs, where there is a method that says so."""
    from setpoint.plugin import frontier

    found = []
    for i, entry in enumerate(fitted.report.constraints):
        with step(f"what {entry.text} costs"), warnings_as_notes():
            try:
                found.append(frontier(fitted.classifier, vary=i).thinned())
            except ValueError:  # a shape that no method takes, or no rule without this bound
                continue
    return tuple(found)


def write_infeasible_page(
    error: InfeasibleError, goal: Goal, path: Any, header: Header, message: str
) -> None:
    """Write the page of a goal that no rule meets: what can be met, and at what price."""
    from setpoint.guarantees import NotCertifiable
    from setpoint.inputs import atomic_write
    from setpoint.report import NO_RULE, UNCERTIFIED, as_page, infeasible_document

    found = infeasible_document(
        goal,
        message,
        list(error.reachable.items()),
        _between(error, goal),
        [str(one) for one in goals_near(error, goal)],
        header,
        UNCERTIFIED if isinstance(error, NotCertifiable) else NO_RULE,
        _points(error, goal) if isinstance(error, NotCertifiable) else None,
    )
    atomic_write(path, as_page(found).encode("utf-8"))


def _points(error: NotCertifiable, goal: Goal) -> OperatingPoints | None:
    """Every cut-off on the rows that certify, and the rule that could be certified."""
    from setpoint.program import link
    from setpoint.report import operating_points

    if error.evidence is None or error.rule is None:
        return None
    points = operating_points(link(goal, error.evidence.codebook), error.evidence, error.rule)
    return None if points is None else points()


def _between(error: InfeasibleError, goal: Goal) -> Frontier | None:
    """The frontier between the bounds that cannot hold together, where the rows are there."""
    from setpoint.plugin import frontier_of_evidence
    from setpoint.report import between_bounds

    found = between_bounds(goal, error.blame)
    if found is None or error.evidence is None:
        return None
    other, moving = found
    try:
        return frontier_of_evidence(
            other, error.evidence, moving, None, randomized=False, soft=False
        ).thinned()
    except ValueError:  # a shape that no method takes
        return None


def goals_near(error: InfeasibleError, goal: Goal) -> list[Goal]:
    """Goals near one that no rule meets; one, with all bounds moved, where it is not certified."""
    from setpoint.guarantees import NotCertifiable
    from setpoint.report import goals_to_copy

    if not isinstance(error, NotCertifiable):
        return goals_to_copy(goal, error.reachable)
    bounds = {text: Const(bound) for text, bound in error.reachable.items()}
    moved = tuple(replace(c, rhs=bounds.get(str(c), c.rhs)) for c in goal.constraints)
    return [replace(goal, constraints=moved)] if bounds else []


def explore_fit(fitted: TableModel) -> Explorer:
    """The explorer of a fit: bounds move on the rows of the fit, those held out check."""
    held = fitted.held
    apart = {} if held is None else {"X": held.X, "y": held.y, **sides(held)}
    with warnings_as_notes(), step("counting what every cut-off does"):
        found: Explorer = fitted.classifier.explore(**apart)
    return found


# --- Decisions as columns of a table --------------------------------------------------------------


def in_columns(clf: Any, X: Any, posteriors: Any, scores: Any) -> dict[str, NDArray[Any]]:
    """Columns of scores, and of shares where the rule draws."""
    labels = np.asarray(clf.classes_).tolist()
    out: dict[str, NDArray[Any]] = {}
    if len(labels) > 2:
        shown = clf.decision_function(X) if posteriors is None else posteriors
        out |= {f"score_{label}": shown[:, i] for i, label in enumerate(labels)}
    elif posteriors is not None:
        out["score"] = posteriors[:, labels.index(clf.positive_)]
    else:  # as the rule's threshold has it, for the positive class
        out["score"] = scores
    if clf.rule_.randomized:
        shares = clf.decision_distribution(X)
        answers = [*labels, clf._answers.defer_label] if clf._defers else labels
        out |= {f"decision_{label}": shares[:, i] for i, label in enumerate(answers)}
    return out


def of_one_kind(values: Any) -> Any:
    """Answers as a column of a file holds them: numbers beside the word for deferring are text."""
    if values.dtype.kind != "O":
        return values
    each = {v: str(v).lower() if isinstance(v, bool) else str(v) for v in set(values.tolist())}
    return values.map(each)


# --- Room for so many rows of a table, in all or in each group ------------------------------------


def check_room(clf: Any, at_most: Any, by: str | None) -> None:
    """Refuse numbers that are none, and models that do not rank rows, before a table is read."""
    from setpoint.classifiers import check_at_most

    if at_most is None:
        if by is not None:
            raise InputError("`by` names the groups of `at_most`, which says how many; give both")
        return
    check_at_most(at_most, by is not None)
    if len(clf.classes_) != 2:
        raise InputError(
            f"`at_most` is for two classes, and the model decides among {len(clf.classes_)}"
        )
    clf._ranked_class(None)


def groups_of(table: Table, by: str, at_most: Any) -> tuple[NDArray[Any], Any]:
    """The groups of rows, and the room by group as they are written in the column."""
    from setpoint.inputs import one_column

    check_column("`by`", by, table.names, table.name)
    groups: NDArray[Any] = one_column(table.column(by), "by")
    if isinstance(at_most, Mapping):
        # A text names the groups of a column that holds numbers or booleans.
        named = {str(v): v for v in dict.fromkeys(groups.tolist()) if not isinstance(v, str)}
        at_most = {named.get(group, group): most for group, most in at_most.items()}
    return groups, at_most


def note_room(clf: Any, free: Any, decisions: Any, scores: Any, by: str | None) -> None:
    """Say how many rows the rule accepts and how many of them stay so."""
    accepted = free == clf.positive_
    kept = accepted & (decisions == clf.positive_)
    n, n_kept = int(accepted.sum()), int(kept.sum())
    if n == n_kept:
        return
    where, least = f", by group of {by}," if by is not None else "", ""
    if by is None and clf.rule_.score_columns is None and not clf.rule_.needs_segments:
        least = f", with a score of at least {scores[kept].min():.6g}"
    lost = ""
    if clf.goal_report_.constraints:
        lost = "; whether the goal's constraints hold for them was not counted"
    note(
        f"the rule decides {clf.positive_!r} for {n:,} of {len(free):,} rows, and the "
        f"{n_kept:,} best{where} keep that{least}{lost}"
    )


# --- Where a rule is moved to: other bounds, another score, another rule --------------------------


def rule_given(bounds: Sequence[str], line: float | None, rule: Rule | str | None) -> Rule | None:
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


def moved_goal(goal: Goal, bounds: Sequence[str]) -> Goal:
    """A goal with other bounds, and without confidences, which only a fit can keep.

    Examples
    --------
    >>> own = Goal.parse("maximize recall subject to precision >= 0.9 and predicted_rate <= 0.5")
    >>> print(moved_goal(own, ["precision >= 0.8"]))
    maximize recall subject to precision >= 0.8 and predicted_rate <= 0.5
    """
    constraints, given = list(goal.constraints), set[tuple[str, str]]()
    for text in bounds:
        new = _constraint(goal, text)
        side = (str(new.lhs), new.relation)
        if side in given:
            raise InputError(f"`bounds`: {text!r} has a left side that was given a bound already")
        given.add(side)
        places = [i for i, c in enumerate(constraints) if (str(c.lhs), c.relation) == side]
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
        raise InputError(f"`bounds`: {text!r} is {len(found)} constraints; give them one by one")
    if found[0].confidence is not None:
        raise InputError(
            f"`bounds`: {text!r} asks for a confidence, and a rule that is moved is not certified; "
            "leave the confidence out, or fit for the new goal"
        )
    return found[0]


# --- What a fit and a model file say, as text and as plain values ---------------------------------


def fit_text(fitted: TableModel, margin: str) -> str:
    """What a fit found, below its verdict; `margin` is the command that searches with one."""
    from setpoint.report import report_text

    held, chosen = fitted.held_out, fitted.report
    if fitted.guarantee is not None:
        lines = [report_text(chosen, at_shell=True), ""]
        if held is not None:
            lines += [f"Measured beside it on {judged_on(fitted)}:", *_measured(held), ""]
        return "\n".join(lines)
    searched = None if held is None else chosen
    lines = [report_text(fitted.judged, searched, at_shell=True), ""]
    if margin:
        lines += [f"To search with the margin:\n  {margin}", ""]
    found = (chosen.section(name) for name in ("models", "adaptive"))
    summary = next((one for one in found if one is not None), None)
    if summary is not None and held is not None:  # whose report cannot say it
        lines += [f"{summary.title}, on {chosen_on(fitted)}"]
        lines += [textwrap.fill(line, 79, initial_indent="  ", subsequent_indent="    ")
                  for line in summary.lines()]  # fmt: skip
        lines.append("")
    if held is not None and chosen.satisfied is False:
        n = chosen.counts.n_rows
        lines += [f"The {n:,} rows that the rule was chosen on miss a bound: see the page.", ""]
    return "\n".join(lines)


def _measured(report: GoalReport) -> Iterator[str]:
    """Objective and constraints as measured beside a certificate."""
    from setpoint.report import shown, unit_of

    goal = Goal.parse(report.goal)
    sides = (goal.objective, *(c.lhs for c in goal.constraints))
    for entry, side in zip(report.entries, sides, strict=True):
        unit = unit_of(side)
        value = "not evaluated" if entry.value is None else shown(entry.value, unit)
        if entry.low is not None and entry.high is not None:
            value += f", on new rows {shown(entry.low, unit)} to {shown(entry.high, unit)}"
        yield f"  {entry.text}: {value}"


def fit_facts(fitted: TableModel, goal: Goal) -> dict[str, Any]:
    """What a fit found, but for its reports."""
    roles, choice, guarantee = fitted.roles, fitted.choice, fitted.guarantee
    verdict = fitted.judged.verdict or "measured"
    return {
        "status": verdict if guarantee is None else guarantee.state,
        "goal": str(goal),
        "metric": None if fitted.metric is None else fitted.metric.name,
        "target": fitted.target,
        "positive": fitted.report.counts.positive,
        "classes": dict(fitted.classes),
        "rows": {
            "fitted": fitted.fitted_rows,
            "held_out": fitted.n_held_out,
            "certifying": 0 if guarantee is None else guarantee.rows,
        },
        "datasets": {name: asdict(rows) for name, rows in fitted.datasets.items()},
        "validation": None if fitted.validation is None else asdict(fitted.validation),
        **{name: getattr(choice, name) for name in ("solver", "family", "estimator", "module")},
        "candidates": fitted.candidates,
        "seed": fitted.random_state,
        "columns": {
            "features": {c.name: c.kind for c in roles.features},
            "decides_on": {c.name: c.kind for c in roles.decides_on},
            "hidden": dict(roles.hidden),
            "left_out": dict(roles.left_out),
            "scores": None if roles.scores is None else roles.scores.name,
        },
    }


def guarantee_text(fitted: FittedModel) -> str:
    """What the fit certified of a model, in a line; "" where nothing was asked for."""
    from setpoint.report import sure

    guarantee = fitted.guarantee
    if guarantee is None:
        return ""
    texts = " and ".join(
        c.text
        if c.confidence == guarantee.confidence
        else f"{c.text} at {sure(c.confidence).removesuffix(' confidence')}"
        for c in guarantee.constraints
    )
    line = f"at {sure(guarantee.confidence)}, on {guarantee.rows:,} rows: {texts}"
    if guarantee.state != "certified":
        return f"In the fit NOT certified {line}."
    changed = "; the model was changed since, and nothing is promised of it"
    return f"In the fit certified {line}{'' if fitted.certified_holds else changed}."


def guarantee_facts(fitted: FittedModel) -> dict[str, Any] | None:
    """The same as plain values."""
    guarantee = fitted.guarantee
    if guarantee is None:
        return None
    return {
        **{name: getattr(guarantee, name) for name in ("state", "confidence", "rows")},
        "constraints": {c.text: c.confidence for c in guarantee.constraints},
        "holds": fitted.certified_holds,
    }


def model_text(model: FittedModel, found: Mapping[str, Any]) -> str:
    """What a model file holds, in the order of the questions of who finds it."""
    from setpoint.report import goal_table, headline, rule_lines

    judged, written = model.judged, model.written
    when = f"{written.pop('when', '')[:16].replace('T', ' ')} UTC"
    versions = ", ".join(f"{name} {version}" for name, version in written.items())
    labels, positive = [repr(label) for label in found["classes"]], repr(found["positive"])
    classes = ", ".join(labels)
    if found["positive"] is not None:
        other = next(label for label in labels if label != positive)
        classes = f"positive is {positive}, negative {other}"
    words = {"fitted": "in the fit", "held_out": "held out", "certifying": "that certify"}
    rows = ", ".join(f"{n:,} {words[what]}" for what, n in found["rows"].items() if n)
    ways = ", ".join(filter(None, (found["family"], found["solver"])))
    facts = {
        "Model file": f"{model.source}; {when}; {versions}",
        "Goal": found["goal"],
        "Judged by": "" if found["judge_by"] == found["goal"] else found["judge_by"],
        "Target": f"{model.target}: {classes}",
        "Scores": f"{found['model']}; the rule is by {ways}",
        "Rows": rows or f"{judged.counts.n_rows:,} judged",
        "Data sets": ", ".join(found["datasets"]),
        "Deployed": found["baseline"] and f"column {found['baseline']}",
    }
    lines = [line for title, text in facts.items() for line in _filled(title, text or "")]
    lines += ["", "Rule", *(f"  {line}" for line in rule_lines(model.classifier.goal_report_))]
    lines += ["", f"Then, on {found['judged_on']}", *_filled("", f"{headline(judged)}.", 2)]
    for first, *more in goal_table(judged).lines:
        lines += [f"  {first}", *(f"    {text}" for text in more)]
    lines += _filled("", guarantee_text(model), 2)
    columns, kinds = found["columns"], dict[str, list[str]]()
    lines += ["", f"Columns that a table needs ({len(columns):,})"]
    for name, kind in list(columns.items())[:_MOST_COLUMNS]:
        kinds.setdefault(kind, []).append(name)
    lines += [line for kind, names in kinds.items() for line in _filled(kind, ", ".join(names), 2)]
    if len(columns) > _MOST_COLUMNS:
        lines += _filled("more", f"{len(columns) - _MOST_COLUMNS:,}, which --json lists", 2)
    lines += ["", "About the fit"] if model.notes else []
    return "\n".join([*lines, *(line for note in model.notes for line in _filled("", note, 2))])


_MOST_COLUMNS = 60


def _filled(title: str, text: str, indent: int = 0) -> list[str]:
    head = " " * indent + (f"{title:<12}" if title else "")
    return textwrap.wrap(
        text, 79, initial_indent=head, subsequent_indent=" " * len(head),
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip

"""GoalReport, and how it is counted."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setpoint.counts import Confusion, Counted, Deferred, Rows, counted_rows
from setpoint.errors import GoalError, warn_caller
from setpoint.goals import (
    Apply,
    Const,
    Constraint,
    Expression,
    Goal,
    Key,
    Label,
    Product,
    Quotient,
    Reduce,
    Relation,
    in_words,
    walk,
)
from setpoint.inference import CountedRates, is_group_gap
from setpoint.inputs import CheckedTable, atomic_write
from setpoint.packages import pandas
from setpoint.program import LinkedGoal, Linker, link
from setpoint.report.displays.sections import DeferralSection, OperatingSection, Prices, SearchTrace
from setpoint.report.entry import (
    LEVEL,
    BoundSide,
    CountedGoal,
    Entry,
    columns_of,
    entries_on,
    group_row,
    lone_group,
)
from setpoint.report.facts import (
    Comparison,
    Facts,
    RuleFacts,
    Run,
    Search,
    Section,
    TextSection,
    compared,
)
from setpoint.report.findings import few_rows
from setpoint.report.numbers import MOST_CLASSES, Counts, plural, unit_of
from setpoint.report.operating import deferral_points, operating_points
from setpoint.rules import ClassNames, PerSegment, Rule, Threshold, first_lines
from setpoint.search import Found

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.guarantees import Guarantee
    from setpoint.report.text import Header


# --- GoalReport: the facts of what was reached, and its faces: text, notebook ---------------------


@dataclass(frozen=True, eq=False, repr=False)
class GoalReport(Facts):
    """What was reached, for the person who set the goal: facts that can show themselves.

    Printed it is a text, in a notebook a table, by :meth:`to_html` a page. Its fields are those
    of :class:`Facts`.

    Examples
    --------
    >>> report = GoalReport("maximize recall", Entry("recall", 0.8))
    >>> GoalReport.from_dict(report.to_dict()) == report
    True
    """

    def __getstate__(self) -> dict[str, str]:
        """One text: in a model file each number by itself would take a hundred bytes."""
        return {"json": self.to_json()}

    def __setstate__(self, state: dict[str, str]) -> None:
        vars(self).update(vars(GoalReport.from_json(state["json"])))

    def to_json(self) -> str:
        """One line of JSON; floats survive to the last bit."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> GoalReport:
        """The report that :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If the text is not JSON, or as in :meth:`from_dict`.
        """
        return cls.from_dict(json.loads(text))

    def to_frame(self) -> pd.DataFrame:
        """Objective and constraints as a pandas DataFrame, one row each.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        names = [f.name for f in fields(Entry)]
        rows = [[getattr(e, n) for n in names] for e in self.entries]
        frame: pd.DataFrame = pandas().DataFrame(rows, columns=names)
        parts = ["objective"] + ["constraint"] * len(self.constraints)
        frame.insert(0, "part", parts)
        return frame

    def metrics(self) -> dict[str, float]:
        """The numbers of the report by name, for a tracker of experiments such as MLflow.

        ``objective/value``, ``/low`` and ``/high``; of each constraint, under its text with "at
        least" for ``>=`` and "at most" for ``<=``, also the bound, the slack and whether it is
        satisfied (0 or 1); what holds for the goal as a whole; ``counts/...`` of two classes.
        What is not there, and what is infinite, is left out.

        Examples
        --------
        >>> found = GoalReport("maximize recall", Entry("recall", 0.8, low=0.7)).metrics()
        >>> found["objective/value"], found["objective/low"]
        (0.8, 0.7)
        """
        found: dict[str, float | None] = {
            "satisfied": self.satisfied,
            "certified": self.is_certified,
            "gap": self.certificate.gap,
            "bound on the objective": self.certificate.bound,
            "drawn": self.rule.drawn,
            "search seconds": self.run.seconds,
            "rows": self.counts.n_rows,
        }
        for part in ("value", "low", "high"):
            found[f"objective/{part}"] = getattr(self.objective, part)
        for entry in self.constraints:
            name = entry.text.replace(">=", "at least").replace("<=", "at most")
            for part in ("value", "bound", "slack", "low", "high", "satisfied"):
                found[f"{name}/{part}"] = getattr(entry, part)
        for columns, cut in self.rule.cutoffs:
            where = ", ".join(f"{name} {value}" for name, value in columns)
            found[f"cut-off/{where or 'all rows'}"] = cut
        for row in self.groups:
            found[f"groups/{row.metric} in {row.name}"] = row.value
        if len(self.counts.classes) == 2 and self.counts.confusion:
            (tn, fp), (fn, tp) = self.counts.confusion[:2]
            found |= {"counts/tn": tn, "counts/fp": fp, "counts/fn": fn, "counts/tp": tp}
        known = {name: float(x) for name, x in found.items() if x is not None}
        return {name: x for name, x in known.items() if math.isfinite(x)}

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        held_out: GoalReport | None = None,
        about: Sequence[TextSection] = (),
        header: Header | None = None,
    ) -> None:
        """Write one self-contained HTML page for the person who set the goal.

        No scripts and nothing from outside: it can be mailed, printed and kept. The old file
        stays until the new one is whole.

        Parameters
        ----------
        path : path
        held_out : GoalReport, optional
            The same rule on rows that took no part in choosing it; these lead the page.
        about : sequence of TextSection
            What else a reader should know, such as where the data came from.
        header : setpoint.report.page.Header, optional
            Names of files, a command to copy, cautions; all for the top of the page.

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is not installed.
        ValueError
            If `held_out` refers to another goal.
        OSError
            If the file cannot be written.
        """
        from setpoint.report.page import page_text

        atomic_write(path, page_text(self, held_out, about, header).encode("utf-8"))

    def __str__(self) -> str:
        from setpoint.report.document import report_text

        return report_text(self)

    def _repr_html_(self) -> str:
        from setpoint.report.document import report_document
        from setpoint.report.text import as_notebook

        return as_notebook(report_document(self))


# --- From a confusion to a report: count, and say what a reader should know -----------------------


_PACKAGES = ("setpoint", "numpy", "scipy", "scikit-learn", "numba", "highspy")
"""What the numbers of a report may hang on."""


class FewRowsWarning(UserWarning):
    """A constraint was measured on so few rows that its interval is wide."""


def report_on(
    linked: LinkedGoal,
    confusion: Confusion,
    *,
    objective: Entry | None = None,
    warnings: Sequence[str] = (),
    level: float = LEVEL,
) -> GoalReport:
    """Count a goal on a confusion: the objective, each constraint, the groups compared.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.counts import Confusion
    >>> from setpoint.program import link
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 10], [19, 81], [0, 0]])
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.85")
    >>> report = report_on(link(goal, found.codebook), found)
    >>> report.objective.value, report.satisfied, round(report.constraints[0].slack, 4)
    (0.81, True, 0.0401)
    """
    goal = linked.goal
    counted = CountedGoal(goal, confusion, level, groups=True)
    measured = BoundSide(None) if objective is not None else counted.objective
    counted.check_reachable()
    bounds = [measured, *(sides.left for sides in counted.constraints)]
    absent = [(m.row, m.side.why) for m in counted.metrics if m.side.why and m.row.compared]
    notes = [f"{row.metric} in {row.name}: not evaluated: {why}" for row, why in absent]
    notes = [*_worth(counted, bounds, goal), *_gaps(goal, bounds), *notes, *_alone(linked, counted)]
    if objective is None:
        objective = counted.entry(str(goal.objective), measured, level)
    constraints = tuple(map(counted.constraint, counted.constraints))
    return GoalReport(
        goal=str(goal),
        objective=objective,
        constraints=constraints,
        counts=_counts(confusion, counted.units),
        groups=tuple(group_row(m, counted.counted, level) for m in counted.metrics),
        sections=_prices(linked, counted, measured),
        warnings=tuple(dict.fromkeys([*warnings, *notes])),
        level=level,
        run=Run(datetime.now(UTC).isoformat(timespec="seconds"), versions=dict(_versions())),
    )


def warn_few_rows(report: GoalReport) -> None:
    """Issue a :class:`FewRowsWarning` for each constraint with a wide interval."""
    for text in few_rows(report):
        warn_caller(text, FewRowsWarning)


def _alone(linked: LinkedGoal, counted: CountedGoal) -> list[str]:
    """Sentences about reducers that find one group only."""
    linker = Linker(linked.codebook)  # knows the groups without rows too
    both = (str(c) for c in linked.goal.constraints for _ in (c.lhs, c.rhs))
    pairs = zip([str(linked.goal.objective), *both], counted.reducers, strict=True)
    found = [(text, lone_group(inside, linker)) for text, (_, inside) in pairs]
    return [
        f"{text}: there is one group only ({name}), which nothing is compared with"
        for text, name in found
        if name is not None
    ]


def _worth(counted: CountedGoal, bounds: Sequence[BoundSide], goal: Goal) -> Iterator[str]:
    """How many labelled rows a proxy was worth to the objective and to each constraint."""
    texts = [str(goal.objective), *map(str, goal.constraints)]
    for text, side in zip(texts, bounds, strict=True):
        if counted.confusion.proxied is not None and side.bound is not None:
            found = [p.worth for p in counted.counted.sharpened(side.bound)]
            worth = f"worth {plural(round(min(found)), 'labelled row')}" if found else "of no use"
            yield f"{text}: the proxy was {worth}"


def _gaps(goal: Goal, bounds: Sequence[BoundSide]) -> list[str]:
    """A sentence about what is partly noise."""
    texts = [str(goal.objective), *map(str, goal.constraints)]
    found = [(text, side.bound) for text, side in zip(texts, bounds, strict=True)]
    gaps = [text for text, x in found if x is not None and x.has_kinks and is_group_gap(x)]
    if not gaps:
        return []
    return [
        f"{'; '.join(gaps)}: such a gap is partly noise. Even groups that are alike differ on "
        "any sample, the more of them and the smaller the more; the interval allows for it"
    ]


def _counts(confusion: Confusion, rests_on: Sequence[tuple[float, float]]) -> Counts:
    """The rows of X by true and decided class."""
    plain = [i for i, stratum in enumerate(confusion.codebook.strata) if stratum.measure is None]
    own = [i for i in plain if confusion.codebook.strata[i].dataset is None]
    table, n_rows = confusion.counts[own].sum(axis=0), int(confusion.rows[plain].sum())
    if confusion.proxied is not None:  # decisions by label alone would say another thing
        labels = confusion.codebook.labels
        return Counts(n_rows, labels, sizes=tuple(table[: len(labels)].sum(axis=1).tolist()))
    found = Counts.of(n_rows, confusion.classes, table)
    units = None if confusion.units is None else confusion.units.units
    if confusion.units is None or units is None:
        return found
    sizes = confusion.units.sums(np.ones((1, *confusion.products.shape[2:])))
    least, most = zip((float(len(sizes)), 1.0), *rests_on, strict=True)
    return replace(
        found, units=len(sizes), units_called=units.called, units_alone=int((units.each < 0).sum()),
        largest_unit=float(sizes.max() / sizes.sum()), effective_units=min(least),
        design_effect=max(most),
    )  # fmt: skip


def _prices(linked: LinkedGoal, counted: CountedGoal, objective: BoundSide) -> tuple[Section, ...]:
    """What the decisions cost, and what deciding every row alike would; where there are prices."""
    goal, bound = linked.goal, objective.bound
    if bound is None or unit_of(goal.objective) != "amount" or not _adds_up(goal.objective):
        return ()
    confusion = counted.confusion
    n_labels = len(linked.codebook.labels)
    names = ["accepting nobody", "accepting everybody"]
    if n_labels > 2:
        names = [f"deciding {label!r} for everyone" for label in linked.codebook.labels]
    if linked.codebook.defers:
        names.append("deferring everybody")
    constants = []
    for k, name in enumerate(names):
        counts = np.zeros_like(confusion.counts)
        counts[..., k] = confusion.counts.sum(axis=2)
        decided = replace(confusion, counts=counts, proxied=None)
        constant = CountedRates(counted.linker.table, decided)
        constants.append((name, float(constant.value(bound))))
    if n_labels > 2:  # the best of them says it all
        constants = [(min if goal.sense == "minimize" else max)(constants, key=lambda c: c[1])]
    value = float(counted.counted.value(bound))
    what = in_words(goal.objective).removeprefix("mean ").replace(" per row", "", 1)
    return (Prices(what, value, tuple(constants)),)


def _adds_up(x: Expression) -> bool:
    """Whether ten times as many rows cost ten times as much: not of a ratio, nor of a root."""
    for e in walk(x):
        if isinstance(e, Quotient) and not isinstance(e.right, Const):
            return False
        if isinstance(e, Product) and Const not in (type(e.left), type(e.right)):
            return False
        if isinstance(e, Apply) and e.function in ("log", "sqrt"):
            return False
        if isinstance(e, Reduce) and e.kind == "ratio":
            return False
    return True


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in _PACKAGES} | {"python": platform.python_version()}


# --- From what a search found to a report ---------------------------------------------------------


def report_on_found(
    linked: LinkedGoal,
    found: Found,
    evidence: Counted,
    search: Search,
    *,
    notes: Sequence[str] = (),
    in_training: bool = False,
    seconds: float,
    guarantee: Guarantee | None = None,
) -> GoalReport:
    """The report of what a search found, counted by labels; its trace may be of a training."""
    report = report_on(linked, found.confusion, objective=found.objective, warnings=notes)
    entry, soft = report.objective, found.by_posteriors is not None
    if soft:
        entry = replace(entry, posteriors=found.by_posteriors)
    if guarantee is not None:
        report = with_guarantee(report, guarantee)
    return replace(
        report,
        status=found.status,
        objective=entry,
        search=replace(
            search,
            solver=search.solver or found.solver,
            why=found.why,
            evidence="soft" if soft else "label",
            calls=None if in_training else found.n_calls,
            blame={text: float(share) for text, share in found.blame.items()},
        ),
        certificate=found.certificate,
        rule=rule_facts(found.rule, evidence, float(found.randomized_share)),
        sections=(*report.sections, *_sections(linked, found, evidence, not in_training)),
        run=replace(report.run, seconds=float(seconds)),
    )


def with_guarantee(report: GoalReport, guarantee: Guarantee) -> GoalReport:
    """The report with what is promised, for the goal and for each constraint."""
    if guarantee.state == "approximate":
        return replace(report, guarantee=guarantee)
    shown, entries = {c.text: c for c in guarantee.constraints}, list(report.constraints)
    for i, entry in enumerate(entries):
        if entry.text in shown:
            found = shown[entry.text]
            limit = entry.bound if guarantee.state == "certified" else found.limit
            entries[i] = replace(entry, certified=limit, passed=found.passed)
    objective = report.objective
    if guarantee.method == "every cut-off":
        # The best of thousands on these very rows: its limits would be too good.
        objective = replace(objective, low=None, high=None, interval=None)
    return replace(report, guarantee=guarantee, objective=objective, constraints=tuple(entries))


def rule_facts(rule: Rule, evidence: Counted, drawn: float) -> RuleFacts:
    """A rule in words, what it looks at, and its cut-offs where it has some."""
    return RuleFacts(
        first_lines(rule.explain(ClassNames(evidence.classes))),
        tuple(evidence.codebook.decide_on) if rule.needs_segments else (),
        drawn,
        cutoffs_of(rule),
    )


def with_words(report: GoalReport, words: str) -> GoalReport:
    """The report with its rule in other words."""
    return replace(report, rule=replace(report.rule, text=words))


def cutoffs_of(rule: Rule) -> tuple[tuple[tuple[tuple[str, Label], ...], float], ...]:
    """The cut-off of each segment of a rule over thresholds; none for rules of another kind."""
    pairs: list[tuple[Key, Rule]] = [((), rule)]
    if isinstance(rule, PerSegment) and rule.needs_segments:
        pairs = list(zip(rule.segments, rule.rules, strict=True))
    cuts = [(key, r.threshold) for key, r in pairs if isinstance(r, Threshold)]
    if len(cuts) < len(pairs):
        return ()
    return tuple((columns_of(key), float(cut)) for key, cut in cuts)


def _sections(
    linked: LinkedGoal,
    found: Found,
    evidence: Counted,
    of_passes: bool,
) -> list[Section]:
    """What the search and the thresholds add."""
    points = operating_points(linked, evidence, found.rule)
    deferred = deferral_points(evidence, found.rule)
    trace = tuple((t.call, t.objective, t.bound, t.violation) for t in found.trace or ())
    out = (
        points and OperatingSection(points),
        deferred and DeferralSection(deferred),
        trace and SearchTrace(trace, of_passes),
    )
    return [section for section in out if section]


# --- A rule and the deployed model on the same rows: the goal of both -----------------------------


def against_deployed(
    goal: Goal,
    classes: Sequence[Label],
    table: CheckedTable,
    decided: NDArray[Any],
    measured: tuple[float, float] | None = None,
    level: float = LEVEL,
) -> Comparison | None:
    """What changes against the deployed model on some rows; None where there is none."""
    if table.deployed is None:
        return None
    defer = len(classes) - 1 if isinstance(classes[-1], Deferred) else None
    found = compared(table.true, table.deployed, decided, table.weight, defer=defer)
    if measured is not None:
        return measured_difference(found, goal, *measured)
    if table.true is None or goal.is_blackbox:
        return found
    try:
        return _with_objective(found, goal, classes, table, decided, level)
    except GoalError:  # such as a goal that is too long with both models in it
        return found


def with_deployed(report: GoalReport, found: Comparison | None) -> GoalReport:
    """The report with the comparison, and the deployed model's price beside the others."""
    if found is None:
        return report
    sections = tuple(
        replace(s, deployed=found.objective) if isinstance(s, Prices) else s
        for s in report.sections
    )
    return replace(report, deployed=found, sections=sections)


def measured_difference(found: Comparison, goal: Goal, ours: float, todays: float) -> Comparison:
    """The comparison with the objective as it was measured, which has no interval."""
    gain = Entry(str(goal.objective), ours - todays, 0.0, relation=_better(goal))
    return replace(found, objective=todays, difference=gain)


def _with_objective(
    found: Comparison,
    goal: Goal,
    classes: Sequence[Label],
    table: CheckedTable,
    decided: NDArray[Any],
    level: float,
) -> Comparison:
    """The goal of both models, as far as it refers to the rows of X alone."""
    if replace(goal, constraints=()).needs.datasets:
        return found
    # What compares with the deployed model says nothing of that model by itself.
    needs = [replace(goal, objective=c.lhs, constraints=(c,)).needs for c in goal.constraints]
    pairs = zip(goal.constraints, needs, strict=True)
    own = [c for c, need in pairs if not need.datasets and not need.baseline]
    objective = goal.objective.baseline()
    met = tuple(replace(c, lhs=c.lhs.baseline(), rhs=c.rhs.baseline()) for c in own)
    todays = Goal(goal.sense, objective, met)
    gain = Constraint(goal.objective - objective, _better(goal), Const(0.0))
    confusion, (entry, *constraints, difference) = _counted_with_deployed(
        todays.subject_to(gain), classes, table, decided, level
    )
    return replace(
        found,
        objective=entry.value,
        difference=replace(difference, text=str(goal.objective)),
        constraints=tuple(replace(e, text=str(c)) for e, c in zip(constraints, own, strict=True)),
        confusion=_deployed_counts(confusion),
    )


def differences_of_constraints(
    goal: Goal,
    classes: Sequence[Label],
    table: CheckedTable,
    decided: NDArray[Any],
    level: float = LEVEL,
) -> list[Entry | None]:
    """What the left side of each constraint gains against the deployed model, with intervals."""
    out: list[Entry | None] = []
    for c in goal.constraints:
        needs, found = replace(goal, objective=c.lhs, constraints=()).needs, None
        if not needs.datasets and not needs.baseline:
            gain = Constraint(c.lhs - c.lhs.baseline(), c.relation, Const(0.0))
            with suppress(GoalError):  # such as a side that is too long with both models in it
                pair = Goal(goal.sense, c.lhs.baseline(), (gain,))
                _, (_, found) = _counted_with_deployed(pair, classes, table, decided, level)
        out.append(found and replace(found, text=str(c.lhs)))
    return out


def _counted_with_deployed(
    goal: Goal, classes: Sequence[Label], table: CheckedTable, decided: NDArray[Any], level: float
) -> tuple[Confusion, list[Entry]]:
    """Rows by both decisions, and a goal of both on them."""
    assert table.true is not None
    rows = Rows.from_arrays(
        classes, table.true, len(table.true), needs=goal.needs, weight=table.weight,
        columns=table.columns, baseline=table.deployed, units=table.units,
    )  # fmt: skip
    confusion = rows.confusion(decided[counted_rows(table.weight)])
    return confusion, entries_on(link(goal, rows.codebook), confusion, level, checked=False)


def _better(goal: Goal) -> Relation:
    return ">=" if goal.sense == "maximize" else "<="


def _deployed_counts(confusion: Confusion) -> tuple[tuple[float, ...], ...]:
    """Weights by true class and what the deployed model decides, from strata that know it."""
    labels = confusion.codebook.labels
    n = len(labels)
    if n > MOST_CLASSES:
        return ()
    out = np.zeros((n + 1, n))
    for stratum, counts in zip(confusion.codebook.strata, confusion.counts, strict=True):
        if stratum.dataset is None and stratum.measure is None:
            rows = counts.sum(axis=1)
            out[:, stratum.baseline] += np.append(rows[:n], rows[-1])
    return tuple(tuple(row) for row in out.tolist())

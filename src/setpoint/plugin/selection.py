"""From rows with scores to a rule: which search, by which evidence, over which columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint import blackbox, classifiers, judging, search
from setpoint.array_types import Floats
from setpoint.counts import Evidence, Units
from setpoint.errors import warn_caller
from setpoint.goals import Goal
from setpoint.inputs import CheckedData, CheckedTable
from setpoint.parameters import SATISFIED
from setpoint.plugin.problem import BASELINES, REMEDIES, EvidenceKind, Options
from setpoint.program import LinkedGoal, link
from setpoint.report import GoalReport, measured_entry
from setpoint.rules import PerSegment, Rule, Threshold
from setpoint.solvers import Confidence

if TYPE_CHECKING:
    from setpoint.blackbox import RowMetric
    from setpoint.guarantees import Certification
    from setpoint.judging import RuleInputs


# --- Searches tried out: quick ones on most of some rows ------------------------------------------


_SHARE = 0.05
"""Of the time that there is, for each quick search."""

_CALLS, _COLUMNS_CALLS = 100, 60
"""Of a quick search that tries out a model or a kind of evidence, or columns."""


def quick(options: Options, calls: int = _CALLS) -> Options:
    """The options of a search that is to take a few calls, and to end with some rule."""
    limits = options.limits
    seconds = None if limits.seconds is None else _SHARE * limits.seconds
    return replace(
        options,
        on_infeasible="nearest",
        limits=replace(limits, seconds=seconds, calls=min(limits.calls or calls, calls)),
        progress=None,
        started=None,
    )


def _quick_rule(goal: Goal, options: Options, by: RuleInputs, evidence: Evidence) -> Rule:
    """The rule that a quick search finds by one kind of evidence, or over the score alone."""
    if by == "score" and evidence.n_scores is None:
        program = link(goal, evidence.codebook).at(evidence.marginals)
        return search.solve_exact(
            program, evidence, randomized=options.randomized, on_infeasible="nearest",
            tol=options.tol,
        ).rule  # fmt: skip
    from setpoint.plugin.solvers.searching import search_rule

    own = replace(options, evidence="label" if by == "label" else "soft")
    return search_rule(goal, evidence, own, tried=True).rule


# --- Soft or label evidence -----------------------------------------------------------------------


class MissedBoundsWarning(UserWarning):
    """A rule that meets the constraints by posteriors misses them by labels."""


def _tried(
    goal: Goal, evidence: Evidence, options: Options
) -> tuple[search.Found | None, float, search.InfeasibleError | search.StoppedError | None]:
    """A rule and by how much it misses a constraint by labels, or why there is none."""
    from setpoint.plugin.solvers.searching import search_rule

    try:
        found = search_rule(goal, evidence, options)
        return found, judging.reached(goal, found.confusion).past, None
    except (search.InfeasibleError, search.StoppedError) as error:
        return None, np.inf, error


def search_by_either(goal: Goal, evidence: Evidence, options: Options) -> tuple[search.Found, str]:
    """The rule by the kind of evidence that is chosen, and why that was."""
    try:
        find = partial(_quick_rule, goal, quick(options))
        kind, why = judging.choose_evidence(goal, evidence, find)
    except KeyboardInterrupt:
        kind, why = "label", "label evidence, as neither kind was chosen by then"
        options = replace(options, stopped=search.INTERRUPTED)
    asked = replace(options, evidence=kind)
    if kind == "label" or not evidence.has_labels:
        from setpoint.plugin.solvers.searching import search_rule

        return search_rule(goal, evidence, asked), why
    soft, past, failed = _tried(goal, evidence, asked)
    if soft is not None and past <= SATISFIED:
        return soft, why
    ended = search.INTERRUPTED in (str(failed) if soft is None else soft.why)
    asked = replace(options, evidence="label", stopped=search.INTERRUPTED * ended)
    with warnings.catch_warnings():
        if soft is not None and soft.stopped:  # has warned
            warnings.simplefilter("ignore", search.StoppedWarning)
        label, nearer, _ = _tried(goal, evidence, asked)
    if label is not None and nearer <= SATISFIED:
        missed = "no rule by posteriors" if soft is None else "the rule by posteriors does not"
        return label, f"label evidence, by which the constraints are met ({missed})"
    if soft is None:
        assert failed is not None
        raise failed
    if label is not None and nearer < past:
        soft, past, why = label, nearer, "label evidence, which comes nearer"
    if soft.status != "nearest":
        warn_caller(
            f"'{goal}': by labels the rule misses a constraint by {past:.3g}; {REMEDIES}",
            MissedBoundsWarning,
        )
    return soft, why


# --- Smoothed post-shift as a solver --------------------------------------------------------------


_FEW_CALLS = 10
_MOST_CALLS = 1000
"""Cut-offs on a curve that a function is called for, where nobody says otherwise."""


def shift_rule(
    goal: Goal, evidence: Evidence, options: Options, given: RowMetric | None = None
) -> search.Found:
    """The rule that smoothed post-shift finds."""
    n_segments = len(evidence.segments)
    segments = evidence.rows.segment if n_segments > 1 else None
    metric = given or blackbox.FormulaMetric.of(goal, evidence.rows, np.arange(evidence.n_rows))
    budget, most = options.limits.evaluations, _MOST_CALLS
    if budget is not None:
        curves = 1 if segments is None else 1 + n_segments
        most = max(2, min(most, budget // curves))
    limits = search.Limits(max_seconds=options.limits.seconds)
    metered = blackbox.BudgetedMetric(metric, budget, limits)
    rows = {"scores": evidence.scores, "weight": evidence.rows.weight, "segments": segments}
    own: dict[str, Any] = {**rows, "smooth": options.smooth, "limits": limits}
    # A metric of the ranking shows itself at once.
    few = min(most, _FEW_CALLS) if metric.takes == "scores" else most
    found = blackbox.smoothed_threshold(metered, **own, most=few)
    if few < most and not found.constant:
        with limits.keeping(found):
            found = blackbox.smoothed_threshold(metered, **own, most=most)
    n_cuts = len(found.gains)
    why = f"the best of {n_cuts} cut-offs"
    if found.window:
        why += f" by the curve averaged over {found.window:.4g}"
    if n_segments > 1:
        why += f", then of each of {n_segments} groups in turn"
    cuts = found.thresholds
    if found.constant:
        cuts = np.full_like(cuts, 0.5 if evidence.may_be_posteriors else 0.0)
        why = f"the metric is the same at all {n_cuts} cut-offs"
        warn_caller(
            f"the metric {metric.name} does not depend on the cut-off: it is the same at all "
            f"{n_cuts} that were measured; the cut-off is left at {cuts[0]:g}",
            search.ConstantGoalWarning,
        )
    elif np.isinf(cuts).all() and len(set(cuts.tolist())) == 1:
        warn_caller(
            f"predicting {evidence.classes[int(cuts[0] < 0)]!r} for everyone does best by "
            f"'{metric.name}': check the metric, and whether the scores say anything about the "
            "classes",
            search.ConstantGoalWarning,
        )
    rule: Rule = Threshold(float(cuts[0]))
    if evidence.codebook.decide_on:
        rule = PerSegment([Threshold(float(t)) for t in cuts], evidence.segments)
    confusion, v, reached = evidence.confusion(rule), np.zeros(0), None
    if isinstance(metric, blackbox.FormulaMetric):
        v = metric.program.rates_of(confusion.counts)
    else:
        reached = measured_entry(goal, metric, metric.sense * found.value)
    return search.Found(
        [],
        rule,
        confusion,
        v,
        evidence,
        why,
        certificate=search.Certificate(rivals="rule without draws"),
        n_calls=found.evaluations,
        solver="post-shift",
        objective=reached,
    )


# --- From rows with scores to a rule: which search, what the rule looks at ------------------------


_BLIND = (
    "The rule does not see what the deployed model says, so nothing is certified. Given that "
    "prediction as a column too, and named in decide_on, it can come nearer the goal."
)


_OVER_SETS = (
    "The rule looks at the score alone, whatever a row is worth: where a goal refers to further "
    "data sets, rules do not look at columns of values."
)
_OF_SCORES = ("exact", "post-shift", *BASELINES)
"""Solvers whose rules look at scores alone."""


def solve_evidence(
    inputs: CheckedData,
    evidence: Evidence,
    options: Options,
    *,
    counted: Evidence | None = None,
    folds: int | None = None,
    notes: tuple[str, ...] = (),
    metric: RowMetric | None = None,
    confidence: Confidence | None = None,
    certification: Certification | None = None,
    blocks: Units | None = None,
) -> tuple[search.Found, GoalReport]:
    """Link, solve, count and report; what ``solve`` and ``PlugInClassifier`` share."""
    started = search.now()
    options = replace(options, started=started)
    linked = link(inputs.goal, evidence.codebook)
    table: CheckedTable | None = inputs.tables[None]
    if confidence is not None and certification is None:
        whole = options.randomized is False and not inputs.sees
        evidence, certification, table = classifiers.split_scored(
            linked, evidence, table, confidence, whole=whole, blocks=blocks
        )
    find = RuleFinder(linked, evidence, options, inputs.sees, counted, metric)
    with classifiers.heard() as caught:
        found = find()
    return classifiers.decide(
        linked,
        found,
        caught,
        started=started,
        family="plugin",
        folds=folds,
        notes=(*notes, *find.notes),
        table=table,
        certification=None if certification is None else replace(certification, inwards=find),
    )


@dataclass(eq=False)
class RuleFinder:
    """Finds the rule for some scores as often as it is asked; what is chosen is chosen once."""

    linked: LinkedGoal
    evidence: Evidence
    options: Options
    sees: tuple[str, ...] = ()
    counted: Evidence | None = None
    metric: RowMetric | None = None
    notes: list[str] = field(default_factory=list)
    _aware: Evidence | None = None
    _inputs: RuleInputs | None = None

    def __post_init__(self) -> None:
        needs, evidence = self.linked.goal.needs, self.evidence
        hidden = evidence.codebook.hides_strata and evidence.n_scores is not None
        if hidden and any(c.baseline is not None for c in evidence.codebook.strata):
            self.notes.append(_BLIND)
        if needs.measures and needs.datasets:
            self.notes.append(_OVER_SETS)
        if not self.sees or self.options.solver in _OF_SCORES:
            return
        if evidence.n_scores is not None or evidence.may_be_posteriors:
            self._aware = evidence.with_values(self.sees)
        else:
            self.notes.append(
                f"The rule looks at the score alone and not at {' and '.join(self.sees)}: expected "
                "values need probabilities, and the scores go beyond 0 and 1."
            )

    def __call__(self, inwards: Floats | None = None) -> search.Found:
        """The rule; `inwards` moves the bounds that the search works with."""
        try:
            aware = self._aware
            found = self._by_score(inwards) if aware is None else self._by_inputs(aware, inwards)
        except search.InfeasibleError as error:
            error.evidence = self.evidence
            raise
        if self.options.evidence == "auto":
            kind: EvidenceKind = "label" if found.by_posteriors is None else "soft"
            self.options = replace(self.options, evidence=kind)
        return found

    def _by_inputs(self, aware: Evidence, inwards: Floats | None) -> search.Found:
        """The best rule over the score, or over the columns by which rows count, too."""
        options, settled, why = self.options, self._inputs is not None, ""
        if self._inputs is None:
            self._inputs, why = "soft", "there are no labels"
            if self.evidence.has_labels:
                try:
                    own = quick(options, _COLUMNS_CALLS)
                    self._inputs, why = judging.choose_rule_inputs(
                        self.linked.goal,
                        aware,
                        partial(_quick_rule, self.linked.goal, own),
                        by_labels=options.evidence != "soft",
                    )
                except KeyboardInterrupt as error:
                    self._inputs = "score"
                    why = "a rule over the score alone, as none was chosen by then"
                    options.watch().stop(error)  # which warns
                    options = replace(options, stopped=search.INTERRUPTED)
        if self._inputs != "score":
            from setpoint.plugin.solvers.searching import search_rule

            own = replace(options, evidence=self._inputs)
            try:
                return _because(search_rule(self.linked.goal, aware, own, None, inwards), why)
            except search.InfeasibleError:
                if settled:
                    raise
                columns = " and ".join(aware.sees)
                why = f"no rule was found that looks at {columns} and meets the goal"
                self._inputs = "score"
        return _because(self._by_score(inwards, options), why)

    def _by_score(self, inwards: Floats | None, options: Options | None = None) -> search.Found:
        """What the solver for these scores finds, and why it was taken."""
        options, goal, evidence = options or self.options, self.linked.goal, self.evidence
        if options.solver == "post-shift":
            return shift_rule(goal, evidence, options, self.metric)
        if evidence.n_scores is None:
            program = self.linked.at(evidence.marginals)
            return search.solve_exact(
                program if inwards is None else search.worked_with(program, inwards),
                evidence,
                randomized=options.randomized,
                on_infeasible=options.on_infeasible,
                tol=options.tol,
                limits=options.watch(),
            )
        if evidence.has_labels:
            self.linked.at(evidence.marginals)  # posteriors would fill in for a class without rows
        from setpoint.plugin.solvers.searching import search_rule

        if options.solver in BASELINES:
            options = replace(options, evidence="label")
        elif self.counted is not None:
            options = replace(options, evidence="soft")
        elif options.evidence == "auto":
            return _because(*search_by_either(goal, evidence, options))
        return search_rule(goal, evidence, options, self.counted, inwards)


def _because(found: search.Found, why: str) -> search.Found:
    return replace(found, why="; ".join(x for x in (found.why, why) if x))

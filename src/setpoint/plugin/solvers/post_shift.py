"""Smoothed post-shift as a solver: cut-offs for a metric that is only measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from setpoint.blackbox.binding import FormulaMetric
from setpoint.blackbox.budget import BudgetedMetric, RowMetric
from setpoint.blackbox.smoothing import Shift, smoothed_threshold
from setpoint.caller import warn_caller
from setpoint.evidence import Evidence
from setpoint.goals.goal import Goal
from setpoint.plugin.parameters import Options
from setpoint.program.link import link
from setpoint.rules import PerSegment, Rule, Threshold
from setpoint.search.limits import Limits
from setpoint.search.outcome import ConstantGoalWarning, Outcome

__all__ = ["shift_rule"]


_FEW_CALLS = 10
_MOST_CALLS = 1000
"""Cut-offs on a curve that a function is called for, where nobody says otherwise."""


def shift_rule(
    goal: Goal,
    evidence: Evidence,
    options: Options,
    metric: RowMetric | None = None,
    neutral: float = 0.0,
) -> tuple[Outcome, float]:
    """The rule that smoothed post-shift finds, and what was measured of it."""
    n_segments = len(evidence.segments)
    segments = evidence.rows.segment if n_segments > 1 else None
    kind = options.smooth
    if metric is None:
        counted = metric = FormulaMetric(goal, evidence.rows, np.arange(evidence.n_rows))
        found = smoothed_threshold(
            counted,
            evidence.scores,
            evidence.rows.weight,
            segments,
            smooth=kind,
            sweep=lambda scores, moving: counted.sense * counted.sweep(scores, moving),
        )
    else:
        budget, most = options.limits.evaluations, _MOST_CALLS
        if budget is not None:
            curves = 1 if segments is None else 1 + n_segments
            most = max(2, min(most, budget // curves))
        limits = Limits(max_seconds=options.limits.seconds)
        metered = BudgetedMetric(metric, budget, limits)
        rows = metered, evidence.scores, evidence.rows.weight, segments
        few = most
        if metric.takes == "scores":  # a metric of the ranking shows itself at once
            few = min(most, _FEW_CALLS)
        found = smoothed_threshold(*rows, smooth=kind, most=few, limits=limits)
        if few < most and not found.constant:
            with limits.keeping(found):
                found = smoothed_threshold(*rows, smooth=kind, most=most, limits=limits)
    if found.constant:
        found = replace(found, thresholds=np.full_like(found.thresholds, neutral))
    _warn(found, metric, evidence, neutral)
    rule: Rule = Threshold(float(found.thresholds[0]))
    if evidence.decide_on:
        rule = PerSegment([Threshold(float(t)) for t in found.thresholds], evidence.segments)
    confusion = evidence.confusion(rule)
    v = (
        np.zeros(0)
        if goal.is_blackbox
        else link(goal, evidence.codebook).at(evidence.marginals).rates_of(confusion.counts)
    )
    outcome = Outcome(
        rule,
        v,
        confusion,
        0.0,
        "feasible",
        None,
        None,
        _why(found, n_segments),
        "rule without draws",
        found.evaluations,
        solver="post-shift",
    )
    return outcome, metric.sense * found.value


def _why(found: Shift, n_segments: int) -> str:
    if found.constant:
        return f"the metric is the same at all {len(found.curve.gains)} cut-offs"
    out = f"the best of {len(found.curve.gains)} cut-offs"
    if found.window:
        out += f" by the curve averaged over {found.window:.4g}"
    return out + (f", then of each of {n_segments} groups in turn" if n_segments > 1 else "")


def _warn(found: Shift, metric: RowMetric, evidence: Evidence, neutral: float) -> None:
    if found.constant:
        warn_caller(
            f"the metric {metric.name} does not depend on the cut-off: it is the same at all "
            f"{len(found.curve.gains)} that were measured; the cut-off is left at {neutral:g}",
            ConstantGoalWarning,
        )
    elif np.isinf(found.thresholds).all() and len(set(found.thresholds.tolist())) == 1:
        label = evidence.classes[int(found.thresholds[0] < 0)]
        warn_caller(
            f"predicting {label!r} for everyone does best by '{metric.name}': check the metric, "
            "and whether the scores say anything about the classes",
            ConstantGoalWarning,
        )

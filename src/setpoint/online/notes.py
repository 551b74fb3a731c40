"""From the state of a stream to a report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from setpoint.evidence import Confusion
from setpoint.evidence.strata import Stratum
from setpoint.goals.goal import Goal
from setpoint.online import state as at
from setpoint.online.engine import Engine
from setpoint.online.parameters import SOLVERS
from setpoint.online.solvers.sketch import calibrate
from setpoint.online.summary import StreamSummary
from setpoint.program.link import link
from setpoint.report import GoalReport, RuleFacts, Search, report_on
from setpoint.rules import ClassNames, Threshold

__all__ = ["stream_report"]


_RIDGE = 1e-6
"""Only so that a separated stream has a finite slope."""

_PARTS = 10
"""Parts of the rows, by score, whose posteriors are compared with their labels."""


def stream_report(engine: Engine) -> GoalReport:
    """The goal on all rows so far, each decided before its label was used."""
    tally, options = engine.state.tally, engine.options
    name = "the score" if options.margin else "the posterior"
    rule = Threshold(engine.threshold).explain(ClassNames(engine.labels, name))
    confusion = _confusion(engine)
    report = report_on(link(Goal.parse(options.goal), confusion.codebook), confusion)
    (tn, fp), (fn, tp) = tally[at.WEIGHT_OF_ROWS].tolist()
    (wtn, wfp), (wfn, wtp) = tally[at.WEIGHT_IN_WINDOW].tolist()
    slope, intercept, error = _calibration(engine)
    rows = tn + fp + fn + tp
    summary = StreamSummary(
        threshold=engine.threshold,
        prior=(tp + fn) / rows if rows else None,
        tp=tp, fp=fp, fn=fn, tn=tn,
        window_rows=int(engine.state.record["filled"]),
        window_value=engine.problem.value(tally[at.WEIGHT_IN_WINDOW]) if rows else None,
        window_tp=wtp, window_fp=wfp, window_fn=wfn, window_tn=wtn,
        slope=slope,
        intercept=intercept,
        calibration_error=error,
        waiting=len(engine.waiting),
        expired=engine.waiting.n_expired,
    )  # fmt: skip
    return replace(
        report,
        search=Search(
            "online",
            next(name for name, code in SOLVERS.items() if code == options.solver),
            "each row was decided by the rule of its moment, before its label was used",
        ),
        rule=RuleFacts(rule, cutoffs=(((), engine.threshold),)),
        sections=(*report.sections, summary),
    )


def _confusion(engine: Engine) -> Confusion:
    tally = engine.state.tally
    zero = np.zeros((1, 1, 2))
    numbers = tally[at.NUMBER_OF_ROWS].sum(axis=1)
    return Confusion(
        engine.labels,
        (Stratum(),),
        np.concatenate([tally[None, at.WEIGHT_OF_ROWS], zero], axis=1),
        np.concatenate([tally[None, at.SQUARED_WEIGHT], zero], axis=1),
        np.append(numbers, 0.0).astype(np.int64)[None],
        np.append(engine.state.record["smallest"], np.inf)[None],
    )


def _calibration(engine: Engine) -> tuple[float | None, float | None, float | None]:
    """Slope and intercept of the labels on the log-odds, and the mean error of posteriors."""
    if engine.options.margin:
        return None, None, None
    bins = engine.state.bins
    negative, positive, expected = bins[at.NEGATIVE], bins[at.POSITIVE], bins[at.EXPECTED]
    if not (negative.sum() > 0 and positive.sum() > 0):
        return None, None, None
    slope, intercept = calibrate(negative, positive, 1.0, _RIDGE, 1.0, 0.0)
    rows = negative + positive
    filled = rows > 0
    middle = np.cumsum(rows)[filled] - 0.5 * rows[filled]
    part = np.minimum(_PARTS - 1, (middle / rows.sum() * _PARTS).astype(int))
    miss = np.bincount(part, expected[filled] - positive[filled], minlength=_PARTS)
    return float(slope), float(intercept), float(np.abs(miss).sum() / rows.sum())

"""What a stream's report adds, and its summary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from setpoint.counts import Codebook, Confusion
from setpoint.online import learners as at
from setpoint.online.engine import SOLVERS, Engine
from setpoint.online.solvers import calibrate
from setpoint.program import link
from setpoint.report import GoalReport, RuleFacts, Search, Section, report_on
from setpoint.rules import ClassNames, Threshold

# --- What a stream's report adds: its window, its threshold ---------------------------------------


@dataclass(frozen=True)
class StreamSummary(Section):
    """The state of a stream, for the person who watches it.

    Weights of rows, where rows have weights.

    Parameters
    ----------
    threshold : float
        Decide positive when the score is at least this.
    prior : float or None
        Share of positives so far.
    tp, fp, fn, tn : float
        Decisions so far, each made before its label was used.
    window_rows : int
        The last rows that the next numbers refer to.
    window_value : float or None
        The objective on them.
    window_tp, window_fp, window_fn, window_tn : float
    slope, intercept : float or None
        Of a logistic regression of the labels on the scores' log-odds: 1 and 0 where the
        learner is calibrated. None where scores are not posteriors.
    calibration_error : float or None
        Mean distance of posterior and share of positives, over tenths of the rows.
    waiting, expired : int
        Rows whose labels are still to come, and rows that were given up.

    Examples
    --------
    >>> from setpoint import OnlineFClassifier
    >>> clf = OnlineFClassifier("f1", classes=[0, 1])
    >>> clf.predict_learn([[1.0], [-1.0]] * 50, [1, 0] * 50).shape
    (100,)
    >>> stream = clf.goal_report_.section("stream")
    >>> stream.prior, stream.tp + stream.fp + stream.fn + stream.tn
    (0.5, 100.0)
    """

    name: ClassVar[str] = "stream"
    title: ClassVar[str] = "The stream"
    threshold: float
    prior: float | None
    tp: float
    fp: float
    fn: float
    tn: float
    window_rows: int
    window_value: float | None
    window_tp: float
    window_fp: float
    window_fn: float
    window_tn: float
    slope: float | None
    intercept: float | None
    calibration_error: float | None
    waiting: int = 0
    expired: int = 0

    def lines(self) -> list[str]:
        """The same in sentences.

        Examples
        --------
        >>> summary = StreamSummary(0.25, 0.1, 8, 2, 2, 88, 50, 0.8, 4, 1, 1, 44, 1.1, 0.0, 0.012)
        >>> summary.lines()[0]
        'So far: 8 true and 2 false positives, 2 false and 88 true negatives; 10 % positive.'
        """
        prior = "" if self.prior is None else f"; {100 * self.prior:.3g} % positive"
        value = "" if self.window_value is None else f"objective {self.window_value:.4f}; "
        counts = _counts(self.tp, self.fp, self.fn, self.tn)
        last = _counts(self.window_tp, self.window_fp, self.window_fn, self.window_tn)
        out = [
            f"So far: {counts}{prior}.",
            f"The last {self.window_rows:,} rows: {value}{last}.",
            f"Decided positive from a score of {self.threshold:.4f} on.",
        ]
        if self.slope is not None and self.calibration_error is not None:
            out.append(
                f"Calibration: slope {self.slope:.2f}, intercept {self.intercept:.2f} in log-odds; "
                f"posteriors are off by {self.calibration_error:.2g} on average."
            )
        if self.waiting or self.expired:
            out.append(
                f"{self.waiting:,} rows wait for their labels; {self.expired:,} were given up."
            )
        return out


def _counts(tp: float, fp: float, fn: float, tn: float) -> str:
    return (
        f"{tp:,.6g} true and {fp:,.6g} false positives, {fn:,.6g} false and {tn:,.6g} true "
        "negatives"
    )


# --- From the state of a stream to a report -------------------------------------------------------


_RIDGE = 1e-6
"""Only so that a separated stream has a finite slope."""

_PARTS = 10
"""Parts of the rows, by score, whose posteriors are compared with their labels."""


def stream_report(engine: Engine) -> GoalReport:
    """The goal on all rows so far, each decided before its label was used."""
    record, tally = engine.state.record, engine.state.tally
    name = "the score" if record["margin"] else "the posterior"
    rule = Threshold(engine.threshold).explain(ClassNames(engine.labels, name))
    confusion = _confusion(engine)
    report = report_on(link(engine.problem.goal, confusion.codebook), confusion)
    (tn, fp), (fn, tp) = tally[at.WEIGHT_OF_ROWS].tolist()
    (wtn, wfp), (wfn, wtp) = tally[at.WEIGHT_IN_WINDOW].tolist()
    slope, intercept, error = _calibration(engine)
    rows = tn + fp + fn + tp
    prior = (tp + fn) / rows if rows else None
    value = engine.problem.value(tally[at.WEIGHT_IN_WINDOW]) if rows else None
    waiting = len(engine.waiting), engine.waiting.n_expired
    summary = StreamSummary(
        engine.threshold, prior, tp, fp, fn, tn, int(record["filled"]), value,
        wtp, wfp, wfn, wtn, slope, intercept, error, *waiting,
    )  # fmt: skip
    solver = next(name for name, code in SOLVERS.items() if code == record["solver"])
    how = "each row was decided by the rule of its moment, before its label was used"
    facts = RuleFacts(rule, cutoffs=(((), engine.threshold),))
    sections = (*report.sections, summary)
    search = Search("online", solver, how)
    return replace(report, search=search, rule=facts, sections=sections)


def _confusion(engine: Engine) -> Confusion:
    tally = engine.state.tally[[at.WEIGHT_OF_ROWS, at.SQUARED_WEIGHT], None]
    counts, squares = np.append(tally, np.zeros((2, 1, 1, 2)), axis=2)
    numbers = np.append(engine.state.tally[at.NUMBER_OF_ROWS].sum(axis=1), 0.0).astype(np.int64)
    smallest = np.append(engine.state.record["smallest"], np.inf)
    codebook = Codebook.of(engine.labels)
    return Confusion(codebook, counts, squares[None, None], numbers[None], smallest[None])


def _calibration(engine: Engine) -> tuple[float | None, float | None, float | None]:
    """Slope and intercept of the labels on the log-odds, and the mean error of posteriors."""
    if engine.state.record["margin"]:
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

"""The explorer of a fitted classifier: chosen on out-of-fold scores, checked on rows held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.errors import InputError
from setpoint.estimators.rows_of_fit import require_rows
from setpoint.evidence import Evidence
from setpoint.evidence.columns import Column
from setpoint.evidence.rows import counted_rows
from setpoint.explorer.gathering import (
    by_columns,
    cautions,
    check_curve,
    group_columns,
    joined,
    names_of,
    share_of,
    split_rows,
)
from setpoint.explorer.interactive import Explorer
from setpoint.explorer.markers import markers_of
from setpoint.explorer.payload import payload_of
from setpoint.explorer.scored import ScoredRows
from setpoint.goals.errors import EmptyPopulationError, nearest
from setpoint.goals.goal import Goal, as_goal
from setpoint.inputs.inputs import CheckedData, GivenRows
from setpoint.report.numbers import percent

if TYPE_CHECKING:
    from setpoint.estimators.base import GoalClassifier

__all__ = ["explored", "explorer_on"]

_SHARE = 0.3
"""Of the rows given, held out where they have to serve for choosing too."""

_SEVERAL = "The rule decides by more than one score a row: there is no one curve."
_OF_CHECK = ("X", "y", "sample_weight", "sensitive_features", "baseline")
_OF_FIT = "The rows of fit on which the rule was chosen, with the scores that it was chosen by."
_GIVEN = "The rows given to explore."


def explored(
    classifier: GoalClassifier,
    X: Any,
    y: Any,
    by: str | Sequence[str] | None,
    goal: Any,
    other_goal: Any,
    given: Mapping[str, Any],
    check: Any = None,
) -> Explorer:
    """See :meth:`setpoint.estimators.base.GoalClassifier.explore`."""
    apart, share_apart = _apart(check)
    first = classifier._goal() if goal is None else as_goal(goal)
    second = None if other_goal is None else as_goal(other_goal)
    names, both = names_of(by), joined(first, second)
    evidence = getattr(classifier, "evidence_", None)
    require_rows("explore", X, y, given, evidence)
    if evidence is not None and check is not None:
        raise InputError(
            "`check`: the rows of fit are there to choose on, and X and y are those of the check; "
            "leave it out"
        )
    rule, n = classifier.rule_, len(classifier.classes_)
    check_curve(both, n, rule.value_columns)
    if rule.score_columns is not None or _is_other(evidence):
        raise InputError(_SEVERAL)
    held = None if X is None else _Given(classifier, both, names, X, y, given)
    warnings = cautions(both) + ([] if held is None else held.warnings(evidence is not None))
    checked: ScoredRows | None
    if evidence is not None:
        for name in names:
            if name not in both.needs.columns.get(None, {}):
                raise InputError(
                    f"`by`: of the rows of fit the columns that the goal names are kept, not "
                    f"{name!r} ({nearest(name, both.needs.names)}); setpoint.explore takes scores "
                    "with any columns"
                )
        rows = ScoredRows(evidence, group_columns(evidence, both, (), {}), _OF_FIT, _old(evidence))
        share = np.asarray(evidence.distribution(rule))[:, 1]
        checked = None if held is None else held.rows(evidence)
    else:
        assert held is not None
        other = None
        if apart is not None:
            own = {name: apart.get(name) for name in given}
            other = _Given(classifier, both, names, apart["X"], apart["y"], own)
            warnings += other.warnings(True)
        rows = held.rows(None, other)
        share = np.asarray(rule.distribution(rows.evidence.scores, held.segments))[:, 1]
        checked = None if other is None else other.rows(rows.evidence, held)
        if share_apart:
            rows, checked, index = split_rows(rows, share_apart)
            share = share[index]
    markers = markers_of(rows, classifier._classes.labels, rule, share)
    goals = [first] if second is None else [first, second]
    return Explorer(payload_of(goals, rows, markers=markers, check=checked, warnings=warnings))


def explorer_on(goal: Goal, evidence: Evidence) -> Explorer:
    """The page of a goal on the rows of a fit, such as those for which no rule meets it."""
    check_curve(goal, evidence.n_classes, evidence.sees)
    if _is_other(evidence):
        raise InputError(_SEVERAL)
    rows = ScoredRows(evidence, group_columns(evidence, goal, (), {}), _OF_FIT, _old(evidence))
    return Explorer(payload_of([goal], rows, markers=markers_of(rows, evidence.classes)))


def _apart(check: Any) -> tuple[Mapping[str, Any] | None, float]:
    """Rows for the check as given, or the share of the rows to set apart for it."""
    if check is None:
        return None, _SHARE
    if not isinstance(check, Mapping):
        return None, 0.0 if check == 0 else share_of(check) or 0.0
    unknown = [name for name in check if name not in _OF_CHECK]
    missing = [name for name in _OF_CHECK[:2] if check.get(name) is None]
    if unknown or missing:
        raise InputError(
            f"`check` as a dict holds X and y, and may hold {', '.join(_OF_CHECK[2:])}; found "
            f"{list(check)}"
        )
    return check, 0.0


class _Given:
    """Rows given to explore, checked for a fitted classifier."""

    def __init__(
        self,
        classifier: GoalClassifier,
        goal: Goal,
        by: tuple[str, ...],
        X: Any,
        y: Any,
        given: Mapping[str, Any],
    ) -> None:
        self.classifier, self.goal, self.X = classifier, goal, X
        rows, self.inputs = classifier._seen(goal, X, y, **given, datasets=None)
        self.scores = classifier._scores(X)
        of_rows: GivenRows = rows[None]
        self.by = by
        self.columns = by_columns(by, of_rows.sensitive_features, of_rows.n_rows, X)
        self.weight = self.inputs.tables[None].weight
        codes = classifier._segments(X, given["sensitive_features"])
        self.segments: Codes | None = None if codes is None else codes[counted_rows(self.weight)]

    def warnings(self, is_check: bool) -> list[str]:
        """What is to be said where rows took part in the fit."""
        digest = getattr(self.classifier, "digest_", None)
        known = 0.0 if digest is None else digest.share_of(self.X, self.weight)
        if not known:
            return []
        what = "The check: " if is_check else ""
        return [f"{what}{percent(known)} of the rows given were in the fit; they flatter the rule."]

    @property
    def counted(self) -> Mapping[str, Column]:
        """The columns of `by`, for the rows that count."""
        kept = counted_rows(self.weight)
        if isinstance(kept, slice):
            return self.columns
        return {n: c.take(kept) for n, c in self.columns.items()}

    def rows(self, evidence: Evidence | None, other: _Given | None = None) -> ScoredRows:
        """The rows with scores; as a check, counted as those to choose on are."""
        inputs, others = self.inputs, None if other is None else other.counted
        by = () if evidence is not None and other is None else self.by
        if evidence is None:
            found = inputs.evidence({None: self.scores})
            groups = group_columns(found, self.goal, by, self.counted, others)
            return ScoredRows(found, groups, _GIVEN, inputs.tables[None].counted.deployed)
        try:
            found = _by_codebook(inputs, evidence, self.scores)
        except EmptyPopulationError as error:
            raise InputError(f"`X`: {error}") from None
        groups = group_columns(found, self.goal, by, self.counted, others)
        return ScoredRows(found, groups, _GIVEN)


def _by_codebook(inputs: CheckedData, evidence: Evidence, scores: Floats) -> Evidence:
    return replace(inputs, codebook=evidence.codebook).evidence({None: scores})


def _is_other(evidence: Evidence | None) -> bool:
    """Whether rows have more than one score, or are known by posteriors."""
    if evidence is None:
        return False
    return evidence.n_scores is not None or evidence.credit.by_posteriors


def _old(evidence: Evidence) -> Codes | None:
    """What the deployed model decides, where strata tell it."""
    book = evidence.codebook
    known = [s.baseline for s in book.strata[: book.n_plain]]
    if any(code is None for code in known):
        return None
    return np.array(known)[evidence.rows.stratum]

"""Groups that the rule may not see: posteriors of group and class together.

In the paper the group is a function of what the rule sees (CMA, section 2). Where it is
not, what a rule does to a group depends on how likely each row is to be of it: a model of
``P(group, class | x)`` prices every rule over x exactly, where one of ``P(class | x)`` has
to assume that, given the class, x says nothing of the group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.caller import warn_caller
from setpoint.errors import InputError
from setpoint.evidence import Rows
from setpoint.evidence.strata import Stratum
from setpoint.goals.errors import GoalError
from setpoint.goals.populations import Label
from setpoint.plugin.errors import NoScoresError

__all__ = ["JointModel", "JointPosterior", "MissingPairWarning", "joint_labels"]


_ROUNDING, _NEAR, _FAR = 1e-9, 1e-6, 1e-3
"""How far posteriors may be off: by rounding, without a word, at most."""


class MissingPairWarning(UserWarning):
    """A model has not seen some combination of group and class."""


def joint_labels(true: NDArray[Any], group: NDArray[Any], n: int) -> tuple[Codes, Codes]:
    """One label for each combination of group and class that occurs.

    Examples
    --------
    >>> labels, present = joint_labels(np.array([0, 1, 0]), np.array([0, 0, 2]), 2)
    >>> labels.tolist(), present.tolist()
    ([0, 1, 2], [0, 1, 4])
    """
    if (true >= n).any():
        raise GoalError(
            "posteriors of group and class are learned from rows that have a label, and "
            f"{int((true >= n).sum())} have none; let the rule look at the group (`decide_on`)"
        )
    present, labels = np.unique(
        group.astype(np.int64) * n + true.astype(np.int64), return_inverse=True
    )
    return labels.astype(np.int64).ravel(), present


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """What a model of joint labels says: a posterior of each group and class.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from setpoint.goals.requirements import Requirements
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    >>> X = np.column_stack([sex, y]) + rng.normal(size=(200, 2))
    >>> by_sex = Requirements({None: {"sex": None}})
    >>> rows = Rows.from_arrays((0, 1), y, 200, needs=by_sex, columns={"sex": sex})
    >>> joint = JointPosterior.of(rows)
    >>> model = GaussianNB().fit(X, joint.labels(rows))
    >>> scores = joint(model, X)
    >>> scores.shape, joint.marginal(scores).shape
    ((200, 4), (200, 2))
    >>> joint.joint_columns(rows).shape  # of one segment, four scores: stratum and class
    (1, 4, 2)
    """

    classes: tuple[Label, ...]
    groups: tuple[Stratum, ...]
    present: tuple[int, ...]

    @classmethod
    def of(cls, rows: Rows) -> JointPosterior:
        """The groups and combinations of some rows."""
        book = rows.codebook
        groups = tuple(dict.fromkeys(_group(c, book.decide_on) for c in book.strata))
        empty = cls(book.classes, groups, ())
        _, present = joint_labels(rows.true, empty._group_of(rows), book.n_classes)
        return replace(empty, present=tuple(present.tolist()))

    @property
    def n_scores(self) -> int:
        """Columns of the scores, g * n."""
        return len(self.groups) * len(self.classes)

    # ------------------------------------------------------------------ training
    def labels(self, rows: Rows) -> Codes:
        """The label (N,) that a model is trained on, for each row."""
        own, found = joint_labels(rows.true, self._group_of(rows), len(self.classes))
        place = {code: k for k, code in enumerate(self.present)}
        unseen = [self.words(c) for c in found.tolist() if c not in place]
        if unseen:
            raise GoalError(f"no row was known of {'; '.join(unseen)}")
        return np.array([place[c] for c in found.tolist()], np.int64)[own]

    def for_folds(self, labels: Codes, n_folds: int) -> Codes:
        """Labels (N,) to stratify by: combinations too rare for folds join their class."""
        n, held = len(self.classes), np.bincount(labels, minlength=len(self.present))
        present = np.array(self.present, np.int64)
        place = np.arange(len(present))
        for k in np.flatnonzero(held < n_folds):
            alike = np.flatnonzero(present % n == present[k] % n)
            place[k] = alike[held[alike].argmax()]
        return place[labels]

    # ------------------------------------------------------------------ responses
    def name(self, model: Any) -> str:
        """The method that is called."""
        if not hasattr(model, "predict_proba"):
            raise NoScoresError(
                f"`estimator`: {type(model).__name__} has no predict_proba; a rule that may not "
                "look at the groups of its goal needs posteriors of group and class "
                "(`calibrate='sigmoid'` of ModelResponse makes some of a decision function)"
            )
        return "predict_proba"

    def __call__(self, model: Any, X: Any) -> Floats:
        """Posteriors (N, g * n); 0 for a group and class that the model has not seen."""
        name = f"{type(model).__name__}.{self.name(model)}"
        out = np.asarray(model.predict_proba(X), np.float64)
        if out.ndim != 2 or not np.isfinite(out).all() or (out < -_ROUNDING).any():
            raise InputError(f"{name} gives no posteriors: numbers >= 0, a column for each class")
        out = np.maximum(out, 0.0)
        known = self._known(model, out.shape[1])
        totals = out.sum(axis=1)
        off = float(np.abs(totals - 1.0).max(initial=0.0))
        if off > _FAR:
            raise InputError(f"{name}: posteriors of a row sum to 1; one is off by {off:.3g}")
        if off > _NEAR:
            warn_caller(
                f"{name}: posteriors sum to 1 only within {off:.2g}; they are scaled to do so",
            )
        missing = sorted(set(range(len(self.present))) - set(known.tolist()))
        if missing:
            words = "; ".join(self.words(self.present[k]) for k in missing)
            warn_caller(
                f"{type(model).__name__} was trained on no row of {words}: its probability is 0. "
                "Fewer folds, or groups joined, give every model some",
                MissingPairWarning,
            )
        scores = np.zeros((len(out), self.n_scores))
        scores[:, np.array(self.present)[known]] = out / totals[:, None]
        return scores

    def _known(self, model: Any, width: int) -> Codes:
        """The label that each column of a model's posteriors refers to."""
        known = np.asarray(getattr(model, "classes_", range(len(self.present))))
        whole = known.dtype.kind in "iu" and len(known) == width
        if not whole or not np.isin(known, np.arange(len(self.present))).all():
            raise InputError(
                f"{type(model).__name__} was not trained on the {len(self.present)} labels of "
                f"group and class: it knows {width} classes, {known.tolist()[:8]}"
            )
        return known.astype(np.int64)

    # ------------------------------------------------------------------ counting
    def joint_columns(self, rows: Rows) -> Codes:
        """The stratum and class that each score refers to, for ``Evidence.with_posteriors``."""
        n = len(self.classes)
        group = self._of_strata(rows)
        held, book = rows.stratum_weights, rows.codebook
        out = np.empty((len(book.segments), len(self.groups), n, 2), np.int64)
        out[..., 1] = np.arange(n)
        for segment in range(len(out)):
            own = np.flatnonzero(book.stratum_segment == segment)
            out[segment, ..., 0] = own[held[own].argmax()]
            out[segment, group[own], :, 0] = own[:, None]
        return out.reshape(len(out), self.n_scores, 2)

    def marginal(self, scores: Floats) -> Floats:
        """The posterior (N, n) of the classes, from joint ones (N, g * n).

        Examples
        --------
        >>> joint = JointPosterior(("no", "yes"), (Stratum(), Stratum(baseline=1)), (0, 1, 2, 3))
        >>> joint.marginal(np.array([[0.25, 0.25, 0.125, 0.375]]))
        array([[0.375, 0.625]])
        """
        shape = (len(scores), len(self.groups), len(self.classes))
        return np.asarray(scores.reshape(shape).sum(axis=1))

    def words(self, code: int) -> str:
        """A combination in words.

        Examples
        --------
        >>> joint = JointPosterior(("no", "yes"), (Stratum(key=(("sex", "F"),)),), (0, 1))
        >>> joint.words(1)
        "class 'yes' with sex = F"
        """
        group, true = divmod(code, len(self.classes))
        return f"class {self.classes[true]!r} with {self.groups[group]}"

    def _group_of(self, rows: Rows) -> Codes:
        return self._of_strata(rows)[rows.stratum]

    def _of_strata(self, rows: Rows) -> Codes:
        """The group (strata,) of each stratum."""
        place = {group: k for k, group in enumerate(self.groups)}
        found = [_group(c, rows.codebook.decide_on) for c in rows.codebook.strata]
        unseen = [str(g) for g in found if g not in place]
        if unseen:
            raise GoalError(
                "posteriors of group and class were learned without rows of "
                f"{', '.join(dict.fromkeys(unseen))}; let the rule look at the group (`decide_on`)"
            )
        return np.array([place[g] for g in found], np.int64)


@dataclass(frozen=True, eq=False)
class JointModel:
    """A fitted model of joint labels, and what its posteriors refer to."""

    joint: JointPosterior
    model: Any

    def scores(self, X: Any) -> Floats:
        """Posteriors (N, g * n) for the rule."""
        return self.joint(self.model, X)


def _group(stratum: Stratum, decide_on: tuple[str, ...]) -> Stratum:
    """A stratum without what the rule looks at."""
    return replace(stratum, key=tuple((c, v) for c, v in stratum.key if c not in decide_on))

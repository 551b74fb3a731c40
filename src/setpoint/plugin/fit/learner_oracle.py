"""A learner as oracle: trained anew for each question of the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter, indexable

from setpoint.array_types import Floats, Integers
from setpoint.counts import Confusion, Evidence, Rows
from setpoint.errors import InputError
from setpoint.plugin.problem import WholeRules
from setpoint.program import RateTable
from setpoint.rules import Argmax, Rule, mixture
from setpoint.search import Limits, MixtureWeights

# --- Learners that were trained anew for each objective -------------------------------------------


def weight_parameter(learner: Any) -> str:
    """The parameter of ``fit`` by which a learner, or the last step of a pipeline, is weighted.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_parameter(make_pipeline(StandardScaler(), LogisticRegression()))
    'logisticregression__sample_weight'
    """
    if isinstance(learner, Pipeline):
        name, last = learner.steps[-1]
        inner = weight_parameter(last)
        # With metadata routing a pipeline passes on what its steps ask for.
        return inner if get_config()["enable_metadata_routing"] else f"{name}__{inner}"
    if not has_fit_parameter(learner, "sample_weight"):
        raise InputError(
            f"`oracle`: {type(learner).__name__}.fit takes no `sample_weight`, and a learner that "
            "is trained for costs receives them as weights; use one that takes them, such as "
            "LogisticRegression"
        )
    return "sample_weight"


@dataclass(frozen=True, eq=False)
class Retrained:
    """The learners that a choice draws among."""

    learners: tuple[Any, ...]
    known: tuple[NDArray[np.int64], ...]
    n_classes: int

    @property
    def n_features_in_(self) -> int:
        """Columns of X, where the learners know it."""
        return int(self._first.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns of X, where the learners know them."""
        return np.asarray(self._first.feature_names_in_)

    @property
    def _first(self) -> Any:
        if not self.learners:
            raise AttributeError("there is no learner: the rule is a constant")
        return self.learners[0]

    def scores(self, X: Any) -> Floats:
        """What each learner decides: the scores of the rule."""
        n, n_rows = self.n_classes, int(_num_samples(X))
        out = np.zeros((n_rows, max(len(self.learners), 1) * n))
        for t, (learner, known) in enumerate(zip(self.learners, self.known, strict=True)):
            out[np.arange(n_rows), t * n + answers(learner, known, X)] = 1.0
        return out


def answers(learner: Any, known: NDArray[np.int64], X: Any) -> NDArray[np.int64]:
    """Class codes (N,) that a learner predicts."""
    answer = np.asarray(learner.predict(X)).ravel()
    if answer.dtype.kind not in "iu" or not np.isin(answer, np.arange(len(known))).all():
        raise InputError(
            f"`oracle`: {type(learner).__name__} predicts a value that is not a class that it was "
            "trained on; it has to be a classifier"
        )
    return np.asarray(known[answer])


# --- What a learner that is trained anew for each objective can reach -----------------------------


_NOTHING = 1e-12
"""A weight that is a smaller share of the largest one is rounding."""


def costs_of(gains: Floats) -> Floats:
    """Costs >= 0 in place of gains of any sign, with the same best decision.

    Examples
    --------
    >>> costs_of(np.array([[0.5, -1.0, 0.0], [-2.0, -2.0, -3.0]]))
    array([[0. , 1.5, 0.5],
           [0. , 0. , 1. ]])
    """
    return np.asarray(gains.max(axis=-1, keepdims=True) - gains)


@dataclass(frozen=True, eq=False)
class _Atom:
    """One column: a learner and what it decides; or a constant, without either."""

    learner: Any
    known: NDArray[np.int64]
    decided: Integers | None


class Retraining(WholeRules):
    """The achievable features of a goal, explored by retraining a learner; in one block."""

    is_certain = False
    atoms: list[_Atom]

    def __init__(
        self,
        rates: RateTable,
        evidence: Evidence,
        learner: Any,
        train: Rows,
        X_train: Any,
        X: Any = None,
        *,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(rates, limits)
        if evidence.credit.by_posteriors:
            raise InputError("a learner's decisions are counted by labels: evidence is not soft")
        self._parameter = weight_parameter(learner)
        self.evidence = self.counted = evidence
        self.learner = learner
        # Formats of sparse matrices that cannot be indexed become one that can.
        self._X_train = indexable(X_train)[0]
        self._X = self._X_train if X is None or X is X_train else indexable(X)[0]
        _check_rows("training rows", self._X_train, train.n_rows)
        _check_rows("counted rows", self._X, evidence.n_rows)
        if (
            train.codebook.strata != evidence.codebook.strata
            or train.codebook.classes != evidence.classes
        ):
            raise InputError("training rows are of another codebook than evidence")
        self._kind, self._weight = train.kind.astype(np.int64), train.weight
        nothing = np.zeros(0, np.int64)
        self.atoms = [_Atom(None, nothing, None) for _ in range(evidence.n_classes)]
        self._asked: set[bytes] = set()

    @property
    def _n_kinds(self) -> int:
        return len(self.evidence.codebook.strata) * (self.evidence.n_classes + 1)

    # ------------------------------------------------------------------ the space
    def ask(self, slopes: Floats) -> int:
        """Train a learner; the number of the best of all columns for ``slopes @ v``."""
        key = np.asarray(slopes, np.float64).tobytes()
        if key not in self._asked:  # what was asked before would be answered alike
            self.limits.call()
            self._train(slopes)
            self._asked.add(key)
        return int(np.argmax(self._features[:, 0] @ slopes))

    def _counted_atom(self, number: int) -> Floats:
        return self.rates.of(self.evidence.rows.confusion(self._decided(number)).counts)[None]

    def _decided(self, k: int) -> NDArray[np.int64]:
        decided = self.atoms[k].decided
        if decided is None:
            return np.full(self.evidence.n_rows, k)
        return decided.astype(np.int64)

    # ------------------------------------------------------------------ learning
    def _train(self, slopes: Floats) -> None:
        """Fit to an objective and keep the learner, unless it does what another one does."""
        index, label, weight = self._copies(slopes)
        known, answer = np.unique(label, return_inverse=True)
        if len(known) < 2:
            return  # a constant, and those are there already
        every = len(index) == len(self._kind) and bool((np.diff(index) == 1).all())
        X = self._X_train if every else _safe_indexing(self._X_train, index)
        own = {self._parameter: weight / weight.mean()}
        learner = clone(self.learner).fit(X, answer, **own)
        decided = answers(learner, known, self._X)
        narrow = np.int8 if self.evidence.n_classes < 128 else np.int64
        before = self._features
        self.atoms.append(_Atom(learner, known, decided.astype(narrow)))
        if (self._features[-1] == before).all(axis=(1, 2)).any():
            # Fewer learners do as well.
            self.atoms.pop()
            self._columns.keep(len(self.atoms))

    def _copies(self, slopes: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """The weighted multiclass problem: rows, their labels and weights, in row order."""
        costs = costs_of(self.rates.tensor(slopes)).reshape(self._n_kinds, -1)
        table = costs.max(axis=1, keepdims=True) - costs
        weights = table[self._kind]
        if self._weight is not None:
            weights *= self._weight[:, None]
        index, label = np.nonzero(weights > _NOTHING * weights.max(initial=0.0))
        return index, label, weights[index, label]

    # ------------------------------------------------------------------ rules
    def finish(self, choice: MixtureWeights) -> tuple[Retrained, Rule]:
        """The learners that a choice uses, and the rule over their decisions."""
        n, part = self.evidence.n_classes, choice[0]
        used = [k for k in sorted(part) if part[k] > 0.0]
        place = {k: t for t, k in enumerate(k for k in used if k >= n)}
        pairs = []
        for k in used:
            G, offset = np.zeros((max(len(place), 1), n, n)), np.zeros(n)
            if k in place:
                G[place[k]] = np.eye(n)
            else:
                offset[k] = 1.0
            pairs.append((part[k], Argmax(G.reshape(-1, n), None if k in place else offset)))
        atoms = [self.atoms[k] for k in place]
        model = Retrained(tuple(a.learner for a in atoms), tuple(a.known for a in atoms), n)
        return model, mixture(pairs)

    def words(self, choice: MixtureWeights) -> str:
        """What :meth:`finish` gives, in words."""
        n, name = self.evidence.n_classes, type(self.learner).__name__
        if isinstance(self.learner, Pipeline):
            name = type(self.learner.steps[-1][1]).__name__
        parts, learners = [], 0
        for k, p in sorted(choice[0].items()):
            label = f"predict {self.evidence.classes[k]!r} for everyone" if k < n else ""
            learners += k >= n
            label = label or f"predict what learner {learners} says, a {name} trained for costs"
            parts.append((p, label))
        if len(parts) == 1:
            return parts[0][1]
        return "; ".join(f"with probability {p:.4g} {label}" for p, label in parts)

    def rule(self, choice: MixtureWeights) -> Rule:
        """The rule of :meth:`finish`."""
        return self.finish(choice)[1]

    def distribution(self, choice: MixtureWeights) -> Floats:
        """The probability (N, n) with which each row is decided each class."""
        n_rows = self.evidence.n_rows
        out = np.zeros((n_rows, self.evidence.n_classes))
        for k, p in choice[0].items():
            out[np.arange(n_rows), self._decided(k)] += p
        return out

    def confusion(self, choice: MixtureWeights) -> Confusion:
        """Counted by labels."""
        if len(choice[0]) == 1:
            return self.evidence.rows.confusion(self._decided(next(iter(choice[0]))))
        return self.evidence.rows.confusion(self.distribution(choice))

    def randomized_share(self, choice: MixtureWeights) -> float:
        """The share of the rows' weight on which the learners differ."""
        return self.evidence.rows.undecided(self.distribution(choice))


def _check_rows(what: str, X: Any, n_rows: int) -> None:
    if int(_num_samples(X)) != n_rows:
        raise InputError(f"{what}: X has {int(_num_samples(X))} rows, their codes {n_rows}")

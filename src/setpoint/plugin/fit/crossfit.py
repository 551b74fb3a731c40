"""Where scores come from: models fitted fold by fold, posteriors of group and class, learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, has_fit_parameter, indexable

from setpoint.array_types import Codes, Floats, Integers
from setpoint.classifiers import Fold, folds_of, order_in_words
from setpoint.counts import Confusion, Evidence, Rows, Stratum, Units
from setpoint.errors import InputError, warn_caller
from setpoint.goals import Label
from setpoint.inputs import ClassOrder, one_score, posteriors, taken
from setpoint.plugin.problem import WholeRules
from setpoint.program import RateTable
from setpoint.rules import Argmax, Rule, mixture
from setpoint.search import Limits, MixtureWeights

# --- Scores for the rows of X that no model saw in training ---------------------------------------


class NoScoresError(InputError, AttributeError):
    """A model lacks the method whose scores or probabilities a rule needs."""


@dataclass(frozen=True, eq=False)
class Response:
    """What a fitted model says of rows: one score each, higher for the positive class."""

    method: str
    classes: ClassOrder
    posterior: bool = False

    def name(self, model: Any) -> str:
        """The method that is called."""
        names = [self.method]
        if self.method == "auto":
            names = ["predict_proba", "decision_function"][: 1 if self.posterior else 2]
        found = next((name for name in names if _offers(model, name)), None)
        if self.posterior and found != "predict_proba":
            raise NoScoresError(
                "`estimator`: rules over more than two classes, and soft evidence, need "
                f"predict_proba of {_name(model)}; `calibrate='sigmoid'` or 'isotonic' "
                "of ModelResponse makes probabilities of its decision function"
            )
        if found is None:
            raise NoScoresError(
                f"`estimator`: {_name(model)} has no {' and no '.join(names)}; a rule needs scores"
            )
        return found

    def __call__(self, model: Any, X: Any) -> Floats:
        """Scores (N,), or posteriors (N, n)."""
        return self.scores(model, np.asarray(getattr(model, self.name(model))(X)))

    def scores(self, model: Any, out: Floats) -> Floats:
        """The same of what the model's method gave already."""
        known = getattr(model, "classes_", None)
        if known is not None and list(known) != self.classes.sorted.tolist():
            raise InputError(
                f"{type(model).__name__} knows the classes {np.asarray(known).tolist()}, y holds "
                f"{self.classes.sorted.tolist()}; every model, and so every fold, has to see "
                "all of them"
            )
        if out.ndim == 1 and self.classes.positive_first:
            out = -out  # a decision function speaks for the last class
        what = f"{type(model).__name__}.{self.name(model)}"
        return scores_for(out, self.classes, self.posterior, what)[0]


def scores_for(
    scores: Any, classes: ClassOrder, posterior: bool, name: str = "scores"
) -> tuple[Floats, tuple[str, ...]]:
    """One score a row, or posteriors with a note if they were renormalised."""
    if not posterior:
        return one_score(scores, classes, name), ()
    found, note = posteriors(scores, classes, name)
    return found, (note,) if note else ()


def _name(model: Any) -> str:
    """The class of a model; of a pipeline, that of its last step, which gives the scores."""
    out = type(model).__name__
    steps = getattr(model, "steps", None)
    return f"{out} (its last step is {_name(steps[-1][1])})" if isinstance(steps, list) else out


@dataclass(frozen=True, eq=False)
class CrossFit:
    """A model for new rows, and scores of the rows that a rule is found on."""

    model: Any
    scores: Floats
    index: NDArray[np.int64] | None
    fold: NDArray[np.int64] | None

    @property
    def folds(self) -> int | None:
        """How many there are."""
        return None if self.fold is None else int(self.fold.max()) + 1

    def order_in_words(self, true: Codes) -> str:
        """What the order of the rows tells, with class codes (M,); a row counts once."""
        if self.fold is None:
            return ""
        once = np.ones(len(true), bool)
        if self.index is not None:
            once[1:] = np.diff(self.index) > 0
        return order_in_words(self.scores[once], true[once], self.fold[once])


def _offers(model: Any, name: str) -> bool:
    """Whether a model has a method; one that stacks others says so once it is fitted."""
    last = getattr(model, "steps", [("", model)])[-1][1]
    stacks = hasattr(last, "final_estimator") and not hasattr(last, "final_estimator_")
    return hasattr(model, name) or (stacks and hasattr(type(last), name))


def splits_of(
    cv: Any,
    X: Any,
    y: Any,
    refit: bool,
    seed: int,
    params: Mapping[str, Any],
    units: Units | None,
) -> list[Fold]:
    """All folds, drawn once."""
    splits = folds_of(cv, X, y, seed, params, units)
    if not splits:
        raise InputError("`cv`: there is no split (what is iterated over once is empty afterwards)")
    if any(len(test) == 0 for _, test in splits):
        raise InputError("`cv`: a fold has no rows to score")
    if not refit and len(splits) > 1:
        raise InputError(
            f"`cv`: HoldOut needs a single split, and this gives {len(splits)}: give it a share, "
            "or cv without it"
        )
    return splits


def cross_fit(
    estimator: Any,
    X: Any,
    y: Any,
    splits: list[Fold],
    response: Response,
    *,
    refit: bool,
    params: Mapping[str, Any],
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CrossFit:
    """Fit a model a fold, score the rest, and fit on all rows in the end."""
    parallel = Parallel(n_jobs=n_jobs, verbose=max(verbose - 1, 0))
    done = parallel(
        delayed(fit_fold)(clone(estimator), X, y, fold, response, params, not refit)
        for fold in splits
    )
    model = clone(estimator).fit(X, y, **params) if refit else done[0][0]
    order, index, fold = left_out(splits, int(_num_samples(X)))
    return CrossFit(model, np.concatenate([scores for _, scores in done])[order], index, fold)


def left_out(
    splits: Sequence[Fold], n_rows: int, *, once: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None, NDArray[np.int64]]:
    """From the order of the splits to that of X; which rows these are, None: all; their folds."""
    rows = np.concatenate([test for _, test in splits])
    order = np.argsort(rows, kind="stable")
    index = rows[order]
    again = order[1:][np.diff(index) == 0]
    if once and len(again):
        raise InputError(
            f"`cv`: two splits leave out row {rows[again.min()]}, and a row judges a candidate "
            "once: give folds that do not overlap, such as StratifiedKFold, or one share"
        )
    fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])[order]
    return order, None if np.array_equal(index, np.arange(n_rows)) else index, fold


def fit_fold(
    model: Any,
    X: Any,
    y: Any,
    fold: Fold,
    response: Response,
    params: Mapping[str, Any],
    keep: bool,
) -> tuple[Any, Floats]:
    """Fit a model on a fold and score the rows that it leaves out."""
    train, test = fold
    n_rows = int(_num_samples(X))
    own = {name: taken(value, train, n_rows) for name, value in params.items()}
    model.fit(_safe_indexing(X, train), _safe_indexing(y, train), **own)
    return model if keep else None, response(model, _safe_indexing(X, test))


# --- Groups that the rule may not see: posteriors of group and class together ---------------------


_ROUNDING, _NEAR, _FAR = 1e-9, 1e-6, 1e-3
"""How far posteriors may be off: by rounding, without a word, at most."""


class MissingPairWarning(UserWarning):
    """A model has not seen some combination of group and class."""


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """What a model of joint labels says: a posterior of each group and class."""

    classes: tuple[Label, ...]
    groups: tuple[Stratum, ...]
    present: tuple[int, ...]

    @classmethod
    def of(cls, rows: Rows) -> JointPosterior:
        """The groups and combinations of some rows."""
        book = rows.codebook
        groups = tuple(dict.fromkeys(_group(c, book.decide_on) for c in book.strata))
        empty = cls(book.classes, groups, ())
        return replace(empty, present=tuple(np.unique(empty._codes(rows)).tolist()))

    @property
    def n_scores(self) -> int:
        """Columns of the scores, g * n."""
        return len(self.groups) * len(self.classes)

    # ------------------------------------------------------------------ training
    def labels(self, rows: Rows) -> Codes:
        """The label (N,) that a model is trained on, for each row."""
        return np.searchsorted(self.present, self._codes(rows))

    def for_folds(self, labels: Codes, n_folds: int) -> Codes:
        """Labels (N,) to stratify by: combinations too rare for folds join their class."""
        held = np.bincount(labels, minlength=len(self.present))
        true = np.array(self.present) % len(self.classes)
        place = np.arange(len(true))
        for k in np.flatnonzero(held < n_folds):
            alike = np.flatnonzero(true == true[k])
            place[k] = alike[held[alike].argmax()]
        return place[labels]

    # ------------------------------------------------------------------ responses
    def __call__(self, model: Any, X: Any) -> Floats:
        """Posteriors (N, g * n); 0 for a group and class that the model has not seen."""
        if not hasattr(model, "predict_proba"):
            raise NoScoresError(
                f"`estimator`: {type(model).__name__} has no predict_proba; a rule that may not "
                "look at the groups of its goal needs posteriors of group and class "
                "(`calibrate='sigmoid'` of ModelResponse makes some of a decision function)"
            )
        name = f"{type(model).__name__}.predict_proba"
        out = np.asarray(model.predict_proba(X), np.float64)
        if out.ndim != 2 or not np.isfinite(out).all() or (out < -_ROUNDING).any():
            raise InputError(f"{name} gives no posteriors: numbers >= 0, a column for each class")
        out = np.maximum(out, 0.0)
        labels = range(len(self.present))
        known = np.asarray(getattr(model, "classes_", labels))
        if len(known) != out.shape[1] or not {*known.tolist()} <= {*labels}:
            raise InputError(
                f"{type(model).__name__} was not trained on the {len(labels)} labels of "
                f"group and class: it knows {out.shape[1]} classes, {known.tolist()[:8]}"
            )
        totals = out.sum(axis=1)
        off = float(np.abs(totals - 1.0).max(initial=0.0))
        if off > _FAR:
            raise InputError(f"{name}: posteriors of a row sum to 1; one is off by {off:.3g}")
        if off > _NEAR:
            warn_caller(
                f"{name}: posteriors sum to 1 only within {off:.2g}; they are scaled to do so",
            )
        if missing := sorted({*labels} - {*known.tolist()}):
            words = "; ".join(self.words(self.present[k]) for k in missing)
            warn_caller(
                f"{type(model).__name__} was trained on no row of {words}: its probability is 0. "
                "Fewer folds, or groups joined, give every model some",
                MissingPairWarning,
            )
        scores = np.zeros((len(out), self.n_scores))
        scores[:, np.array(self.present)[known]] = out / totals[:, None]
        return scores

    # ------------------------------------------------------------------ counting
    def joint_columns(self, rows: Rows) -> Codes:
        """The stratum and class that each score refers to, for ``Evidence.with_posteriors``."""
        group, book = self._of_strata(rows), rows.codebook
        held = rows.marginals.weights[: book.n_plain].sum(axis=1)
        out = np.empty((len(book.segments), len(self.groups), len(self.classes), 2), np.int64)
        out[..., 1] = np.arange(len(self.classes))
        for segment in range(len(out)):
            own = np.flatnonzero(book.stratum_segment == segment)
            out[segment, ..., 0] = own[held[own].argmax()]
            out[segment, group[own], :, 0] = own[:, None]
        return out.reshape(len(out), self.n_scores, 2)

    def marginal(self, scores: Floats) -> Floats:
        """The posterior (N, n) of the classes, from joint ones (N, g * n)."""
        shape = (len(scores), len(self.groups), len(self.classes))
        return np.asarray(scores.reshape(shape).sum(axis=1))

    def words(self, code: int) -> str:
        """A combination in words."""
        group, true = divmod(code, len(self.classes))
        return f"class {self.classes[true]!r} with {self.groups[group]}"

    def _codes(self, rows: Rows) -> Codes:
        """Group and class (N,) of each row as one number."""
        return self._of_strata(rows)[rows.stratum] * len(self.classes) + rows.true

    def _of_strata(self, rows: Rows) -> Codes:
        """The group (strata,) of each stratum."""
        book = rows.codebook
        return np.array([self.groups.index(_group(c, book.decide_on)) for c in book.strata])


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


# --- Learners that were trained anew for each objective -------------------------------------------


def weight_parameter(model: Any) -> str:
    """By what ``fit`` of a model, or of a pipeline's last step, is weighted; "": by nothing."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        inner = weight_parameter(last)
        # With metadata routing a pipeline passes on what its steps ask for.
        return inner if not inner or get_config()["enable_metadata_routing"] else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else ""


@dataclass(frozen=True, eq=False)
class Retrained:
    """The learners that a choice draws among."""

    learners: tuple[Any, ...]
    known: tuple[NDArray[np.int64], ...]
    n_classes: int

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
    """Costs >= 0 in place of gains of any sign, with the same best decision."""
    return np.asarray(gains.max(axis=-1, keepdims=True) - gains)


@dataclass(frozen=True, eq=False)
class _Atom:
    """One column: what is decided (N,), and by which learner of which classes, unless constant."""

    decided: Integers
    learner: Any = None
    known: Any = None


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
        self._parameter = weight_parameter(learner)
        if not self._parameter:
            raise InputError(
                f"`oracle`: {_last(learner)}.fit takes no `sample_weight`, and a learner that is "
                "trained for costs receives them as weights; use one that takes them, such as "
                "LogisticRegression"
            )
        self.evidence = self.counted = evidence
        self.learner = learner
        # Formats of sparse matrices that cannot be indexed become one that can.
        self._X_train = indexable(X_train)[0]
        self._X = self._X_train if X is None or X is X_train else indexable(X)[0]
        self._kind, self._weight = train.kind.astype(np.int64), train.weight
        self._narrow: Any = np.int8 if evidence.n_classes < 128 else np.int64
        one: Integers = np.ones(evidence.n_rows, self._narrow)
        self.atoms = [_Atom(k * one) for k in range(evidence.n_classes)]
        self._asked: set[bytes] = set()

    # ------------------------------------------------------------------ the space
    def ask(self, slopes: Floats) -> int:
        """Train a learner; the number of the best of all columns for ``slopes @ v``."""
        key = np.asarray(slopes, np.float64).tobytes()
        if key not in self._asked:  # what was asked before has the same answer
            self.limits.call()
            self._train(slopes)
            self._asked.add(key)
        return int(np.argmax(self._features[:, 0] @ slopes))

    def _counted_atom(self, number: int) -> Floats:
        return self.rates.of(self.evidence.rows.confusion(self._decided(number)).counts)[None]

    def _decided(self, k: int) -> NDArray[np.int64]:
        return self.atoms[k].decided.astype(np.int64)

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
        decided = answers(learner, known, self._X).astype(self._narrow)
        before = self._features
        self.atoms.append(_Atom(decided, learner, known))
        if (self._features[-1] == before).all(axis=(1, 2)).any():
            self.atoms.pop()  # fewer learners do as well
            self._columns.keep(len(self.atoms))

    def _copies(self, slopes: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """The weighted multiclass problem: rows, their labels and weights, in row order."""
        costs = costs_of(self.rates.tensor(slopes))
        table = costs_of(costs.reshape(-1, costs.shape[-1]))
        weights = table[self._kind]
        if self._weight is not None:
            weights *= self._weight[:, None]
        index, label = np.nonzero(weights > _NOTHING * weights.max(initial=0.0))
        return index, label, weights[index, label]

    # ------------------------------------------------------------------ rules
    def finish(self, choice: MixtureWeights) -> tuple[Retrained, Rule]:
        """The learners that a choice uses, and the rule over their decisions."""
        n, used = self.evidence.n_classes, {k: p for k, p in sorted(choice[0].items()) if p > 0.0}
        trained, pairs = [k for k in used if k >= n], []
        for k, p in used.items():
            G = np.zeros((max(len(trained), 1), n, n))
            if k >= n:
                G[trained.index(k)] = np.eye(n)
            pairs.append((p, Argmax(G.reshape(-1, n), np.eye(n)[k] if k < n else None)))
        atoms = [self.atoms[k] for k in trained]
        model = Retrained(tuple(a.learner for a in atoms), tuple(a.known for a in atoms), n)
        return model, mixture(pairs)

    def words(self, choice: MixtureWeights) -> str:
        """What :meth:`finish` gives, in words."""
        classes, name = self.evidence.classes, _last(self.learner)
        used = sorted(choice[0])  # one class for everybody first
        words = {k: f"predict {classes[k]!r} for everyone" for k in used if k < len(classes)}
        for t, k in enumerate(used[len(words) :], start=1):
            words[k] = f"predict what learner {t} says, a {name} trained for costs"
        draws = [f"with probability {choice[0][k]:.4g} {text}" for k, text in words.items()]
        return "; ".join(draws) if len(draws) > 1 else words[used[0]]

    def rule(self, choice: MixtureWeights) -> Rule:
        """The rule of :meth:`finish`."""
        return self.finish(choice)[1]

    def distribution(self, choice: MixtureWeights) -> Floats:
        """The probability (N, n) with which each row is decided each class."""
        one = np.eye(self.evidence.n_classes)
        parts = (p * one[self._decided(k)] for k, p in choice[0].items())
        return sum(parts, np.zeros((self.evidence.n_rows, len(one))))

    def confusion(self, choice: MixtureWeights) -> Confusion:
        """Counted by labels."""
        if len(choice[0]) == 1:
            return self.evidence.rows.confusion(self._decided(next(iter(choice[0]))))
        return self.evidence.rows.confusion(self.distribution(choice))

    def randomized_share(self, choice: MixtureWeights) -> float:
        """The share of the rows' weight on which the learners differ."""
        return self.evidence.rows.undecided(self.distribution(choice))


def _last(learner: Any) -> str:
    """The class of a learner; of a pipeline, that of its last step."""
    return _last(learner.steps[-1][1]) if isinstance(learner, Pipeline) else type(learner).__name__

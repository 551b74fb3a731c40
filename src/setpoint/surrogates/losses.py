"""Surrogate losses: what a metric is thought to be a monotone function of.

A surrogate is one number, small where a model does well on a part of the rows. Bound to
rows, K of them give values and gradients with respect to the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from setpoint.array_types import Floats
from setpoint.counts import Column
from setpoint.errors import InputError, InputTypeError, nearest
from setpoint.goals import column_in_words, value_in_words
from setpoint.inputs import as_columns

Back = Callable[[Floats], Floats]
"""From weights of the losses to the gradient (n,) of their weighted sum."""

_SIGMOID_SCALE = 1.5


def _sigmoid(z: Floats) -> Floats:
    out = np.multiply(z, -_SIGMOID_SCALE)
    return np.asarray(expit(out, out=out))


class _Kind(NamedTuple):
    """A loss of a margin z."""

    loss: Callable[[Floats], Floats]
    slope: Callable[[Floats, Floats], Floats]


POINTWISE: dict[str, _Kind] = {
    "sigmoid": _Kind(_sigmoid, lambda z, p: -_SIGMOID_SCALE * p * (1.0 - p)),
    "hinge": _Kind(lambda z: np.maximum(1.0 - z, 0.0), lambda z, _: -(z < 1.0).astype(np.float64)),
    # In units of log 2: at a score of zero every loss is one half or one.
    "logistic": _Kind(
        lambda z: np.logaddexp(0.0, -z) / np.log(2.0), lambda z, _: -expit(-z) / np.log(2.0)
    ),
}
"""By name."""


@dataclass(frozen=True, eq=False)
class Term:
    """One or several losses on the same rows, in one pass over their scores; a name for each."""

    names: tuple[str, ...]

    def values(self, scores: Floats) -> Floats:
        """Losses (m, k) at score vectors (m, n)."""
        return np.array([self.at(f)[0] for f in scores])

    def at(self, scores: Floats) -> tuple[Floats, Back]:
        """Losses (k,) at scores (n,), and the way back from weights (k,) to rows (n,)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Pointwise(Term):
    """Mean losses of margins over parts of the rows, which may overlap.

    Examples
    --------
    >>> loss = Pointwise(("positives", "negatives"), "hinge", np.array([1.0, -1.0]), np.eye(2))
    >>> loss.values(np.array([[0.5, 0.5]]))
    array([[0.5, 1.5]])
    """

    kind: str
    sign: Floats
    shares: Floats

    def values(self, scores: Floats) -> Floats:
        """Losses (m, k) at score vectors (m, n)."""
        return POINTWISE[self.kind].loss(scores * self.sign) @ self.shares.T

    def at(self, scores: Floats) -> tuple[Floats, Back]:
        """Losses at scores (n,), and the way back to rows."""
        z = scores * self.sign
        loss = POINTWISE[self.kind].loss(z)
        slope = POINTWISE[self.kind].slope(z, loss) * self.sign
        return self.shares @ loss, lambda c: np.asarray((c @ self.shares) * slope)

    def shifts(self, scores: Floats, values: Floats) -> Floats:
        """What to add to the margins of each part so that its loss becomes `values`."""
        out = np.empty_like(values)
        for k, share in enumerate(self.shares):
            rows = share > 0
            z, w = (scores * self.sign)[rows], share[rows]
            out[:, k] = _solve(POINTWISE[self.kind].loss, z, w, values[:, k])
        return out


def _solve(loss: Callable[[Floats], Floats], z: Floats, w: Floats, values: Floats) -> Floats:
    """Shifts c (m,) with ``w @ loss(z + c) = value``, by bisection: losses fall in c."""
    low = np.full(len(values), -1.0)
    high = np.ones(len(values))
    for _ in range(60):  # until the values lie between
        short = loss(z[None, :] + low[:, None]) @ w < values
        past = loss(z[None, :] + high[:, None]) @ w > values
        if not (short.any() or past.any()):
            break
        low = np.where(short, 2.0 * low, low)
        high = np.where(past, 2.0 * high, high)
    for _ in range(50):
        c = (low + high) / 2.0
        above = loss(z[None, :] + c[:, None]) @ w > values
        low, high = np.where(above, c, low), np.where(above, high, c)
    return (low + high) / 2.0


@dataclass(frozen=True, eq=False)
class Own(Term):
    """A loss of the user's: ``function(scores, y, sample_weight) -> (value, gradient)``."""

    function: Callable[..., Any]
    rows: NDArray[np.int64] | None
    true: NDArray[np.int64]
    weight: Floats

    def at(self, scores: Floats) -> tuple[Floats, Back]:
        """Losses at scores (n,), and the way back to rows."""
        part = slice(None) if self.rows is None else self.rows
        f, who = np.array(scores[part]), f"`surrogates`: {self.names[0]}"  # scores of its own
        try:
            answer = self.function(f, self.true[part].copy(), self.weight[part].copy())
        except Exception as error:
            text = str(error).replace("`", "'")  # not arguments of setpoint
            raise InputError(f"{who} raised {type(error).__name__}: {text}") from error
        if not isinstance(answer, tuple) or len(answer) != 2:
            got = type(answer).__name__
            raise InputTypeError(f"{who} returns (value, gradient), got a {got}")
        gradient = np.asarray(answer[1], np.float64)
        if gradient.shape != f.shape:
            raise InputError(
                f"{who} was given {len(f)} scores and returned a gradient of shape {gradient.shape}"
            )
        value = float(answer[0])
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise InputError(f"{who} returned {value} or a gradient with NaN")
        full = np.zeros(len(scores))
        full[part] = gradient
        return np.array([value]), lambda c: np.asarray(c[0] * full)

    def check(self, scores: Floats, rng: np.random.Generator) -> None:
        """Refuse a gradient that is not that of the values, along one direction."""
        spread = float(scores.std()) or 1.0
        along = spread * rng.normal(size=len(scores))
        # Off the start, where a kink may lie, and a little to either side.
        f = scores + 0.01 * along
        value, back = self.at(f)
        given = float(back(np.ones(1)) @ along)
        up, down = (float(self.at(f + side * 1e-4 * along)[0][0]) for side in (1.0, -1.0))
        found = (up - down) / 2e-4
        if abs(found - given) > 0.1 * max(abs(found), abs(given)) + 1e-6 * (1.0 + abs(value[0])):
            raise InputError(
                f"`surrogates`: {self.names[0]} changes by {found:.4g} along a direction in which "
                f"its gradient says {given:.4g}; it returns (value, gradient by each score)"
            )


@dataclass(frozen=True, eq=False)
class Losses:
    """All K surrogates on one sample."""

    terms: Sequence[Term]

    @property
    def names(self) -> tuple[str, ...]:
        """One name a surrogate."""
        return tuple(name for t in self.terms for name in t.names)

    def __len__(self) -> int:
        return len(self.names)

    def values(self, scores: Floats) -> Floats:
        """Surrogates (m, K) at score vectors (m, n)."""
        return np.concatenate([t.values(scores) for t in self.terms], axis=1)

    def at(self, scores: Floats) -> tuple[Floats, Back]:
        """Surrogates (K,) at scores (n,), and the way back from weights (K,) to rows."""
        found = [t.at(scores) for t in self.terms]
        ends = np.cumsum([len(u) for u, _ in found])[:-1]

        def back(c: Floats) -> Floats:
            parts = zip(found, np.split(c, ends), strict=True)
            return np.asarray(sum(b(part) for (_, b), part in parts))

        return np.concatenate([u for u, _ in found]), back


# --- Surrogates of the top of a ranking: precision at a recall, at K ------------------------------


_SMOOTH = 0.02
"""The cut is a mean over this share of the ranks it is drawn from, so that its slope is not
that of one row."""


@dataclass(frozen=True)
class PrecisionAtRecall:
    """A surrogate of the precision where a given recall is reached.

    The cut is the quantile of the positives' scores that leaves `recall` of them above;
    hinge losses of the negatives and of the positives above it, with the gradient through
    the cut (Mackey, Luo and Eban, "Constrained classification and ranking via quantiles").

    Parameters
    ----------
    recall : float
        Between 0 and 1, both excluded.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.surrogates import PrecisionAtRecall
    >>> AdaptiveSurrogateClassifier("g_mean", surrogates=[PrecisionAtRecall(0.9)])
    AdaptiveSurrogateClassifier(goal='g_mean',
                                surrogates=[PrecisionAtRecall(recall=0.9)])
    """

    recall: float

    def __post_init__(self) -> None:
        if isinstance(self.recall, bool) or not 0 < self.recall < 1:
            raise InputError(f"`recall` lies between 0 and 1, got {self.recall!r}")

    def __str__(self) -> str:
        return f"precision at recall {self.recall:g}"


@dataclass(frozen=True)
class PrecisionAtK:
    """A surrogate of the precision among the rows with the `k` largest scores.

    Parameters
    ----------
    k : int or float
        Rows, or below 1 a share of them.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.surrogates import PrecisionAtK
    >>> AdaptiveSurrogateClassifier("g_mean", surrogates=[PrecisionAtK(100)])
    AdaptiveSurrogateClassifier(goal='g_mean', surrogates=[PrecisionAtK(k=100)])
    """

    k: float

    def __post_init__(self) -> None:
        whole = self.k >= 1 and not self.k % 1
        if isinstance(self.k, bool) or not (whole or 0 < self.k < 1):
            raise InputError(f"`k` is a whole number of rows, or a share below 1, got {self.k!r}")

    def __str__(self) -> str:
        return f"precision at {self.k:g}"


@dataclass(frozen=True)
class PRBEP:
    """A surrogate of the precision where it equals recall: at K, the number of positives.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.surrogates import PRBEP
    >>> AdaptiveSurrogateClassifier("g_mean", surrogates=[PRBEP(), "hinge"])
    AdaptiveSurrogateClassifier(goal='g_mean', surrogates=[PRBEP(), 'hinge'])
    """

    def __str__(self) -> str:
        return "precision-recall break-even point"


@dataclass(frozen=True, eq=False)
class TopLoss(Term):
    """One of the above on rows."""

    kind: PrecisionAtRecall | PrecisionAtK | PRBEP
    true: NDArray[np.int64]
    weight: Floats

    def at(self, scores: Floats) -> tuple[Floats, Back]:
        """Losses at scores (n,), and the way back to rows."""
        rows, shares = self._cut(scores)
        over = 1.0 + scores - shares @ scores[rows]  # by how much negatives pass the cut
        above = self._positive * (over >= 1.0)
        above /= max(above.sum(), 1e-300)
        under = 2.0 - over
        loss = self._negative @ np.maximum(over, 0.0) + above @ np.maximum(under, 0.0)
        slope = self._negative * (over > 0) - above * (under > 0)
        slope[rows] -= slope.sum() * shares  # through the cut, which moves with its rows
        return np.array([float(loss)]), lambda c: np.asarray(c[0] * slope)

    @cached_property
    def _positive(self) -> Floats:
        return np.asarray(self.weight * (self.true == 1))

    @cached_property
    def _negative(self) -> Floats:
        found = self.weight * (self.true == 0)
        return np.asarray(found / found.sum())

    @cached_property
    def _ranked(self) -> tuple[NDArray[np.int64], Floats, float]:
        """The rows that the cut is a quantile of, their weights, and the weight above it."""
        positives = float(self._positive.sum())
        if isinstance(self.kind, PrecisionAtRecall):
            rows = np.flatnonzero(self._positive)
            return rows, self._positive[rows], self.kind.recall * positives
        rows = np.flatnonzero(self.weight)
        weight = self.weight[rows]
        total = float(weight.sum())
        if isinstance(self.kind, PRBEP):
            return rows, weight, positives
        k = self.kind.k
        return rows, weight, k * total if k < 1 else min(k, total)

    def _cut(self, scores: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Rows around the cut, and their shares in it."""
        among, weight, wanted = self._ranked
        order = np.argsort(-scores[among], kind="stable")
        weight = weight[order]
        ends = np.cumsum(weight)
        # The weight of each row within a window of ranks around the one wanted.
        half = max(_SMOOTH * ends[-1], weight.max()) / 2.0
        low, high = max(wanted - half, 0.0), min(wanted + half, ends[-1])
        inside = np.minimum(ends, high) - np.maximum(ends - weight, low)
        near = np.flatnonzero(inside > 0)
        return among[order[near]], inside[near] / inside[near].sum()


# --- Which rows each surrogate looks at -----------------------------------------------------------


_RECALLS = (0.25, 0.5, 0.75)
_SIDES = ("negatives", "positives")
_RANKING = (PrecisionAtRecall, PrecisionAtK, PRBEP)
_BY_NAME: dict[str, tuple[Any, ...]] = {
    **{name: (name,) for name in POINTWISE},
    "quantile": tuple(PrecisionAtRecall(r) for r in _RECALLS),
    "prbep": (PRBEP(),),
}
"""What a name stands for."""


@dataclass(frozen=True, eq=False)
class RowGroup:
    """A subset of the rows."""

    name: str
    rows: NDArray[np.bool_]

    def named(self, what: str) -> str:
        """What is counted on it."""
        return f"{what}, {self.name}" if self.name else what


def check_surrogates(given: Any) -> tuple[Any, ...]:
    """The kinds of surrogates that a user names, one entry each.

    Examples
    --------
    >>> check_surrogates(["hinge", "prbep"])
    ('hinge', PRBEP())
    """
    several = isinstance(given, Sequence) and not isinstance(given, str)
    out: list[Any] = []
    for one in given if several else (given,):
        if isinstance(one, str) and one in _BY_NAME:
            out += _BY_NAME[one]
        elif isinstance(one, str):
            known = f"{sorted(_BY_NAME)} ({nearest(one, _BY_NAME)})"
            raise InputError(f"`surrogates`: {one!r} is not one of {known}")
        elif isinstance(one, _RANKING) or callable(one):
            out.append(one)
        else:
            raise InputTypeError(
                f"`surrogates`: names among {sorted(_BY_NAME)}, PrecisionAtRecall, PrecisionAtK, "
                f"PRBEP or functions (scores, y, sample_weight) -> (value, gradient), got {one!r}"
            )
    if not out:
        raise InputError("`surrogates` is empty: name at least one")
    return tuple(out)


def groups_of(given: Any, sensitive_features: Any, X: Any, n_rows: int) -> list[RowGroup]:
    """The subsets that ``surrogate_groups`` names."""
    if given is None:
        return [RowGroup("", np.ones(n_rows, bool))]
    entries = [given] if isinstance(given, (str, Mapping)) else given
    if not isinstance(entries, Sequence) or not entries:
        raise InputTypeError(
            "`surrogate_groups` is None, names of columns, or dicts from a column to a value, got "
            f"{given!r}"
        )
    for e in entries:
        known = isinstance(e, str) or (isinstance(e, Mapping) and e)
        if not known or not all(isinstance(name, str) for name in e):
            raise InputTypeError(f"`surrogate_groups`: an entry is a column or a dict, got {e!r}")
    names = sorted({name for e in entries for name in ([e] if isinstance(e, str) else e)})
    split = {e for e in entries if isinstance(e, str)}
    who, free = "`surrogate_groups` names", [name for name in names if name not in split]
    columns = as_columns(sensitive_features, n_rows=n_rows, X=X, wanted=names, free=free, who=who)
    out = []
    for e in entries:
        every = [{e: level} for level in columns[e].levels] if isinstance(e, str) else [e]
        out += [_where(wanted, columns) for wanted in every]
    return out


def overlapping(groups: Sequence[RowGroup], rows: NDArray[Any]) -> bool:
    """Whether one of some rows is in several groups."""
    return bool((np.sum([group.rows[rows] for group in groups], axis=0) > 1).any())


def _where(wanted: Mapping[str, Any], columns: Mapping[str, Column]) -> RowGroup:
    found, words = [], []
    for column, value in wanted.items():
        levels, codes = columns[column].levels, columns[column].codes
        if value not in levels:
            raise InputError(
                f"`surrogate_groups`: no row has {column} = {value!r} ({nearest(value, levels)})"
            )
        found.append(codes == levels.index(value))
        words.append(f"{column_in_words(column)} = {value_in_words(value)}")
    return RowGroup(" and ".join(words), np.all(found, axis=0))


def losses_on(
    kinds: Sequence[Any],
    groups: Sequence[RowGroup],
    true: NDArray[np.int64],
    weight: Floats | None,
    labels: tuple[Any, ...],
    where: str = "",
) -> Losses:
    """Every kind of surrogate on every group."""
    w = np.ones(len(true)) if weight is None else weight
    for group in groups:
        for side in (1, 0):
            if not (w * (group.rows & (true == side))).any():
                name = group.name or "any group"
                raise InputError(
                    f"`surrogate_groups`: no row{where} of {name} is of class {labels[side]!r}, "
                    "and a surrogate needs rows of both classes; leave the group out or join it "
                    "with another"
                )
    terms: list[Term] = []
    for kind in kinds:
        if isinstance(kind, str):
            parts = [(g, side) for g in groups for side in (1, 0)]
            shares = [w * (g.rows & (true == side)) for g, side in parts]
            names = [g.named(f"{kind} of {_SIDES[side]}") for g, side in parts]
            sign = np.where(true == 1, 1.0, -1.0)
            of_one = np.array([share / share.sum() for share in shares])
            terms.append(Pointwise(tuple(names), kind, sign, of_one))
        elif isinstance(kind, _RANKING):
            terms += [TopLoss((g.named(str(kind)),), kind, true, w * g.rows) for g in groups]
        else:
            own = getattr(kind, "__name__", type(kind).__name__)
            rows = [None if g.rows.all() else np.flatnonzero(g.rows) for g in groups]
            pairs = zip(groups, rows, strict=True)
            terms += [Own((g.named(own),), kind, some, true, w) for g, some in pairs]
    return Losses(terms)

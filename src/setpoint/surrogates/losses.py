"""Surrogate losses: what a metric is thought to be a monotone function of.

A surrogate is one number, small where a model does well on a part of the rows. Bound to
rows, K of them give values and gradients with respect to the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError

__all__ = ["POINTWISE", "Back", "Losses", "Own", "Pointwise", "Term"]

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


class Term(Protocol):
    """One or several losses on the same rows, in one pass over their scores."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name a loss."""
        ...

    def values(self, scores: Floats) -> Floats:
        """Losses (m, k) at score vectors (m, n)."""
        ...

    def at(self, scores: Floats) -> tuple[Floats, Back]:
        """Losses (k,) at scores (n,), and the way back from weights (k,) to rows (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class Pointwise:
    """Mean losses of margins over parts of the rows, which may overlap.

    Examples
    --------
    >>> loss = Pointwise("hinge", np.array([1.0, -1.0]), np.eye(2), ("positives", "negatives"))
    >>> loss.values(np.array([[0.5, 0.5]]))
    array([[0.5, 1.5]])
    """

    kind: str
    sign: Floats
    shares: Floats
    names: tuple[str, ...]

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
class Own:
    """A loss of the user's: ``function(scores, y, sample_weight) -> (value, gradient)``."""

    function: Callable[..., Any]
    rows: NDArray[np.int64] | None
    true: NDArray[np.int64]
    weight: Floats
    names: tuple[str, ...]

    def values(self, scores: Floats) -> Floats:
        """Losses (m, k) at score vectors (m, n)."""
        return np.array([self.at(f)[0] for f in scores])

    def at(self, scores: Floats) -> tuple[Floats, Back]:
        """Losses at scores (n,), and the way back to rows."""
        part = slice(None) if self.rows is None else self.rows
        f = np.array(scores[part])  # its own, whatever it does with them
        try:
            answer = self.function(f, self.true[part].copy(), self.weight[part].copy())
        except Exception as error:
            text = str(error).replace("`", "'")  # not arguments of setpoint
            raise InputError(
                f"`surrogates`: {self.names[0]} raised {type(error).__name__}: {text}"
            ) from error
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise InputTypeError(
                f"`surrogates`: {self.names[0]} returns (value, gradient), got a "
                f"{type(answer).__name__}"
            )
        gradient = np.asarray(answer[1], np.float64)
        if gradient.shape != f.shape:
            raise InputError(
                f"`surrogates`: {self.names[0]} was given {len(f)} scores and returned a gradient "
                f"of shape {gradient.shape}"
            )
        value = float(answer[0])
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise InputError(
                f"`surrogates`: {self.names[0]} returned {value} or a gradient with NaN"
            )
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

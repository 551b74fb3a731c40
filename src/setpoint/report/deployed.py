"""How decisions compare with the deployed model's: what changes, and what proving it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setpoint.inference.sign_test import CONFIDENCE, POWER, ROUNDING, fresh_labels

__all__ = ["TITLE", "Comparison", "compared"]

TITLE = "Against the deployed model"


@dataclass(frozen=True)
class Comparison:
    """What changes where these decisions replace the deployed model's.

    All shares are of the rows' weight; a rule that draws is counted in expectation.

    Parameters
    ----------
    rows : int
        Rows that were counted; those of weight zero are not.
    changed : float
        Share of the rows whose decision differs: the churn.
    wins, losses : float or None
        Shares of the rows that were wrong and are right, and that were right and are
        wrong. None without labels. With more than two classes a change can be neither.

    Attributes
    ----------
    fresh_labels, fresh_rows : int or None
        What :func:`fresh_labels` says at 95 % confidence and a power of 80 %, if wins and
        losses are as counted: labels of rows on which the models differ, and how many rows it
        takes on average to find so many. None without labels, or where it does not win more
        than it loses.

    Examples
    --------
    >>> found = Comparison(1000, changed=0.02, wins=0.015, losses=0.005)
    >>> found.fresh_labels, found.fresh_rows
    (23, 1150)
    """

    rows: int
    changed: float
    wins: float | None = None
    losses: float | None = None
    fresh_labels: int | None = field(init=False)
    fresh_rows: int | None = field(init=False)

    def __post_init__(self) -> None:
        needed = None
        if self.wins is not None and self.losses is not None:
            needed = fresh_labels(self.wins, self.losses, changed=self.changed)
        object.__setattr__(self, "fresh_labels", None if needed is None else needed.labels)
        object.__setattr__(self, "fresh_rows", None if needed is None else needed.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Comparison:
        """What :meth:`to_dict` wrote; the numbers that follow from others are counted anew."""
        given = {k: v for k, v in data.items() if k not in ("fresh_labels", "fresh_rows")}
        for name in ("changed", "wins", "losses"):
            given[name] = None if given[name] is None else float(given[name])
        return cls(**given)

    def lines(self) -> list[str]:
        """The same in sentences.

        Examples
        --------
        >>> Comparison(1000, changed=0.02, wins=0.015, losses=0.005).lines()[0]
        '2 % of the decisions on 1,000 rows change (churn): 1.5 % from wrong to right (wins), \
0.5 % from right to wrong (losses).'
        """
        where = f"{self.rows:,} row{'' if self.rows == 1 else 's'}"
        if self.changed == 0.0:
            return [f"No decision on {where} changes."]
        out = f"{_percent(self.changed)} of the decisions on {where} change (churn)"
        if self.wins is None or self.losses is None:
            return [f"{out}.", "Without labels it is unknown which of the changes are right."]
        out += f": {_percent(self.wins)} from wrong to right (wins), "
        out += f"{_percent(self.losses)} from right to wrong (losses)"
        neither = self.changed - self.wins - self.losses
        if neither > 1e-9:
            out += f", {_percent(neither)} from one wrong class to another"
        if self.fresh_labels is None:
            text = (
                "If that holds for new rows too, no number of labels shows the new model to be "
                "better: it does not win more than it loses."
            )
        else:
            text = (
                f"To show with {_percent(CONFIDENCE)} confidence that the new model is better, "
                "label fresh rows on which the two models differ until "
            )
            if neither > 1e-9:
                decisive = fresh_labels(self.wins, self.losses)
                assert decisive is not None
                text += (
                    f"{decisive.labels:,} of them are wins or losses; that takes about "
                    f"{self.fresh_labels:,} labels and {self.fresh_rows:,} rows on average. "
                )
            else:
                text += (
                    f"there are {self.fresh_labels:,} of them; that takes about "
                    f"{self.fresh_rows:,} rows on average. "
                )
            text += (
                "If the shares above hold for them too, the one-sided sign test then succeeds in "
                f"{_percent(POWER)} of cases."
            )
        return [f"{out}.", text]


def compared(
    true: ArrayLike | None,
    deployed: ArrayLike,
    decided: ArrayLike,
    weight: ArrayLike | None = None,
) -> Comparison:
    """Count how decisions compare with the deployed model's.

    Parameters
    ----------
    true : int array of shape (N,) or None
        Class codes; None without labels.
    deployed : int array of shape (N,)
        Class codes that the deployed model decides.
    decided : int array of shape (N,), or float array of shape (N, n)
        Class codes, or the probability with which each class is decided.
    weight : array of shape (N,), optional
        Weights of the rows, not all zero; 2 is a row that is there twice, 0 one that is not.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there is no weight at all, or the lengths differ.

    Examples
    --------
    >>> compared([1, 1, 0, 0], deployed=[0, 1, 0, 0], decided=[1, 1, 1, 0])
    Comparison(rows=4, changed=0.5, wins=0.25, losses=0.25, fresh_labels=None, fresh_rows=None)
    """
    old, new = np.asarray(deployed), np.asarray(decided)
    w = np.ones(len(old)) if weight is None else np.asarray(weight, np.float64)
    labels = None if true is None else np.asarray(true)
    if not len(old) == len(new) == len(w) or (labels is not None and len(labels) != len(old)):
        raise ValueError("true, deployed, decided and weight have one entry a row")
    total = float(w.sum())
    if not total > 0.0:
        raise ValueError("there are no rows to compare on: their weights sum to zero")
    row = np.arange(len(old))
    # The probability of a change, and of being right.
    moved = (new != old).astype(np.float64) if new.ndim == 1 else 1.0 - new[row, old]
    moved = moved * w
    rows, changed = int(np.count_nonzero(w)), _share(moved.sum(), total)
    if labels is None:
        return Comparison(rows, changed)
    was_right = old == labels
    right = (new == labels).astype(np.float64) if new.ndim == 1 else new[row, labels]
    wins = _share((right * w)[~was_right].sum(), total)
    losses = _share(moved[was_right].sum(), total)
    return Comparison(rows, max(changed, min(wins + losses, 1.0)), wins, losses)


def _share(part: float, total: float) -> float:
    share = min(float(part) / total, 1.0)
    return share if share > ROUNDING else 0.0


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"

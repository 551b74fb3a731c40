"""Feature matrices as the family uses them: scores of many models, and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from setpoint.array_types import Floats

if TYPE_CHECKING:
    import torch

__all__ = ["FeatureMatrix", "Matrix", "OnDevice"]


class FeatureMatrix(Protocol):
    """Rows of features; parameters are coefficients and, last, the intercept."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features, N and d."""

    def scores(self, w: Floats) -> Floats:
        """Scores (m, n) of parameters (m, d + 1), or (n,) of (d + 1,)."""

    def pull(self, r: Floats) -> Floats:
        """The gradient (d + 1,) from a gradient (n,) with respect to the scores."""

    def length(self) -> float:
        """The root mean square of the rows' norms, the intercept's one included."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """Dense or CSR features in memory.

    Examples
    --------
    >>> Matrix(np.array([[1.0, 2.0]])).scores(np.array([3.0, 4.0, -1.0]))
    array([10.])
    """

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape[0], self.X.shape[1]

    def scores(self, w: Floats) -> Floats:
        """Scores (m, N) of m models, or (N,) of one."""
        # One product with a matrix for all models.
        return np.asarray((self.X @ w[..., :-1].T).T + w[..., -1:])

    def pull(self, r: Floats) -> Floats:
        """The gradient (d + 1,) from one (N,) with respect to the scores."""
        return np.append(self.X.T @ r, r.sum())

    def length(self) -> float:
        """The root mean square of the rows' norms, with the intercept's one."""
        squares = self.X.multiply(self.X) if hasattr(self.X, "multiply") else self.X * self.X
        return float(np.sqrt(squares.sum() / max(self.shape[0], 1) + 1.0))


@dataclass(frozen=True, eq=False)
class OnDevice:
    """Dense features as a tensor, where a GPU makes the products.

    Examples
    --------
    >>> import torch
    >>> OnDevice(torch.tensor([[1.0, 2.0]])).scores(np.array([3.0, 4.0, -1.0]))
    array([10.])
    """

    X: torch.Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def scores(self, w: Floats) -> Floats:
        """Scores (m, N) of m models, or (N,) of one."""
        return _back(self._there(w[..., :-1]) @ self.X.T) + w[..., -1:]

    def pull(self, r: Floats) -> Floats:
        """The gradient (d + 1,) from one (N,) with respect to the scores."""
        return np.append(_back(self._there(r) @ self.X), r.sum())

    def length(self) -> float:
        """The root mean square of the rows' norms, with the intercept's one."""
        # The norm of each row there, their sum here: not every device has float64.
        norms = _back(self.X.norm(dim=1))
        return float(np.sqrt(norms @ norms / max(self.shape[0], 1) + 1.0))

    def _there(self, x: Floats) -> torch.Tensor:
        import torch

        own = np.array(x, order="C")  # torch takes neither read-only nor reversed arrays
        return torch.from_numpy(own).to(self.X.dtype).to(self.X.device)


def _back(x: torch.Tensor) -> Floats:
    return np.asarray(x.cpu().numpy(), np.float64)

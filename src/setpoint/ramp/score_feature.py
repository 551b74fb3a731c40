"""The deployed model's score as one more feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.inputs.deployed import Deployed

__all__ = ["ScoreFeature", "score_feature"]


_FARTHEST = 10.0


@dataclass(frozen=True, eq=False)
class ScoreFeature:
    """The deployed model's score as a feature of mean 0 and deviation 1."""

    deployed: Deployed
    positive: Any
    mean: float
    scale: float

    def values(self, X: Any) -> Floats:
        """The feature (N,), cut off at 10 deviations."""
        raw = self.deployed.scores(X, self.positive)
        return np.clip((raw - self.mean) / self.scale, -_FARTHEST, _FARTHEST)

    @property
    def cut(self) -> float:
        """Where the deployed model begins to decide positive, on the feature's scale."""
        return ((self.deployed.threshold or 0.0) - self.mean) / self.scale


def score_feature(
    wanted: bool | str,
    deployed: Deployed | None,
    X: Any,
    positive: Any,
    weight: Floats | None = None,
) -> ScoreFeature | None:
    """The deployed model's score as a feature, where it is available at prediction."""
    if wanted is False or deployed is None:
        if wanted is True:
            raise InputError("`baseline_score_feature=True`, and there is no baseline")
        return None
    if not deployed.scores_last:
        if wanted is True:
            raise InputError(
                "`baseline_score_feature=True` needs scores of the deployed model at prediction "
                "too: pass as baseline the model (with decision_function or predict_proba), or "
                "the column of X that holds its scores, Deployed('column', threshold=...)"
            )
        return None
    raw = deployed.scores(X, positive)
    mean = float(np.average(raw, weights=weight))
    scale = float(np.sqrt(np.average((raw - mean) ** 2, weights=weight)))
    return ScoreFeature(deployed, positive, mean, scale if scale > 0 else 1.0)

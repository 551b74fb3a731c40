"""Several models on the same rows: which serves a goal better, and what changes."""

from setpoint.comparing.models import compare
from setpoint.comparing.pairs import ChangedGroup, Pair, Part
from setpoint.comparing.result import ModelComparison, ModelComparisonDisplay

__all__ = [
    "ChangedGroup",
    "ModelComparison",
    "ModelComparisonDisplay",
    "Pair",
    "Part",
    "compare",
]

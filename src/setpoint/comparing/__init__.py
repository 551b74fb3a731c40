"""Several models on the same rows: which serves a goal better, and what changes."""

from setpoint.comparing.better import Part
from setpoint.comparing.display import ModelComparisonDisplay
from setpoint.comparing.models import compare
from setpoint.comparing.pairs import ChangedGroup, Pair
from setpoint.comparing.result import ModelComparison

__all__ = [
    "ChangedGroup",
    "ModelComparison",
    "ModelComparisonDisplay",
    "Pair",
    "Part",
    "compare",
]

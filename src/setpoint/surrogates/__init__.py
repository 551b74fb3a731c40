"""In training, for metrics that are a black box: descent in the space of surrogate losses.

Jiang, Adigun, Narasimhan, Milani Fard and Gupta, "Optimizing black-box metrics with adaptive
surrogates" (ICML 2020).
"""

from setpoint.surrogates.classifier import AdaptiveSurrogateClassifier
from setpoint.surrogates.losses import PRBEP, PrecisionAtK, PrecisionAtRecall
from setpoint.surrogates.selection import NotMonotoneWarning
from setpoint.surrogates.summary import AdaptiveStep, AdaptiveSummary, SurrogatePathDisplay

__all__ = [
    "PRBEP",
    "AdaptiveStep",
    "AdaptiveSummary",
    "AdaptiveSurrogateClassifier",
    "NotMonotoneWarning",
    "PrecisionAtK",
    "PrecisionAtRecall",
    "SurrogatePathDisplay",
]

"""In training, for metrics that are a black box: descent in the space of surrogate losses.

Jiang, Adigun, Narasimhan, Milani Fard and Gupta, "Optimizing black-box metrics with adaptive
surrogates" (ICML 2020).
"""

from setpoint.surrogates.classifier import AdaptiveSurrogateClassifier
from setpoint.surrogates.fitting import NotMonotoneWarning
from setpoint.surrogates.ranking import PRBEP, PrecisionAtK, PrecisionAtRecall

__all__ = [
    "PRBEP",
    "AdaptiveSurrogateClassifier",
    "NotMonotoneWarning",
    "PrecisionAtK",
    "PrecisionAtRecall",
]

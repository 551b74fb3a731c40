"""In training, for metrics that are a black box: descent in the space of surrogate losses.

Jiang, Adigun, Narasimhan, Milani Fard and Gupta, "Optimizing black-box metrics with adaptive
surrogates" (ICML 2020).
"""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.surrogates.classifier import AdaptiveSurrogateClassifier
    from setpoint.surrogates.losses import PRBEP, PrecisionAtK, PrecisionAtRecall
    from setpoint.surrogates.selection import NotMonotoneWarning
    from setpoint.surrogates.summary import AdaptiveStep, AdaptiveSummary, plot_surrogate_path

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)

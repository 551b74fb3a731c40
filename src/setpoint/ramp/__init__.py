"""Linear models for goals over several data sets, by the ramp.

Goh, Cotter, Gupta and Friedlander, "Satisfying real-world goals with dataset constraints".
"""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.ramp.classifier import RampClassifier
    from setpoint.ramp.problem import rows_of

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)

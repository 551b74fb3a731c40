"""Linear models for goals over several data sets, by the ramp.

Goh, Cotter, Gupta and Friedlander, "Satisfying real-world goals with dataset constraints".
"""

from setpoint.ramp.classifier import RampClassifier

__all__ = ["RampClassifier"]

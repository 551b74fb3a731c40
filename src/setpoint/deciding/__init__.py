"""The steps that every fit shares: what was given is opened, and a rule is decided on."""

from setpoint.deciding.decide import Decision, Found, decide
from setpoint.deciding.opening import FitData, given_rows, open_fit

__all__ = ["Decision", "FitData", "Found", "decide", "given_rows", "open_fit"]

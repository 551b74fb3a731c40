"""The steps that every fit shares: what was given is opened, and a rule is decided on."""

from setpoint.deciding.certifying import Certification, promise_of
from setpoint.deciding.decide import Decision, decide
from setpoint.deciding.found import Found
from setpoint.deciding.opening import FitData, given_rows, open_fit
from setpoint.deciding.paths import times_of
from setpoint.deciding.refusal import NotCertifiable
from setpoint.deciding.scored import Certify, promised, split_scored
from setpoint.deciding.tries import Tries

__all__ = [
    "Certification",
    "Certify",
    "Decision",
    "FitData",
    "Found",
    "NotCertifiable",
    "Tries",
    "decide",
    "given_rows",
    "open_fit",
    "promise_of",
    "promised",
    "split_scored",
    "times_of",
]

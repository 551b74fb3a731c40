"""The steps that every fit shares: what was given is opened, and a rule is decided on."""

from setpoint.deciding.certifying import Certification, Found, Tries, promise_of, times_of
from setpoint.deciding.opening import Decision, FitData, decide, given_rows, open_fit
from setpoint.deciding.refusal import NotCertifiable
from setpoint.deciding.splitting import Certify, promised, split_scored

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

"""The online family: posterior and threshold from a stream, in one pass and constant memory."""

from setpoint.online.classifier import OnlineFClassifier
from setpoint.online.engine import ExpiredWarning
from setpoint.online.notes import StreamSummary

__all__ = ["ExpiredWarning", "OnlineFClassifier", "StreamSummary"]

"""The online family: posterior and threshold from a stream, in one pass and constant memory."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.online.classifier import OnlineFClassifier
    from setpoint.online.engine import ExpiredWarning
    from setpoint.online.notes import StreamSummary

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)

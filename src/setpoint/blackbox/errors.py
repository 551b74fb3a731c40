"""What goes wrong when a metric is called."""

from setpoint.errors import InputError

__all__ = ["MetricError"]


class MetricError(InputError):
    """A metric's function raised, or what it returned is not a value of the metric.

    The message names the metric, what it returned or raised, and what it was called with;
    an exception of the function is the cause.

    Attributes
    ----------
    metric : str or None
        The name of the metric.
    """

    def __init__(self, message: str = "", *, metric: str | None = None) -> None:
        super().__init__(message)
        self.metric = metric

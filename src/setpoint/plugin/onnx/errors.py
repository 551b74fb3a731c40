"""What cannot become a graph."""

from __future__ import annotations

from setpoint.errors import InputError

__all__ = ["ExportError"]


class ExportError(InputError):
    """A fitted classifier cannot be written as an ONNX graph; the message names the part."""

"""What cannot become a graph."""

from __future__ import annotations

__all__ = ["ExportError"]


class ExportError(ValueError):
    """A fitted classifier cannot be written as an ONNX graph; the message names the part."""

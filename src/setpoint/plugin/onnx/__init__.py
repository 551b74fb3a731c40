"""The model and its rule as one ONNX graph: the extra ``onnx``.

After :func:`register`, ``skl2onnx.to_onnx`` converts a
:class:`~setpoint.plugin.classifier.PlugInClassifier`, alone or as the last step of a
pipeline. :func:`to_onnx` does both with input types that keep decisions, and
:func:`different_rows` runs a graph and compares every decision.
"""

from setpoint.plugin.onnx.convert import register
from setpoint.plugin.onnx.errors import ExportError
from setpoint.plugin.onnx.export import different_rows, draws_for, to_onnx

__all__ = ["ExportError", "different_rows", "draws_for", "register", "to_onnx"]

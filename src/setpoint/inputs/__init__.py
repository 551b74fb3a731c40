"""The data that users pass, checked: arrays, labels, classes, columns, data sets."""

from setpoint.inputs.dataset import Dataset

__all__ = ["Dataset"]

"""The data that users pass, checked: arrays, labels, classes, columns, data sets."""

from setpoint.inputs.columns import Dataset
from setpoint.inputs.deployed import Deployed

__all__ = ["Dataset", "Deployed"]

"""Functions of the rates: each is a small class with a value, a gradient, a shape and a range."""

from setpoint.program.functions.affine import Affine
from setpoint.program.functions.arithmetic import Absolute, Product, Quotient, WeightedSum
from setpoint.program.functions.base import AFFINE, INF, Node, RateFunction, Shape
from setpoint.program.functions.extremes import Max, MaxMinusMin, Min, MinOverMax
from setpoint.program.functions.logs import Log, Sqrt
from setpoint.program.functions.means import PowerMean
from setpoint.program.functions.ratio import Ratio

__all__ = [
    "AFFINE",
    "INF",
    "Absolute",
    "Affine",
    "Log",
    "Max",
    "MaxMinusMin",
    "Min",
    "MinOverMax",
    "Node",
    "PowerMean",
    "Product",
    "Quotient",
    "RateFunction",
    "Ratio",
    "Shape",
    "Sqrt",
    "WeightedSum",
]

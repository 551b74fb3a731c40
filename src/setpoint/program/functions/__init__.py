"""Functions of the rates: each is a small class with a value, a gradient, a shape and a range."""

from setpoint.program.functions.affine import Affine, Ratio
from setpoint.program.functions.arithmetic import (
    Absolute,
    Log,
    Product,
    Quotient,
    Sqrt,
    WeightedSum,
)
from setpoint.program.functions.base import AFFINE, INF, Node, RateFunction, Shape
from setpoint.program.functions.reductions import Max, MaxMinusMin, Min, MinOverMax, PowerMean

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

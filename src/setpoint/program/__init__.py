"""Programs: a goal over the rates of some data, which every solver starts from."""

from setpoint.program.algebra import Folder, Leaf, Term
from setpoint.program.backends import backend
from setpoint.program.functions import (
    INF,
    Absolute,
    Affine,
    Log,
    Max,
    MaxMinusMin,
    Min,
    MinOverMax,
    Node,
    PowerMean,
    ProductNode,
    QuotientNode,
    RateFunction,
    Ratio,
    Sqrt,
    WeightedSum,
)
from setpoint.program.linking import (
    Linker,
    example_of,
    formula_of,
    kind_of,
    link,
    range_in_words,
    shape_of,
    waits_for_class,
)
from setpoint.program.program import (
    Accepted,
    LinkedConstraint,
    LinkedGoal,
    NotLinearError,
    Program,
    ProgramConstraint,
    RowBuilder,
    without_auxiliaries,
)
from setpoint.program.rates import (
    AcceptedRates,
    DiagonalForm,
    Kind,
    Rate,
    RateTable,
    diagonal_form,
    most_in_parts,
    range_over_boxes,
)

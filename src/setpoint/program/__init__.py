"""Programs: a goal over the rates of some data, which every solver starts from."""

from setpoint.program.accepted import Accepted, AcceptedRates, most_in_parts, range_over_boxes
from setpoint.program.backends import backend
from setpoint.program.functions import (
    INF,
    Absolute,
    Affine,
    Log,
    Max,
    Min,
    MinOverMax,
    Node,
    PowerMean,
    ProductNode,
    RateFunction,
    Ratio,
    WeightedSum,
)
from setpoint.program.linking import Linker, in_shares, range_of, waits_for_class
from setpoint.program.program import (
    LinkedGoal,
    NotLinearError,
    Program,
    ProgramConstraint,
    RowBuilder,
    bound_of,
    link,
    without_auxiliaries,
)
from setpoint.program.rates import DiagonalForm, Rate, RateTable, diagonal_form

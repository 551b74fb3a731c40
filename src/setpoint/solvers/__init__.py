"""The solvers as values: ``solver="ero-adam"``, or ``solver=EroAdam(...)`` with parameters."""

from setpoint.solvers.base import Solver
from setpoint.solvers.catalogue import (
    FAMILIES,
    MEASURING,
    SOLVERS,
    WITHOUT_FORMULA,
    solver_of,
    solvers_of,
    takes,
)
from setpoint.solvers.confidence import Confidence
from setpoint.solvers.hold_out import HoldOut
from setpoint.solvers.limits import SearchLimits
from setpoint.solvers.penalty import (
    CrossEntropy,
    Ero,
    EroAdam,
    FromCrossEntropy,
    Lagrangian,
    Portfolio,
    Profiled,
    Sigmoid,
)
from setpoint.solvers.plugin import (
    Argmax,
    Auto,
    Balanced,
    Bisection,
    ColumnGeneration,
    Ellipsoid,
    Exact,
    FrankWolfe,
    Gda,
    OverPosteriors,
    PostShift,
)
from setpoint.solvers.ramp import AugmentedLagrangian, CuttingPlane
from setpoint.solvers.response import ModelResponse
from setpoint.solvers.settings import Settings
from setpoint.solvers.surrogates import AdaptiveSurrogates, SurrogateWeights
from setpoint.solvers.training import FirstModel, Minibatches

__all__ = [
    "FAMILIES",
    "MEASURING",
    "SOLVERS",
    "WITHOUT_FORMULA",
    "AdaptiveSurrogates",
    "Argmax",
    "AugmentedLagrangian",
    "Auto",
    "Balanced",
    "Bisection",
    "ColumnGeneration",
    "Confidence",
    "CrossEntropy",
    "CuttingPlane",
    "Ellipsoid",
    "Ero",
    "EroAdam",
    "Exact",
    "FirstModel",
    "FrankWolfe",
    "FromCrossEntropy",
    "Gda",
    "HoldOut",
    "Lagrangian",
    "Minibatches",
    "ModelResponse",
    "OverPosteriors",
    "Portfolio",
    "PostShift",
    "Profiled",
    "SearchLimits",
    "Settings",
    "Sigmoid",
    "Solver",
    "SurrogateWeights",
    "solver_of",
    "solvers_of",
    "takes",
]

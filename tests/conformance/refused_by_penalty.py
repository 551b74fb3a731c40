"""What `ExactPenaltyClassifier` refuses beside what all refuse."""

from importlib.util import find_spec

from conformance.cases import Refusal
from setpoint import GoalError
from setpoint.errors import InputTypeError, ShapeError
from setpoint.inputs import CheckpointError
from setpoint.solvers import CuttingPlane, Minibatches

PLAIN = {"preprocessor": None}
"""Rows as they are, where they have to be read first."""


def module(make, message, error=None, **schedule):
    """A network that is refused before it is trained."""
    options = {"module": make, "training": Minibatches(**schedule), "validation_fraction": 0}
    kind = {} if error is None else {"error": error}
    return Refusal(message, {**PLAIN, **options}, **kind)


def net(*layers):
    """A function that makes these layers one after another."""

    def make(d):
        from torch import nn

        return nn.Sequential(*(getattr(nn, name)(*sizes) for name, *sizes in layers))

    return make


REFUSED = {
    "falls": Refusal(
        "predicted_rate <= 0.1: it falls with accepted positives somewhere",
        {**PLAIN, "goal": "maximize recall subject to predicted_rate <= 0.1"}, error=ShapeError,
    ),
    "rises": Refusal(
        "it rises with accepted negatives somewhere",
        {**PLAIN, "goal": "maximize predicted_rate"}, error=ShapeError,
    ),
    "deployed": Refusal("the deployed model", {"goal": "minimize churn"}, error=GoalError),
    "solver": Refusal("which RampClassifier takes", {"solver": CuttingPlane()}),
    "module": Refusal("`module` is 'linear', 'mlp' or a function", {"module": "tree"}),
    "min_positives": Refusal(
        "`min_positives` is 'auto' or a number >= 0, got -1", {"min_positives": -1}
    ),
    "more than there are": Refusal(
        "`min_positives` is 5000, and the rows have a weight of 100",
        {**PLAIN, "min_positives": 5000},
    ),
    "validation_fraction": Refusal(
        "`validation_fraction` is 'auto' or a number in [0, 1), got 1.0",
        {"validation_fraction": 1.0},
    ),
    "no row held out": Refusal(
        "`validation_fraction` is 0.002, and the smaller class has", {"validation_fraction": 0.002}
    ),
    "training": Refusal("`training` is Minibatches(...) or None, got 5", {"training": 5}),
    "checkpoint": Refusal("`checkpoint` is a path or None, got 5", {"checkpoint": 5}),
    "no folder": Refusal(
        "there is no folder", {**PLAIN, "checkpoint": "/nowhere/a.checkpoint"},
        error=CheckpointError,
    ),
}  # fmt: skip
NETWORKS = {
    "two logits": module(net(("Linear", 4, 2)), "a Tensor of shape (2, 2) of 2 rows"),
    "other rows": module(net(("Linear", 5, 1)), "cannot take rows of 4 features"),
    "no parameters": module(net(("Flatten", 0), ("Unflatten", 0, (2, 4)), ("AvgPool1d", 4)),
                            "`module` has no parameters to train"),
    "text": module(lambda d: "mlp", "module returned a str", InputTypeError),
    "two arguments": module(lambda a, b: None, "`module` takes (a, b)", InputTypeError),
    "one row a batch": module(net(("Linear", 4, 1), ("BatchNorm1d", 1)),
                              "`batch_size=1` of 100 rows leaves fewer", batch_size=1),
    "device": module("mlp", "`device='warp'` cannot be used here", device="warp"),
    "device without numbers": module("mlp", "`device='meta'` holds no numbers", device="meta"),
}  # fmt: skip
if find_spec("torch"):
    REFUSED |= NETWORKS

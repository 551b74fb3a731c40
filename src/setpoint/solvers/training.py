"""How models are trained in passes over the rows, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from setpoint.parameters import Number
from setpoint.solvers.settings import Settings

__all__ = ["FirstModel", "Minibatches"]

_INF = float("inf")
_COUNT = Number("'auto' or a whole number >= 1", 1.0, integer=True, other=("auto",))


@dataclass(frozen=True, repr=False)
class Minibatches(Settings):
    """Training by minibatches: of networks, and of linear models on more numbers than fit.

    Parameters
    ----------
    max_epochs, batch_size : "auto" or int
        For each method. "auto": 3 to 50 epochs, fewer for more rows, and batches of 32 to 512
        rows, some 64 an epoch.
    learning_rate, weight_decay : "auto" or float
        AdamW's step and decay. "auto": 1e-3 and 1e-2, for linear models 3e-3 and 1e-4.
    refresh_every : int or None
        Steps between two looks at stored scores; None: so that they cost little.
    patience : int
        Epochs without a better iterate after which cross-entropy and sigmoid end. Others
        follow a schedule to the last epoch.
    device : str
        Of networks, as torch names it. "auto": the GPU where there is one.

    Examples
    --------
    >>> from setpoint import ExactPenaltyClassifier
    >>> from setpoint.solvers import Minibatches
    >>> clf = ExactPenaltyClassifier("f1", training=Minibatches(max_epochs=20, batch_size=256))
    >>> clf.training
    Minibatches(max_epochs=20, batch_size=256)
    """

    allowed: ClassVar = {
        "max_epochs": _COUNT,
        "batch_size": _COUNT,
        "learning_rate": Number("'auto' or a number above 0", 0.0, False, other=("auto",)),
        "weight_decay": Number("'auto' or a number >= 0", 0.0, other=("auto",)),
        "refresh_every": Number("a whole number >= 1 or None", 1.0, integer=True, other=(None,)),
        "patience": Number("a whole number >= 1", 1.0, integer=True),
    }

    max_epochs: Any = "auto"
    batch_size: Any = "auto"
    learning_rate: Any = "auto"
    weight_decay: Any = "auto"
    refresh_every: int | None = None
    patience: int = 10
    device: str = "auto"


@dataclass(frozen=True, repr=False)
class FirstModel(Settings):
    """The model that a search begins with.

    Parameters
    ----------
    C : float
        Inverse strength of regularisation of the logistic regression.
    epochs : int
        Passes over the data in which a module is trained.
    device : str
        Of a module, as torch names it. "auto": the GPU where there is one.

    Examples
    --------
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> from setpoint.solvers import FirstModel
    >>> clf = AdaptiveSurrogateClassifier("g_mean", training=FirstModel(C=0.1))
    >>> clf.training
    FirstModel(C=0.1)
    """

    allowed: ClassVar = {
        "C": Number("a number above 0", 0.0, False, below=_INF),
        "epochs": Number("a whole number >= 1", 1.0, below=_INF, integer=True),
    }

    C: float = 1.0
    epochs: int = 20
    device: str = "auto"

"""How a classifier around a model answers, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from setpoint.errors import InputError
from setpoint.solvers.settings import Settings

__all__ = ["ModelResponse"]


@dataclass(frozen=True, repr=False)
class ModelResponse(Settings):
    """What the model inside is asked, and what is passed on.

    Parameters
    ----------
    method : {"auto", "predict_proba", "decision_function"}
        Where the scores that the rule looks at come from.
    calibrate : {"sigmoid", "isotonic"} or None
        Calibrate the model's probabilities by cross-validation within its training rows.
    predict_proba : {"model", "rule"}
        What ``predict_proba`` gives: the model's posterior, or the probabilities with which the
        rule decides. What decides by ``predict_proba``, such as one-vs-rest or soft voting,
        keeps the rule only with "rule"; ``decision_function`` is then not there.
    unknown_group : {"raise", "largest"}
        What ``predict`` does with a group that ``fit`` did not see, or a missing one; "largest"
        decides it by the rule of the largest group, with a warning.
    defer_label : label
        What ``predict`` returns for a row that the rule defers; not one of the classes. Where
        these are not of its type, predictions are objects.

    Raises
    ------
    ValueError
        If a parameter is not allowed, or `calibrate` goes with ``method="decision_function"``.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from setpoint import PlugInClassifier
    >>> from setpoint.solvers import ModelResponse
    >>> clf = PlugInClassifier(RidgeClassifier(), "f1", response=ModelResponse(calibrate="sigmoid"))
    >>> clf.response
    ModelResponse(calibrate='sigmoid')
    """

    allowed: ClassVar = {
        "method": ("auto", "predict_proba", "decision_function"),
        "calibrate": (None, "sigmoid", "isotonic"),
        "predict_proba": ("model", "rule"),
        "unknown_group": ("raise", "largest"),
        "defer_label": (str, int, float),
    }

    method: str = "auto"
    calibrate: str | None = None
    predict_proba: str = "model"
    unknown_group: str = "raise"
    defer_label: str | int | float = "defer"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.calibrate is not None and self.method == "decision_function":
            raise InputError(
                f"`calibrate={self.calibrate!r}` makes probabilities, and "
                "`method='decision_function'` asks for other scores: leave one of them out"
            )

    @classmethod
    def of(cls, given: Any) -> Self:
        """The value itself; "model" or "rule": what ``predict_proba`` gives."""
        return given if isinstance(given, cls) else cls(predict_proba=given)

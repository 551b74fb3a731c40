"""Models that learn on a dask cluster by themselves, and what they are on one machine."""

from __future__ import annotations

import sys
from typing import Any

from sklearn.base import clone

from setpoint.packages import needed_by

__all__ = ["fitted_on_dask", "learns_on_dask", "local_of"]

_MODULES = ("xgboost.dask", "lightgbm.dask")


def learns_on_dask(model: Any) -> bool:
    """Whether a model is fitted on dask frames: of xgboost.dask or lightgbm.dask.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> learns_on_dask(DummyClassifier())
    False
    """
    # Subclasses, too; and neither package is imported to find out.
    return any(kind.__module__.startswith(_MODULES) for kind in type(model).__mro__)


def fitted_on_dask(model: Any, X: Any, y: Any, weight: Any) -> Any:
    """A model fitted by its own means on dask frames, as a model of one machine.

    Parameters
    ----------
    model : DaskXGBClassifier or DaskLGBMClassifier
        Cloned, never fitted itself.
    X, y, weight
        A dask DataFrame and Series; `weight` may be None.

    Returns
    -------
    XGBClassifier or LGBMClassifier
    """
    params = {} if weight is None else {"sample_weight": weight}
    copy = clone(model)
    if getattr(model, "client", None) is not None:
        copy.client = model.client
    return local_of(copy.fit(X, y, **params))


def local_of(model: Any) -> Any:
    """A model fitted on dask as one that scores rows in memory."""
    if hasattr(model, "to_local"):
        return model.to_local()
    xgboost = needed_by("Models of xgboost.dask", "scale", "xgboost")
    out = xgboost.XGBClassifier(**_plain_params(model))
    out.load_model(model.get_booster().save_raw())
    return out


def _plain_params(model: Any) -> dict[str, Any]:
    """Parameters that the local class has, too."""
    known = sys.modules["xgboost"].XGBClassifier().get_params()
    return {k: v for k, v in model.get_params().items() if k in known}

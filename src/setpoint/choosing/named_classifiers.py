"""Parameters of classifiers in a dict: ``forest__max_depth``, as scikit-learn has it for lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator, clone

__all__ = ["NamedClassifiers"]


class NamedClassifiers(BaseEstimator):
    """What has one classifier, or a dict of them, as its `estimator`."""

    estimator: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; deep: also those of the classifiers, as ``estimator__C`` or ``name__C``.

        Parameters
        ----------
        deep : bool

        Returns
        -------
        dict
        """
        out: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.estimator, Mapping):
            for name, own in self.estimator.items():
                if hasattr(own, "get_params") and not isinstance(own, type):
                    parts = own.get_params(deep=True)
                    out |= {f"{name}__{key}": value for key, value in parts.items()}
        return out

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of the classifiers.

        Parameters
        ----------
        **params
            By name.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        if "estimator" in params:  # before what is inside it
            super().set_params(estimator=params.pop("estimator"))
        given = self.estimator
        if isinstance(given, Mapping):
            known = [key for key in params if key.partition("__")[0] in given and "__" in key]
            inside: dict[str, dict[str, Any]] = {}
            for key in known:
                name, _, rest = key.partition("__")
                inside.setdefault(name, {})[rest] = params.pop(key)
            # A copy: another search may hold the same dict.
            changed = {name: clone(given[name]).set_params(**own) for name, own in inside.items()}
            if changed:
                super().set_params(estimator={**given, **changed})
        super().set_params(**params)
        return self

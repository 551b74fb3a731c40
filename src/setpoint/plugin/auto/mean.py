"""The mean of fitted models, as scikit-learn has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["mean_of"]


def mean_of(models: Mapping[str, Any]) -> Any:
    """A classifier whose probabilities are the mean of those of fitted ones; a single one as it is.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = [[0.0], [1.0], [2.0], [4.0]], ["no", "yes", "no", "yes"]
    >>> one, other = GaussianNB().fit(X, y), GaussianNB(priors=[0.9, 0.1]).fit(X, y)
    >>> mean = mean_of({"one": one, "other": other})
    >>> float(mean.predict_proba(X)[0, 1] - one.predict_proba(X)[0, 1] / 2) < 0.5
    True
    >>> mean.predict(X).tolist()
    ['no', 'no', 'no', 'yes']
    """
    from sklearn.ensemble import VotingClassifier
    from sklearn.preprocessing import LabelEncoder

    if len(models) == 1:
        return next(iter(models.values()))
    made = VotingClassifier(list(models.items()), voting="soft")
    made.estimators_ = list(models.values())
    made.named_estimators_ = dict(models)  # which model files hold, unlike a Bunch
    first = made.estimators_[0]
    made.le_ = LabelEncoder().fit(first.classes_)
    made.classes_ = made.le_.classes_
    if hasattr(first, "feature_names_in_"):
        made.feature_names_in_ = first.feature_names_in_
    return made

"""The sets with groups: two classes, posteriors of a logistic regression.

No command of its own. The model is that of the other tables; the group is one of its
features.
"""

from __future__ import annotations

import numpy as np
from cma_data import OUTPUT, Split, one_hot, quiet, require
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

GROUPS = {
    "compas": "sex",
    "communities_crime": "black_above_median",
    "default_credit": "sex",
    "adult": "sex",
}
"""The protected groups of the paper's Figure 9; a fifth set, Law School, is not available."""
LEFT_OUT = {"adult": ["fnlwgt"]}
"""A census weight is not a feature."""


def group_features(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """X, y, group of the training part, standardised on it, and of the test part."""
    X, y, groups, _ = require(name).load(name)
    X = one_hot(X.drop(columns=LEFT_OUT.get(name, [])))
    codes = np.unique(np.asarray(y), return_inverse=True)[1]  # of two, the last is positive
    parts = train_test_split(X, codes, groups[GROUPS[name]], test_size=0.3,
                             random_state=seed)  # fmt: skip
    a, b, y_a, y_b, g_a, g_b = parts
    middle = np.nanmedian(a, axis=0)
    a, b = (np.where(np.isnan(x), middle, x) for x in (a, b))
    scale = StandardScaler().fit(a)
    return scale.transform(a), y_a, g_a, scale.transform(b), y_b, g_b


def group_split(name: str, seed: int = 0) -> Split:
    """Posteriors of the protocol; kept in a file."""
    path = OUTPUT / f"cma_{name}_{seed}.npz"
    keys = ("P", "y", "P_test", "y_test", "groups", "groups_test")
    if not path.exists():
        a, y_a, g_a, b, y_b, g_b = group_features(name, seed)
        with quiet():
            model = LogisticRegressionCV(cv=2, tol=1e-3).fit(a, y_a)
        OUTPUT.mkdir(exist_ok=True)
        P, P_test = model.predict_proba(a), model.predict_proba(b)
        np.savez(
            path,
            P=P,
            y=y_a,
            P_test=P_test,
            y_test=y_b,
            groups=g_a.astype(str),
            groups_test=g_b.astype(str),
        )
    with np.load(path) as kept:
        return Split(*(kept[k] for k in keys))

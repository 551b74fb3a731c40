"""Tables with groups, days, amounts and a deployed model, and a fit in one call."""

import numpy as np
import pandas as pd

from setpoint.tables import TableModel

FAIR = "maximize recall subject to precision >= 0.7 and recall.difference(sex) <= 0.3"
PROFIT = "maximize profit(tp=amount - 5, fp=-5) subject to predicted_rate <= 0.1"
DEFER = "minimize deferral_rate subject to accuracy.decided >= 0.9"
ROWS = ("datasets", "validation", "certify_on", "skip_unlabelled")


def fit_table(table, goal, **asked):
    """A table model, fitted."""
    rows = {name: asked.pop(name) for name in ROWS if name in asked}
    return TableModel(goal, **{"target": "y", **asked}).fit(table, **rows)


def deployed(n, seed):
    """`x` and `w` know something of `y`, and `old` is what the deployed model decides."""
    r = np.random.default_rng(seed)
    sex, x, w = r.choice(["f", "m"], n), r.normal(size=n), r.normal(size=n)
    z = x + 0.5 * (sex == "m") + 0.6 * w + 0.7 * r.normal(size=n)
    old = np.where(x + r.normal(size=n) > 0.6, "yes", "no")
    return pd.DataFrame(
        {"sex": sex, "x": x, "w": w, "old": old, "y": np.where(z > 0.5, "yes", "no")}
    )


def dated(n=600, seed=0):
    """Rows of customers on days, in cities."""
    r = np.random.default_rng(seed)
    x, sex = r.normal(size=(n, 2)), r.choice(["f", "m"], size=n)
    days = pd.date_range("2024-01-01", periods=n // 6, freq="D")
    return pd.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 1],
            "sex": sex,
            "city": r.choice(["Bonn", "Kiel", "Ulm"], size=n),
            "day": np.sort(r.choice(days, size=n)),
            "customer": [f"c{i}" for i in r.integers(0, n // 4, size=n)],
            "y": np.where(x[:, 0] + 0.5 * (sex == "m") + r.normal(size=n) > 0.6, "yes", "no"),
        }
    )


def paying(n, seed):
    """The larger the amount, the more a fraud is worth; `x` knows something of `y`."""
    r = np.random.default_rng(seed)
    sex, x = r.choice(["f", "m"], n), r.normal(size=n).round(4)
    p = 1.0 / (1.0 + np.exp(1.5 - 1.4 * x - 0.5 * (sex == "m")))
    amount = np.exp(r.normal(4.0, 1.0, n)).round(2)
    y = np.where(r.random(n) < p, "yes", "no")
    return pd.DataFrame({"sex": sex, "x": x, "amount": amount, "y": y})


DATED, LATER = dated(), dated(seed=1)
PAYING, PAYING_LATER = paying(900, 0), paying(300, 1)

"""Any metric: a model trained for the money that a Python function counts.

Parts come off two lines, and faulty ones lie between the two in what the sensors say. Inspecting
a part costs 1, finding a fault saves what the part is worth. No cut-off on a logistic regression
gets the most out of that: the search finds another line. The picture holds the profit over the
evaluations that it took, one line for each start, and how the best path weighed the surrogate
losses.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from setpoint import AdaptiveSurrogateClassifier, BlackBox, PlugInClassifier
from setpoint.surrogates import plot_surrogate_path


def profit(y_true, y_pred, worth):
    """Per part made."""
    return np.mean(y_pred * (worth * (y_true == 1) - 1))


def main():
    rng = np.random.default_rng(0)

    def parts(n):
        faulty = (rng.random(n) < 0.1).astype(int)
        line = np.where(faulty == 1, 0.0, rng.choice([-1.0, 1.0], n, p=[0.3, 0.7]))
        X = line[:, None] + 0.4 * rng.normal(size=(n, 3))
        return X, faulty, {"worth": rng.uniform(5, 15, n)}

    X, y, columns = parts(4_000)
    X_new, y_new, columns_new = parts(20_000)
    metric = BlackBox(profit)
    cut = PlugInClassifier(LogisticRegression(), metric)
    trained = AdaptiveSurrogateClassifier(metric, random_state=0)
    for name, clf in {"cut-off alone": cut, "trained for it": trained}.items():
        clf.fit(X, y, sensitive_features=columns)
        report = clf.evaluate(X_new, y_new, sensitive_features=columns_new)
        print(f"{name:<16}{report.objective.value:.2f} on new rows")

    return [plot_surrogate_path(trained.goal_report_).figure_]


if __name__ == "__main__":
    main()

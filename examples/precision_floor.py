"""A floor on precision, where positives are rare.

Three rows in a hundred are positive. As many of them as possible shall be found, and of those
reported seven in ten must be right. Any classifier will do, here gradient boosting in a pipeline:
the model stays as it is and only the threshold is chosen. The picture shows every threshold,
those that keep the floor, and the one that was taken.
"""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from setpoint import PlugInClassifier, evaluate
from setpoint.report import plot_operating


def main():
    X, y = make_classification(
        n_samples=20_000, n_features=12, weights=[0.97], flip_y=0.005, random_state=0
    )
    X[np.random.default_rng(0).random(X.shape) < 0.02] = np.nan  # as in life
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

    trees = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0)
    model = make_pipeline(SimpleImputer(), trees)
    goal = "maximize recall subject to precision >= 0.7"
    clf = PlugInClassifier(model, goal)
    clf.fit(X_train, y_train)
    print(clf.goal_report_)

    print("\nOn new rows")
    usual = evaluate(goal, y_test, clf.estimator_.predict(X_test))
    for name, report in ("threshold 0.5", usual), ("this rule", clf.evaluate(X_test, y_test)):
        reached = report.constraints[0].value
        print(f"{name:<14} recall {report.objective.value:.3f}, precision {reached:.3f}", end="")
        print(f", a floor of 0.7 is {report.verdict}")

    return [plot_operating(clf.evaluate(X_test, y_test)).figure_]


if __name__ == "__main__":
    main()

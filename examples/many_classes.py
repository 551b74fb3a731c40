"""Eight classes: none forgotten, and each predicted as often as it occurs.

With many classes the most likely one is often a common one, and rare classes are hardly ever
predicted. Here the harmonic mean of the recalls shall be high, and each class shall be predicted
as often as it occurs, to one point. Such a goal is searched for: the picture shows what each pass
over the rows gained, and the bound that no rule passes.
"""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from setpoint import PlugInClassifier, evaluate
from setpoint.report import plot_convergence


def main():
    X, y = make_classification(
        n_samples=12_000,
        n_features=12,
        n_informative=8,
        n_redundant=0,
        n_classes=8,
        n_clusters_per_class=1,
        weights=[0.35, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.02],
        class_sep=0.9,
        random_state=0,
    )
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=0
    )
    goal = "maximize h_mean subject to abs(predicted_rate - prior).max() <= 0.01"
    clf = PlugInClassifier(LogisticRegression(max_iter=500), goal, evidence="soft")
    clf.fit(X_train, y_train)
    report = clf.goal_report_
    print(f"{report.status}, gap {clf.gap_:.5f} after {clf.n_oracle_calls_} passes over the rows")

    usual, decided = clf.estimator_.predict(X_test), clf.predict(X_test)
    print("\nOn new rows   predicted as often         recall")
    print("class  share     usual  the rule   usual  the rule")
    for k in clf.classes_:
        shares = [np.mean(labels == k) for labels in (y_test, usual, decided)]
        recalls = [np.mean(labels[y_test == k] == k) for labels in (usual, decided)]
        print("{:>5}  {:.3f}     {:.3f}  {:>8.3f}   {:.3f}  {:>8.3f}".format(k, *shares, *recalls))
    for name, labels in ("usual", usual), ("the rule", decided):
        found = evaluate(goal, y_test, labels)
        value, off = found.objective.value, found.constraints[0].value
        print(f"{name}: harmonic mean {value:.3f}, largest difference of a share {off:.3f}")

    return [plot_convergence(report).figure_]


if __name__ == "__main__":
    main()

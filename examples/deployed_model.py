"""Replacing a deployed model: few decisions may change, and none of the recall may be lost.

A better model is of little use if every fifth customer gets another answer overnight. Churn is
the share of decisions that differ from those of today's model. Here at most five in a hundred may
change, recall must not fall, and F1 is to gain what it can. The rule sees what today's model
says, or it could not know where to stay: it gets one threshold to leave a yes, another to leave a
no. The frontier shows what more or less churn would mean.
"""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from setpoint import PlugInClassifier, frontier
from setpoint.report import plot_frontier


def main():
    X, y = make_classification(
        n_samples=9_000, n_features=15, n_informative=8, weights=[0.8], random_state=1
    )
    X_old, X, y_old, y = train_test_split(X, y, train_size=1_000, stratify=y, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    today = LogisticRegression().fit(X_old, y_old)  # few rows, a simple model

    goal = "maximize f1 subject to churn <= 0.05 and recall >= recall.baseline()"
    model = RandomForestClassifier(50, min_samples_leaf=3, max_features=3, random_state=0)
    clf = PlugInClassifier(model, goal, baseline=today, decide_on="today")
    clf.fit(X_train, y_train, sensitive_features={"today": today.predict(X_train)})
    print(clf.goal_report_.rule.text)

    said = today.predict(X_test)
    report = clf.evaluate(X_test, y_test, sensitive_features={"today": said})
    churn, recall = report.constraints
    print("\nOn new rows")
    print(f"today      f1 {report.deployed.objective:.3f}, recall {recall.bound:.3f}")
    print(f"this rule  f1 {report.objective.value:.3f}, recall {recall.value:.3f}", end=", ")
    print(f"churn {churn.value:.3f}")
    gain = report.deployed.difference
    print(f"f1 gains {gain.value:.3f} ({gain.low:.3f} to {gain.high:.3f})")
    free = np.mean(clf.estimator_.predict(X_test) != said)
    print(f"the new model at threshold 0.5 would change {free:.1%} of the decisions")

    found = frontier(clf, vary="churn")
    return [plot_frontier(found).figure_]


if __name__ == "__main__":
    main()

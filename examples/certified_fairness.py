"""A bound between groups that holds on new rows.

Of those who would repay, as many in one group as in the other should get the loan: the recalls may
differ by ten points, and whoever answers for it wants that on the applicants to come. Both groups
are on the rows that certify, in their shares. Then the rule is watched: when the younger group's
income begins to say less, the monitor raises an alarm.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from setpoint import Monitor, PlugInClassifier
from setpoint.report import plot_groups

GOAL = "maximize accuracy subject to recall.difference(age) <= 0.1"


def applicants(n, rng, lost=0.9):
    """Two groups that repay alike; the younger one's income is `lost` lower."""
    group = np.where(rng.random(n) < 0.3, "young", "old")
    y = (rng.random(n) < 0.6).astype(int)
    income = rng.normal(1.5 * y - lost * (group == "young"))
    debt = rng.normal(-0.8 * y)
    return np.column_stack([income, debt]), y, group


def main():
    rng = np.random.default_rng(0)
    X, y, age = applicants(12_000, rng)
    clf = PlugInClassifier(LogisticRegression(), GOAL, decide_on="age", confidence=0.95)
    clf.fit(X, y, sensitive_features={"age": age})
    print(clf.goal_report_)

    X_new, y_new, age_new = applicants(200_000, rng)
    report = clf.evaluate(X_new, y_new, sensitive_features={"age": age_new})
    print(f"\nOn 200,000 new rows the recalls differ by {report.constraints[0].value:.3f}")

    monitor = Monitor(clf)
    for month in range(1, 7):
        lost = 0.9 if month < 4 else 2.2
        X_month, y_month, age_month = applicants(1_500, rng, lost)
        monitor.update(X_month, y_month, sensitive_features={"age": age_month})
        print(f"month {month}: {monitor.lines()[0]}")
    print(*monitor.alarms_, sep="\n")
    return [plot_groups(report).figure_]


if __name__ == "__main__":
    main()

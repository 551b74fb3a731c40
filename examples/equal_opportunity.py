"""Equal opportunity, with and without the group at prediction.

Of those who would repay, as many in one group as in the other should get the loan: the recalls of
the groups may differ by five points. If the rule may look at the group it has a threshold for
each. If it may not, the groups are still counted in training, but one threshold (or a draw
between two) must do for all, and that costs more.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from setpoint import PlugInClassifier, evaluate
from setpoint.report import plot_groups


def applicants(n, rng):
    """Two groups that repay alike; the second one's income tells less about it."""
    group = np.where(rng.random(n) < 0.3, "young", "old")
    y = np.where(rng.random(n) < 0.6, "repays", "defaults")
    income = rng.normal(1.5 * (y == "repays") - 0.9 * (group == "young"))
    debt = rng.normal(-0.8 * (y == "repays"))
    return np.column_stack([income, debt]), y, group


def main():
    X, y, group = applicants(8_000, np.random.default_rng(0))
    X_train, X_test, y_train, y_test, g_train, g_test = train_test_split(
        X, y, group, test_size=0.5, random_state=0
    )
    goal = "maximize accuracy subject to recall.difference(age) <= 0.05"

    usual = LogisticRegression().fit(X_train, y_train).predict(X_test)
    report = evaluate(goal, y_test, usual, sensitive_features={"age": g_test}, pos_label="repays")
    reports = {"no constraint": report}
    for name, decide_on in (("group available", "age"), ("group hidden", None)):
        clf = PlugInClassifier(LogisticRegression(), goal, pos_label="repays", decide_on=decide_on)
        clf.fit(X_train, y_train, sensitive_features={"age": g_train})
        reports[name] = clf.evaluate(X_test, y_test, sensitive_features={"age": g_test})
        print(f"{name}: {clf.goal_report_.rule.text}\n")

    figure, axes = plt.subplots(3, 1, figsize=(7, 6), layout="constrained")
    for ax, (name, report) in zip(axes, reports.items(), strict=True):
        compared = [g for g in report.groups if g.compared]
        recalls = ", ".join(f"{g.columns[0][1]} {g.value:.3f}" for g in compared)
        print(f"{name:<15} accuracy {report.objective.value:.3f}, recall of {recalls}")
        print(f"{'':<15} a gap of 0.05 at most: {report.verdict}")
        plot_groups(report, ax=ax)
        ax.set_title(name, loc="right")
        ax.set_xlim(0.65, 1.0)
    return [figure]


if __name__ == "__main__":
    main()

"""Errors that have a price, and a desk that can look at so many cases a day.

A missed fraud costs 200, a false alarm 5. If nothing else were asked, the threshold would follow
from the two prices and good probabilities. But the desk can look at three in a hundred cases. The
frontier shows what each further place at the desk would save.
"""

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from setpoint import PlugInClassifier, frontier, minimize
from setpoint.metrics import cost, predicted_rate
from setpoint.report import plot_frontier


def main():
    X, y = make_classification(
        n_samples=20_000, n_features=10, weights=[0.98], flip_y=0.01, random_state=5
    )
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

    price = cost({(1, 0): 200, (0, 1): 5})  # (true, predicted)
    free, limited = minimize(price), minimize(price).subject_to(predicted_rate <= 0.03)
    for goal in (free, limited):
        clf = PlugInClassifier(LogisticRegression(), goal)
        clf.fit(X_train, y_train)
        report = clf.evaluate(X_test, y_test)
        low, high = report.objective.low, report.objective.high
        print(f"{goal}\n  {clf.goal_report_.rule.text}")
        print(f"  {clf.predict(X_test).mean():.3f} are looked at", end=", ")
        print(f"at {report.objective.value:.2f} a case ({low:.2f} to {high:.2f})")
        print(f"  {report.section('prices').lines()[0]}")

    found = frontier(clf)
    print("\nplaces for   cost a case")
    for share in (0.01, 0.02, 0.03, 0.05, 0.1):
        print(f"{share:>10.0%}   {found.at(share):.2f}")
    return [plot_frontier(found).figure_]


if __name__ == "__main__":
    main()

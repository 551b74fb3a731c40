"""Fewer changes: a new model is trained for one bound on churn after another.

Each changed decision is a customer who gets another answer, and a label to buy before the new
model is proved better. So the model itself is trained for a bound on churn: of the directions in
which it could go, it takes those that gain much and change little. Churn needs no labels, so it
is bounded on rows that have none. The picture holds what the changes bought, on rows that no
model has seen.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from setpoint import Dataset, RampClassifier


def main():
    X, y = make_classification(
        n_samples=24_000, n_features=20, n_informative=10, class_sep=0.5, random_state=3
    )
    X_old, X, y_old, y = train_test_split(X, y, train_size=300, stratify=y, random_state=0)
    today = LogisticRegression(C=0.1).fit(X_old[:, :12], y_old)  # few rows, fewer columns

    def says(rows):
        return today.predict(rows[:, :12])

    X, X_test, y, y_test = train_test_split(X, y, test_size=8_000, random_state=0)
    traffic, X_train = X[:6_000], X[6_000:]
    y_train = y[6_000:]

    datasets = {"traffic": Dataset(traffic, baseline=says(traffic))}
    new = {"traffic": Dataset(X_test, baseline=says(X_test))}
    print(f"today: error {(says(X_test) != y_test).mean():.3f}\n\nasked   churn   error")
    reached = []
    for asked in (0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2):
        clf = RampClassifier(f"minimize error_rate subject to churn.on('traffic') <= {asked}")
        clf.fit(X_train, y_train, baseline=says(X_train), datasets=datasets)
        report = clf.evaluate(X_test, y_test, datasets=new)
        reached.append((report.constraints[0].value, report.objective.value))
        print(" ".join(f"{x:<7.3f}" for x in (asked, *reached[-1])).rstrip())

    figure, ax = plt.subplots()
    ax.plot(*zip(*reached, strict=True), "o-")
    ax.set(xlabel="churn", ylabel="error_rate")
    return [figure]


if __name__ == "__main__":
    main()

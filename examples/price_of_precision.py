"""What would more precision cost?

A floor of 0.9 on precision is a number that somebody chose. The frontier says what other numbers
would have meant: the best recall for every floor, from one pass over the thresholds. Where it is
flat a stricter floor is nearly free, and where it falls steeply a little less precision buys much
recall.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import PlugInClassifier, frontier
from setpoint.report import plot_frontier


def main():
    data = load_breast_cancer()
    X, y = data.data[:, :10], data.target_names[data.target]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    goal = "maximize recall subject to precision >= 0.9"
    clf = PlugInClassifier(model, goal, pos_label="malignant")
    clf.fit(X, y)

    found = frontier(clf)
    print("precision  recall")
    for floor in (0.8, 0.9, 0.95, 0.98, 0.99):
        print(f"{floor:>9.2f}  {found.at(floor):.3f}")
    print(f"the strictest floor that can be met: {found.bounds[-1]:.3f}")

    return [plot_frontier(found).figure_]


if __name__ == "__main__":
    main()

"""Choosing a model by the goal, not by accuracy.

The order of models by accuracy need not be their order by the goal. `PlugInClassifier` judges each
of several models with the best rule over its scores, on rows that neither the model nor the rule
has seen, all folds together. What is printed has the limits of each difference from the best, by
the pairs of rows: models whose limits enclose zero cannot be distinguished, and the simplest of
them will do.
"""

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from setpoint import PlugInClassifier
from setpoint.report import plot_operating


def main():
    X, y = make_classification(
        n_samples=8_000,
        n_features=12,
        n_informative=6,
        weights=[0.85],
        flip_y=0.02,
        class_sep=0.6,
        random_state=3,
    )
    models = {
        "logistic regression": LogisticRegression(),
        "naive Bayes": GaussianNB(),
        "forest": RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
        "larger forest": RandomForestClassifier(40, min_samples_leaf=5, random_state=1),
    }
    goal = "maximize specificity subject to recall >= 0.85"
    clf = PlugInClassifier(models, goal, cv=3).fit(X, y)
    print("\n".join(clf.choice_.lines()))
    print("\nAccuracy by itself:")
    for name, model in models.items():
        print(f"  {name:<19} {cross_val_score(model, X, y, cv=3).mean():.3f}")

    display = plot_operating(clf.goal_report_)
    return [display.figure_]


if __name__ == "__main__":
    main()

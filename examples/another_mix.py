"""The sample is not the population: known shares of the classes, and rows without labels.

In the training sample half of the cases are positive; where the model will work, two in a hundred
are. Precision on the sample then says nothing. Weights that give the classes their known shares
make every number of the report that of the population. And a bound on what may be predicted can
be kept on new rows whose labels nobody knows: `adapt` finds the rule anew on them.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from setpoint import PlugInClassifier, evaluate, weights_for_prior
from setpoint.report import plot_operating


def cases(n, share, rng):
    y = (rng.random(n) < share).astype(int)
    return rng.normal(y[:, None] * [2.5, 1.5, 0.0]), y


def main():
    rng = np.random.default_rng(0)
    X, y = cases(20_000, 0.5, rng)
    X_real, y_real = cases(100_000, 0.02, rng)  # as it is out there

    goal = "maximize recall subject to precision >= 0.5"
    plain = PlugInClassifier(LogisticRegression(), goal).fit(X, y)
    weight = weights_for_prior(y, {0: 0.98, 1: 0.02})
    weighted = PlugInClassifier(LogisticRegression(), goal)
    weighted.fit(X, y, sample_weight=weight)
    print(goal)
    for name, clf in (("as sampled", plain), ("weighted", weighted)):
        fitted = clf.goal_report_.constraints[0].value
        real = evaluate(goal, y_real, clf.predict(X_real))
        print(f"{name:<11} precision on the sample {fitted:.3f}", end=", ")
        print(f"in the population {real.constraints[0].value:.3f}", end=", ")
        print(f"recall {real.objective.value:.3f}")

    capacity = "maximize recall subject to predicted_rate <= 0.03"
    clf = PlugInClassifier(LogisticRegression(), capacity)
    clf.fit(X, y, sample_weight=weight)
    X_week, _ = cases(20_000, 0.08, rng)  # a bad week
    print(f"\n{capacity}")
    print(f"in a bad week {clf.predict(X_week).mean():.3f} are reported", end=", ")
    print(f"after adapt {clf.adapt(X_week).predict(X_week).mean():.3f}")

    return [plot_operating(weighted.evaluate(X_real, y_real)).figure_]


if __name__ == "__main__":
    main()

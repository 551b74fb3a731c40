"""The main job on a real data set that scikit-learn ships, without network.

A laboratory sorts tumours. It wants to find the malignant ones, and has promised that
of those it reports at least 97 in 100 are malignant.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setpoint import PlugInClassifier

data = load_breast_cancer()
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(
    data.data, y, test_size=0.4, stratify=y, random_state=0
)
# Ten of the thirty measurements, so that the task is not too easy.
X_train, X_test = X_train[:, :10], X_test[:, :10]

model = make_pipeline(StandardScaler(), LogisticRegression())
clf = PlugInClassifier(
    model,
    "maximize recall subject to precision >= 0.97",
    pos_label="malignant",
)
clf.fit(X_train, y_train)

print("On the rows the rule was found on (out-of-fold scores)\n")
print(clf.goal_report_)
print("\n\nOn rows held out\n")
print(clf.evaluate(X_test, y_test))

usual = clf.estimator_.predict(X_test)
found = (usual == "malignant") & (y_test == "malignant")
print(
    "\nThe same model with the usual threshold of 0.5 on the rows held out: "
    f"recall {found.sum() / (y_test == 'malignant').sum():.3f}, "
    f"precision {found.sum() / (usual == 'malignant').sum():.3f}."
)

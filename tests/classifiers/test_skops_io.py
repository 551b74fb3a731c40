"""Types of scikit-learn are trusted as skops trusts them, without importing them all."""

import subprocess
import sys
import warnings

import pytest
import skops.io
from sklearn.utils import all_estimators

from setpoint.classifiers import skops_io
from setpoint.classifiers.persistence import is_estimator


def test_what_scikit_learn_lists_is_an_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {f"{made.__module__}.{made.__name__}" for _, made in all_estimators()}
    listed = {name for name in names if name.startswith("sklearn.")}
    assert len(listed) > 150
    assert {name for name in listed if not is_estimator(name)} == set()


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "sklearn",
        "sklearn.base.BaseEstimator",
        "sklearn.base.clone",
        "sklearn.linear_model._base.LinearClassifierMixin",
        "sklearn.linear_model._logistic.os",
        "sklearn.linear_model._logistic.Absent",
        "sklearn.linear_model.LogisticRegression",
        "sklearn.nowhere.LogisticRegression",
        "sklearn.utils._mocking.CheckingClassifier",
        "sklearn.tests.test_base.MyEstimator",
        "sklearn.externals.array_api_compat.torch.Tensor",
    ],
)
def test_other_names_are_not_estimators(name):
    assert not is_estimator(name)


def test_skops_trusts_the_same_whoever_loaded_it():
    code = (
        "from setpoint.classifiers.persistence import skops_io\nio = skops_io()\n"
        "import sys; print('sklearn.gaussian_process' in sys.modules, 'pytest' in sys.modules)\n"
        "from sklearn.naive_bayes import GaussianNB\n"
        "import sklearn.linear_model._base as b\n"
        "print(io.get_untrusted_types(data=io.dumps([GaussianNB(), b.LinearClassifierMixin()])))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "False False",
        "['sklearn.linear_model._base.LinearClassifierMixin']",
    ]
    assert skops_io() is skops.io

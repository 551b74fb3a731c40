"""One thread decides while another learns."""

import threading

import numpy as np
import pytest
from scipy import sparse

from online.samples import online, stream


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_deciding_does_not_disturb_learning(kind):
    X, y = stream(4000, d=20)
    X = X if kind == "dense" else sparse.csr_matrix(X)
    clf, alone = online().partial_fit(X[:200], y[:200]), online().partial_fit(X, y)
    done, failed = threading.Event(), []

    def decide():
        try:
            while not done.is_set():
                assert len(clf.predict(X[:100])) == 100
        except Exception as error:  # noqa: BLE001  (raised below)
            failed.append(error)

    threads = [threading.Thread(target=decide) for _ in range(2)]
    for thread in threads:
        thread.start()
    for start in range(200, 4000, 10):
        clf.partial_fit(X[start : start + 10], y[start : start + 10])
    done.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert clf.n_rows_seen_ == 4000
    assert np.array_equal(clf.engine_.state.weights, alone.engine_.state.weights)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.rules import purify

KINDS = ["general", "line", "one point", "scales", "integers", "far away", "nearly a line", "rays"]


def problem(seed, kind):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    d, size = int(rng.integers(1, 7)), int(rng.integers(1, 60))
    x = rng.normal(size=(size, d))
    line = np.outer(rng.normal(size=size), rng.normal(size=d))
    x = {
        "general": x,
        "line": line,
        "one point": np.repeat(x[:1], size, axis=0),
        "scales": x * 10.0 ** rng.integers(-12, 12, size=d),
        "integers": np.round(x),
        "far away": x + 1e6,
        "nearly a line": line + 1e-13 * x,
        "rays": x * 10.0 ** rng.uniform(-14, 0, size=(size, 1)),
    }[kind]
    p = rng.dirichlet(np.full(size, rng.choice([0.05, 0.3, 1.0, 5.0])))
    return x, p / p.sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(25))
def test_few_atoms_with_the_same_mean(kind, seed):
    x, p = problem(seed, kind)
    indices, q = purify(x, p)
    assert indices.dtype == np.int64
    assert len(indices) <= x.shape[1] + 1
    assert (np.diff(indices) > 0).all()
    assert (q > 0).all()
    assert abs(q.sum() - 1) < 1e-14
    assert (p[indices] > 0).all()
    assert (np.abs(q @ x[indices] - p @ x) <= 1e-12 * np.abs(x).max(axis=0)).all()
    if kind == "line":
        assert len(indices) <= 2
    if kind == "one point":
        assert len(indices) == 1


coordinate = st.floats(-1e6, 1e6)


@given(
    st.integers(1, 4).flatmap(
        lambda d: st.lists(
            st.tuples(st.tuples(*[coordinate] * d), st.floats(0.001, 1)), min_size=1, max_size=12
        )
    )
)
def test_whatever_the_points(rows):
    x = np.array([point for point, _ in rows])
    p = np.array([weight for _, weight in rows])
    p /= p.sum()
    indices, q = purify(x, p)
    assert len(indices) <= x.shape[1] + 1
    assert (np.abs(q @ x[indices] - p @ x) <= 1e-12 * np.abs(x).max(axis=0)).all()


def test_many_points():
    rng = np.random.default_rng(0)
    x, p = rng.random((3000, 5)), rng.dirichlet(np.ones(3000))
    indices, q = purify(x, p)
    assert len(indices) <= 6
    np.testing.assert_allclose(q @ x[indices], p @ x, rtol=1e-12)


def test_what_is_pure_stays():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    indices, q = purify(x, [0.5, 0.25, 0.25])
    assert indices.tolist() == [0, 1, 2]
    np.testing.assert_allclose(q, [0.5, 0.25, 0.25], rtol=1e-15)
    indices, q = purify(np.zeros((3, 0)), [0.25, 0.25, 0.5])
    assert (len(indices), q.tolist()) == (1, [1.0])


def test_the_target_is_hit_where_the_solver_was_not_quite_there():
    rng = np.random.default_rng(1)
    x, p = rng.random((30, 3)), rng.dirichlet(np.ones(30))
    target = p @ x + 1e-9
    indices, q = purify(x, p, target)
    np.testing.assert_allclose(q @ x[indices], target, rtol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [0.5, 0.5]), "points must have shape"),
        ((np.zeros((0, 2)), []), "points must have shape"),
        (([[0.0], [1.0]], [1.0]), "probabilities must have shape"),
        (([[0.0], [np.nan]], [0.5, 0.5]), "points must be finite"),
        (([[0.0], [1.0]], [0.5, 0.4]), "must sum to 1"),
        (([[0.0], [1.0]], [1.5, -0.5]), "must not be negative"),
        (([[0.0], [1.0]], [np.nan, 0.5]), "must not be negative"),
        (([[0.0], [1.0]], [0.5, 0.5], [0.6]), "far from the mean"),
        (([[0.0], [1.0]], [0.5, 0.5], [0.5, 0.5]), "target must be finite, of shape"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        purify(*arguments)

"""What a refresh takes of the last logits, against slices of all of them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from setpoint.penalty.ring import latest  # noqa: E402


def written(n, size, share, kind, weighted):
    """All rows ever written, and the ring that holds the last."""
    draw = torch.Generator().manual_seed(n)
    z = torch.randint(-99, 100, (n,), generator=draw).to(kind)
    y = torch.rand(n, generator=draw) < share
    w = 1.0 * torch.randint(1, 3, (n,), generator=draw) if weighted else torch.ones(n)
    rows = z, y, w.to(kind)
    rings = tuple(torch.zeros(size, dtype=x.dtype) for x in rows)
    at = torch.arange(max(n - size, 0), n)
    for ring, x in zip(rings, rows, strict=True):
        ring[at % size] = x[at]
    return rows, rings


def wanted(rows, size, last):
    """The newest first: all that are there, or until 300 of each class and `last` were met."""
    z, y, w = (x[-size:].flip(0).double().numpy() for x in rows)
    n = len(z)
    if last is not None:
        enough = [np.flatnonzero(y == k)[299:300] for k in (0, 1)]
        if all(map(len, enough)):
            n = max(last, *(int(at[0]) + 1 for at in enough))
    return z[:n], y[:n] == 1, w[:n]


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "size"), [(250, 1000), (3000, 9000), (30_100, 20_000), (700, 700)])
@pytest.mark.parametrize("last", [None, 50, 5000])
@pytest.mark.parametrize("share", [0.5, 0.02, 0.97])
def test_equals_the_rows_that_were_written(kind, weighted, n, size, last, share):
    rows, rings = written(n, size, share, kind, weighted)
    seen = latest(rings, n, last)
    z, y, w = wanted(rows, size, last)
    assert seen.scores.dtype == np.float64
    assert np.array_equal(seen.scores, z)
    assert np.array_equal(seen.positive, y)
    assert (seen.weight is None) is not weighted
    if weighted:
        assert np.array_equal(seen.weight, w)

"""What `make test-quick` runs: the fastest tests, as many as fit a minute on two cores.

How long a test takes is what the last `make test` saw; a test that it did not see is run.
Where there has been no such run, the quick one is a whole one. All cases of a test are one.
"""

from collections import Counter

__all__ = [
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_runtest_logreport",
    "pytest_sessionfinish",
]

SECONDS = 48.0
"""Of tests, by two processes; each needs a quarter of a minute to find them."""
PLACE = "setpoint/seconds"

_found: Counter[str] = Counter()


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="run the fastest tests only")
    parser.addoption("--record", action="store_true", help="remember for --quick what takes long")


def pytest_configure(config):
    config.option.record |= config.option.quick and config.cache.get(PLACE, None) is None


def pytest_collection_modifyitems(config, items):
    if config.option.quick and not config.option.record:
        slow = slow_of(config.cache.get(PLACE, {}))
        left_out = [item for item in items if name_of(item.nodeid) in slow]
        items[:] = [item for item in items if name_of(item.nodeid) not in slow]
        config.hook.pytest_deselected(items=left_out)


def pytest_runtest_logreport(report):
    _found[name_of(report.nodeid)] += report.duration


def pytest_sessionfinish(session, exitstatus):
    # Of two processes each sees its own tests; the one that starts them hears of all.
    whole = exitstatus <= 1 and not hasattr(session.config, "workerinput")
    if session.config.option.record and whole:
        session.config.cache.set(PLACE, {name: round(s, 3) for name, s in _found.items()})


def name_of(nodeid):
    """The test that a case belongs to."""
    return nodeid.partition("[")[0]


def slow_of(seconds):
    """The tests that no longer fit, once all faster ones are in."""
    slow, total = set(), 0.0
    for name, each in sorted(seconds.items(), key=lambda item: item[1]):
        total += each
        if total > SECONDS:
            slow.add(name)
    return slow

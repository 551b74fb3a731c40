"""What every test shares."""

from hypothesis import settings

# The same examples in every run, and no deadline: the first call of a kernel compiles it.
settings.register_profile("setpoint", deadline=None, derandomize=True)
settings.load_profile("setpoint")

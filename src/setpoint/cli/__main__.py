"""``python -m setpoint.cli`` is ``setpoint``."""

from setpoint.cli import main

if __name__ == "__main__":
    main()

"""Errors of models that a rule cannot be found for."""

from __future__ import annotations

from setpoint.errors import InputError

__all__ = ["NoScoresError"]


class NoScoresError(InputError, AttributeError):
    """A model lacks the method whose scores or probabilities a rule needs."""

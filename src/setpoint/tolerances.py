"""Tolerances that several rooms share, each with its reason."""

__all__ = ["SATISFIED"]

SATISFIED = 1e-9
"""A violation up to this, in the user's units, is none: it is what sums of a few million
weights may lose to rounding, and below what any report prints."""

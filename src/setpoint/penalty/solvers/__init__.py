"""How models are trained for a goal: one algorithm a file."""

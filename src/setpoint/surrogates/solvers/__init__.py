"""How models are searched for by a measured metric: one algorithm a file."""

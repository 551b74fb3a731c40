"""How linear models are trained for rates: one algorithm a file."""

"""Searches over posteriors: by columns from an oracle, and the paper's algorithms by name."""

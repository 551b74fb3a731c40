"""What a command does, as a library call: from a table to a value with notes; no terminal."""

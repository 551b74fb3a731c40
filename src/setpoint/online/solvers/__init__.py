"""Where the threshold of a stream comes from, an algorithm a file."""

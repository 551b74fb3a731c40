"""Two classes: segments of one or two ordered cut-offs, solved exactly."""

def limit_of_constraint(c, counted, *, level, strict=False, fractional=False):
    return None

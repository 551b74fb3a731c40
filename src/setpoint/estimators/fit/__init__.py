"""How every fit opens and ends: checks, rows set apart, a rule decided on."""

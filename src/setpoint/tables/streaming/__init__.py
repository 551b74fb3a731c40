"""Tables read line by line, in constant memory, as features of a fixed width."""

"""Rules where the rows are: as SQL, as an expression for frames, as plain Python.

Each rule describes itself as :class:`~setpoint.rules.export.questions.Questions`, and each
module here writes those in one language: none of them knows the kinds of rules.
"""

"""Forecasts: what a learner says of the own kernel's accesses before the run, and its grading.

`accesses` names the accesses of a kernel, `figures` reads what was typed, `table` makes the table
to fill in, `judging` compares with the trace, `words` says by what rule a count comes about,
`tries` remembers what was tried, and `answer` is what comes back. The function that learners call
is in `exercises/forecast.py`.
"""

"""How a kernel is graded.

observe   the launches of an exercise, run and watched in the engine
grade     values, inputs, findings and counts against what the exercise asks
advice    the hint: what the counts say is wrong
verdict   the answer, a line per part
"""

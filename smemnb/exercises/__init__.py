"""Exercises and how they are graded: values first, then findings, then counts per line.

Start reading at `exercise`, which says what an exercise consists of and how to add one. `check`
grades a kernel (`grading/`: `observe` runs it in the engine, `grade` compares, `verdict` is the
answer). `progress` remembers, `registry` finds the exercises of `chapters/`.
"""

"""Exercises and how they are graded: values first, then findings, then counts per line.

Start reading at `exercise`, which says what an exercise consists of and how to add one; each is a
file of `chapters/`. `variants` makes the stub and the wrong answers out of the solution. `check`
grades a kernel: in `grading/`, `observe` runs it in the engine, `values` and `parts` compare, and
`verdict` is the answer. `registry` finds an exercise by its name, `progress` remembers what was
done.
"""

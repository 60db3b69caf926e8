"""Exercises and how they are graded: values first, then findings, then counts per line.

Start reading at `exercise`, which says what an exercise consists of and how to add one; each is a
file of `chapters/`. `variants` makes the stub and the wrong answers out of the solution. `check`
grades a kernel: `host_hooks` refuses what is none; then, in `grading/`, `observe` runs it in the
engine, `values` and `parts` compare, `fresh` says what the cases of a seed (`draw`) allow, and
`verdict` is the answer. `likeness` says how like the solution an answer is. `registry` finds an
exercise by its name, `progress` remembers what was done.
"""

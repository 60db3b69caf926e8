"""Planted faults: one-line changes of the package, and whether the tests see them.

    python -m tests.mutation --seed 1 --count 40 --jobs 16 --out faults.jsonl

`faults.py` finds the places and makes the changes, `choice.py` draws a seeded sample over all
rooms, `trial.py` runs the tests on a copy of the tree, nearest first, until one fails, and
`equivalents.py` names the changes that no test can see.
"""

"""What a call does, by what is called.

arguments      positional, named and starred arguments, and how parameters take them
constructors   builtins: tuple, range, enumerate, zip, slice, isinstance, hasattr ...
operator_functions   the functions of Python's `operator`
inner          functions defined inside a kernel, and lambdas
methods        methods of numbers and tuples
raising        raise, assert, and what Numba raises by itself
"""

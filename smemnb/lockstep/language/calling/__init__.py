"""What a call does, by what is called; `calls.py` looks for it in this order.

binding             positional, named and starred arguments, and how parameters take them
python_builtins     range, zip, tuple, isinstance ...; methods of numbers and tuples
operator_functions  the functions of Python's `operator`
ufuncs              NumPy's functions that write into an array
inner               functions defined inside a kernel, and lambdas
"""

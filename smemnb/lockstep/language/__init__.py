"""From a function's syntax tree to nested closures.

program           puts a function together and keeps it
scope             its names, file and types
pruning           what a constant closes is taken out first
assigned          variables that a thread may read before it assigned them
nodes             which function builds the closure of which kind of node
statements, loops, matching, raising
expressions, elements, calls
calling           what a call does, by what is called
mixed             None, texts, enums, dtypes, functions, of which lanes may have different ones;
                  operators on all values
iterables         what a `for` goes over: ranges, tuples, arrays, enumerate, zip
joined_types      the types of expressions of which only one side runs
index_arithmetic  operators and casts that feed an index, watched for values that do not fit
"""

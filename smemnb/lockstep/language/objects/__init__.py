"""Values that are no numbers.

mixed        None, texts, enums, dtypes, functions; where lanes have different ones
operators    operators by their symbol, for numbers and for everything else
iterables    what a `for` goes over: ranges, tuples, arrays, enumerate, zip
"""

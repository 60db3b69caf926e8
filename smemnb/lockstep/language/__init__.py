"""From a function's syntax tree to nested closures.

`program` puts a function together and keeps it; `scope` knows its names, file and types;
`statements`, `loops`, `expressions` and `calls` each build the closures of their kind of node.
"""

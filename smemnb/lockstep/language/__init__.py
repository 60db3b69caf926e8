"""From a function's syntax tree to nested closures.

`program` puts a function together and keeps it; `scope` knows its names, file and types;
`nodes` says which function builds the closure of which kind of node, in `statements`, `loops`,
`matching`, `expressions`, `elements`, `calls` or `calling/`.
"""

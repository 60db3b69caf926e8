"""Which function builds the closure of which type of syntax node.

A node that stands in neither table is refused (`Scope.statement`, `Scope.expression`). `widened`
casts a result to the type that Numba stores it in, where its operands do not decide it; operators
and calls that feed an index are watched by `index_arithmetic`, which builds on `expressions.binary`
and `calls.call`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import elements, expressions, index_arithmetic, loops, matching, raising, statements
from .calling import inner
from .joined_types import Side, widened
from .scope import Expression, Scope, Statement

STATEMENTS: dict[type[ast.stmt], Callable[[Scope, Any], Statement]] = {
    ast.Assign: statements.assign,
    ast.AnnAssign: statements.assign,
    ast.AugAssign: statements.augmented,
    ast.If: statements.if_statement,
    ast.For: statements.for_statement,
    ast.While: loops.while_loop,
    ast.Match: matching.match,
    ast.Break: statements.break_statement,
    ast.Continue: statements.continue_statement,
    ast.Return: statements.return_statement,
    ast.Raise: raising.raise_statement,
    ast.Assert: raising.assert_statement,
    ast.Expr: statements.expression_statement,
    ast.FunctionDef: inner.define,
    ast.Nonlocal: statements.nonlocal_statement,
    ast.Global: statements.nothing,
    ast.Pass: statements.nothing,
}

EXPRESSIONS: dict[type[ast.expr], Callable[[Scope, Any], Expression]] = {
    ast.Constant: expressions.literal,
    ast.Name: expressions.variable,
    ast.NamedExpr: expressions.named,
    ast.Attribute: expressions.attribute,
    ast.Subscript: elements.subscript,
    ast.Tuple: expressions.tuple_display,
    ast.BinOp: index_arithmetic.binary,
    ast.UnaryOp: widened(expressions.unary),
    ast.Compare: expressions.compare,
    ast.BoolOp: expressions.bool_op,
    ast.IfExp: expressions.conditional,
    ast.Call: index_arithmetic.call,
    ast.Lambda: inner.lambda_function,
    Side: expressions.side,
}

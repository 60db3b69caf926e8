"""The engine's tables hold the same, in whatever order its modules are imported."""

import ast
import inspect

import import_order
import pytest

from smemnb.lockstep.language import nodes
from smemnb.lockstep.tables import union

TABLES = {
    "smemnb.lockstep.language.nodes:STATEMENTS": 17,
    "smemnb.lockstep.language.nodes:EXPRESSIONS": 14,
    "smemnb.lockstep.intrinsics.names:IMPLEMENTATIONS": None,
    "smemnb.lockstep.memory.attributes:FUNCTIONS": None,
}


@pytest.mark.first(2)
@pytest.mark.parametrize("order", ["reversed", "shuffled"])
@pytest.mark.parametrize("table", TABLES)
def test_no_import_order_changes_a_table(table, order):
    here = import_order.contents(table)
    assert len(here) == (TABLES[table] or len(here))
    names = import_order.orders("smemnb.lockstep.language")[order]
    assert import_order.contents_after("smemnb.lockstep", names, table) == here


def test_a_name_in_two_tables_is_refused():
    with pytest.raises(ValueError, match="clz"):
        union({"clz": 1, "ffs": 2}, {"popc": 3, "clz": 1})


def test_no_type_of_node_stands_twice_in_a_table():
    """A dict display keeps the last of two equal keys without a word, so the source is read."""
    tables = [
        [ast.unparse(key) for key in node.value.keys]
        for node in ast.parse(inspect.getsource(nodes)).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict)
    ]
    assert [len(keys) for keys in tables] == [len(set(keys)) for keys in tables] == [17, 14]

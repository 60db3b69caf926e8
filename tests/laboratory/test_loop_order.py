"""The shipped order of loops: what stands between a load and its store, and which loop is taken."""

from types import SimpleNamespace

import pytest

from smemnb.laboratory.loop_order import LoopOrder, loop_orders, outermost


@pytest.mark.parametrize(
    "runs, between",
    [
        ([("LDG", 2), ("STS", 2), ("FFMA", 8), ("BAR", 1)], 0),
        ([("LDG", 2), ("FFMA", 8), ("STS", 2), ("FFMA", 5), ("BAR", 1)], 8),
        ([("LDG", 1), ("FFMA", 3), ("LDG", 1), ("LDS", 1), ("FFMA", 4), ("STS", 2)], 4),
    ],
)
def test_between(runs, between):
    """Multiply-adds from the last load on, up to the first store after it."""
    assert LoopOrder(1, 0, tuple(runs)).between == between


def test_outermost():
    """The loop that holds the other one; a loop without multiply-adds does not count."""
    code = [
        SimpleNamespace(address=16 * at, name=name, operands=operands)
        for at, (name, operands) in enumerate(
            [
                *(("LDG", ""), ("LDS", ""), ("FFMA", ""), ("BRA", "`(0x10)"), ("BAR.SYNC", "")),
                *(("BRA", "`(0x0)"), ("STG", ""), ("STG", ""), ("BRA", "`(0x60)"), ("EXIT", "")),
            ]
        )
    ]
    assert next(one.name for one in outermost(code)) == "LDG"
    assert len(outermost(code)) == 6


def test_shipped():
    """All products of a tile of depth 8 stand in the loops: 8 x 8 or 16 x 8 per thread."""
    found = loop_orders()
    assert {name: one.count("FFMA") for name, one in found.items() if name[:6] == "matmul"} == {
        "matmul_wide": 8 * 8 * 8,
        "matmul_prefetched": 8 * 8 * 8,
        "matmul_overlapped": 8 * 16 * 8,
        "matmul_fastest": 8 * 16 * 8,
    }
    assert {name: one.shared_bytes for name, one in found.items()} == {
        "one_buffer": 2 * 16 * 16 * 4,
        "ahead_early": 4 * 16 * 16 * 4,
        "ahead": 4 * 16 * 16 * 4,
        "matmul_wide": 8 * (132 + 128) * 4,
        "matmul_prefetched": 2 * 8 * (132 + 128) * 4,
        "matmul_overlapped": 2 * 8 * (132 + 128) * 4,
        "matmul_fastest": 2 * 8 * (132 + 128) * 4,
    }

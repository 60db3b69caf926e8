"""The rules in the page are those of `smemnb.rules` and of Python; by node, where it is."""

import ast
import random

import numpy as np

from smemnb.figures.explorer.state import state
from smemnb.rules.layout import Padded, Rotated, RowMajor, Swizzle, Xor, XorChunks
from tests.facts import facts
from tests.figures.explorer.javascript import (
    expected,
    hardware_requests,
    in_node,
    needs_node,
    packed,
    random_requests,
)

pytestmark = needs_node
NAMES = {"lane": 13, "tx": 5, "ty": 2, "row": 2, "col": 5, "stride": 33}


def test_random_requests():
    """Wavefronts, ideal, ways and multicast; and the last lane is served in the last wavefront."""
    requests = random_requests(10_000, seed=1)
    got = in_node("counts", packed(*requests))
    assert [counts[:4] for counts in got] == expected(*requests)
    last = [
        counts[0] - (counts[0] > 0 and kind == 4)
        for counts, kind in zip(got, requests[3], strict=True)
    ]
    assert [counts[4] for counts in got] == last


def test_hardware():
    """All 156 readings of loads, stores and integer atomics."""
    requests, wavefronts = hardware_requests()
    assert [counts[0] for counts in in_node("counts", packed(*requests))] == wavefronts
    assert len(wavefronts) == 156


LAYOUTS = [
    RowMajor(32, 32),
    RowMajor(5, 7, 8),
    Padded(32, 32),
    Padded(16, 40, 2, pad_elems=6),
    Xor(32, 32),
    Xor(64, 96),
    Xor(32, 8),
    XorChunks(32, 32),
    XorChunks(16, 16, 2),
    XorChunks(40, 128, 1),
    XorChunks(8, 2, 8),
    Rotated(32, 32),
    Rotated(16, 64),
    Rotated(33, 12),
    Swizzle(32, 32, bits=5, base=0, shift=5),
    Swizzle(64, 64, 2, bits=3, base=3, shift=3),
]


def test_layouts():
    """Every element lies where `rules.layout` keeps it."""
    tiles = [state(layout)["tile"] for layout in LAYOUTS]
    for layout, got in zip(LAYOUTS, in_node("offsets", {"tiles": tiles}), strict=True):
        row, col = np.indices(layout.shape)
        assert (layout, got) == (layout, layout.offset(row, col).tolist())
    assert in_node("misfits", {"tiles": tiles}) == [""] * len(LAYOUTS)


def test_swizzles_that_do_not_fit():
    """What `rules.layout` refuses is refused in the page, with its numbers."""
    cases = [
        ({"cols": 33, "swizzle": "xor"}, {"33", "32"}),
        ({"cols": 3, "swizzle": "xor_chunks"}, {"12", "16"}),
        ({"cols": 48, "swizzle": "xor_chunks"}, {"12", "8"}),
        ({"cols": 33, "swizzle": "rotated"}, {"33", "32"}),
        ({"swizzle": "bits", "bits": 5, "shift": 4}, {"4", "5"}),
        ({"cols": 33, "rows": 3, "swizzle": "bits", "bits": 2, "shift": 2}, {"99", "4"}),
    ]
    tiles = [{**state(RowMajor(32, 32))["tile"], **changes} for changes, _ in cases]
    said = in_node("misfits", {"tiles": tiles})
    assert [numbers & set(facts(one)) for one, (_, numbers) in zip(said, cases, strict=True)] == [
        numbers for _, numbers in cases
    ]


def value(node, most):
    """The value of an index as Python has it; `most` collects how large numbers become."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return NAMES[node.id]
    if isinstance(node, ast.UnaryOp):
        operand = value(node.operand, most)
        return {ast.USub: -operand, ast.UAdd: operand, ast.Invert: ~operand}[type(node.op)]
    left, right = value(node.left, most), value(node.right, most)
    if isinstance(node.op, ast.LShift) and right > 80:
        raise OverflowError
    binary = ast.BinOp(ast.Constant(left), node.op, ast.Constant(right))
    found = eval(compile(ast.fix_missing_locations(ast.Expression(binary)), "", "eval"))
    most.append(abs(found))
    return found


def made_up(rng, depth=0):
    """An index made up at random, in any spacing and with brackets that need not be."""
    if depth > 4 or rng.random() < 0.25:
        return rng.choice([*NAMES, *map(str, (0, 1, 2, 3, 7, 31, 32, 33, 1000)), "0x1F", "0b101"])
    kind = rng.random()
    if kind < 0.12:
        return rng.choice("-+~") + made_up(rng, depth + 1)
    if kind < 0.35:
        return f"({made_up(rng, depth + 1)})"
    op = rng.choice(["+", "-", "*", "//", "%", "^", "&", "|", "<<", ">>"])
    space = rng.choice(["", " ", "  "])
    return f"{made_up(rng, depth + 1)}{space}{op}{space}{made_up(rng, depth + 1)}"


def test_expressions():
    """2,000 indices have Python's value, or are refused where Python refuses or numbers explode."""
    rng = random.Random(3)
    texts = [made_up(rng) for _ in range(2000)]
    refused = 0
    for text, got in zip(texts, in_node("values", {"texts": texts, "names": NAMES}), strict=True):
        most = [0]
        try:
            want = [str(value(ast.parse(text, mode="eval").body, most))]
        except (ZeroDivisionError, ValueError, OverflowError):
            want = None
        if want is None or max(most) > 2**79:
            refused += isinstance(got, str)
            assert want is None or isinstance(got, str) or got == want
        else:
            assert (text, got) == (text, want)
    assert refused > 100


def test_subscripts():
    """One or two, bare or as they stand in a kernel; Python's precedence and rounding."""
    cases = [
        ("tile[tx, ty]", ["5", "2"]),
        ("tx, ty ^ tx", ["5", "7"]),
        ("  a_tile [ ( lane ) ]  ", ["13"]),
        ("-7 // 2", ["-4"]),
        ("-7 % 3", ["2"]),
        ("7 % -3", ["-2"]),
        ("1 | 2 ^ 3 & 4 << 1 + 1", ["3"]),
        ("2 - 3 - 4", ["-5"]),
    ]
    texts = [text for text, _ in cases]
    assert in_node("values", {"texts": texts, "names": NAMES}) == [values for _, values in cases]


def test_what_is_no_index():
    """Everything else is refused in words: nothing is ever evaluated as a program."""
    texts = [
        "",
        "lane /2",
        "lane ** 2",
        "lane.real",
        "lane()",
        "alert(1)",
        "constructor",
        "__proto__",
        "lane; 1",
        "`1`",
        "1, 2, 3",
        "tile[1",
        "(1",
        "1)",
        "1 2",
        "1 << 100",
        "1 << -1",
        "9 // 0",
        "9 % (1 - 1)",
        "1.5",
        "010",
        "lane if 1 else 2",
        "(" * 60 + "1" + ")" * 60,
        "1" * 300,
    ]
    said = in_node("values", {"texts": texts, "names": NAMES})
    assert [text for text, one in zip(texts, said, strict=True) if not isinstance(one, str)] == []
    assert "" not in said


ACCESS = {"kind": "load", "index": "lane * stride", "stride": 32, "vector": 1, "ty": 0, "lanes": 32}


def test_requests_of_a_readers_own():
    """The summary's three numbers, or the numbers of a problem."""
    cases = [
        ({}, {}, "32 32 31"),
        ({"pad": 1}, {}, "1 1 0"),
        ({"swizzle": "xor"}, {"index": "tile[tx, ty]", "ty": 7}, "1 1 0"),
        ({}, {"index": "lane // 2"}, "1 1 0"),
        ({}, {"index": "lane * stride", "stride": 6}, "2 2 1"),
        ({}, {"lanes": 5}, "5 5 4"),
        ({"itemsize": 8}, {"index": "lane"}, "1 2 0"),
        ({"itemsize": 1}, {"index": "lane"}, "1 1 0"),
        ({"itemsize": 2, "pad": 2}, {}, "1 1 0"),
        ({}, {"index": "lane * 4", "vector": 4}, "1 4 0"),
        ({"pad": 4}, {"vector": 4}, "1 4 0"),
        ({"swizzle": "xor_chunks"}, {"vector": 4}, "1 4 0"),
        ({}, {"vector": 4, "kind": "store"}, "8 32 28"),
        # problems
        ({"pad": 1}, {"vector": 4}, "1 16 132 16"),
        ({"swizzle": "xor"}, {"index": "lane * 4", "vector": 4}, "4 8"),
        ({"cols": 33, "swizzle": "xor"}, {}, "33 32"),
        ({}, {"index": "lane - 3"}, "0 -3 0"),
        ({}, {"index": "lane << 30"}, "1 1073741824"),
    ]
    requests = [
        {"tile": {**state()["tile"], **tile}, "access": {**ACCESS, **access}}
        for tile, access, _ in cases
    ]
    said = in_node("typed", {"requests": requests})
    assert [facts(one) for one in said] == [facts(numbers) for *_, numbers in cases]

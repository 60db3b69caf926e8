"""Plans: what is measured without further wishes, and with them."""

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure.bench.case import CHOICE, LADDERS, Case, plan, shape
from smemnb.measure.bench.contenders import launch, stand_ins

TRANSPOSED = [
    ((16384, 16384), 4),
    ((8192, 8192), 4),
    ((4096, 16384), 4),
    ((16383, 16381), 4),
    ((8192, 8192), 1),
    ((16384, 8192), 2),
    ((8192, 8192), 8),
    ((8192, 8192), 16),
]
MULTIPLIED = [
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (2048, 2048, 2048),
    (1024, 1024, 1024),
    (4095, 4097, 4099),
    (8192, 1024, 8192),
    (1024, 8192, 8192),
]


def test_everything():
    """The published shapes, the choice at each, every rung at the first of each operation."""
    cases = plan(["transpose", "matmul"])
    transposes = [case for case in cases if case.operation == "transpose"]
    products = [case for case in cases if case.operation == "matmul"]
    assert set(TRANSPOSED) <= {(case.shape, case.itemsize) for case in transposes}
    assert set(MULTIPLIED) <= {case.shape for case in products}
    assert all(case.rungs[-1] == CHOICE for case in cases)
    for ladder, (first, *others) in (
        (LADDERS["transpose"], transposes),
        (LADDERS["matmul"], products),
    ):
        assert first.rungs == (*ladder, CHOICE)
        assert {case.rungs for case in others} == {(CHOICE,)}


def test_quick_is_one_shape_each():
    """The ladder, at one shape."""
    cases = plan(["transpose", "matmul"], quick=True)
    assert [case.operation for case in cases] == ["transpose", "matmul"]
    assert cases[0].rungs == (*LADDERS["transpose"], CHOICE)


def test_sizes_and_itemsizes():
    """Each size with each size of elements; rungs of float32 only where elements have 4 bytes."""
    cases = plan(["transpose"], sizes=["64x32", "40"], itemsizes=[2, 4])
    assert [(case.shape, case.itemsize) for case in cases] == [
        ((64, 32), 2),
        ((64, 32), 4),
        ((40, 40), 2),
        ((40, 40), 4),
    ]
    assert [len(case.rungs) for case in cases] == [1, len(LADDERS["transpose"]) + 1, 1, 1]
    (doubles,) = plan(["transpose"], sizes=["64"], itemsizes=[8], rungs=["all"])
    assert doubles.rungs == (CHOICE,)


@pytest.mark.parametrize(
    ("rungs", "found"),
    [
        (["transpose_tiled"], ("transpose_tiled",)),
        (
            ["fastest", "transpose_padded", "transpose_naive"],
            ("transpose_naive", "transpose_padded", CHOICE),
        ),
        (["all"], (*LADDERS["transpose"], CHOICE)),
        (["fastest"], (CHOICE,)),
    ],
)
def test_rungs(rungs, found):
    """Wished rungs at every shape, in the order of the ladder."""
    cases = plan(["transpose"], sizes=["64", "40"], rungs=rungs)
    assert [case.rungs for case in cases] == [found, found]


def test_one_operations_rungs_leave_the_choice_to_the_other():
    """A rung of transposes, asked for with both operations: products have their choice."""
    cases = plan(["transpose", "matmul"], sizes=["64"], rungs=["transpose_tiled"])
    assert cases == (
        Case("transpose", (64, 64), rungs=("transpose_tiled",)),
        Case("matmul", (64, 64, 64)),
    )


def test_tried_out(tmp_path):
    """Rungs of a file come after the others, for float32; each has a name with its file."""
    path = tmp_path / "mine.py"
    path.write_text(
        "from smemnb.kernels.rung import Rung\n"
        "from smemnb.kernels.transpose import transpose_naive\n"
        "RUNGS = {'transpose': [Rung(transpose_naive, 'blocks of 16x16', (16, 16), (16, 16))],\n"
        "         ('transpose', 2): [Rung(transpose_naive, 'halves', (8, 8), (8, 8))]}\n"
    )
    cases = plan(["transpose", "matmul"], sizes=["40"], rungs=["fastest"], also=str(path))
    name = f"{path}:transpose_naive"
    assert [case.rungs for case in cases] == [(CHOICE, name), (CHOICE,)]
    made = launch(cases[0], name, stand_ins(cases[0]))
    assert (made.name, made.grid, made.block) == ("transpose_naive", (3, 3), (16, 16))
    (halves, octets) = plan(["transpose"], sizes=["40"], itemsizes=[2, 1], also=str(path))
    assert (halves.rungs, octets.rungs) == ((CHOICE, name), (CHOICE,))
    assert launch(halves, name, stand_ins(halves)).block == (8, 8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no such file"),
        ("RUNGS = 3", "it needs RUNGS = "),
        ("", "it needs RUNGS = "),
        ("RUNGS = {'transpose': [3]}", "it needs RUNGS = "),
        ("RUNGS = {'sort': []}", "it needs RUNGS = "),
        ("RUNGS = {('transpose', 3): []}", "it needs RUNGS = "),
    ],
)
def test_bad_files_of_rungs(tmp_path, text, said):
    """A file without rungs is refused with what it should hold."""
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SmemnbError, match=said):
        plan(["transpose"], also=str(path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"sizes": ["64x"]}, "--sizes 64x: a size of a transpose is 4096 or 4096x16384"),
        ({"sizes": ["0"]}, "--sizes 0: a size"),
        ({"sizes": ["-4x4"]}, "--sizes -4x4: a size"),
        ({"sizes": ["4x4x4"]}, "--sizes 4x4x4: a size"),
        ({"sizes": ["64"], "itemsizes": [3]}, "--itemsizes 3: elements have 1, 2, 4, 8 or 16"),
        ({"itemsizes": [2]}, "--itemsizes goes with --sizes"),
        ({"rungs": ["tiled"]}, "--rungs tiled: no rung has this name; known are all, fastest"),
        ({"rungs": ["matmul_tiled"]}, "no rung has this name"),
    ],
)
def test_refused(words, said):
    """What is not a size, an element or a rung of these operations is named."""
    with pytest.raises(SmemnbError) as caught:
        plan(["transpose"], **words)
    assert said in str(caught.value)


def test_shape_of_a_product():
    """Three extents or one."""
    assert shape("4095x4097x4099", "matmul") == (4095, 4097, 4099)
    with pytest.raises(SmemnbError, match="rows, columns, depth"):
        shape("4096x16384", "matmul")

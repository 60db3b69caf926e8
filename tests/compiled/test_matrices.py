"""Matrices and products in machine code: values by hand, counts, and whole kernels as compiled."""

import numpy as np
import pytest

from smemnb.compiled.warps.run import NotDetermined
from smemnb.laboratory.corpus import case_named
from smemnb.measure.verify.machine_code import totals
from smemnb.measure.verify.predicted import counts, traced
from smemnb.rules import tensor_core
from tests.compiled.programs import launch, needs_machine_code, registers

LANE = np.arange(32)

# lane i stores row i: the words 4 i ... 4 i + 3
ROWS = """
    S2R R2, SR_TID.X
    IMAD R3, R2, 0x10, RZ
    IMAD R4, R2, 0x4, RZ
    IADD3 R5, R4, 0x1, RZ
    IADD3 R6, R4, 0x2, RZ
    IADD3 R7, R4, 0x3, RZ
    STS.128 [R3], R4
"""


def lanes(text, **how):
    """R0 of each lane."""
    return np.array(launch(text, **how)[1], np.uint32)


def site(found, name):
    """Counts of the one instruction of this name."""
    (one,) = (one for one in found.sites if one.located.name.startswith(name))
    return one.counts["shared"]


@pytest.mark.parametrize("matrix", range(4))
def test_rows(matrix):
    """Lane i gets word i % 4 of row i // 4 of each matrix: 32 matrix + i."""
    text = f"{ROWS}\nLDSM.16.M88.4 R8, [R3]\nMOV R0, R{8 + matrix}"
    np.testing.assert_array_equal(lanes(text), 32 * matrix + LANE)
    found, _ = launch(text)
    counted = site(found, "LDSM")
    assert (counted["executed"], counted["wavefronts"], counted["lanes"]) == (1, 4, 32)


@pytest.mark.parametrize("matrix", range(2))
def test_turned(matrix):
    """Lane i gets the halves of column i // 4 in rows 2 (i % 4) and the next one."""
    text = f"{ROWS}\nLDSM.16.MT88.2 R8, [R3]\nMOV R0, R{8 + matrix}"
    col, row = LANE // 4, 8 * matrix + 2 * (LANE % 4)
    halves = [np.where(col % 2, 0, 4 * one + col // 2) for one in (row, row + 1)]
    np.testing.assert_array_equal(lanes(text), halves[0] | halves[1] << 16)
    assert site(launch(text)[0], "LDSM")["wavefronts"] == 2


@pytest.mark.parametrize(
    ("form", "wavefronts"), [("16.M88.4", 4), ("16.M88.2", 2), ("16.M88", 1), ("16.MT88", 1)]
)
def test_the_way_back(form, wavefronts):
    """What LDSM read, STSM puts 512 bytes further on, where lane i finds word i again."""
    text = f"""{ROWS}
        LDSM.{form} R8, [R3]
        STSM.{form} [R3+0x200], R8
        IMAD R10, R2, 0x4, RZ
        LDS R0, [R10+0x200]"""
    np.testing.assert_array_equal(lanes(text), LANE)
    assert site(launch(text)[0], "STSM")["wavefronts"] == wavefronts


def test_rows_in_the_same_banks():
    """Rows 32 bytes apart: two of them meet, in each of four matrices."""
    text = f"{ROWS}\nIMAD R3, R2, 0x20, RZ\nLDSM.16.M88.4 R8, [R3]"
    counted = site(launch(text)[0], "LDSM")
    assert (counted["wavefronts"], counted["ideal"], counted["ways"]) == (8, 4, 2)


def test_one_row_for_all():
    """A load of 16 bytes would take two wavefronts; matrices are served one after the other."""
    counted = site(launch(f"{ROWS}\nLDSM.16.M88.4 R8, [RZ]")[0], "LDSM")
    assert (counted["wavefronts"], counted["ideal"], counted["ways"]) == (4, 4, 1)


ONES = {"f16": 0x3C003C00, "bf16": 0x3F803F80, "tf32": 0x3F800000, "s8": 0x01010101}


@pytest.mark.parametrize(
    ("name", "kind", "d"),
    [
        ("HMMA.16816.F32", "f16", np.float32(16 + 1).view(np.uint32)),
        ("HMMA.1688.F32.BF16", "bf16", np.float32(8 + 1).view(np.uint32)),
        ("HMMA.1688.F32.TF32", "tf32", np.float32(8 + 1).view(np.uint32)),
        ("HMMA.1684.F32.TF32", "tf32", np.float32(4 + 1).view(np.uint32)),
        ("HMMA.16816.F16", "f16", 0x4C404C40),  # 17 twice
        ("IMMA.16832.S8.S8", "s8", 32 + 1),
        ("IMMA.16816.U8.U8", "s8", 16 + 1),
    ],
)
def test_products_of_ones(name, kind, d):
    """k ones and the accumulator, 1, in every lane."""
    one = 0x3C003C00 if name.endswith(".F16") else 1 if kind == "s8" else 0x3F800000
    given = {f"R{number}": ONES[kind] for number in range(4, 12)}
    given |= {f"R{number}": one for number in range(12, 16)}
    layout = (".ROW", ".COL") if name.startswith("IMMA") else ("", "")
    text = f"{registers(**given)}\n{name} R0, R4{layout[0]}, R8{layout[1]}, R12"
    assert set(lanes(text).tolist()) == {int(d)}


def test_product_of_each_lane():
    """float16 numbers of their own in each lane: d of lane i where the rule says that it stands."""
    text = """
        S2R R2, SR_TID.X
        MOV R4, R2
        MOV R5, RZ
        MOV R6, RZ
        IADD3 R7, R2, 0x100, RZ
        MOV R8, 0x3c000001
        MOV R9, R2
        HMMA.16816.F32 R0, R4, R8, RZ"""
    a, b = np.zeros((16, 16), np.uint16), np.zeros((16, 8), np.uint16)
    row, col = tensor_core.places_of_a(16, 2)
    words = np.stack([LANE, LANE * 0, LANE * 0, LANE + 0x100]).astype(np.uint32)
    a[row, col] = words[..., None].view(np.uint16)
    row, col = tensor_core.places_of_b(16, 2)
    words = np.stack([LANE * 0 + 0x3C000001, LANE]).astype(np.uint32)
    b[row, col] = words[..., None].view(np.uint16)
    d = tensor_core.multiplied(a, b, np.zeros((16, 8), np.float32), kind="f16")
    row, col = tensor_core.places_of_c()
    np.testing.assert_array_equal(lanes(text).view(np.float32), d[row[0, :, 0], col[0, :, 0]])
    assert len(set(d.ravel())) > 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{ROWS}\nISETP.LT.AND P0, PT, R2, 0x8, PT\n@P0 LDSM.16.M88 R8, [R3]", "some of its"),
        ("LDSM.U8.M88 R8, [RZ]", "modifier .U8"),
        ("MOV R3, 0x8\nLDSM.16.M88 R8, [R3]", "no multiple of 16"),
        ("HMMA.884.F32 R0, R4, R2, R8", "form of HMMA.884.F32"),
        ("IMMA.16832.S8.U8 R0, R4, R2, R8", "form of IMMA.16832.S8.U8"),
    ],
)
def test_unknown_is_refused(text, said):
    """With what it is that is not known."""
    with pytest.raises(NotDetermined, match=said):
        launch(text)


@needs_machine_code
@pytest.mark.parametrize(
    "name",
    [
        "ldmatrix_x4 fragment, rows of 128 bytes",
        "ldmatrix_x4_trans pairs (i, i ^ 1)",
        "ldmatrix_x1 scattered",
        "stmatrix_x2 rows 128 bytes apart",
    ],
)
def test_as_compiled(name):
    """The machine code's counts of matrices are the source's, as each call is one instruction."""
    trace = traced(case_named(name))
    source, made = counts(trace), totals(trace)
    assert {count: made[count] for count in source if count in made} == source

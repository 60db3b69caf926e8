"""Loads, stores and atomics of hand-written machine code: values, widths, memories, counts."""

import numpy as np
import pytest

from tests.compiled.programs import launch, registers, value

OUT = "LDC.64 R22, c[0x0][0x230]\n"
WORDS = registers(R1=0x400, R2=0x8180FF7F) + "\nSTS [R1], R2\n"


def counts(found, name):
    """The counts of the one instruction of this name."""
    (site,) = (site for site in found.sites if site.located.name == name)
    ((space, held),) = site.counts.items()
    return space, held


@pytest.mark.parametrize(("text", "expected"), [
    ("LDS.U8 R0, [R1+0x3]", 0x81),
    ("LDS.S8 R0, [R1+0x3]", 0xFFFFFF81),
    ("LDS.U16 R0, [R1+0x2]", 0x8180),
    ("LDS.S16 R0, [R1+0x2]", 0xFFFF8180),
    ("UMOV UR4, 0x2\nLDS.U8 R0, [R1+UR4+-0x1]", 0xFF),
    ("STS.U8 [R1+0x1], RZ\nLDS R0, [R1]", 0x8180007F),
    ("LDC.U16 R0, c[0x0][0x2]", 0),
    ("MOV R3, 0x4\nLDC R0, c[0x0][R3+-0x4]", 32),
    ("S2R R5, SR_SWINHI\nMOV R4, R1\nLD.E R0, desc[UR4][R4.64]", 0x8180FF7F),
])  # fmt: skip
def test_value(text, expected):
    """Shared memory holds 7f ff 80 81, lowest byte first; 32 threads are a block's extent."""
    assert value(WORDS + text) == expected


def test_four_words_at_once():
    """A vector of 16 bytes fills four neighbouring registers."""
    program = (
        registers(R1=0x400, R4=1, R5=2, R6=3, R7=4)
        + """
        STS.128 [R1], R4
        LDS.128 R8, [R1]
        IMAD R0, R8, 0x3e8, R9
        IMAD R0, R10, 0x64, R0
        IMAD R0, R11, 0xa, R0"""
    )
    assert value(program) == 1000 + 2 + 300 + 40


def test_atomic_with_result():
    """Lanes add 1, 2, ... 32 to one cell, in order of number: each finds the sum before it."""
    found, out = launch("""
        S2R R20, SR_LANEID
        IADD3 R5, R20, 0x1, RZ
        MOV R1, 0x400
        STS [R1], RZ
        ATOMS.ADD R0, [R1], R5""")
    assert out == [n * (n + 1) // 2 for n in range(32)]
    assert counts(found, "ATOMS.ADD")[1]["wavefronts"] == 32


def test_reduction():
    """Without a result an atomic of global memory is a reduction; ten lanes are one sector."""
    found, out = launch(
        OUT
        + """
        S2R R20, SR_LANEID
        ISETP.GE.AND P0, PT, R20, 0xa, PT
        @!P0 REDG.E.ADD.STRONG.GPU desc[UR4][R22.64], R20
        LDG.E R0, desc[UR4][R22.64]"""
    )
    assert out == [0xDEAD + 45] * 32
    space, held = counts(found, "REDG.E.ADD.STRONG.GPU")
    assert (space, held["lanes"], held["sectors"]) == ("global", 10, 1)


def test_swap_that_says_whether():
    """CAST.SPIN gives 1 to the lane that swapped; the loop goes round once per lane."""
    found, out = launch("""
        MOV R1, 0x400
        STS [R1], RZ
        BSSY B0, `(after)
        again:
        LDS R6, [R1]
        IADD3 R7, R6, 0x1, RZ
        ATOMS.CAST.SPIN R7, [R1], R6, R7
        ISETP.EQ.U32.AND P1, PT, R7, 0x1, PT
        @!P1 BRA `(again)
        BSYNC B0
        after:
        LDS R0, [R1]""")
    assert out == [32] * 32
    assert counts(found, "ATOMS.CAST.SPIN")[1]["executed"] == 32


def test_local_memory_is_a_threads_own():
    """What a lane stores on its stack no other lane sees."""
    program = """
        LDC R1, c[0x0][0x28]
        IADD3 R1, R1, -0x10, RZ
        S2R R20, SR_LANEID
        STL [R1+0x4], R20
        LDL R0, [R1+0x4]"""
    assert launch(program, stack_bytes=16)[1] == list(range(32))


def test_sectors_of_both_widths():
    """16 places at a stride of 8 bytes: 4 sectors, whether 4 bytes or 8 are loaded."""
    found, _ = launch(
        OUT
        + """
        S2R R20, SR_LANEID
        LOP3.LUT R20, R20, 0xf, RZ, 0xc0, !PT
        IMAD.WIDE R22, R20, 0x8, R22
        LDG.E R4, desc[UR4][R22.64]
        LDG.E.64 R6, desc[UR4][R22.64]"""
    )
    loads = {s.located.name: s.counts["global"]["sectors"] for s in found.sites if s.kind == "load"}
    assert loads == {"LDG.E": 4, "LDG.E.64": 4}


def test_views_keep_their_distance():
    """Two views of one array: the second begins where the first one's element 8 is."""
    from smemnb.compiled.image import Image, Parameter
    from smemnb.compiled.warps.parameters import Snapshot

    whole = np.arange(16, dtype=np.int32)
    kept = Snapshot((whole, whole[8:], np.float32(1.5)))
    image = Image(
        "k", (*[Parameter(8 * n, 8) for n in range(14)], Parameter(112, 4)), 0x210, 0, 0, 0, {}
    )
    words = np.frombuffer(kept.parameters(image, ("a", "a", "float32")), np.int64, 14)
    assert words[11] - words[4] == 32
    assert words[:4].tolist() == [0, 0, 16, 4] and words[5:7].tolist() == [16, 4]


COPY = (
    OUT
    + """
        S2R R20, SR_LANEID
        LDC.64 R2, c[0x0][0x230]
        IMAD.WIDE R2, R20, 0x10, R2
        MOV R1, 0x400
        IMAD R1, R20, 0x10, R1
        MOV R30, 0x7
        STG.E desc[UR4][R2.64], R30
        STG.E desc[UR4][R2.64+0x4], R30
        STG.E desc[UR4][R2.64+0x8], R30
        STG.E desc[UR4][R2.64+0xc], R30
"""
)


def copied(text):
    """LDGSTS of 8 lanes: counts of both sides, and the sum of the 16 bytes that came."""
    program = (
        COPY
        + text
        + """
        LDGDEPBAR
        DEPBAR.LE SB0, 0x0
        LDS.128 R8, [R1]
        IADD3 R0, R8, R9, RZ
        IADD3 R0, R0, R10, RZ
        IADD3 R0, R0, R11, RZ"""
    )
    found, out = launch(program, threads=8, blocks=4)
    sides = {}
    for site in found.sites:
        if site.located.name.startswith("LDGSTS"):
            sides[site.kind] = site.counts
    return sides["load"]["global"], sides["store"]["shared"], out[:8]


ZERO = "STS.128 [R1], RZ\nISETP.LT.U32.AND P0, PT, R20, 0x2, PT\n"


@pytest.mark.parametrize(("text", "sectors", "read", "wavefronts", "sums"), [
    ("LDGSTS.E [R1], desc[UR4][R2.64]", 4, 8, 1, [7] * 8),
    ("LDGSTS.E.64 [R1], desc[UR4][R2.64]", 4, 8, 1, [14] * 8),
    ("LDGSTS.E.128 [R1], desc[UR4][R2.64]", 4, 8, 1, [28] * 8),
    ("LDGSTS.E.BYPASS.128 [R1], desc[UR4][R2.64]", 4, 8, 0, [28] * 8),
    ("LDGSTS.E.BYPASS.LTC128B.128 [R1], desc[UR4][R2.64], P0", 1, 2, 1, [28] * 2 + [0] * 6),
    ("LDGSTS.E.128 [R1], desc[UR4][R2.64], !P0", 3, 6, 2, [0] * 2 + [28] * 6),
    ("@P0 LDGSTS.E.128 [R1], desc[UR4][R2.64]", 1, 2, 1, [28] * 2 + [0] * 6),
])  # fmt: skip
def test_copy(text, sectors, read, wavefronts, sums):
    """Eight lanes 16 bytes apart, with banks of their own: zeros go apart, and past L1 alone."""
    load, store, out = copied(ZERO + text)
    assert (load["sectors"], load["lanes"]) == (4 * sectors, 4 * read)
    assert store["wavefronts"] == 4 * wavefronts
    assert store["lanes"] == (8 if text.startswith("@") else 32)
    assert out == sums


def test_copy_of_some_bytes():
    """.ZFILL: the lower bits of the address are the bytes at the end that are zeros."""
    text = "IADD3 R2, R2, 0x8, RZ\nLDGSTS.E.BYPASS.128.ZFILL [R1], desc[UR4][R2.64], !PT"
    assert copied(ZERO + text.replace("!PT", "PT"))[2] == [14] * 8
    assert copied(ZERO + text)[2] == [0] * 8

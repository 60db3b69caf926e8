"""What machine instructions do: hand-written code, values by hand or by Python's own ints."""

import numpy as np
import pytest

from smemnb.compiled.warps.run import NotDetermined
from tests.compiled.programs import launch, registers, value


@pytest.mark.parametrize(
    ("a", "b"), [(5, 7), (7, 5), (5, 5), (0, 0), (0xFFFFFFFF, 1), (1 << 31, 1 << 31)]
)
def test_wide_difference(a, b):
    """A 64-bit difference of two words: a carry out of a - b says that nothing was borrowed."""
    program = (
        registers(R2=a, R3=b)
        + """
        IADD3 R4, P0, R2, -R3, RZ
        IADD3.X R0, RZ, ~RZ, RZ, P0, !PT"""
    )
    assert value(program) == (a - b) >> 32 & 0xFFFFFFFF


@pytest.mark.parametrize("text, expected", [
    ("IADD3 R0, R2, R3, -0x1", 0x80000005 + 7 - 1),
    ("IMAD R0, R2, R3, R4", (0x80000005 * 7 + 100) % 2**32),
    ("IMAD.WIDE.U32 R0, R2, R3, RZ", 0x80000005 * 7 % 2**32),
    ("IMAD.HI.U32 R0, R2, R3, RZ", 0x80000005 * 7 >> 32),
    ("IMAD.MOV R0, RZ, RZ, -R3", 2**32 - 7),
    ("LEA R0, R3, R4, 0x3", 7 * 8 + 100),
    ("LEA.HI R0, R2, R4, RZ, 0x5", (0x80000005 >> 27) + 100),
    ("LEA.HI.SX32 R0, R2, R4, 0x1", (0xFFFFFFFF + 100) % 2**32),
    ("SHF.R.S32.HI R0, RZ, 0x1f, R2", 0xFFFFFFFF),
    ("SHF.R.U32.HI R0, RZ, 0x1f, R2", 1),
    ("SHF.L.U32 R0, R3, 0x20, RZ", 0),
    ("SHF.L.W.U32 R0, R3, 0x21, RZ", 14),
    ("SHF.R.U64 R0, R3, 0x1, R2", (0x80000005 << 31 | 7 >> 1) % 2**32),
    ("SHF.L.U64.HI R0, R2, 0x4, R3", 7 << 4 | 8),
    ("LOP3.LUT R0, R2, R3, R4, 0x96, !PT", 0x80000005 ^ 7 ^ 100),
    ("LOP3.LUT R0, R2, R3, R4, 0xea, !PT", 0x80000005 & 7 | 100),
    ("VIMNMX R0, R2, R3, PT", 0x80000005),
    ("VIMNMX.U32 R0, R2, R3, PT", 7),
    ("PRMT R0, R2, 0x5410, R3", 7 << 16 | 5),
    ("PRMT R0, R2, 0xbb8, R3", 0x05FFFF00),
    ("POPC R0, R2", 3),
    ("FLO.U32 R0, R4", 6),
    ("FLO.U32.SH R0, R4", 25),
    ("FLO.U32 R0, RZ", 0xFFFFFFFF),
    ("BREV R0, R3", 7 << 29),
    ("FADD R0, R5, R6", 0x40600000),
    ("FFMA R0, R5, R6, -R5", 0x3FC00000),
    ("FMNMX R0, R5, -R6, !PT", 0x3FC00000),
    ("FMUL R0, |R7|, 0.5", 0x3F800000),
    ("MUFU.RCP R0, R6", 0x3F000000),
    ("F2I.TRUNC.NTZ R0, R5", 1),
    ("F2I.NTZ R0, R7", 0xFFFFFFFE),
    ("F2I.U32.TRUNC.NTZ R0, R7", 0),
    ("I2F.U32.RP R0, R8", 0x4B800001),
    ("I2FP.F32.S32 R0, R2", 0xCF000000),
    ("F2FP.F16.F32.PACK_AB R0, R6, R5", 0x40003E00),
    ("HFMA2.MMA R0, -RZ, RZ, 1.875, 2", 0x3F804000),
])  # fmt: skip
def test_value(text, expected):
    """R2 = 0x80000005, R3 = 7, R4 = 100, R5 = 1.5, R6 = 2.0, R7 = -2.0, R8 = 2**24 + 1."""
    floats = registers(R5=0x3FC00000, R6=0x40000000, R7=0xC0000000, R8=2**24 + 1)
    assert value(registers(R2=0x80000005, R3=7, R4=100) + "\n" + floats + "\n" + text) == expected


@pytest.mark.parametrize(
    ("a", "b"), [(3, 5), (5, 3), (2**32, 1), (1, 2**32), (2**32 + 1, 2**32), (-1, 1), (7, 7)]
)
def test_comparison_of_64_bits(a, b):
    """The upper words decide, the lower ones where they are equal; the sign is the upper word's."""
    a_bits, b_bits = a % 2**64, b % 2**64
    program = registers(R2=a_bits % 2**32, R3=a_bits >> 32, R4=b_bits % 2**32, R5=b_bits >> 32)
    program += """
        ISETP.GE.U32.AND P0, PT, R2, R4, PT
        ISETP.GE.AND.EX P0, PT, R3, R5, PT, P0
        SEL R0, RZ, 0x1, !P0"""
    assert value(program) == int(a >= b)


def test_product_with_carries():
    """The upper 64 bits of a product of two 64-bit numbers, as compilers divide by constants."""
    a, b = 0x123456789ABCDEF0, 0x5555555555555556
    program = (
        registers(R2=a % 2**32, R3=a >> 32, R14=b % 2**32, R15=b >> 32)
        + """
        IMAD.WIDE.U32 R4, R3, R14, RZ
        IMAD.WIDE.U32 R6, P0, R2, R15, R4
        IMAD.WIDE.U32 R4, R2, R14, RZ
        IMAD.X R9, RZ, RZ, RZ, P0
        IADD3 RZ, P0, R5, R6, RZ
        IMAD.MOV.U32 R8, RZ, RZ, R7
        IMAD.WIDE.U32.X R4, R3, R15, R8, P0"""
    )
    upper = a * b >> 64
    assert value(program + "\nMOV R0, R4") == upper % 2**32
    assert value(program + "\nMOV R0, R5") == upper >> 32


def test_carry_out_of_a_wide_product():
    """(2**32 - 1)**2 + (2**33 - 2) + 1 is 2**64: nothing is left but the carry."""
    program = (
        registers(R2=0xFFFFFFFF, R6=0xFFFFFFFE, R7=1)
        + """
        ISETP.EQ.AND P0, PT, RZ, RZ, PT
        IMAD.WIDE.U32.X R4, P1, R2, R2, R6, P0
        SEL R0, R4, 0x7, !P1"""
    )
    assert value(program) == 7
    assert value(program.replace("RZ, RZ, PT", "RZ, R2, PT")) == 0xFFFFFFFF


def test_fused_double():
    """A fused product of doubles is rounded once: (1 + 2**-30)**2 - 1 - 2**-29 is 2**-60."""
    one_and = np.float64(1 + 2.0**-30).view(np.uint64)
    minus = np.float64(-1 - 2.0**-29).view(np.uint64)
    program = registers(R2=int(one_and) % 2**32, R3=int(one_and) >> 32,
                        R4=int(minus) % 2**32, R5=int(minus) >> 32)  # fmt: skip
    assert value(program + "\nDFMA R6, R2, R2, R4\nMOV R0, R7") == (1023 - 60) << 20


@pytest.mark.parametrize(("text", "lane", "expected"), [
    ("SHFL.DOWN PT, R0, R20, 0x10, 0x1f", 3, 19),
    ("SHFL.DOWN PT, R0, R20, 0x10, 0x1f", 20, 20),
    ("SHFL.UP PT, R0, R20, 0x1, RZ", 0, 0),
    ("SHFL.UP PT, R0, R20, 0x1, RZ", 9, 8),
    ("SHFL.BFLY PT, R0, R20, 0x4, 0x1f", 5, 1),
    ("SHFL.IDX PT, R0, R20, 0x2, 0x181f", 13, 10),
    ("VOTE.ANY R0, PT, P1", 0, 0xFFFF0000),
    ("S2R R0, SR_LTMASK", 3, 7),
    ("REDUX.MAX.S32 UR6, R20\nMOV R0, UR6", 0, 31),
])  # fmt: skip
def test_exchange(text, lane, expected):
    """R20 is the lane's number, P1 that it is 16 or more; 0x18 in the limits cuts by eights."""
    first = "S2R R20, SR_LANEID\nISETP.GE.AND P1, PT, R20, 0x10, PT\n"
    assert value(first + text, lane) == expected


def test_branch_and_join():
    """Lanes below 8 take one way, the rest the other; after BSYNC they load together."""
    found, out = launch("""
        S2R R20, SR_LANEID
        ISETP.GE.AND P0, PT, R20, 0x8, PT
        MOV R1, 0x400
        BSSY B0, `(after)
        @P0 BRA `(other)
        LDS R0, [R1]
        MOV R0, 0x1
        BRA `(join)
        other:
        MOV R0, 0x2
        join:
        BSYNC B0
        after:
        LDS R3, [R1]""")
    assert out == [1] * 8 + [2] * 24
    executed = [(site.located.name, site.counts) for site in found.sites]
    assert [c["shared"]["lanes"] for name, c in executed if name == "LDS"] == [8, 32]
    assert [c["shared"]["executed"] for name, c in executed if name == "LDS"] == [1, 1]


@pytest.mark.parametrize(("limit", "lanes"), [(0x8, [32]), (0x20, [32]), (0x0, [])])
def test_branch_of_all_or_none(limit, lanes):
    """BRA.U past a load is taken where all lanes ask for it, else by none: the warp stays whole."""
    found, _ = launch(f"""
        S2R R20, SR_LANEID
        ISETP.GE.AND P0, PT, R20, {limit:#x}, PT
        MOV R1, 0x400
        @P0 BRA.U `(after)
        LDS R3, [R1]
        after:
        NOP""")
    loads = [site.counts for site in found.sites if site.located.name == "LDS"]
    assert [count["shared"]["lanes"] for count in loads] == lanes
    assert [count["shared"]["executed"] for count in loads] == [1] * len(lanes)


def test_without_a_join_lanes_stay_apart():
    """Two ways that meet by chance, without BSYNC: each part of the warp loads for itself."""
    found, _ = launch("""
        S2R R20, SR_LANEID
        ISETP.GE.AND P0, PT, R20, 0x8, PT
        MOV R1, 0x400
        @P0 BRA `(after)
        MOV R0, 0x1
        after:
        LDS R3, [R1]""")
    (load,) = (site.counts["shared"] for site in found.sites if site.located.name == "LDS")
    assert (load["executed"], load["lanes"]) == (2, 32)


def test_loop_with_different_lengths():
    """Lane n goes round n + 1 times; the loads of a round are one request of those still in it."""
    found, out = launch("""
        S2R R20, SR_LANEID
        MOV R0, RZ
        MOV R1, 0x400
        BSSY B0, `(after)
        again:
        LDS R3, [R1]
        ISETP.GE.AND P0, PT, R0, R20, PT
        IADD3 R0, R0, 0x1, RZ
        @!P0 BRA `(again)
        BSYNC B0
        after:
        NOP""")
    assert out == list(range(1, 33))
    (load,) = (site.counts["shared"] for site in found.sites if site.located.name == "LDS")
    assert (load["executed"], load["lanes"]) == (32, 32 * 33 // 2)


def test_break_out_of_a_join():
    """Lane 5 leaves for good and waits at the block's barrier: the others do not wait at BSYNC."""
    _, out = launch("""
        S2R R20, SR_LANEID
        MOV R0, 0x3
        ISETP.EQ.AND P0, PT, R20, 0x5, PT
        BSSY B0, `(after)
        @P0 BREAK B0
        @P0 BRA `(end)
        BSYNC B0
        after:
        MOV R0, 0x4
        end:
        BAR.SYNC.DEFER_BLOCKING 0x0""")
    assert out == [4] * 5 + [3] + [4] * 26


def test_exit_before_a_join():
    """Lanes that end do not come to BSYNC, nor to the block's barrier; nobody waits for them."""
    _, out = launch(
        """
        S2R R20, SR_LANEID
        ISETP.GE.AND P0, PT, R20, 0x8, PT
        BSSY B0, `(after)
        @!P0 BRA `(join)
        EXIT
        join:
        BSYNC B0
        after:
        BAR.SYNC.DEFER_BLOCKING 0x0
        MOV R0, 0x9""",
        threads=64,
    )
    assert out == ([9] * 8 + [0xDEAD] * 24) * 2


def test_call_and_return():
    """RET goes to an address in registers, counted from the kernel's first instruction."""
    program = """
        MOV R2, 0x40
        MOV R3, RZ
        MOV R0, 0x5
        CALL.REL.NOINC `(double)
        IADD3 R0, R0, 0x1, RZ
        BRA `(end)
        double:
        IMAD.IADD R0, R0, 0x1, R0
        RET.REL.NODEC R2, 0x0
        end:
        NOP"""
    assert value(program) == 11


def test_barrier_between_warps():
    """Each thread reads what its mirror image stored before the barrier, in two blocks."""
    _, out = launch("""
        S2R R20, SR_TID.X
        S2R R6, SR_CTAID.X
        IMAD R7, R6, 0x64, R20
        IMAD.SHL.U32 R1, R20, 0x4, RZ
        STS [R1+0x400], R7
        BAR.SYNC.DEFER_BLOCKING 0x0
        IADD3 R2, RZ, -R1, RZ
        LDS R0, [R2+0x4fc]""", threads=64, blocks=2, store="""
        S2R R20, SR_TID.X
        S2R R6, SR_CTAID.X
        IMAD R7, R6, 0x40, R20
        LDC.64 R22, c[0x0][0x230]
        IMAD.WIDE R22, R7, 0x4, R22
        STG.E desc[UR4][R22.64], R0
        EXIT""")  # fmt: skip
    assert out == [63 - n for n in range(64)] + [163 - n for n in range(64)]


@pytest.mark.parametrize("form", ["AND", "OR", "POPC"])
def test_barrier_with_predicates(form):
    """48 threads, 32 of which say yes."""
    result = "B2R.RESULT R0" if form == "POPC" else "B2R.RESULT RZ, P1\nSEL R0, RZ, 0x1, !P1"
    _, out = launch(f"""
        S2R R20, SR_TID.X
        ISETP.GE.AND P0, PT, R20, 0x10, PT
        BAR.RED.{form}.DEFER_BLOCKING 0x0, P0
        {result}""", threads=48)  # fmt: skip
    assert out == [{"AND": 0, "OR": 1, "POPC": 32}[form]] * 48


def test_barrier_counts_living_threads():
    """All 48 threads say yes: the 16 lanes that are no threads do not spoil it."""
    _, out = launch("""
        ISETP.EQ.AND P0, PT, RZ, RZ, PT
        BAR.RED.AND.DEFER_BLOCKING 0x0, P0
        B2R.RESULT RZ, P1
        SEL R0, RZ, 0x1, !P1""", threads=48)  # fmt: skip
    assert out == [1] * 48


def test_counts_of_accesses():
    """A stride of 8 bytes is 2-way for words of 4; a row of global memory is 4 sectors."""
    found, _ = launch("""
        S2R R20, SR_LANEID
        IMAD.SHL.U32 R1, R20, 0x8, RZ
        STS.64 [R1+0x400], RZ
        LDS R4, [R1+0x400]
        ISETP.GE.AND P0, PT, R20, 0x0, PT
        @!P0 LDS R5, [R1+0x400]
        LDS.64 R6, [R1+0x400]""")
    counts = {s.located.text: next(iter(s.counts.values())) for s in found.sites}
    assert counts["LDS R4, [R1+0x400]"]["wavefronts"] == 2
    assert counts["LDS.64 R6, [R1+0x400]"]["wavefronts"] == 2
    assert counts["STS.64 [R1+0x400], RZ"]["wavefronts"] == 2
    assert counts["@!P0 LDS R5, [R1+0x400]"] == {"executed": 0, "idle": 1}
    assert counts["STG.E desc[UR4][R22.64], R0"]["sectors"] == 4


def test_partial_warp():
    """40 threads: the second warp has 8 lanes."""
    found, _ = launch("MOV R0, 0x1", threads=40)
    (store,) = (site.counts["global"] for site in found.sites)
    assert (store["executed"], store["lanes"], store["sectors"]) == (2, 40, 5)


@pytest.mark.parametrize(("text", "said"), [
    ("DMMA.884 R0, R4, R2, R8", "instruction DMMA"),
    ("IADD3.SAT R0, R1, R2, RZ", "modifier .SAT"),
    ("S2R R0, SR_CLOCKLO", "special register SR_CLOCKLO"),
    ("LDC R0, c[0x0][0x100]", "constant c[0x0][0x100]"),
    ("LDS R0, [R3+0x10000]", "outside"),
    ("MOV R3, 0x402\nLDS R0, [R3]", "no multiple of 4"),
    ("BSSY B0, `(x)\nx:\nBRA `(x)", "never ends"),
    ("BAR.SYNC 0x1, 0x40", "form of BAR"),
])  # fmt: skip
def test_unknown_is_refused(text, said):
    """What the interpreter does not know stops it, with the instruction."""
    with pytest.raises(NotDetermined) as error:
        launch(text)
    assert "not determined" in str(error.value) and said in str(error.value)

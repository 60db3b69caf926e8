"""Loops around a compare-and-swap that go on until it succeeds."""

from smemnb.compiled.listing import read_listing
from smemnb.compiled.retries import retry_loops

AGAIN = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   LDS R6, [R9] ;
        /*0020*/                   FADD R7, R11, R6 ;
        /*0030*/                   ATOMS.CAST.SPIN R7, [R9], R6, R7 ;
        /*0040*/                   ISETP.EQ.U32.AND P1, PT, R7, 0x1, PT ;
        /*0050*/              @!P1 BRA `(.L_x_0) ;
        /*0060*/                   EXIT ;
"""


def test_loop_that_tries_again():
    """The branch back follows from what the swap found: the loop from its load to the branch."""
    assert retry_loops(read_listing(AGAIN)) == [(0x10, 0x50)]


def test_loop_that_counts():
    """A swap in a loop whose end depends on a counter alone is executed a fixed number of times."""
    counts = AGAIN.replace("ISETP.EQ.U32.AND P1, PT, R7", "ISETP.EQ.U32.AND P1, PT, R5")
    assert retry_loops(read_listing(counts)) == []


def test_result_that_is_overwritten():
    """What the swap found is gone before the branch asks: the loop ends for another reason."""
    gone = AGAIN.replace("ISETP.EQ", "MOV R7, R3 ;\n        /*0048*/  ISETP.EQ")
    assert retry_loops(read_listing(gone)) == []


def test_no_loop():
    """Without a branch back nothing is tried again."""
    assert retry_loops(read_listing(AGAIN.replace("@!P1 BRA `(.L_x_0)", "     NOP"))) == []


def test_counter_that_is_written_after_the_swap():
    """Registers of instructions before the branch do not make it depend on the swap."""
    counts = AGAIN.replace(
        "ISETP.EQ.U32.AND P1, PT, R7",
        "IADD3 R8, R7, 0x1, RZ ;\n        /*0038*/  ISETP.EQ.U32.AND P1, PT, R5",
    )
    assert retry_loops(read_listing(counts)) == []


def test_result_that_is_handed_on():
    """The branch depends on the swap through another register."""
    handed = AGAIN.replace(
        "ISETP.EQ.U32.AND P1, PT, R7",
        "IADD3 R8, R7, 0x1, RZ ;\n        /*0038*/  ISETP.EQ.U32.AND P1, PT, R8",
    )
    assert retry_loops(read_listing(handed)) == [(0x10, 0x50)]

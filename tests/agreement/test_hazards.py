"""Reports of compute-sanitizer, read."""

from smemnb.measure.hazards import Report, Spot, reports
from tests.agreement import samples

FLIP = "cudapy::flip_0_1_removed[abi:v1](Array<float, (int)1, (int)1, mutable, aligned>)"
ADD = "cudapy::add[abi:v1](Array<float, (int)1, (int)1, mutable, aligned>)"


def test_racecheck():
    """A pair of places per other access; severity, accesses and hazards; lines may be missing."""
    file = "flip_0_1_removed.py"
    first = Spot(FLIP, file, 5, 0x1B0)
    nowhere = Spot("other(int *)", "", 0, 0x90)
    assert reports(samples.RACECHECK) == (
        Report("Write, Read", "error", (first, Spot(FLIP, file, 7, 0x210)), 248),
        Report("Write, Read", "error", (first, Spot(FLIP, file, 7, 0x230)), 8),
        Report("Write, Write", "warning", (nowhere, nowhere), 1),
    )


def test_memcheck_and_synccheck():
    """Equal reports of several threads are one, with their number; host frames are no places."""
    (read,) = reports(samples.MEMCHECK)
    assert read == Report(
        "Invalid __global__ read of size 4 bytes", "error", (Spot(ADD, "add.py", 11, 0x70),), 2
    )
    assert read.pair == (11, 11)
    (barrier,) = reports(samples.SYNCCHECK)
    assert (barrier.said, barrier.pair) == (
        "Barrier error detected. Divergent thread(s) in block.",
        (9, 9),
    )


def test_pair_is_in_order():
    """The smaller line comes first, whichever access the tool names first."""
    spots = Spot("k", "a.py", 9), Spot("k", "a.py", 4)
    assert Report("Read, Write", "error", spots).pair == (4, 9)


def test_nothing_found():
    """A clean log has no reports."""
    assert reports("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == ()

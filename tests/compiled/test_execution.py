"""What warps of a block execute, of machine code that is written by hand."""

import numpy as np
import pytest

from smemnb.compiled.warps.execution import execution
from smemnb.compiled.warps.parameters import Snapshot
from smemnb.compiled.warps.run import CodeLaunch, NotDetermined
from tests.compiled.programs import IMAGE, STORE, code_of


def executed(text, threads=64, block=0, blocks=2, most_steps=10_000):
    out = np.zeros(threads * blocks, np.uint32)
    what = CodeLaunch(b"", (blocks, 1, 1), (threads, 1, 1), 0, Snapshot((out,)), (None,))
    code = code_of(text + STORE)
    return code, execution(what, code, block, IMAGE, most_steps)


def names(code, warp):
    return [code[place].name for place in warp.place]


def test_each_warp_has_its_instructions():
    """A loop is laid out as often as it runs; STORE follows, its last access is one of a line."""
    code, done = executed("""
        MOV R0, 0x3
        again:
        IADD3 R0, R0, -0x1, RZ
        ISETP.NE.AND P0, PT, R0, RZ, PT
        @P0 BRA `(again)
    """)
    assert len(done.warps) == 2
    tail = ["S2R", "LDC.64", "IMAD.WIDE", "STG.E", "EXIT"]
    for number, warp in enumerate(done.warps):
        assert names(code, warp) == ["MOV", *["IADD3", "ISETP.NE.AND", "BRA"] * 3, *tail]
        assert np.flatnonzero(~warp.active).tolist() == [9]  # the branch that ends the loop
        assert [int(one) for one in warp.request if one >= 0] == [number]
    assert np.diff(done.requests.first).tolist() == [4, 4]
    assert done.requests.wavefronts.tolist() == [1, 1]
    assert done.requests.store.tolist() == [True, True]
    first = done.requests.sectors[0]
    assert (done.requests.sectors - first).tolist() == list(range(8))


def test_wavefronts_of_a_conflict():
    """Lanes 8 words apart: an 8-way load of shared memory, which touches no sector."""
    _, done = executed(
        """
        S2R R1, SR_LANEID
        IMAD R2, R1, 0x20, RZ
        LDS R0, [R2]
    """,
        threads=16,
        blocks=1,
    )
    assert done.requests.space.tolist() == [0, 1]
    assert done.requests.wavefronts.tolist() == [4, 1]
    assert np.diff(done.requests.first).tolist() == [0, 2]


def test_a_warp_without_an_active_lane():
    """An access whose predicate is off in all lanes is executed and moves nothing."""
    code, done = executed("""
        ISETP.NE.AND P0, PT, RZ, RZ, PT
        @P0 LDS R0, [RZ]
    """)
    warp = done.warps[0]
    at = names(code, warp).index("LDS")
    assert (bool(warp.active[at]), int(warp.request[at])) == (False, -1)


def test_a_loop_that_is_too_long_is_refused():
    with pytest.raises(NotDetermined, match="more than 50 steps"):
        executed(
            """
            MOV R0, 0x1
            again:
            ISETP.NE.AND P0, PT, R0, RZ, PT
            @P0 BRA `(again)
        """,
            most_steps=50,
        )

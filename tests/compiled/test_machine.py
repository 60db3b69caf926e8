"""Machine code as a list: its main loop, instructions by name, reads of one register bank."""

import pytest
from numba import cuda, float32

from smemnb.compiled import cubin
from smemnb.compiled.machine import (
    Instruction,
    around,
    count,
    instructions,
    main_loop,
    nvdisasm,
    one_bank_reads,
    read_listing,
)
from smemnb.kernels.transpose.rungs.transpose_rows8 import transpose_rows8
from smemnb.kernels.transpose.rungs.transpose_unsigned import transpose_unsigned
from smemnb.simulator.seam import OUT_OF_TREE

LISTING = """
.text.k:
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_1:
        /*0010*/                   LDS.128 R4, [R0] ;
.L_x_0:
        /*0020*/                   FFMA R8, R4.reuse, R6, R8 ;
        /*0030*/                   FFMA R10, R4, R12, R10 ;
        /*0040*/                   FFMA R9, R5, R7, R9 ;
        /*0050*/              @!P0 BRA `(.L_x_0) ;
        /*0060*/               @P1 BRA `(.L_x_1) ;
        /*0070*/                   EXIT ;
.L_x_2:
        /*0080*/                   BRA `(.L_x_2);
"""


def ffma(operands):
    return Instruction(0, "FFMA", operands)


def test_listing():
    """Eight instructions and a ninth; a label is the address of what follows it."""
    code = read_listing(LISTING)
    assert [one.address for one in code] == list(range(0, 0x90, 16))
    assert code[5] == Instruction(0x50, "BRA", "0x20", "@!P0")
    assert code[6].operands == "0x10"
    assert (count(code, "FFMA"), count(code, "LDS"), count(code, "LDS.128")) == (3, 1, 1)


def test_main_loop():
    """Of two loops with as many FFMA, the shorter; none where nothing jumps back."""
    assert [one.address for one in main_loop(read_listing(LISTING))] == [0x20, 0x30, 0x40, 0x50]
    assert main_loop([ffma("R0, R1, R2, R3")]) == []


def test_around():
    """What the next larger loop holds beside the main one; none around a loop that none holds."""
    code = read_listing(LISTING)
    assert [one.address for one in around(code)] == [0x10, 0x60]
    assert around(code[2:6]) == around([ffma("R0, R1, R2, R3")]) == []


@pytest.mark.parametrize(
    ("operands", "reads"),
    [
        (["R0, R2, R4, R6"], 1),
        (["R0, R2, R4, R7"], 0),
        (["R0, R1, R3, R5"], 1),
        (["R0, R2, R2, R4"], 0),  # two registers only
        (["R0, R2.reuse, R5, R4", "R1, R2, R6, R8"], 0),  # kept from the one before
        (["R0, R5, R2.reuse, R4", "R1, R2, R6, R8"], 1),  # kept in another place
        (["R0, R2, R5, R4", "R1, R2, R6, R8"], 1),
    ],
)
def test_one_bank_reads(operands, reads):
    """Three registers of one parity, none of them kept."""
    assert one_bank_reads([ffma(text) for text in operands]) == reads


@cuda.jit
def summed(out, inp):
    acc = float32(0)
    for k in range(inp.shape[0]):
        acc += inp[k, cuda.threadIdx.x] * inp[k, 0]
    out[cuda.threadIdx.x, 0] = acc


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
def test_loop_of_a_kernel():
    """A sum over rows: its loop loads twice for each FFMA."""
    if nvdisasm() is None:
        pytest.skip("nvdisasm is not installed")
    code = instructions(cubin(summed, "void(float32[:, ::1], float32[:, ::1])"))
    loop = main_loop(code)
    assert count(loop, "FFMA") > 0
    assert count(loop, "LDG") == 2 * count(loop, "FFMA")
    assert count(code, "EXIT") >= 1


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize(
    ("kernel", "order"),
    [(transpose_rows8, ["LDG", "STS"] * 5), (transpose_unsigned, ["LDG"] * 4 + ["STS"] * 4)],
)
def test_loads_before_the_first_store(kernel, order):
    """Each load waited for (rows8: one in a loop, four unrolled), or four started before a wait."""
    if nvdisasm() is None:
        pytest.skip("nvdisasm is not installed")
    code = instructions(cubin(kernel, "void(float32[:, ::1], float32[:, ::1])"))
    names = [one.name.partition(".")[0] for one in code]
    assert [name for name in names if name in ("LDG", "STS")] == order

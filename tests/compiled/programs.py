"""Hand-written machine code, run without a compiler.

Each program puts its result into R0 of every lane; what is added stores it at out[thread].
"""

from dataclasses import replace

import numpy as np
import pytest

from smemnb.compiled.image import Image, Parameter
from smemnb.compiled.listing import read_listing
from smemnb.compiled.machine import nvdisasm
from smemnb.compiled.warps.parameters import Snapshot
from smemnb.compiled.warps.run import CodeLaunch, run
from smemnb.simulator.seam import OUT_OF_TREE


def needs_machine_code(test):
    """Marks a test that compiles a kernel to machine code and lists it."""
    there = OUT_OF_TREE and nvdisasm() is not None
    skipped = pytest.mark.skipif(not there, reason="needs numba-cuda with nvJitLink, and nvdisasm")
    return pytest.mark.toolchain(skipped(test))


IMAGE = Image("k", tuple(Parameter(8 * n, 8) for n in range(7)), 0x210, 0, 1024 + 512, 1024, {})
STORE = """
    S2R R20, SR_TID.X
    LDC.64 R22, c[0x0][0x230]
    IMAD.WIDE R22, R20, 0x4, R22
    STG.E desc[UR4][R22.64], R0
    EXIT
"""


def code_of(text):
    """Instructions, one per line, numbered; `name:` on a line of its own is a label."""
    lines, address = ["//--------------------- .text.k ----"], 0
    for line in filter(None, (line.strip() for line in text.splitlines())):
        if line.endswith(":"):
            lines.append(line)
            continue
        guard, _, rest = (
            line.rpartition("@")[2].partition(" ") if line[0] == "@" else ("", "", line)
        )
        lines.append(f"  /*{address:04x}*/  {'@' + guard + ' ' if guard else ''}{rest} ;")
        address += 16
    return read_listing("\n".join(lines))


def launch(text, threads=32, blocks=1, store=STORE, stack_bytes=0):
    """The program run by so many threads; what came of it, and out."""
    out = np.full(threads * blocks, 0xDEAD, np.uint32)
    what = CodeLaunch(b"", (blocks, 1, 1), (threads, 1, 1), 0, Snapshot((out,)), (None,))
    found = run(what, code_of(text + store), replace(IMAGE, stack_bytes=stack_bytes))
    return found, found.arrays[0].tolist()


def value(text, lane=0):
    """R0 of a lane after the program."""
    return launch(text)[1][lane]


def registers(**values):
    """Instructions that fill registers."""
    return "\n".join(f"MOV {name}, {number:#x}" for name, number in values.items())

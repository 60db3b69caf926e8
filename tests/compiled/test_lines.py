"""Machine code per source line."""

import json

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.compiled import sass
from smemnb.compiled.image import spills
from smemnb.compiled.lines import Build, built, memory_of, sass_of, short_name, table
from smemnb.compiled.listing import read_listing
from smemnb.errors import SmemnbError
from tests.compiled.programs import needs_machine_code

A = np.zeros((64, 64), np.float32)


@cuda.jit
def row_times_column(out, a, b):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    a_tile[ty, tx] = a[ty, tx]
    b_tile[ty, tx] = b[ty, tx]
    cuda.syncthreads()
    acc = float32(0)
    for k in range(16):
        acc += a_tile[ty, k] * b_tile[k, tx]  # the line whose loads are merged
    out[ty, tx] = acc


@pytest.mark.parametrize(("name", "short"), [
    ("LDS", "LDS"),
    ("LDG.E.64.CONSTANT", "LDG.64"),
    ("STG.E.U8", "STG.U8"),
    ("ATOMS.POPC.INC.32", "ATOMS.POPC.INC"),
    ("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU", "REDG.ADD"),
])  # fmt: skip
def test_short_name(name, short):
    """What is counted differently keeps its name; caching and scope do not matter."""
    assert short_name(name) == short


LISTING = """
//--------------------- .text.k ----
	//## File "k.py", line 3
        /*0000*/                   LDS.128 R4, [R0] ;
        /*0010*/                   FFMA R8, R4, R5, R8 ;
        /*0020*/                   LDS.128 R4, [R0+0x10] ;
	//## File "k.py", line 4
        /*0030*/                   STL [R1], R4 ;
        /*0040*/                   EXIT ;
        /*0050*/                   BRA 0x50 ;
        /*0060*/                   NOP ;
"""


def test_memory_of():
    assert memory_of(read_listing(LISTING)) == {"LDS.128": 2, "STL": 1}


@needs_machine_code
def test_merged_loads():
    """32 loads of a line become 16 of 4 bytes and 4 of 16, its own products alone are FFMA."""
    found = sass(row_times_column, (A, A, A))
    line = row_times_column.py_func.__code__.co_firstlineno + 10
    assert found.line(line).memory == {"LDS": 16, "LDS.128": 4}
    assert found.memory == {"LDG": 2, "LDS": 16, "LDS.128": 4, "STG": 1, "STS": 2}
    assert (found.shared_bytes, found.spills, found.barriers, found.lined) == (2048, 0, 1, True)
    assert found.ffma_percent == round(100 * 16 / found.instructions, 1)


@cuda.jit(max_registers=24)
def crowded(out, inp, n):
    ring = cuda.local.array(50, float32)
    i = cuda.grid(1)
    for k in range(50):
        ring[k] = inp[k]
    a, b, c, d = inp[i], inp[i + 1], inp[i + 2], inp[i + 3]
    e, f, g, h = inp[i + 4], inp[i + 5], inp[i + 6], inp[i + 7]
    p, q, r, s = inp[i + 8], inp[i + 9], inp[i + 10], inp[i + 11]
    for k in range(n):
        w = ring[(k * i) % 50]
        a, b, c, d = a + w * b, b + w * c, c + w * d, d + w * e
        e, f, g, h = e + w * f, f + w * g, g + w * h, h + w * p
        p, q, r, s = p + w * q, q + w * r, r + w * s, s + w * a
    out[i] = a + b + c + d + e + f + g + h + p + q + r + s


@needs_machine_code
def test_spills_are_no_local_arrays():
    """What the compiler marks as spills goes to fixed places of the stack behind the array."""
    build = built(crowded, (A[0], A[0], 3))
    found, marked = sass_of(build, "crowded"), spills(build.elf)
    local = [one for one in build.code if one.name.startswith(("LDL", "STL"))]
    spilled = [one for one in local if one.address in marked]
    assert found.spills == len(spilled) == len(marked) > 0
    places = {int(one.text.partition("R1+")[2].partition("]")[0] or "0", 16) for one in spilled}
    assert min(places) >= 200
    assert max(places) < found.local_bytes
    assert len(local) > len(spilled)
    assert sum(line.spills for line in found.lines) == found.spills
    assert f"{found.local_bytes} bytes of local memory, {found.spills} spills" in table(found)


@needs_machine_code
def test_types_as_text():
    """A signature does as well as arguments; the dict holds plain data and each instruction."""
    text = "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])"
    found = json.loads(json.dumps(sass(row_times_column, text, cc=(8, 0)).to_dict()))
    assert found["cc"] == [8, 0]
    assert sum(len(line["instructions"]) for line in found["lines"]) == found["instructions"]


@needs_machine_code
def test_table():
    """Lines that touch memory stand in the table; all of the code only where asked for."""
    found = sass(row_times_column, (A, A, A))
    short, whole = table(found), table(found, whole=True)
    assert "acc += a_tile[ty, k] * b_tile[k, tx]" in short and "16 LDS, 4 LDS.128" in short
    assert "BAR.SYNC" not in short and whole.count("FFMA R") == 16


@needs_machine_code
def test_of_a_cubin():
    """A cubin that was compiled elsewhere gives the same table."""
    from smemnb.compiled import cubin

    elf = cubin(row_times_column, (A, A, A), lineinfo=True)
    there = sass_of(Build.of(elf, (9, 0)), "row_times_column")
    assert there == sass(row_times_column, (A, A, A))


def test_without_disassembler(monkeypatch):
    """Without nvdisasm the error says what to install."""
    from smemnb.compiled import listing

    monkeypatch.setattr(listing, "nvdisasm", lambda: None)
    with pytest.raises(SmemnbError, match="pip install nvidia-cuda-nvdisasm"):
        listing.listing(b"")


@cuda.jit(device=True, lineinfo=True)
def twice_the_sum(tile, i):
    return 2 * (tile[i] + tile[i ^ 1])


@cuda.jit(lineinfo=True)
def calls(out, inp):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    tile[i] = inp[i]
    cuda.syncthreads()
    out[i] = twice_the_sum(tile, i)


@needs_machine_code
def test_lines_of_a_device_function():
    """Code of an inlined function counts for the line that calls it; its own line stands first."""
    found = sass(calls, (A[0], A[0]))
    call = calls.py_func.__code__.co_firstlineno + 6
    line = found.line(call)
    assert (line.memory, line.source) == ({"LDS": 2, "STG": 1}, "out[i] = twice_the_sum(tile, i)")
    inner = twice_the_sum.py_func.__code__.co_firstlineno + 2
    loads = [one for one in line.instructions if one.name == "LDS"]
    assert {tuple(place.line for place in one.places) for one in loads} == {(inner, call)}

"""Machine code of the reductions: nothing in local memory, loads of 16 bytes together."""

import re

import pytest
from numba.np.numpy_support import from_dtype

from smemnb.compiled import cubin
from smemnb.compiled.machine import count, instructions
from smemnb.compiled.usage import read_resources
from smemnb.kernels.reduction.combining import combining
from smemnb.kernels.reduction.ladder import LADDER
from smemnb.kernels.reduction.variants import columns, lines, narrow, rows

pytestmark = pytest.mark.toolchain
SUM = "void(float32[::1], float32[::1])"
ONE_LAUNCH = "void(float32[::1], float32[::1], float32[::1], uint32[::1])"


def compiled(kernel, signature, cc=(9, 0)):
    elf = cubin(kernel, signature, cc)
    code = instructions(elf)
    used = read_resources(elf, cc)
    assert used.local_bytes == 0
    assert count(code, "LDL") == count(code, "STL") == 0
    return used, code


@pytest.mark.parametrize("name", [step.name for step in LADDER])
def test_rungs(name):
    """No spills; blocks of 256 threads fill a multiprocessor."""
    (kernel,) = next(step.kernels for step in LADDER if step.name == name)
    used, code = compiled(kernel, ONE_LAUNCH if name == "sum_one_launch" else SUM)
    assert used.registers <= 32, "2048 threads of a multiprocessor have 32 each"
    wide = count(code, "LDG.E.128")
    assert (wide >= 4) == (name in ("sum_wide", "sum_one_launch"))


def variant(kind, of):
    """(kernel, numbers that it takes, whether it takes a workspace)."""
    return {
        "lines": (lines.lines_of(of, lines.Form(512)), 6, True),
        "rows": (rows.rows_of(of, 8), 6, False),
        "columns": (columns.columns_of(of, columns.Form()), 7, True),
        "narrow": (narrow.narrow_of(of, narrow.Form()), 5, True),
    }[kind]


REGISTERS = {"sum": 40, "argmax": 64}


@pytest.mark.parametrize("kind", ["lines", "rows", "columns", "narrow"])
@pytest.mark.parametrize("name", ["sum", "argmax"])
def test_variants(name, kind):
    """No spills, in float32; four loads of 16 bytes come before the first of them is used."""
    of = combining(name, "float32")
    kernel, numbers, own = variant(kind, of)
    out, element, held = (str(from_dtype(one)) for one in (of.out, of.dtype, of.partial))
    arrays = [out, element, *([held, "uint32", "uint32"] if own else [])]
    types = [f"{one}[::1]" for one in arrays] + ["uint32"] * numbers
    used, code = compiled(kernel, f"void({', '.join(types)})")
    assert used.registers <= REGISTERS[name]
    assert longest_run(code) >= 4


def longest_run(code):
    """The most loads of 16 bytes with no use of what they load in between."""
    most, loaded = 0, []
    for one in code:
        if one.name.startswith("LDG.E.128"):
            loaded.append(int(re.match(r"R(\d+)", one.operands)[1]))
            most = max(most, len(loaded))
        elif re.match(r"F(ADD|SETP|MNMX)", one.name):
            used = {int(number) for number in re.findall(r"\bR(\d+)", one.operands)}
            if any(first + at in used for first in loaded for at in range(4)):
                loaded = []
    return most

"""No name is forgotten: what Numba lets kernels call is run, or refused with a reason."""

import importlib
import importlib.util
import inspect
import types

import numpy as np
import pytest
from numba import cuda

from smemnb import lockstep
from smemnb.errors import UnsupportedSyntax
from smemnb.lockstep.intrinsics.coordinates import COORDINATES
from smemnb.lockstep.intrinsics.names import IMPLEMENTATIONS, REFUSED, qualified
from smemnb.simulator import seam
from tests.lockstep.intrinsics.typed import CONTEXT, run

NAMESPACES = ["", "atomic", "shared", "local", "const", "cg", "libdevice", "fp16", "bf16", "random"]


def namespace(name):
    """The module or class of numba.cuda, None where this Numba has none."""
    if not name or (hasattr(cuda, name) and not isinstance(getattr(cuda, name), types.ModuleType)):
        return getattr(cuda, name) if name else cuda
    if importlib.util.find_spec(f"numba.cuda.{name}") is None:
        return None
    return importlib.import_module(f"numba.cuda.{name}")


def callable_names(space):
    """Names in a namespace that Numba types as something a kernel can call, or as a coordinate."""
    owner = namespace(space)
    if owner is None:
        return []
    with seam.target_override("cuda"):
        CONTEXT.refresh()
    found = []
    for name, value in inspect.getmembers(owner):
        private = name.startswith("_") and not (space == "fp16" and name.startswith("__"))
        if private or name.endswith("__") or isinstance(value, types.ModuleType):
            continue
        with seam.target_override("cuda"):
            kind = CONTEXT.resolve_getattr(seam.types.Module(owner), name)
        plain = seam.types.Function | seam.types.Dispatcher | seam.types.Module
        if isinstance(kind, plain) or qualified(value) in COORDINATES:
            found.append((name, value))
    return found


@pytest.mark.parametrize("space", NAMESPACES)
def test_every_name_has_a_meaning_or_a_reason(space):
    """By program, from Numba's own typing: a name that Numba adds and nobody treats fails here."""
    forgotten = [
        name
        for name, value in callable_names(space)
        if not (getattr(value, "__module__", None) or "").startswith("math")
        and qualified(value) not in {**IMPLEMENTATIONS, **COORDINATES}
        and qualified(value) not in REFUSED
        and not inspect.isfunction(getattr(value, "py_func", None))
    ]
    assert forgotten == []


def test_the_list_is_not_empty():
    """The program that lists the names finds those that everybody knows."""
    count = {space: len(callable_names(space)) for space in ("", "atomic", "libdevice", "fp16")}
    assert count[""] >= 100
    assert (count["atomic"], count["libdevice"] >= 317, count["fp16"] >= 30) == (14, True, True)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (cuda.shared.array, "shared.array"),
        (namespace("libdevice").brev, "libdevice.brev"),
        (cuda.brev, "brev"),
        (namespace("fp16").hadd, "fp16.hadd"),
        (cuda.float4, "float32x4"),
        (cuda.cg.this_grid, "cg.this_grid"),
        (len, ""),
        (np.float32, ""),
    ],
)
def test_qualified(target, name):
    """The name below numba.cuda says of which module it is: two brev are two names."""
    assert qualified(target) == name


FP16 = namespace("fp16")


def half_atomics(out):
    FP16.atomicAdd(out, out[0])


@pytest.mark.skipif(not hasattr(FP16, "atomicAdd"), reason="this numba.cuda has no atomicAdd")
def test_refusal_says_what_to_write():
    """A name that is refused comes with a reason and a way out."""
    with pytest.raises(UnsupportedSyntax, match=r"pointer.*Use cuda\.atomic\.add on a float32"):
        lockstep.launch(half_atomics, (1, 1, 1), (32, 1, 1), (np.zeros(2, np.float16),))


def test_refused_spaces():
    """A whole space of names is refused by its name."""
    assert "fp8.e4m3" in REFUSED and "fp9.e4m3" not in REFUSED
    assert REFUSED["fp8.e4m3"][0] == "NumPy has no floats of 8 bits"


def loops(out):
    for step in cuda.literal_unroll((1, 20)):
        out[cuda.threadIdx.x] += step


@pytest.mark.skipif(not hasattr(cuda, "literal_unroll"), reason="this numba.cuda does not unroll")
def test_literal_unroll():
    """A loop that Numba unrolls goes item by item."""
    out = np.zeros(32, np.int64)
    run(loops, out)
    assert out.tolist() == [21] * 32

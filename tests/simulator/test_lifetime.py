"""Kernels that nobody holds any more are freed, with the arrays they close over."""

import copy
import functools
import gc
import os
import pickle
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

from smemnb import check, simulator, trace
from smemnb.errors import LaunchRefused, SmemnbError
from smemnb.lockstep.lifetime import kept_in, once_per_function

pytestmark = pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")


def made(number, size=64, signature=None):
    """A kernel that closes over an array of its own and a device function."""
    table = np.zeros(size, np.float32)

    @cuda.jit(device=True)
    def added(x):
        return x + number

    def kernel(out):
        tile = cuda.shared.array(32, np.float32)
        i = cuda.threadIdx.x
        tile[i] = added(out[i])
        cuda.syncthreads()
        out[i] = tile[i] + table[i]

    kernel = cuda.jit(signature)(kernel) if signature else cuda.jit(kernel)
    return kernel, [kernel, kernel.py_func, added, added.py_func, table]


def written(number):
    """A kernel and its device function made by exec: their globals name both."""
    text = f"@cuda.jit(device=True)\ndef added(x):\n    return x + {number}\n"
    text += "@cuda.jit\ndef kernel(out):\n    i = cuda.threadIdx.x\n    out[i] = added(out[i])\n"
    names = {"cuda": cuda}
    exec(text, names)
    kernel, added = names["kernel"], names["added"]
    return kernel, [kernel, kernel.py_func, added, added.py_func]


def answer(number):
    """An answer to an exercise."""

    @cuda.jit
    def scale(out, inp):
        i = cuda.grid(1)
        if i < inp.shape[0]:
            out[i] = (2 + number - number) * inp[i]

    return scale, [scale, scale.py_func]


def lost(error):
    """Launches that are refused or stop in the middle."""

    @cuda.jit(debug=True, opt=False)
    def kernel(out):
        if error:
            raise ValueError(error)
        out[0] = 1

    return kernel, [kernel, kernel.py_func]


def tried(kernel, out):
    with pytest.raises(ValueError, match="7"):
        kernel[1, 32](out)
    with pytest.raises(LaunchRefused):
        kernel[1, 32]("no array")


WAYS = {
    "a launch": (made, lambda kernel, out: kernel[1, 32](out)),
    "traces": (made, lambda kernel, out: [trace(kernel)[1, 32](out) for _ in range(2)]),
    "a trace of the function": (made, lambda kernel, out: trace(kernel.py_func)[1, 32](out)),
    "in another order": (made, lambda kernel, out: trace(kernel, order="random")[1, 32](out)),
    "forall": (made, lambda kernel, out: kernel.forall(32)(out)),
    "a declared signature": (
        lambda number: made(number, signature="void(float32[::1])"),
        lambda kernel, out: kernel[1, 32](out),
    ),
    "made by exec": (written, lambda kernel, out: trace(kernel)[1, 32](out)),
    "check": (answer, lambda kernel, out: check("ex00_scale", kernel)),
    "stopped": (lambda number: lost("7"), tried),
}


@pytest.mark.first(1)
@pytest.mark.parametrize("way", WAYS)
def test_freed(way):
    """After any kind of launch, nothing of smemnb or of Numba keeps the kernel."""
    make, launch = WAYS[way]

    def once(number):
        kernel, parts = make(number)
        launch(kernel, np.zeros(32, np.float32))
        return [weakref.ref(part) for part in parts]

    found = [kept for number in range(3) for kept in once(number)]
    gc.collect()
    assert [kept() for kept in found if kept() is not None] == []


@pytest.mark.exhaustive
def test_an_overload_without_its_kernel():
    """Numba's finalizer asks overloads of kernels that are gone; nothing of that is to be seen."""
    kernel, _ = made(1)
    kernel[1, 32](np.zeros(32, np.float32))
    (overload,) = kernel.overloads.values()
    assert overload.max_threads_per_block == 1024
    del kernel, _
    gc.collect()
    assert overload.entry_point is None
    with pytest.raises(SmemnbError, match="is gone"):
        overload.max_threads_per_block  # noqa: B018


def test_what_is_kept_goes_no_further():
    """Functions that take over the attributes of another one, or are copied, begin anew."""

    def one():
        return 1

    @functools.wraps(one)
    def other():
        return 2

    asked = once_per_function(lambda function: function())
    assert (asked(one), asked(functools.wraps(one)(other)), asked(one)) == (1, 2, 1)
    assert kept_in(one, "some") is kept_in(one, "some")
    assert kept_in(one, "some") is not kept_in(other, "some")
    attributes = vars(one)["__smemnb__"]
    assert (pickle.loads(pickle.dumps(attributes)), copy.deepcopy(attributes)) == ({}, {})
    for number in range(1000):
        kept_in(one, "many")[number] = number
    assert len(kept_in(one, "many")) < 100


SIZES = """
import gc, sys
import numpy as np
from smemnb import trace
from tests.simulator.test_lifetime import made
def megabytes():
    return int(open("/proc/self/statm").read().split()[1]) * 4 / 1024
out = np.zeros(32, np.float32)
for number in range(1, 2001):
    kernel, _ = made(number, size=15_000)
    for _ in range(5):
        trace(kernel)[1, 32](out)
    if number in (500, 1000, 2000):
        gc.collect()
        print(number, round(megabytes(), 1), flush=True)
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_thousand_traced_launches():
    """Of 2,000 kernels with 60 KB each, memory stays: what grows is Numba's, a KB or two each."""
    path = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", SIZES],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        check=True,
    )
    print(done.stdout)
    sizes = {int(n): float(mb) for n, mb in map(str.split, done.stdout.splitlines())}
    assert sizes[2000] - sizes[500] < 12

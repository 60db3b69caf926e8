"""Options of `cuda.jit` where no toolkit is: the engine compiles nothing, so few change a thing."""

import numpy as np
import pytest
from facts import facts
from numba import cuda, float32

import smemnb
from smemnb import simulator
from smemnb.errors import LaunchRefused, UnsupportedSyntax

pytestmark = pytest.mark.skipif(
    simulator.device() != "lockstep", reason="launches go to a GPU here"
)


def add_one(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += 1


def values(kernel):
    out = np.zeros(4, np.float32)
    kernel[1, 32](out)
    return out.tolist()


OF_NUMBA_CUDA = [{"lto": True}, {"lto": False}, {"lto": True, "cache": True}, {"forceinline": True}]
OF_NUMBA_CUDA += [{"lto": True, "debug": True, "opt": False}, {"launch_bounds": (128, 2)}]
OF_BOTH = [{"debug": True, "opt": False}, {"opt": False}, {"lineinfo": True}, {"inline": True}]
OF_BOTH += [{"max_registers": 32}, {"fastmath": True}, {"cache": True}, {"extensions": []}]
OF_BOTH += [{"link": ["gone.ptx"]}, {"link": ["gone.cu"]}]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", OF_BOTH + OF_NUMBA_CUDA, ids=str)
@pytest.mark.parametrize("signature", [(), ("void(float32[:])",), (["void(float32[:])"],)], ids=str)
def test_how_to_compile(options, signature):
    """What says how to compile is taken, with and without signatures, and changes no value."""
    assert values(cuda.jit(*signature, **options)(add_one)) == [1, 1, 1, 1]


@pytest.mark.parametrize("options", [{}, {"lto": True}, {"inline": True}, {"lineinfo": True}])
@pytest.mark.parametrize("signature", [(), ("float32(float32)",), (float32(float32),)], ids=str)
def test_device_functions(options, signature):
    @cuda.jit(*signature, device=True, **options)
    def next_of(x):
        return x + 1

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = next_of(out[i])

    assert values(kernel) == [1, 1, 1, 1]


@pytest.mark.parametrize("option, near", [("nopython", ""), ("max_register", "max_registers")])
def test_options_that_there_are_not(option, near):
    """Numba raises a TypeError at the first launch of such a kernel, and so does the engine."""
    kernel = cuda.jit(**{option: True})(add_one)
    with pytest.raises(TypeError, match=rf"add_one.* no option {option}=") as caught:
        values(kernel)
    assert isinstance(caught.value, LaunchRefused)
    assert not near or near in facts(str(caught.value))


def test_an_option_of_numba_alone():
    """A jit without an option that its Numba does not know is refused while decorating."""
    with pytest.raises(NotImplementedError, match="bounds checking"):
        cuda.jit(boundscheck=True)(add_one)


halved = cuda.declare_device("half_of", "float32(float32)")


@cuda.jit(link=["half.ptx"])
def calls_it(out):
    out[0] = halved(out[0])


@cuda.jit(device=True)
def hands_on(x):
    return halved(x)


@cuda.jit(link=["half.ptx"])
def calls_it_in_a_function(out):
    out[0] = hands_on(out[0])


@pytest.mark.parametrize("kernel", [calls_it, calls_it_in_a_function])
def test_external_functions(kernel):
    """A kernel that calls linked code is refused, with the name of that code and the line."""
    with pytest.raises(UnsupportedSyntax) as caught:
        kernel[1, 1](np.ones(1, np.float32))
    assert {"half_of", "cuda.declare_device"} <= set(facts(str(caught.value)))
    with pytest.raises(UnsupportedSyntax, match="half_of"):
        smemnb.trace(kernel)[1, 1](np.ones(1, np.float32))


def test_linked_code_that_nobody_calls():
    """A kernel that declares linked code and does not call it runs."""
    assert values(cuda.jit(link=["half.ptx"])(add_one)) == [1, 1, 1, 1]

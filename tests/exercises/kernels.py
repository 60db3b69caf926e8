"""Kernels for the tests of the checker: answers to ex00_scale that are no answers."""

# ruff: noqa: F841

import math

from numba import cuda, float32, njit


def undecorated(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = 2 * inp[i]


@njit
def for_the_cpu(out, inp):
    out[0] = inp[0]


@cuda.jit(device=True)
def on_the_device(out, inp):
    out[0] = inp[0]


@cuda.jit
def three_parameters(out, inp, n):
    out[0] = inp[n]


@cuda.jit
def star(*arrays):
    arrays[0][0] = 1


@cuda.jit
def endless(out, inp):
    i = 0
    while i < 2:
        i = i * 1
    out[0] = inp[0]


@cuda.jit
def printing(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        print(i)
        out[i] = 2 * inp[i]


@cuda.jit
def printing_wrong(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        print(i)
        out[i] = 3 * inp[i]


@cuda.jit
def counting(out, inp):
    i = 0
    while i >= 0:
        i += 1
        out[0] = inp[0]


@cuda.jit
def with_statement(out, inp):
    with out:
        out[0] = inp[0]


@cuda.jit
def unknown_name(out, inp):
    out[0] = inp[0] + not_defined_anywhere  # noqa: F821


@cuda.jit
def list_of_lists(out, inp):
    out[0] = [[1.0], [inp[0]]][0]


@cuda.jit
def empty(out, inp):
    pass


@cuda.jit
def renamed(result, data):
    """Right, with names and comments of its own."""
    # the guard first
    index = cuda.grid(1)
    if index < result.shape[0]:
        result[index] = data[index] + data[index]


@cuda.jit
def renamed_in_place(result, data):
    index = cuda.grid(1)
    if index < result.shape[0]:
        data[index] = data[index] + data[index]
        result[index] = data[index]


@cuda.jit
def not_a_number(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = math.nan


@cuda.jit
def hoarder(out, inp):
    tile = cuda.shared.array(128, float32)
    i = cuda.grid(1)
    if i < out.shape[0]:
        tile[cuda.threadIdx.x] = inp[i]
        out[i] = 2 * tile[cuda.threadIdx.x]


@cuda.jit
def conflicted(out, inp):
    tile = cuda.shared.array((128, 32), float32)
    i = cuda.grid(1)
    if i < out.shape[0]:
        tile[cuda.threadIdx.x, 0] = inp[i]
        out[i] = 2 * tile[cuda.threadIdx.x, 0]


@cuda.jit
def neighbours(out, inp):
    tile = cuda.shared.array(128, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < out.shape[0]:
        tile[127 - tx] = inp[i]
        tile[tx] = inp[i]
        out[i] = 2 * tile[tx]


@cuda.jit
def waived_neighbours(out, inp):
    tile = cuda.shared.array(128, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < out.shape[0]:
        tile[127 - tx] = inp[i]  # smemnb: allow[race] I am sure of it
        tile[tx] = inp[i]  # smemnb: allow[race] here as well
        out[i] = 2 * tile[tx]  # smemnb: allow[race, race_in_warp] and here


@cuda.jit
def odd_comment(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = 2 * inp[i]  # smemnb: allow[nothing]


@cuda.jit
def untouched(out, inp):
    i = cuda.grid(1)  # the stub of ex00_scale without its docstring
    # FILL

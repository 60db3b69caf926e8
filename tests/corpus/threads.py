"""Threads that end before the others expect it, and variables that some never assign."""

from numba import cuda, float32

from tests.corpus.pairs import buggy, clean, floats, vectors, zeros

N = 64


@buggy("ended_by_exception", 24, 1, N, args=lambda: (zeros(N), floats(40)))  # 64 - 40
def raises_past_the_end(out, inp):
    i = cuda.grid(1)
    if i >= inp.size:
        raise IndexError("past the end")  # (1)
    out[i] = inp[i]


@clean
def returns_past_the_end(out, inp):
    i = cuda.grid(1)
    if i >= inp.size:
        return
    out[i] = inp[i]


@buggy("ended_by_exception", 32, 2, N, args=vectors(128))  # 16 odd threads of each warp in 1 block
def asserts_what_need_not_hold(out, inp):
    i = cuda.grid(1)
    assert i < N or i % 2 == 0  # (1)
    out[i] = inp[i]


@clean
def asserts_what_holds(out, inp):
    i = cuda.grid(1)
    assert i < out.size
    out[i] = inp[i]


@buggy("unassigned", 54, 1, N, args=lambda: (zeros(N), floats(N)))  # 64 - 10
def best_of_some(out, inp):
    i = cuda.grid(1)
    if i < 10:
        best = inp[i]
    out[i] = best  # (1)


@clean
def best_of_all(out, inp):
    i = cuda.grid(1)
    best = float32(0)
    if i < 10:
        best = inp[i]
    out[i] = best


@buggy("unassigned", 22, 1, N, args=vectors(N))  # every third of 64 threads has no round
def last_of_no_rounds(out, inp):
    i = cuda.grid(1)
    for k in range(i % 3):
        last = inp[i] + float32(k)
    out[i] = last  # (1)


@clean
def last_of_one_round(out, inp):
    i = cuda.grid(1)
    for k in range(4):
        last = inp[i] + float32(k)
    out[i] = last


@buggy("unassigned", 54, 1, N, args=lambda: (zeros(N), 10))  # Numba takes full for True anyway
def full_in_some(out, n):
    i = cuda.grid(1)
    if i < n:
        full = 5
    if full >= 3:  # (1)
        out[i] = float32(1)


@clean
def full_in_all(out, n):
    i = cuda.grid(1)
    full = 0
    if i < n:
        full = 5
    if full >= 3:
        out[i] = float32(1)


@buggy("exited_before_grid_barrier", 28, 2, N, args=lambda: (zeros(128), floats(100)))  # 128 - 100
def grid_barrier_behind_a_return(out, inp):
    i = cuda.grid(1)
    if i >= inp.size:
        return
    out[i] = inp[i]
    cuda.cg.this_grid().sync()  # (1)
    out[i] += out[inp.size - 1]


@clean
def grid_barrier_behind_a_guard(out, inp):
    i = cuda.grid(1)
    if i < inp.size:
        out[i] = inp[i]
    cuda.cg.this_grid().sync()
    last = out[inp.size - 1]
    cuda.cg.this_grid().sync()
    if i < inp.size:
        out[i] += last


@buggy("exited_before_grid_barrier", 2 * N, 4, N, args=lambda: (zeros(256), floats(128)))
def blocks_that_do_not_come(out, inp):  # 2 of 4 blocks
    i = cuda.grid(1)
    if cuda.blockIdx.x >= 2:
        return
    out[i] = inp[i]
    cuda.cg.this_grid().sync()  # (1)
    out[i + 128] = out[127 - i]


@clean
def blocks_that_come(out, inp):
    i = cuda.grid(1)
    if cuda.blockIdx.x < 2:
        out[i] = inp[i]
    cuda.cg.this_grid().sync()
    if cuda.blockIdx.x < 2:
        out[i + 128] = out[127 - i]

"""Kernels whose comments waive findings, and some whose comments do not manage to."""

from numba import cuda, float32


@cuda.jit
def on_its_line(out, inp):
    i = cuda.threadIdx.x
    out[i] = inp[i, 0]  # a column  # smemnb: allow[uncoalesced] read once, at the start


@cuda.jit
def above(out, inp):
    i = cuda.threadIdx.x
    # 1. a column
    # smemnb: allow[uncoalesced] read once,
    # at the start
    out[i] = inp[i, 0]


@cuda.jit
def over_several_lines(out, inp):
    i = cuda.threadIdx.x
    out[i] = max(
        float32(2),
        inp[i, 0],
    )  # smemnb: allow[uncoalesced] read once, at the start


@cuda.jit
def two_of_one_line(out, inp):
    i = cuda.threadIdx.x
    # smemnb: allow[uncoalesced, float64_arithmetic] read once, at the start
    out[i] = inp[i, 0] * 0.1


@cuda.jit
def two_above(out, inp):
    i = cuda.threadIdx.x
    # smemnb: allow[float64_arithmetic] on purpose
    # smemnb: allow[uncoalesced] read once, at the start
    out[i] = inp[i, 0] * 0.1


@cuda.jit(device=True)
def first_of(inp, i):
    return inp[i, 0]  # smemnb: allow[uncoalesced] read once, at the start


@cuda.jit
def in_a_device_function(out, inp):
    i = cuda.threadIdx.x
    out[i] = first_of(inp, i)


@cuda.jit
def at_the_second_line(out, inp):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    tile[i] = inp[i, 0]  # smemnb: allow[uncoalesced] read once, at the start
    out[i] = tile[63 - i]  # smemnb: allow[race] the test wants one


@cuda.jit
def blank_line_between(out, inp):
    i = cuda.threadIdx.x
    # smemnb: allow[uncoalesced] read once, at the start

    out[i] = inp[i, 0]


@cuda.jit
def wrong_line(out, inp):
    i = cuda.threadIdx.x
    value = inp[i, 0]
    out[i] = value  # smemnb: allow[uncoalesced] read once, at the start


@cuda.jit
def wrong_kind(out, inp):
    i = cuda.threadIdx.x
    out[i] = inp[i, 0]  # smemnb: allow[scattered] read once, at the start


@cuda.jit
def no_reason(out, inp):
    i = cuda.threadIdx.x
    out[i] = inp[i, 0]  # smemnb: allow[uncoalesced]


@cuda.jit
def misspelt(out, inp):
    i = cuda.threadIdx.x
    out[i] = inp[i, 0]  # smemnb: allow[uncoalesed] read once, at the start


@cuda.jit
def unreadable(out, inp):
    i = cuda.threadIdx.x
    out[i] = inp[i, 0]  # smemnb: ignore


@cuda.jit
def in_a_text(out, inp):
    """# smemnb: allow[stale] no comment, so nothing is said of it"""
    i = cuda.threadIdx.x
    out[i] = inp[i, 0]


@cuda.jit
def unused(out, inp):
    i = cuda.threadIdx.x
    out[i] = inp[0, i]  # smemnb: allow[uncoalesced] read once, at the start


@cuda.jit
def unused_and_known(out, inp):
    i = cuda.threadIdx.x
    out[i] = inp[0, i]  # smemnb: allow[uncoalesced, unused_waiver] other launches have columns


@cuda.jit
def did_not_run(out, inp):
    i = cuda.threadIdx.x
    out[i] = inp[0, i]
    if i > 100:
        out[i] = inp[i, 0]  # smemnb: allow[uncoalesced] read once, at the start

"""Four walks of one thread at once: which is the first to arrive, with four loads under way."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, int32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes

ROW = 32  # places that a walk of a published case goes back by


@cuda.jit
def first_arrival(out, following, starts):
    """Steps until one of a thread's four walks is at place 0.  Walk w of thread i: starts[w, i]."""
    # FILL (about 8 lines)
    i = cuda.grid(1)
    if i < out.shape[0]:
        a, b, c, d = starts[0, i], starts[1, i], starts[2, i], starts[3, i]
        steps = int32(0)
        while a != 0 and b != 0 and c != 0 and d != 0:
            a, b, c, d = following[a], following[b], following[c], following[d]
            steps += 1
        out[i] = steps


def _arrived(following, starts):
    """All walks a step at a time, until each thread has one at place 0."""
    at, steps = starts.copy(), np.zeros(starts.shape[1], np.int32)
    going = (at != 0).all(axis=0)
    while going.any():
        steps += going
        at = following[at]
        going &= (at != 0).all(axis=0)
    return steps


def _back_by_rows(threads, shortest=6):
    """Lanes side by side: each step goes back by 32 places, and walk 2 is the shortest."""
    lengths = np.array([shortest + 3, shortest + 1, shortest, shortest + 5])
    places = np.arange(ROW * (lengths.max() + 1))
    following = np.where(places < 2 * ROW, 0, places - ROW).astype(np.int32)
    lanes = np.arange(threads) % ROW
    return following, (lengths[:, None] * ROW + lanes).astype(np.int32)


def _downwards(places, threads, seed=0, high=6):
    """Each place names one of those a little below it; starts anywhere, a few at the end."""
    back = scattered(places, seed=places + seed, low=1, high=high, dtype=np.int32)
    following = np.maximum(np.arange(places, dtype=np.int32) - back, 0).astype(np.int32)
    starts = scattered((4, threads), seed=threads + seed, low=0, high=places - 1, dtype=np.int32)
    return following, starts


def _cases():
    """Lanes side by side, with its budget; walks of any length, also of none."""
    # 4 warps, 6 steps, 4 walks
    once = Budget(
        sectors_per_request=4, requests={"out": 4, "following": 96, "starts": 16}, shared_bytes=0
    )
    yield Case(partial(_back_by_rows, 128), grid=(2,), block=(64,), budget=once)
    shapes = [(90, 70, 32), (40, 1, 32), (7, 97, 32), (60, 33, 96), (1, 5, 32)]
    shapes += [(places, threads, 64) for places, threads in [sizes(2, seed=41, low=20, high=90)]]
    for places, threads, block in shapes:
        held = Budget(shared_bytes=0, requests={"following": _loads(places, threads)})
        yield Case(
            partial(_downwards, places, threads), cover((threads,), (block,)), (block,), held
        )


def _loads(places, threads, **how):
    """Requests of four walks that go together: the longest wait of each warp, four times."""
    steps = _arrived(*_downwards(places, threads, **how))
    return int(sum(4 * steps[first : first + 32].max() for first in range(0, threads, 32)))


def _fresh(draw):
    """Lanes side by side, held to the budget of the first case; any walks."""
    threads = 32 * draw.size(1, 4)
    yield Case(partial(_back_by_rows, threads, draw.size(2, 9)), (threads // 32,), (32,), like=0)
    places, threads, block = draw.size(20, 90), draw.size(2, 90), draw.one_of(32, 64, 96)
    data = partial(_downwards, places, threads, draw.numbers())
    yield Case(data, cover((threads,), (block,)), (block,))


EXERCISE = Exercise(
    name="ex41_arrival",
    chapter="41_latency",
    title="The first of four walks",
    specification=_arrived,
    solution=first_arrival,
    wrong=(
        Wrong(
            "Right, but one walk after the other, each to its end: more loads, one under way.",
            {
                "steps = int32(0)": "steps = int32(1 << 30)\n"
                "for w in range(4):\n"
                "    at, own = starts[w, i], int32(0)\n"
                "    while at != 0:\n"
                "        at = following[at]\n"
                "        own += 1\n"
                "    steps = min(steps, own)",
                "while a": "while False:",
                "a, b, c, d = starts": "a, b, c, d = 1, 1, 1, 1",
            },
            ("requests", "following"),
        ),
        Wrong(
            "Goes on until all four have arrived: those at 0 stay there.",
            {"while a": "while a != 0 or b != 0 or c != 0 or d != 0:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Looks at the first walk alone.",
            {"while a": "while a != 0:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Counts the place it begins at as a step.",
            {"steps = int32(0)": "steps = int32(1)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Nobody asks whether the thread has walks.",
            {"if i": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "The starts of thread i lie side by side: a row for each thread.",
            {
                "a, b, c, d = starts": "at = starts.reshape(starts.size)\n"
                "a, b, c, d = at[4 * i], at[4 * i + 1], at[4 * i + 2], at[4 * i + 3]"
            },
            ("output", "wrong"),
        ),
        Wrong(
            "All four walks follow the first one.",
            {"a, b, c, d = following": "a = following[a]\nb, c, d = a, a, a"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A thread has four places in four variables. In one round of the loop each of them takes "
        "its step; none of the four loads needs another one's result.",
        "Read the four starts before the loop: the walk's number is the row, the thread's the "
        "column. The loop goes on as long as no walk has arrived, and counts its rounds.",
        "One `while` whose condition asks all four places not to be 0, joined by `and`. In it four "
        "new places, each from its own old one, and a counter that begins as `int32(0)`. After it "
        "one store.",
    ),
    budget=Budget(shared_bytes=0),
)

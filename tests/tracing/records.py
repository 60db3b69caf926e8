"""Records as watchers leave them, made by hand, for a kernel whose lines are known."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from smemnb.lockstep.watch import Site
from smemnb.tracing.model import Observation, SiteCounts, WorstRequest
from smemnb.tracing.tracer import trace_of

cuda = float32 = None  # the kernel below is read, not run


def turn(out, inp):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()
    out[ty, tx] = tile[tx, ty]


FILE = str(Path(__file__))
FIRST = turn.__code__.co_firstlineno
STORE, BARRIER, LOAD = FIRST + 3, FIRST + 4, FIRST + 5
COLUMN = WorstRequest(tuple(lane * 128 for lane in range(32)), (True,) * 32, (1, 0, 0), 3)


def site(line, text, kind, *, column=4, function="turn", file=FILE):
    return Site(function, file, line, column, text, kind)


def array(name, space, shape=(32, 32), dtype="float32"):
    kind = np.dtype(dtype)
    strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    return SimpleNamespace(
        name=name,
        space=space,
        shape=shape,
        strides=strides,
        dtype=kind,
        itemsize=kind.itemsize,
        base=0,
    )


TILE, INP, OUT = array("tile", "shared"), array("inp", "global"), array("out", "global")
INP_LOAD = site(STORE, "inp[ty, tx]", "load", column=19)
TILE_STORE = site(STORE, "tile[ty, tx]", "store")
OUT_STORE = site(LOAD, "out[ty, tx]", "store")
TILE_LOAD = site(LOAD, "tile[tx, ty]", "load", column=18)
WAIT = site(BARRIER, "cuda.syncthreads()", "barrier")


def on_global(where, of, requests=64, sectors=256, ideal=256):
    lanes = requests * 32
    return SiteCounts(
        where, of, where.kind, 4, requests, lanes, sectors=sectors, ideal_sectors=ideal
    )


def on_shared(where, of, ways=1, requests=64, worst=None):
    return SiteCounts(
        where,
        of,
        where.kind,
        4,
        requests,
        requests * 32,
        wavefronts=requests * ways,
        ideal=requests,
        extra=requests * (ways - 1),
        ways=ways,
        worst=worst,
    )


COUNTS = (
    on_global(INP_LOAD, INP),
    on_shared(TILE_STORE, TILE),
    on_shared(TILE_LOAD, TILE, ways=32, worst=COLUMN),
    on_global(OUT_STORE, OUT),
)


def seen(kind, where=TILE_LOAD, **others):
    record = {
        "block": (1, 0, 0),
        "thread": (3, 1, 0),
        "count": 1,
        "warp": 1,
        "array": TILE,
        "index": (1, 3),
    }
    return Observation(kind, where, **{**record, **others})


def race(kind="race", first=TILE_STORE, then=TILE_LOAD, **others):
    record = {"other": then, "other_thread": (1, 3, 0), "other_warp": 3, "count": 992}
    return seen(kind, first, **{**record, **others})


def turned(observations=(), counts=COUNTS, **others):
    """The trace of `turn` over 2 blocks of 32 x 32 threads."""
    launch = {"grid": (2, 1, 1), "block": (32, 32, 1), "shared_bytes": (4096, 0), **others}
    return trace_of(turn, counts=counts, observations=observations, **launch)

"""What `smemnb.measure.ladder` runs on a GPU: tasks, each compiled and timed in a process.

Every time is the median of CUDA events around single launches, taken in turns with what it is
compared with: torch's copy of the matrix for a transpose (or the wide copy without torch), cuBLAS
through torch with TF32 off for a product. A nap of the GPU goes first, so that launches wait in its
queue and no time of the host is in between. Matrices that fit the L2 cache are found there.
"""

from __future__ import annotations

import fcntl
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from ..kernels.matmul import ladder as products
from ..kernels.matmul.wide import matmul_of
from ..kernels.transpose import ladder as transposes
from ..kernels.transpose import shaped, wide

Run = dict[str, Any]
Options = tuple[tuple[str, Any], ...]
LOCK = Path(tempfile.gettempdir()) / "smemnb-ladder.lock"
CHECKED_ROWS = 64
NAPS = 12  # of a millisecond each


@dataclass(frozen=True)
class Task:
    """Something to time: `what` is "transpose" or "matmul".

    `rung` is a name of the ladder, "fastest" for the kernel that fits the shape, or "of ..." for a
    choice that is tried out. `shape` is rows, columns (and depth). `spare` elements lie between
    rows.
    """

    what: str
    rung: str
    shapes: tuple[tuple[int, ...], ...]
    itemsize: int = 4
    spare: int = 0
    repeats: int = 15
    options: Options = ()


@cuda.jit  # type: ignore[untyped-decorator]
def nap(rounds: int) -> None:
    """Keep the GPU busy for `rounds` milliseconds."""
    for _ in range(rounds):
        cuda.nanosleep(1_000_000)


def tasks() -> list[Task]:
    """All of them, the ones that take longest to compile first."""
    square, large = (4096,) * 3, (8192,) * 3
    ragged, small = (4095, 4097, 4099), (1024,) * 3
    found = [
        Task("matmul", "fastest", (square, large, (2048,) * 3, (1024, 8192, 8192))),
        Task("matmul", "fastest", ((8192, 1024, 8192), (2048, 2048, 8192))),
        Task("matmul", "fastest", (ragged, (4096, 4096, 4099))),
        Task("matmul", "fastest", ((4100, 4100, 4100),), spare=4),
        Task("matmul", "fastest", (small,)),
        Task("matmul", "fastest", ((1000, 1001, 1003),)),
    ]
    for rows, cols, warp_rows, warp_cols, lanes in (
        (64, 64, 64, 32, 8),
        (64, 64, 32, 32, 4),
        (64, 128, 32, 64, 4),
        (64, 64, 32, 32, 8),
    ):
        options: Options = (
            ("rows", rows),
            ("cols", cols),
            ("warp_rows", warp_rows),
            ("warp_cols", warp_cols),
            ("lanes_down", lanes),
        )
        found.append(Task("matmul", "of", (small,), options=options))
    for one in (("wide_out", True), ("stage_at", 5), ("band", 0), ("band", 8), ("band", 16)):
        found.append(Task("matmul", "of", (square, large), options=(one,)))
    for number, rung in enumerate(products.LADDER):
        shapes = (square, large) if rung.aligned > 1 else (square,)
        found.append(Task("matmul", rung.name, shapes, repeats=3 if number < 5 else 11))
    return found + _transposes()


def _transposes() -> list[Task]:
    square = ((16384, 16384),)
    shapes = (*square, (8192, 8192), (4096, 16384), (16384, 4096), (16383, 16381), (16380, 16388))
    found = [
        Task("transpose", "fastest", shapes),
        Task("transpose", "fastest", ((16384, 16384), (8191, 8193)), itemsize=2),
        Task("transpose", "fastest", ((16384, 16384), (8191, 8193)), itemsize=8),
        Task("transpose", "fastest", ((16384, 16384), (16383, 16381)), itemsize=1),
        Task("transpose", "fastest", ((8192, 8192),), spare=4),
    ]
    for blocks in (2, 4):
        options: Options = (("threads", 512), ("blocks", blocks))
        found.append(Task("transpose", "of", square, options=options))
    for itemsize, tile in ((2, (128, 64)), (2, (64, 128)), (1, (128, 128)), (4, (128, 64))):
        found.append(Task("transpose", "of", square, itemsize, options=(("tile", tile),)))
    odd = ((16383, 16381),)
    for tile, down in (
        ((64, 64), 16),
        ((128, 32), 16),
        ((128, 64), 16),
        ((128, 64), 32),
        ((256, 32), 16),
        ((256, 32), 32),
        ((64, 32), 8),
    ):
        options = (("tile", tile), ("threads_y", down))
        found.append(Task("transpose", "flat", odd, options=options))
    found.append(
        Task("transpose", "flat", odd, 2, options=(("tile", (128, 64)), ("threads_y", 16)))
    )
    for tile in ((64, 64), (128, 32), (128, 64)):
        found.append(Task("transpose", "of", ((16380, 16388),), options=(("tile", tile),)))
    found += [Task("transpose", rung.name, square) for rung in transposes.LADDER]
    return [*found, Task("transpose", transposes.COPY.name, square)]


def run(task: Task) -> list[Run]:
    """Compile, check and time one task; an error becomes a row that says it."""
    rows = []
    for shape in task.shapes:
        row: Run = {
            "what": task.what,
            "rung": task.rung,
            "shape": shape,
            "itemsize": task.itemsize,
            "spare": task.spare,
            "options": dict(task.options),
        }
        try:
            row |= (_transpose if task.what == "transpose" else _matmul)(task, shape)
        except Exception as error:  # one bad rung is no reason to lose the others
            row["error"] = f"{type(error).__name__}: {error}"[:300]
        rows.append(row)
    return rows


def _torch() -> Any:
    try:
        torch: Any = import_module("torch")
    except ImportError:
        return None
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch


def _timed(measured: Callable[[], Any], beside: Callable[[], Any], repeats: int) -> Run:
    """Medians in milliseconds of two things launched in turns."""
    events = [[cuda.event(timing=True) for _ in range(3)] for _ in range(repeats)]
    measured(), beside()
    cuda.synchronize()
    nap[1, 1](NAPS)
    for first, second, third in events:
        first.record()
        measured()
        second.record()
        beside()
        third.record()
    cuda.synchronize()
    ours = [cuda.event_elapsed_time(first, second) for first, second, _ in events]
    theirs = [cuda.event_elapsed_time(second, third) for _, second, third in events]
    ms, limit_ms = statistics.median(ours), statistics.median(theirs)
    return {"ms": ms, "limit_ms": limit_ms, "ratio": limit_ms / ms, "spread": max(ours) / min(ours)}


def _nothing() -> None:
    """What stands beside a product where there is no cuBLAS."""


@contextmanager
def _alone() -> Iterator[None]:
    """The GPU for this process: no other one of ours computes meanwhile."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        cuda.synchronize()


def _matrix(rows: int, cols: int, itemsize: int, spare: int, seed: int) -> tuple[Any, Any]:
    """A matrix of random bits or of numbers in [-1, 1), as the kernel sees it and as torch does."""
    kind = {1: "uint8", 2: "int16", 4: "float32", 8: "int64"}[itemsize]
    torch = _torch()
    if torch is None:
        random = np.random.default_rng(seed)
        whole = random.random((rows, cols + spare), np.float32) * 2 - 1
        if itemsize != 4:
            whole = (whole * 120).astype(kind)
        return _seen(cuda.to_device(whole)[:, :cols], itemsize), None
    torch.manual_seed(seed)
    if itemsize == 4:
        whole = torch.rand(rows, cols + spare, device="cuda") * 2 - 1
    else:
        whole = torch.randint(
            0, 120, (rows, cols + spare), device="cuda", dtype=getattr(torch, kind)
        )
    part = whole[:, :cols]
    return _seen(cuda.as_cuda_array(part), itemsize), part


def _seen(array: Any, itemsize: int) -> Any:
    """A device array under the type that the kernels move."""
    kind = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.uint64}[itemsize]
    return array if array.dtype == kind else _as_type(array, np.dtype(kind))


class _Shown:
    """A device array's interface with another type of the same size."""

    def __init__(self, array: Any, dtype: np.dtype[Any]) -> None:
        self.owner = array
        self.__cuda_array_interface__ = dict(array.__cuda_array_interface__) | {
            "typestr": dtype.str
        }


def _as_type(array: Any, dtype: np.dtype[Any]) -> Any:
    return cuda.as_cuda_array(_Shown(array, dtype))


def _compiled(kernel: Any, grid: Any, block: Any, arguments: tuple[Any, ...]) -> tuple[Any, Run]:
    """The launch, compiled, and what the kernel needs per thread."""
    kernel.compile(tuple(kernel.typeof_pyval(value) for value in arguments))
    (registers,), (local,) = (
        set(found.values())
        for found in (kernel.get_regs_per_thread(), kernel.get_local_mem_per_thread())
    )
    started = kernel[grid, block]
    return (lambda: started(*arguments)), {"registers": registers, "local_bytes": local}


def _transpose(task: Task, shape: tuple[int, ...]) -> Run:
    (rows, cols), torch = shape, _torch()
    copies = task.rung == transposes.COPY.name
    with _alone():
        inp, as_torch = _matrix(rows, cols, task.itemsize, task.spare, 1)
        turned = (rows, cols) if copies else (cols, rows)
        out, out_torch = _matrix(*turned, task.itemsize, task.spare, 2)
    rung = _transpose_rung(task, out, inp)
    launch, needs = _compiled(rung.kernel, rung.grid(rows, cols), rung.block, (out, inp))
    row: Run = {"kernel": rung.name, **needs}
    with _alone():
        launch()
        cuda.synchronize()
        beside = _copy(inp, as_torch)
        if torch is None:
            expected = inp.copy_to_host() if copies else inp.copy_to_host().T
            row["right"] = bool(np.array_equal(out.copy_to_host(), expected))
        else:
            row["right"] = bool(torch.equal(out_torch, as_torch if copies else as_torch.t()))
        row |= _timed(launch, beside, task.repeats)
        if torch is not None and task.rung == "fastest":
            torch_ms = _timed(lambda: as_torch.t().contiguous(), _nothing, 5)["ms"]
            row["times_torch"] = torch_ms / row["ms"]
    row["gb_per_s"] = 2 * rows * cols * task.itemsize / row["ms"] / 1e6
    return row


def _copy(inp: Any, as_torch: Any) -> Callable[[], Any]:
    """A device copy of as many bytes, contiguous on both sides."""
    torch = _torch()
    if torch is not None:
        source = as_torch.contiguous()
        target = torch.empty_like(source)
        return lambda: target.copy_(source)
    source = cuda.device_array(inp.shape, inp.dtype)
    target = cuda.device_array(inp.shape, inp.dtype)
    return lambda: target.copy_to_device(source)


def _transpose_rung(task: Task, out: Any, inp: Any) -> Any:
    if task.rung == "fastest":
        return transposes.fastest(out, inp)
    if task.rung == "flat":
        kernel = shaped.transpose_turned_of(transposes.TYPES[task.itemsize], **dict(task.options))
        tile, down = dict(task.options)["tile"], dict(task.options)["threads_y"]
        return replace(transposes.LADDER[-3], kernel=kernel, block=(32, down), tile=tile)
    if task.rung == "of":
        options = dict(task.options)
        kernel = wide.transpose_fastest_of(transposes.TYPES[task.itemsize], **options)
        threads, tile = options.get("threads", 512), options.get("tile", wide.TILES[task.itemsize])
        return replace(transposes.LADDER[-1], kernel=kernel, block=(threads, 1), tile=tile)
    every = (*transposes.LADDER, transposes.COPY)
    return next(rung for rung in every if rung.name == task.rung)


def _matmul(task: Task, shape: tuple[int, ...]) -> Run:
    (rows, cols, depth), torch = shape, _torch()
    with _alone():
        a, a_torch = _matrix(rows, depth, 4, task.spare, 1)
        b, b_torch = _matrix(depth, cols, 4, task.spare, 2)
        out, out_torch = _matrix(rows, cols, 4, task.spare, 3)
    kernel, grid, block, scaled = _matmul_launch(task, out, a, b)
    arguments = (out, a, b, np.float32(1), np.float32(0)) if scaled else (out, a, b)
    launch, needs = _compiled(kernel, grid, block, arguments)
    row: Run = {"kernel": kernel.__name__, **needs}
    beside: Callable[[], Any] = _nothing
    with _alone():
        launch()
        cuda.synchronize()
        if torch is None:
            row |= _errors_on_host(a, b, out)
        else:
            theirs = torch.empty(rows, cols, device="cuda")
            beside = partial(torch.matmul, a_torch, b_torch, out=theirs)
            beside()
            row |= _errors(torch, a_torch, b_torch, out_torch, theirs)
        row |= _timed(launch, beside, task.repeats)
    work = 2 * rows * cols * depth
    row["tflop_per_s"] = work / row["ms"] / 1e9
    row["limit_tflop_per_s"] = work / row["limit_ms"] / 1e9 if torch is not None else 0.0
    return row


def _matmul_launch(task: Task, out: Any, a: Any, b: Any) -> tuple[Any, Any, Any, bool]:
    if task.rung == "fastest":
        fit = products.fastest(out, a, b)
        return fit.kernel, fit.grid, fit.block, True
    if task.rung == "of":
        tiling = replace(products.FASTEST, **dict(task.options))
        grid = (-(-out.shape[1] // tiling.cols), -(-out.shape[0] // tiling.rows))
        return matmul_of(tiling, name="matmul_of"), grid, tiling.threads, True
    rung = next(one for one in products.LADDER if one.name == task.rung)
    return rung.kernel, rung.grid(*out.shape), rung.block, rung.scaled


def _errors(torch: Any, a: Any, b: Any, ours: Any, theirs: Any) -> Run:
    """Largest errors against float64 over some rows, as shares of the largest result."""
    last = a.shape[0] - 1
    rows = torch.unique(torch.linspace(0, last, CHECKED_ROWS, device="cuda").long())
    true = a[rows].double() @ b.double()
    largest = true.abs().max()

    def error(result: Any) -> float:
        return float((result[rows].double() - true).abs().max() / largest)

    found: Run = {"wrong_by": error(ours), "limit_wrong_by": error(theirs)}
    found["right"] = found["wrong_by"] < 1e-5 and bool(
        torch.allclose(ours, theirs, rtol=1e-3, atol=1e-2)
    )
    return found


def _errors_on_host(a: Any, b: Any, out: Any) -> Run:
    rows = np.unique(np.linspace(0, a.shape[0] - 1, CHECKED_ROWS).astype(int))
    true = a.copy_to_host()[rows].astype(np.float64) @ b.copy_to_host().astype(np.float64)
    wrong = np.abs(out.copy_to_host()[rows] - true).max() / np.abs(true).max()
    return {"wrong_by": float(wrong), "right": bool(wrong < 1e-5)}

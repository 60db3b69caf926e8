"""Products by tensor cores on a GPU, beside mma from registers alone and beside cuBLAS.

A case is a type, a shape and a layout. Its contenders take turns in one run:

    peak      mma from registers alone, as many operations as the case has (`variants.peak`)
    smemnb    what `matmul` launches; copies of misaligned operands and sums of parts are timed too
    a cut     the same with other choices, `128x256x16s4r1`: rows, columns, words of the depth,
              stages, blocks on a multiprocessor
    a rung    of `kernels.tensor.ladder`, for float16 in rows that begin at multiples of 16 bytes;
              of `kernels.hopper.ladder` too, on a GPU that has its instructions
    torch, cupy   cuBLAS, into a result of the operands' dtype

Results are compared with NumPy's product in float32 of some rows. Data are normally distributed;
zeros, or small integers, would draw less power and let the GPU's clock rise.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from ...compiled import cubin
from ...compiled.machine import instructions, main_loop
from ...compiled.usage import read_resources
from ...errors import SmemnbError
from ...kernels.hopper import ladder as hopper
from ...kernels.tensor.choosing import CUTS, DEEP_CUTS, step_cycles
from ...kernels.tensor.ladder import LADDER
from ...kernels.tensor.tensor_cut import KINDS, TensorCut
from ...kernels.tensor.variants.peak import MMA, THREADS, WARPS, flops, mma_peak_of
from ...kernels.tensor.variants.staged import tensor_product_of
from ...operations import launching, patterns
from ...operations.backends.find import array_view
from ...operations.backends.matrix_view import MatrixView
from ...operations.tensor_products import tensor_launches
from ..rows import head, row
from .contenders import TimedLaunch
from .timing import Clock, in_rounds, spread

__all__ = [
    "CASES",
    "TUNED",
    "Reading",
    "TensorCase",
    "cases_named",
    "checked",
    "lines",
    "mixes",
    "predicted",
]
__all__ += ["read"]

SHIPPED = "h200_tensor.json"
LIMITS = {"f16": 2e-3, "bf16": 1.6e-2, "tf32": 2e-3}
"""Largest difference that a right result has, over the largest element: its own rounding."""
CHECKED_ROWS = 16
TUNED = (
    *CUTS[:3],
    *DEEP_CUTS[:3],
    TensorCut(128, 256, depth=32, stages=3),
    TensorCut(128, 256, depth=32, lasting=1),
    TensorCut(256, 128, depth=32, lasting=1),
    TensorCut(128, 256, depth=32, band=16),
)
"""Choices that are worth a try for large products; `--cuts` times them."""


@dataclass(frozen=True)
class TensorCase:
    """A product to be timed.

    Attributes:
        kind: "f16", "bf16" or "tf32".
        shape: rows, columns, depth.
        layout: "N" or "T" for each operand: T lies by columns, as x.T does.
    """

    kind: str
    shape: tuple[int, int, int]
    layout: str = "NN"

    @property
    def name(self) -> str:
        """Such as "bf16 8192x8192x8192 NT"."""
        return f"{self.kind} {'x'.join(map(str, self.shape))} {self.layout}"

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        rows, cols, depth = self.shape
        return 2 * rows * cols * depth


SHAPES = {
    "8192": [((8192, 8192, 8192), layout) for layout in ("NN", "NT", "TN", "TT")],
    "4096": [((4096, 4096, 4096), "NN")],
    "ragged": [((8200, 8184, 8208), "NN"), ((8191, 8193, 8195), "NN"), ((4095, 4097, 4099), "NT")],
}
CASES = tuple(
    TensorCase(kind, shape, layout)
    for kind in ("bf16", "f16", "tf32")
    for group in SHAPES.values()
    for shape, layout in group
)
"""What `smemnb bench tensor` times: large ones in all layouts, smaller ones, ragged ones."""


def cases_named(kinds: Sequence[str], sizes: Sequence[str]) -> tuple[TensorCase, ...]:
    """The cases of these types and sizes; a size is a name of `SHAPES` or MxNxK[:LAYOUT].

    >>> [one.name for one in cases_named(["f16"], ["4096", "64x32x16:NT"])]
    ['f16 4096x4096x4096 NN', 'f16 64x32x16 NT']

    Raises:
        SmemnbError: a word that is neither.
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise SmemnbError(f"--kinds {unknown[0]}: known are {', '.join(KINDS)}")
    found: list[tuple[tuple[int, int, int], str]] = []
    for word in sizes:
        found += SHAPES[word] if word in SHAPES else [_shape(word)]
    return tuple(TensorCase(kind, *one) for kind in kinds for one in found)


def _shape(word: str) -> tuple[tuple[int, int, int], str]:
    text, _, layout = word.partition(":")
    numbers = text.split("x")
    if len(numbers) == 3 and all(one.isdigit() and int(one) for one in numbers):
        if (layout or "NN") in ("NN", "NT", "TN", "TT"):
            rows, cols, depth = map(int, numbers)
            return (rows, cols, depth), layout or "NN"
    raise SmemnbError(
        f"--sizes {word}: wanted is one of {', '.join(SHAPES)}, or rows x columns x depth with a"
        " layout, such as 4096x4096x8192:NT"
    )


@dataclass(frozen=True)
class Reading:
    """A contender's times in a case.

    Attributes:
        case: its name.
        name: of the contender.
        ms: median.
        low, high: quartiles.
        count: launches that were timed.
        tflops: by the median.
        error: largest difference over the largest element, of what makes a result.
        failed: why there is no time, "" where there is one.
    """

    case: str
    name: str
    ms: float = 0.0
    low: float = 0.0
    high: float = 0.0
    count: int = 0
    tflops: float = 0.0
    error: float | None = None
    failed: str = ""


@dataclass
class Held:
    """The arrays of a case, on the device.

    Attributes:
        a, b: as they lie, a.T in place of a that lies by columns: numbers, or bits of bfloat16.
        out: of the result.
        rows: that are checked.
        true: those rows of the product, in float32.
    """

    a: Any
    b: Any
    out: Any
    rows: np.ndarray[Any, Any]
    true: np.ndarray[Any, Any]


@dataclass
class Contender:
    """One way to do a case."""

    name: str
    run: Callable[[], Any]
    makes: bool = True
    result: Callable[[], Any] = field(default=lambda: None)


# --- arrays --------------------------------------------------------------------------------------


def bits(numbers: np.ndarray[Any, Any], kind: str) -> np.ndarray[Any, Any]:
    """Numbers of float32 as those of a kind; of bfloat16 as bits, rounded to the nearest."""
    if kind == "f16":
        return numbers.astype(np.float16)
    if kind == "tf32":
        return numbers.astype(np.float32)
    words = numbers.astype(np.float32).view(np.uint32)
    return ((words + 0x7FFF + ((words >> 16) & 1)) >> 16).astype(np.uint16)


def singles(found: np.ndarray[Any, Any], kind: str) -> np.ndarray[Any, Any]:
    """The way back: float32."""
    if kind == "bf16" and found.dtype == np.uint16:
        return (found.astype(np.uint32) << 16).view(np.float32)
    return found.astype(np.float32)


@lru_cache(maxsize=1)
def _drawn(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Normally distributed numbers, kept for the next layout of a shape."""
    return np.random.default_rng(seed).standard_normal(count, np.float32)


def held(case: TensorCase, seed: int = 1) -> Held:
    """Arrays of random numbers for a case, and the right result of some rows."""
    rows, cols, depth = case.shape
    numbers = _drawn((rows + cols) * depth, seed)
    a = bits(numbers[: rows * depth].reshape(rows, depth), case.kind)
    b = bits(numbers[rows * depth :].reshape(depth, cols), case.kind)
    some = np.unique(np.linspace(0, rows - 1, min(rows, CHECKED_ROWS)).astype(int))
    true = singles(a[some], case.kind) @ singles(b, case.kind)
    at_a, at_b = (
        cuda.to_device(np.ascontiguousarray(one.T if letter == "T" else one))
        for one, letter in zip((a, b), case.layout, strict=True)
    )
    dtype = {"f16": np.float16, "bf16": np.uint16, "tf32": np.float32}[case.kind]
    return Held(at_a, at_b, cuda.device_array((rows, cols), dtype), some, true)


# --- contenders ----------------------------------------------------------------------------------


def cut_name(cut: TensorCut) -> str:
    """Such as "128x256x16s4r1"; unusual warps and band behind it, and "l" where blocks stay.

    >>> cut_name(TensorCut(128, 256)), cut_name(TensorCut(64, 64, warp_rows=32, warp_cols=32))
    ('128x256x16s4r1', '64x64x16s4r1w32x32')
    """
    warps = (
        "" if (cut.warp_rows, cut.warp_cols) == (64, 64) else f"w{cut.warp_rows}x{cut.warp_cols}"
    )
    band = "" if cut.band == TensorCut.band else f"b{cut.band}"
    lasting = "l" if cut.lasting else ""
    shape = f"{cut.rows}x{cut.cols}x{cut.depth}s{cut.stages}r{cut.resident}"
    return f"{shape}{warps}{band}{lasting}"


def peak(case: TensorCase, multiprocessors: int) -> Callable[[], Any]:
    """mma from registers, as many operations as the case has, within one round of each block."""
    out = cuda.device_array(multiprocessors * THREADS, np.float32)
    each = multiprocessors * WARPS * MMA * flops(case.kind)
    rounds = np.uint32(max(1, round(case.operations / each)))
    kernel = mma_peak_of(case.kind)[multiprocessors, THREADS]
    return lambda: kernel(out, rounds, np.uint32(2026))


def product(case: TensorCase, arrays: Held, cut: TensorCut | None = None) -> Callable[[], Any]:
    """What `matmul` launches, or the same with a cut of one's own."""
    letters = ("out", "N"), ("a", case.layout[0]), ("b", case.layout[1])
    views = [_view(name, getattr(arrays, name), letter) for name, letter in letters]
    some, new = tensor_launches((views[0], views[1], views[2]), case.kind, cut)
    at = {view.name: view.address for view in views}
    return patterns.starting(some, new, at, views[0].place)


def _view(name: str, array: Any, letter: str) -> MatrixView:
    """An array of the device as an operand: turned, without a copy, where it lies by columns."""
    view = array_view(name, array)
    turn = -1 if letter == "T" else 1
    return MatrixView(
        name,
        array,
        view.backend,
        view.address,
        view.extents[::turn],
        view.steps[::turn],
        view.dtype,
        view.itemsize,
        max(0, view.place),
    )


def _rung(rung: Any, arrays: Held) -> Callable[[], Any]:
    rows, cols = arrays.out.shape
    kernel = rung.kernel[rung.grid(rows, cols), rung.block]
    return lambda: kernel(arrays.out, arrays.a, arrays.b)


def _hopper_rung(rung: Any, arrays: Held, multiprocessors: int) -> Callable[[], Any]:
    made = hopper.prepared(rung, arrays.out, arrays.a, arrays.b, multiprocessors)
    grid = rung.grid(*arrays.out.shape, multiprocessors)
    one = made.launch
    start = TimedLaunch(one.kernel, grid, (rung.threads, 1), one.args, one.shared_bytes).starter()
    return lambda: (start(), made)  # the maps are kept as long as the launch


def contenders(
    case: TensorCase,
    arrays: Held,
    multiprocessors: int,
    libraries: Sequence[Any] = (),
    cuts: Sequence[TensorCut] = (),
    *,
    rungs: bool = False,
    warpgroups: bool = False,
) -> Iterator[tuple[str, Callable[[], Contender]]]:
    """Names, and what makes each contender: compiled only when it is asked for."""
    yield "peak", lambda: Contender("peak", peak(case, multiprocessors), makes=False)
    ours = lambda: singles(arrays.out.copy_to_host()[arrays.rows], case.kind)  # noqa: E731
    yield "smemnb", lambda: Contender("smemnb", product(case, arrays), result=ours)
    for cut in cuts:
        name = cut_name(cut)
        yield name, partial(_cut_contender, name, case, arrays, cut, ours)
    fits = case.kind == "f16" and case.layout == "NN" and not any(n % 8 for n in case.shape[1:])
    for rung in LADDER if rungs and fits else ():
        yield rung.name, partial(_rung_contender, rung, arrays, ours)
    for one in hopper.LADDER if rungs and fits and warpgroups else ():
        yield one.name, partial(_hopper_contender, one, arrays, multiprocessors, ours)
    for library in libraries:
        if library.name == "cupy" and case.kind == "bf16":
            continue
        yield library.name, partial(_library_contender, library, case, arrays)


def _cut_contender(name: str, case: TensorCase, arrays: Held, cut: Any, ours: Any) -> Contender:
    return Contender(name, product(case, arrays, cut), result=ours)


def _rung_contender(rung: Any, arrays: Held, ours: Any) -> Contender:
    return Contender(rung.name, _rung(rung, arrays), result=ours)


def _hopper_contender(rung: Any, arrays: Held, multiprocessors: int, ours: Any) -> Contender:
    return Contender(rung.name, _hopper_rung(rung, arrays, multiprocessors), result=ours)


def _library_contender(library: Any, case: TensorCase, arrays: Held) -> Contender:
    """cuBLAS through a library, on the same memory."""
    module = library.module
    rows, cols, _ = case.shape
    if library.name == "torch":
        pairs = ((arrays.a, case.layout[0]), (arrays.b, case.layout[1]))
        sides = [_torch(module, one, case.kind, letter) for one, letter in pairs]
        dtype = {"f16": module.float16, "bf16": module.bfloat16, "tf32": module.float32}[case.kind]
        out = module.empty((rows, cols), dtype=dtype, device="cuda")
        module.backends.cuda.matmul.allow_tf32 = case.kind == "tf32"

        def run() -> Any:
            return module.mm(sides[0], sides[1], out=out)

        def found() -> Any:
            return out[module.as_tensor(arrays.rows, device="cuda")].float().cpu().numpy()

    else:
        if case.kind == "tf32":
            module.cuda.cublas.setMathMode(module.cuda.device.get_cublas_handle(), 3)
        sides = [
            module.asarray(one).T if letter == "T" else module.asarray(one)
            for one, letter in zip((arrays.a, arrays.b), case.layout, strict=True)
        ]
        out = module.empty((rows, cols), sides[0].dtype)

        def run() -> Any:
            return module.matmul(sides[0], sides[1], out=out)

        def found() -> Any:
            return module.asnumpy(out[module.asarray(arrays.rows)]).astype(np.float32)

    return Contender(library.name, run, result=found)


def _torch(torch: Any, array: Any, kind: str, letter: str) -> Any:
    if kind == "bf16":
        signed = cuda.cudadrv.devicearray.DeviceNDArray(
            array.shape, array.strides, np.dtype(np.int16), gpu_data=array.gpu_data
        )
        found = torch.as_tensor(signed, device="cuda").view(torch.bfloat16)
    else:
        found = torch.as_tensor(array, device="cuda")
    return found.t() if letter == "T" else found


# --- readings ------------------------------------------------------------------------------------


def read(
    case: TensorCase,
    some: Iterator[tuple[str, Callable[[], Contender]]],
    arrays: Held,
    clock: Clock,
    *,
    least: int = 9,
    most: int = 31,
    budget_ms: float = 3000.0,
    between: Callable[[], object] = lambda: None,
) -> Iterator[Reading]:
    """The readings of a case: results are checked first, then all take turns."""
    made: list[Contender] = []
    errors: dict[str, float | None] = {}
    for name, make in some:
        try:
            one = make()
            one.run()
            clock.wait()
            errors[name] = _error(one, arrays) if one.makes else None
        except Exception as error:  # whatever it is, the others are timed
            yield Reading(case.name, name, failed=f"{type(error).__name__}: {error}"[:300])
            continue
        found = errors[name]
        if found is not None and not found <= LIMITS[case.kind]:
            said = f"off by {found:.1e} of the largest element; allowed are {LIMITS[case.kind]:.1e}"
            yield Reading(case.name, name, error=found, failed=said)
            continue
        made.append(one)
    if not made:
        return
    rounds = list(
        in_rounds(
            [one.run for one in made],
            clock,
            least=least,
            most=most,
            budget_ms=budget_ms,
            between=between,
        )
    )
    for at, one in enumerate(made):
        times = spread([each[at] for each in rounds])
        tflops = case.operations / times.median / 1e9
        yield Reading(
            case.name,
            one.name,
            times.median,
            times.low,
            times.high,
            times.count,
            tflops,
            errors[one.name],
        )


def _error(one: Contender, arrays: Held) -> float:
    largest = float(np.abs(arrays.true).max()) or 1.0
    return float(np.abs(one.result() - arrays.true).max()) / largest


SMALL_SHAPES = ((520, 392, 264), (129, 257, 67), (64, 48, 8192))
"""Whole chunks; rows that begin anywhere; a depth in parts."""


def checked(
    kinds: Sequence[str],
    layouts: Sequence[str] = ("NN", "NT", "TN", "TT"),
    shapes: Sequence[tuple[int, int, int]] = SMALL_SHAPES,
) -> Iterator[Reading]:
    """Small products, once each and not timed: to be run under compute-sanitizer, say."""
    for kind in kinds:
        for layout in layouts:
            for shape in shapes:
                case = TensorCase(kind, shape, layout)
                arrays = held(case)
                for name, make in contenders(case, arrays, 1, rungs=True):
                    if name == "peak":
                        continue
                    one = make()
                    one.run()
                    cuda.synchronize()
                    error = _error(one, arrays)
                    said = "" if error <= LIMITS[kind] else f"off by {error:.1e}"
                    yield Reading(case.name, name, error=error, failed=said)


# --- words ---------------------------------------------------------------------------------------


def lines(readings: Sequence[Reading]) -> Iterator[str]:
    """A table of each case: times, TFLOP/s, shares of the peak loop and of cuBLAS."""
    for case in dict.fromkeys(one.case for one in readings):
        some = [one for one in readings if one.case == case]
        timed = {one.name: one for one in some if not one.failed}
        yield ""
        yield case
        yield head(
            f"  {'':26}",
            f"{'ms':>10}",
            f"{'TFLOP/s':>10}",
            f"{'of peak':>10}",
            f"{'of cuBLAS':>11}",
        )
        best = max((timed[one].tflops for one in ("torch", "cupy") if one in timed), default=0.0)
        top = timed["peak"].tflops if "peak" in timed else 0.0
        for one in some:
            if one.failed:
                yield f"  {one.name}: {one.failed}"
                continue
            yield row(
                f"  {one.name:26}",
                f"{one.ms:10.3f}",
                f"{one.tflops:10.1f}",
                f"{one.tflops / top:10.2f}" if top else f"{'':10}",
                f"{one.tflops / best:11.2f}" if best else f"{'':11}",
            )


def predicted(cuts: Sequence[TensorCut] = TUNED) -> Iterator[str]:
    """What the model says of a step of each cut; nothing of it is measured."""
    yield "cycles of a step by the model, all blocks of a multiprocessor; the largest one limits"
    yield head(
        f"  {'':26}", f"{'product':>9}", f"{'shared':>9}", f"{'arrival':>9}", f"{'of product':>12}"
    )
    for cut in cuts:
        costs = step_cycles(cut, cut.resident)
        share = costs["product"] / max(costs.values())
        yield row(
            f"  {cut_name(cut):26}",
            *(f"{costs[name]:9.0f}" for name in ("product", "shared", "arrival")),
            f"{share:12.2f}",
        )


def mixes(
    kinds: Sequence[str], cuts: Sequence[TensorCut] = CUTS[:1], cc: tuple[int, int] = (9, 0)
) -> Iterator[str]:
    """The main loop of each cut as compiled, per warp and step: needs no GPU, but the compiler."""
    yield f"main loops as compiled for cc {cc[0]}.{cc[1]}, per warp and step of the depth"
    names = ("HMMA", "LDSM", "LDS", "LDGSTS", "BAR")
    yield head(
        f"  {'':34}",
        f"{'registers':>10}",
        f"{'spilled':>8}",
        *(f"{name:>8}" for name in names),
        f"{'all':>6}",
        f"{'issued':>8}",
    )
    for kind in kinds:
        for layout in ("NN", "NT", "TN", "TT"):
            for cut in cuts:
                yield _mix(kind, layout, cut, cc, names)


def _mix(kind: str, layout: str, cut: TensorCut, cc: tuple[int, int], names: Sequence[str]) -> str:
    result = "float32" if kind == "tf32" else kind
    out = "float32" if kind == "tf32" else "uint16"
    sides = [letter == "T" for letter in layout]
    kernel = tensor_product_of(cut, kind, sides[0], sides[1], result)
    held = f"void({out}[:, ::1], uint32[:, ::1], uint32[:, ::1], float32, float32)"
    elf = cubin(kernel, held, cc)
    used = read_resources(elf, cc)
    # three loads of nothing that stand before the copies of cc 9.0 bring nothing and are never run
    loop = [one for one in main_loop(instructions(elf)) if one.guard != "@!PT"]
    found = Counter(one.name.split(".")[0] for one in loop)
    slots = len(loop) * cut.warps * cut.resident / 4
    issued = slots / step_cycles(cut, cut.resident)["product"]
    return row(
        f"  {kind} {layout} {cut_name(cut):26}",
        f"{used.registers:>10}",
        f"{used.local_bytes:>8}",
        *(f"{found[name]:>8}" for name in names),
        f"{len(loop):>6}",
        f"{issued:8.2f}",
    )


# --- a run ---------------------------------------------------------------------------------------


def measured(
    cases: Sequence[TensorCase],
    *,
    libraries: Sequence[Any],
    cuts: Sequence[TensorCut],
    rungs: bool,
    warpgroups: bool,
    seconds: float,
    out: Path | None,
    about: dict[str, Any],
    clock: Clock,
    multiprocessors: int,
    between: Callable[[], object],
    show: Callable[[str], object] = print,
) -> list[Reading]:
    """All readings; the file grows case by case. With `warpgroups` rungs of Hopper's are timed."""
    begun, found = time.monotonic(), []
    for case in cases:
        if time.monotonic() - begun > seconds:
            break
        arrays = held(case)
        some = contenders(
            case, arrays, multiprocessors, libraries, cuts, rungs=rungs, warpgroups=warpgroups
        )
        readings = list(read(case, some, arrays, clock, between=between))
        for line in lines(readings):
            show(line)
        found += readings
        if out is not None:
            kept = about | {"readings": [asdict(one) for one in found]}
            out.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        del arrays
    return found


def loaded(path: Path | None = None) -> list[Reading]:
    """The readings of a file; without one those of an H200 that come with the package.

    Raises:
        SmemnbError: it holds none.
    """
    file = files("smemnb.measure.recorded") / SHIPPED if path is None else path
    try:
        return [Reading(**one) for one in json.loads(file.read_text("utf-8"))["readings"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SmemnbError(f"{path} holds no readings of tensor products: {error}") from None


def on_gpu() -> bool:
    """Whether launches go to a GPU."""
    return launching.on_gpu()

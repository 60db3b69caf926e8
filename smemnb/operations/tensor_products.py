"""Products by tensor cores: `matmul` of float16 and bfloat16, and of float32 with `precision`.

The kernels (`smemnb.kernels.tensor`) take operands as words, whatever their type, with rows that
begin at multiples of 16 bytes. Where an operand's do not, a launch before copies it into the
workspace, where they do. Where tiles are too few, parts of the depth are summed by a launch after.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..errors import LaunchRefused
from ..hardware import limits
from ..kernels.step import Launch
from ..kernels.tensor import choosing
from ..kernels.tensor.choosing import Offer
from ..kernels.tensor.tensor_cut import CHUNK, KINDS, TensorCut
from ..kernels.tensor.variants import aligned, parts
from ..kernels.tensor.variants.aligned import aligned_copy_of
from ..kernels.tensor.variants.lasting import lasting_product_of
from ..kernels.tensor.variants.parts import parts_added_of
from ..kernels.tensor.variants.staged import tensor_product_of
from . import launching
from .backends.matrix_view import HOST, MatrixView, TypeRefused
from .choice import ENGINE
from .contract import check_size, number
from .laid import Laid
from .matmul_choice import LIKE_H200, ProductPlan, _counted
from .operands import Launch as Part
from .operands import Operand, launches, operand, result_shape
from .patterns import Call, Work, check_dtype, perform
from .workspace import Workspace

HALVES = {"float16": "f16", "bfloat16": "bf16"}
"""Dtypes whose products are made by tensor cores, and the type of their operands."""
PRECISIONS = (None, "float32", "tf32")
SINGLE = "float32"
LEAST_CC = (8, 0)
"""The first architecture with these instructions."""
LEAST_SHARED = (8, 6)
"""The architecture from there on whose blocks have the least shared memory."""
_WORDS, _BITS = np.dtype(np.uint32), np.dtype(np.uint16)


def kind_of(value: Any) -> str | None:
    """The kind of an array's elements if products of it are made by tensor cores, else None.

    >>> kind_of(np.zeros(3, np.float16)), kind_of(np.zeros(3, np.float32)), kind_of(7)
    ('f16', None, None)
    """
    dtype = getattr(value, "dtype", None)
    try:
        return _kinds[dtype]
    except (KeyError, TypeError):
        pass
    kind = HALVES.get(str(dtype).rpartition(".")[2])
    try:
        if len(_kinds) < _MOST:
            _kinds[dtype] = kind
    except TypeError:  # no hash
        pass
    return kind


_kinds: dict[Any, str | None] = {}
_MOST = 256


def check_precision(precision: Any) -> None:
    """Raise LaunchRefused unless `precision` is one of those that `matmul` knows."""
    if not (precision is None or isinstance(precision, str)) or precision not in PRECISIONS:
        raise LaunchRefused(
            f"`precision` is {precision!r}. Pass 'tf32' for a product of float32 by tensor cores,"
            " which rounds operands to 10 bits behind the point; None or 'float32' keeps all"
        )


def tensor_product(
    a: Any, b: Any, out: Any, alpha: Any, beta: Any, stream: Any, rung: Any, precision: str | None
) -> Any:
    """The product by tensor cores."""
    if rung is not None:
        raise LaunchRefused(
            "`rung` names a kernel of the float32 ladder; products by tensor cores choose theirs."
            " Leave `rung` out"
        )
    factors = number("alpha", alpha), number("beta", beta)
    if out is None and factors[1] != 0:
        raise LaunchRefused(f"`beta` is {beta!r} and there is no `out` to weigh with it")
    into = "" if out is None else str(getattr(out, "dtype", "")).rpartition(".")[2]
    options = (*factors, precision, into)
    return perform("tensor product", _plan, {"a": a, "b": b}, options, out, stream)


# --- a plan --------------------------------------------------------------------------------------


class _Lies(NamedTuple):
    """The part of a `MatrixView` that `operand` looks at, of an array as kernels see it."""

    name: str
    backend: Any
    extents: tuple[int, ...]
    steps: tuple[int, ...]
    itemsize: int


class _Made(NamedTuple):
    """How a product is made.

    Attributes:
        kind: of the operands.
        result: "float32" or the kind of the result's bits.
        shape: of the result.
        found: its launches, of operands and results.
        offer: of the first one.
        sides: how the operands lie.
    """

    kind: str
    result: str
    shape: tuple[int, ...]
    found: list[Part]
    offer: Offer | None
    sides: list[_Lies]


def _plan(call: Call, alpha: Any, beta: Any, precision: str | None, into: str) -> Work:
    made = _made(call, precision, single=into == SINGLE)
    a, b = call["a"], call["b"]
    result, factors = made.result, (alpha, beta)
    dtype = np.dtype(np.float32) if result == SINGLE else _BITS
    own = None if result == SINGLE else call.views["a"].dtype
    words = f"the product of {a.shape} by {b.shape}"
    depth = made.found[0].a.cols if made.found else 1

    def some(new: Any, out: Laid) -> list[Launch]:
        every: list[Launch] = []
        into = _made_into(out, made, call)
        for one in into.found:
            every += _launches(new, out, (a, b), one, into, factors, call)
        return every

    seconds = _engine_seconds(made) if call.processors == ENGINE else 0.0
    fill = 0 if not depth and beta == 0 else None
    return Work(
        made.shape, dtype, some, words, "a @ b", seconds, fill, own, bool(beta != 0), gaps=True
    )


def _made_into(out: Laid, made: _Made, call: Call) -> _Made:
    """The same product where rows or matrices of the result have gaps between them."""
    if out.is_contiguous:
        return made
    left, right = operand(made.sides[0], "left"), operand(made.sides[1])  # type: ignore[arg-type]
    target = _result(left, right, made.shape, out.itemsize, made.sides, out.strides)
    found = launches(target, left, right)
    offer = _offer(call, found[0], made.kind, out.itemsize) if found else None
    return made._replace(found=found, offer=offer)


def _made(call: Call, precision: str | None, *, single: bool) -> _Made:
    views = call.views
    kind = _checked_kind(views["a"], views["b"], precision)
    check_chip(_compute_capability(call.place), kind)
    sides = [_lies(views[name], call[name]) for name in ("a", "b")]
    shape = result_shape(*sides)  # type: ignore[arg-type]
    left, right = operand(sides[0], "left"), operand(sides[1])  # type: ignore[arg-type]
    result = SINGLE if kind == "tf32" or single else kind
    size = 4 if result == SINGLE else 2
    found = launches(_result(left, right, shape, size, sides), left, right)
    offer = _offer(call, found[0], kind, size) if found else None
    for one in found[:1]:
        check_size("the product", one.out.rows, one.out.cols)
    return _Made(kind, result, shape, found, offer, sides)


def _checked_kind(a: MatrixView, b: MatrixView, precision: str | None) -> str:
    """The kind of both operands.

    Raises:
        TypeRefused: they are of two dtypes, or of none that tensor cores multiply here.
    """
    kinds = [kind_of(view) for view in (a, b)]
    if precision == "tf32":
        for view in (a, b):
            check_dtype(view, ("float32",), "a product with precision='tf32'")
        return "tf32"
    for view, kind in zip((a, b), kinds, strict=True):
        if kind is None:
            other = b if view is a else a
            narrow, wide = (other, view) if _name(view) == "float32" else (view, other)
            raise TypeRefused(
                f"`{view.name}` is {view.dtype} and `{other.name}` {other.dtype}: operands of a"
                f" product are of one dtype. Pass"
                f" {narrow.backend.cast.format(name=narrow.name, dtype=_name(wide))}"
            )
    if kinds[0] != kinds[1]:
        raise TypeRefused(
            f"`a` is {a.dtype} and `b` {b.dtype}: operands of a product are of one dtype. Pass"
            f" {b.backend.cast.format(name='b', dtype=_name(a))}"
        )
    if precision == "float32":
        raise LaunchRefused(
            f"`precision` is 'float32' and the operands are {a.dtype}, whose products are summed in"
            " float32 in any case. Leave `precision` out"
        )
    assert kinds[0] is not None
    return kinds[0]


def _name(view: MatrixView) -> str:
    return str(view.dtype).rpartition(".")[2]


def check_chip(cc: tuple[int, int] | None, kind: str) -> None:
    """Raise LaunchRefused for a GPU without the instructions; None stands for the engine."""
    if cc is not None and cc < LEAST_CC:
        had, wanted = (".".join(map(str, one)) for one in (cc, LEAST_CC))
        instead = "Leave `precision` out" if kind == "tf32" else "Cast the operands to float32"
        raise LaunchRefused(
            f"products of {KINDS[kind].dtype if kind != 'tf32' else 'tf32'} take tensor cores of"
            f" compute capability {wanted} or higher (mma.sync, cp.async), and this GPU has {had}."
            f" {instead}: that product runs on every GPU"
        )


def _compute_capability(place: int) -> tuple[int, int] | None:
    """Of the GPU that works; None in the engine."""
    if not launching.on_gpu():
        return None
    from numba import cuda

    chip = cuda.get_current_device() if place == HOST else cuda.gpus[place]
    return tuple(chip.compute_capability)


def _lies(view: MatrixView, laid: Laid) -> _Lies:
    return _Lies(view.name, view.backend, laid.shape, laid.strides, laid.itemsize)


def _result(
    a: Operand,
    b: Operand,
    shape: tuple[int, ...],
    size: int,
    sides: list[_Lies],
    steps: tuple[int, ...] = (),
) -> Operand:
    """Where the matrices of a result lie, contiguous without `steps` (in bytes).

    A vector's dropped axis has one row.
    """
    steps = steps or tuple(prod(shape[at + 1 :]) * size for at in range(len(shape)))
    ends = [len(one.extents) == 1 for one in sides]
    if all(ends):
        return Operand(1, 1, size)
    if ends[1]:
        return Operand(a.rows, 1, size, extents=shape[:-1], steps=steps[:-1])
    if ends[0]:
        return Operand(1, b.cols, b.cols * size, extents=shape[:-1], steps=steps[:-1])
    pitch = steps[-2] if a.rows > 1 else b.cols * size
    return Operand(a.rows, b.cols, pitch, extents=shape[:-2], steps=steps[:-2])


def _offer(call: Call, one: Part, kind: str, size: int) -> Offer:
    """The cut for a launch, and in how many parts its depth goes."""
    per_word = KINDS[kind].per_word
    words = -(-one.a.cols // per_word)
    shape, cut = (one.out.rows, one.out.cols, words), choosing.ENGINE
    if call.processors == ENGINE:
        return choosing.estimate(cut, shape, one.matrices, 1, LIKE_H200, size)
    cc = _compute_capability(call.place)
    cuts = choosing.cuts_of(kind)
    return choosing.choose(shape, one.matrices, call.processors, size, _limits(cc), cuts)


def _limits(cc: tuple[int, int] | None) -> Any:
    """Of a compute capability; of one that the table does not have, the least from cc 8.0 on."""
    try:
        return None if cc is None else limits(cc)
    except ValueError:
        return limits(LEAST_SHARED)


def _launches(
    new: Any,
    out: Laid,
    operands: tuple[Laid, Laid],
    one: Part,
    made: _Made,
    factors: tuple[Any, Any],
    call: Call,
) -> list[Launch]:
    """Copies of what does not begin at 16 bytes, the product, and the sum of its parts."""
    size = 4 if made.result == SINGLE else 2
    offer = made.offer if one is made.found[0] else _offer(call, one, made.kind, size)
    assert offer is not None
    cut, before = offer.cut, []
    sides = []
    for laid, part, at, step in zip(
        operands, (one.a, one.b), one.at[1:], one.steps[1:], strict=True
    ):
        words, copy = _as_words(new, laid, part, at, step, one.matrices)
        before += copy
        sides.append(words)
    rows, cols, many = one.out.rows, one.out.cols, "batch" if one.matrices > 1 else ""
    target = _matrices(out, (rows, cols), one.out.pitch, one.at[0], one.steps[0], one.matrices)
    wide = _begins_wide(target) and not cols % (16 // size)
    flags, result, into, own = (one.a.columns, one.b.columns), made.result, target, factors
    if offer.parts > 1:
        pitch = -(-cols // 4) * 4
        sums = new.scratch((offer.parts, rows, pitch), np.float32)
        into = sums.seen((offer.parts, rows, cols), (rows * pitch * 4, pitch * 4, 4))
        many, result, wide = "parts", SINGLE, not cols % 4
        own = np.float32(1), np.float32(0)
    kernel = tensor_product_of(cut, made.kind, *flags, result, wide, many)
    grid = (offer.tiles, 1, one.matrices if many == "batch" else offer.parts)
    if cut.lasting and not many:
        kernel = lasting_product_of(cut, made.kind, *flags, result, wide)
        grid = (min(offer.tiles, call.processors * cut.resident), 1, 1)
    args = (into, *sides, *own)
    after = []
    if offer.parts > 1:
        blocks = -(-rows * cols // parts.THREADS)
        adding = parts_added_of(made.result)
        after.append(Launch(adding, blocks, parts.THREADS, (target, into, *factors)))
    return [*before, Launch(kernel, grid, cut.threads, args, cut.shared_bytes), *after]


def _matrices(
    laid: Laid, shape: tuple[int, int], pitch: int, at: int, step: int, count: int
) -> Laid:
    """Matrices in an array, along a first axis if they are several."""
    strides = pitch, laid.itemsize
    if count > 1:
        return laid.seen((count, *shape), (step, *strides), at=at)
    return laid.seen(shape, strides, at=at)


def _begins_wide(laid: Laid) -> bool:
    """Whether all rows begin at multiples of 16 bytes."""
    steps = zip(laid.strides[:-1], laid.shape[:-1], strict=True)
    return laid.aligned(16) and all(step % 16 == 0 or extent == 1 for step, extent in steps)


def _as_words(
    new: Any, laid: Laid, part: Operand, at: int, step: int, count: int
) -> tuple[Laid, list[Launch]]:
    """An operand in words with rows at multiples of 16 bytes, and the copy that makes it so."""
    (rows, cols), size = part.stored, laid.itemsize
    per_word = 4 // size
    if not rows or not cols:  # nothing to add up: zeros, 16 bytes of them in a row at least
        words = max(CHUNK, -(-cols * size // 16) * CHUNK)
        zeros = new((max(1, rows), words), np.uint32)
        some = zeros if count == 1 else zeros.seen((count, *zeros.shape), (0, *zeros.strides))
        return some, []
    seen = laid.seen(laid.shape, laid.strides, dtype=np.dtype(f"u{size}"))
    found = _matrices(seen, (rows, cols), part.pitch, at, step, count)
    if _begins_wide(found) and not cols % (16 // size):
        strides = (*found.strides[:-1], 4)
        return found.seen((*found.shape[:-1], cols // per_word), strides, dtype=_WORDS), []
    same = step == 0 and count > 1
    matrices = 1 if same else count
    words = max(CHUNK, -(-cols * size // 16) * CHUNK)
    copy = new.scratch((matrices, rows, words), np.uint32)
    begin = seen.seen((matrices, rows, cols), (step, part.pitch, size), at=at)
    blocks = max(1, -(-rows * words // aligned.THREADS)), 1, matrices
    launch = Launch(aligned_copy_of(size), blocks, aligned.THREADS, (copy, begin))
    if count == 1:
        return copy.seen((rows, words)), [launch]
    between = 0 if same else rows * words * 4
    return copy.seen((count, rows, words), (between, words * 4, 4)), [launch]


ENGINE_SECONDS = 6.0, 30e-9
"""Of the lockstep engine: for the types of a kernel, and for each multiplication in whole tiles."""


def _engine_seconds(made: _Made) -> float:
    """What the launches take in the lockstep engine, within a factor of three."""
    cut, total = choosing.ENGINE, 0.0
    for one in made.found:
        tiles = -(-one.out.rows // cut.rows) * -(-one.out.cols // cut.cols)
        total += tiles * cut.rows * cut.cols * max(32, one.a.cols) * one.matrices
    return ENGINE_SECONDS[0] + ENGINE_SECONDS[1] * total


# --- launches by themselves ----------------------------------------------------------------------


def tensor_launches(
    views: tuple[MatrixView, MatrixView, MatrixView],
    kind: str,
    cut: TensorCut | None = None,
    depth_parts: int = 1,
) -> tuple[list[Launch], Workspace]:
    """What a product launches, with arrays as `Laid`s, and the workspace that it needs.

    Args:
        views: of out, a and b; `a` and `b` hold numbers of `kind`, as such or as integers of their
            size.
        kind: of the operands.
        cut: that makes it; None for the choice.
        depth_parts: of the depth, with a cut.
    """
    into, a, b = views
    call = Call({"a": a, "b": b})
    call.processors = call.processors or LIKE_H200
    sides = [_lies(view, call[name]) for view, name in ((a, "a"), (b, "b"))]
    shape = result_shape(*sides)  # type: ignore[arg-type]
    left, right = operand(sides[0], "left"), operand(sides[1])  # type: ignore[arg-type]
    result, size = (SINGLE, 4) if into.itemsize == 4 else (kind, 2)
    found = launches(_result(left, right, shape, size, sides, into.steps), left, right)
    offer = _offer(call, found[0], kind, size)
    if cut is not None:
        words = -(-found[0].a.cols // KINDS[kind].per_word)
        extents = found[0].out.rows, found[0].out.cols, words
        offer = choosing.estimate(
            cut, extents, found[0].matrices, depth_parts, call.processors, size
        )
    made, new = _Made(kind, result, shape, found, offer, sides), Workspace()
    bits = np.dtype(np.float32) if size == 4 else _BITS
    out = Laid("out", shape, into.steps, bits, 0, into.address % 128)
    factors = np.float32(1), np.float32(0)
    some: list[Launch] = []
    for one in found:
        some += _launches(new, out, (call["a"], call["b"]), one, made, factors, call)
    return some, new


# --- in words ------------------------------------------------------------------------------------


def tensor_plan(
    views: tuple[MatrixView, MatrixView], precision: str | None, multiprocessors: int | None
) -> ProductPlan:
    """How a product by tensor cores would be made on a GPU, and why."""
    call = Call({"a": views[0], "b": views[1]})
    call.processors = multiprocessors or call.processors or LIKE_H200
    made = _made(call, precision, single=False)
    if made.offer is None:
        return ProductPlan("none", 0, (0, 0), (0, 0), 0, "The result has no elements.")
    new, size = Workspace(), 4 if made.result == SINGLE else 2
    out = Laid("out", (1,), (size,), np.dtype(f"u{size}")).seen(made.shape)
    zero = np.float32(0)
    some = _launches(new, out, (call["a"], call["b"]), made.found[0], made, (zero, zero), call)
    offer, cut = made.offer, made.offer.cut
    each = f" for each of {made.found[0].matrices} matrices" * (made.found[0].matrices > 1)
    tiles = _counted(offer.tiles, "tile")
    shown = {"f16": "float16", "bf16": "bfloat16", "tf32": "tf32"}[made.kind]
    words = (
        f"By tensor cores ({shown}, sums in float32): {tiles} of"
        f" {cut.rows}x{cut.cols}{each} for {call.processors} multiprocessors,"
        f" {cut.stages} stages of {cut.depth * 4} bytes of the depth."
    )
    if offer.parts > 1:
        words += f" The depth is cut in {offer.parts} parts, whose sums are added in order."
    copied = sum(one.kernel.__name__.startswith("aligned_copy") for one in some)
    if copied:
        which = "One operand is" if copied == 1 else "Both operands are"
        words += f" {which} copied first, to rows that begin at multiples of 16 bytes."
    words += f" By the model {_LIMITS[offer.limit]}."
    product = next(one for one in some if one.shared_bytes)
    total = sum(
        len(_launches(Workspace(), out, (call["a"], call["b"]), one, made, (zero, zero), call))
        for one in made.found
    )
    grid: Any = product.grid
    return ProductPlan(product.kernel.__name__, total, grid, (cut.threads, 1), new.bytes, words)


_LIMITS = {
    "product": "mma take most of the time",
    "shared": "the way through shared memory takes most of the time",
    "arrival": "the tiles' way from L2 takes most of the time",
    "memory": "every byte once takes most of the time",
}

"""Matrices of torch on one stream, and what ours, torch and CuPy do with them.

All of them take the very same memory. Products: values in [-1, 1); an operand by columns is the
transpose `.T` of a tensor by rows. Transposes: random bits, compared as integers; the copy moves
the same bytes in rows of 16 KB, by the kernel `copy_wide`. Results are made once, and given to each
contender, so that no time holds an allocation. TF32 is off, as `bench.libraries` has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from typing import Any, Final

from ....errors import SmemnbError
from ..contenders import COPY_COLS
from ..contenders import copy as copy_launch
from ..libraries import Library
from ..timing import Clock
from .problems import Problem, problems
from .timing import COPY, OURS, Contender, NotCaptured

__all__ = ["SETS", "TorchPlace", "calls_of"]

SETS: Final = 4
SET_BYTES: Final = 256 << 20
"""A problem of more bytes has one set: no L2 cache holds it, so the next launch finds nothing."""
DTYPES: Final = {1: "uint8", 2: "int16", 4: "float32", 8: "int64", 16: "complex128"}
BITS: Final = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "int64"}
COPY_ROW_BYTES: Final = 4 * COPY_COLS


class TorchPlace:
    """A device of torch and a stream on it.

    Args:
        torch: the module.
        clock: times launches on the stream.
        device: "cuda", or "cpu", where our operations run on the host's memory.
        stream: of torch, not the default one; None on the CPU.
        libraries: those beside which ours is timed.
        alone: makes a context within which nobody else works on the device.
    """

    def __init__(
        self,
        torch: Any,
        clock: Clock,
        *,
        device: str = "cuda",
        stream: Any = None,
        libraries: Sequence[Library] = (),
        alone: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.torch, self.clock, self.device = torch, clock, device
        self.stream, self.libraries, self.alone = stream, libraries, alone

    @contextmanager
    def current(self) -> Iterator[None]:
        """Within it all libraries work on the stream, and torch keeps no record for gradients."""
        with self._on_stream(), self._cupy_on_stream(), self.torch.no_grad():
            yield

    def _on_stream(self) -> AbstractContextManager[Any]:
        if self.stream is None:
            return nullcontext()
        found: AbstractContextManager[Any] = self.torch.cuda.stream(self.stream)
        return found

    def _cupy_on_stream(self) -> AbstractContextManager[Any]:
        cupy = next((one.module for one in self.libraries if one.name == "cupy"), None)
        if cupy is None or self.stream is None:
            return nullcontext()
        found: AbstractContextManager[Any] = cupy.cuda.ExternalStream(self.stream.cuda_stream)
        return found

    def ready(self, problem: Problem) -> _Products | _Transposes:
        """The matrices of a problem.

        Raises:
            MemoryError: it needs more than is free.
        """
        sets = SETS if _set_bytes(problem) <= SET_BYTES else 1
        self._make_room(_bytes_needed(problem, sets))
        if problem.operation == "matmul":
            return _Products(self, problem, sets)
        return _Transposes(self, problem, sets)

    def captured(self, launches: Sequence[Callable[[], object]]) -> Callable[[], object]:
        """What replays the launches as one graph.

        Raises:
            NotCaptured: a graph cannot hold them.
        """
        if self.stream is None:
            raise NotCaptured("there are no CUDA graphs on the CPU")
        from .graph import captured

        try:
            return captured(launches, self.stream.cuda_stream)
        except NotCaptured:
            self._forget_errors()
            raise

    def _forget_errors(self) -> None:
        """Let the runtime report the error of a capture here, and not to the next launch."""
        with suppress(RuntimeError):
            self.torch.zeros(1, device=self.device)
        self.torch.cuda.synchronize()

    def _make_room(self, need: int) -> None:
        """Give back what torch and CuPy keep for later, where memory is short."""
        if self.stream is None:
            return
        cuda = self.torch.cuda
        if cuda.mem_get_info()[0] < need:
            cuda.empty_cache()
            for library in self.libraries:
                if library.name == "cupy":
                    library.module.get_default_memory_pool().free_all_blocks()
        free = cuda.mem_get_info()[0]
        if free < need:
            raise MemoryError(
                f"needs about {need / 2**30:.1f} GiB, {free / 2**30:.1f} GiB of the GPU are free"
            )

    def numba_stream(self) -> Any:
        """The stream as Numba's object."""
        from numba import cuda

        return 0 if self.stream is None else cuda.external_stream(self.stream.cuda_stream)


class _Products:
    """Sets of `(a, b, out)`."""

    def __init__(self, place: TorchPlace, problem: Problem, sets: int) -> None:
        from ....operations import matmul

        self._torch = torch = place.torch
        rows, cols, depth = problem.shape
        by_columns = [letter == "T" for letter in problem.layout]
        extents = (rows, depth), (depth, cols)
        self._sets = []
        for number in range(sets):
            random = torch.Generator(place.device).manual_seed(number)
            a, b = (
                _numbers(place, one, random, by_columns=turned)
                for one, turned in zip(extents, by_columns, strict=True)
            )
            self._sets.append((a, b, torch.empty(rows, cols, device=place.device)))
        self._true: dict[int, Any] = {}
        self.plan = _plan(matmul, *self._sets[0][:2])
        ours = [partial(matmul, a, b, out=out) for a, b, out in self._sets]
        self.contenders = [Contender(OURS, ours)]
        self.left_out: dict[str, str] = {}
        for library in place.libraries:
            with _or_left_out(library, self.left_out):
                launches = [_product(library, *one) for one in self._sets]
                self.contenders.append(Contender(library.name, launches))

    def spoil(self, number: int) -> None:
        """Fill the result with NaN."""
        self._sets[number][2].fill_(math.nan)

    def error(self, number: int, name: str) -> tuple[float, float]:
        """Largest distance to the product in float64, and the largest value of that."""
        a, b, out = self._sets[number]
        if number not in self._true:
            self._true[number] = a.double() @ b.double()
        true = self._true[number]
        error = float((out.double() - true).abs().max())
        return (math.inf if math.isnan(error) else error), float(true.abs().max())

    def keep(self, number: int) -> Callable[[], bool]:
        """Whether the result has the bits that it has now."""
        self_out = self._sets[number][2]
        first = self_out.clone()
        bits = self._torch.int32
        return lambda: bool(self._torch.equal(self_out.view(bits), first.view(bits)))


class _Transposes:
    """Sets of `(inp, out)`, each in memory of whole rows of the copy."""

    def __init__(self, place: TorchPlace, problem: Problem, sets: int) -> None:
        from ....operations import transpose

        self._torch = torch = place.torch
        rows, cols = problem.shape
        size = problem.itemsize
        kind, self._bits = getattr(torch, DTYPES[size]), getattr(torch, BITS[size])
        self._parts = 2 if size == 16 else 1
        self._sets, self._memory = [], []
        for number in range(sets):
            memory = [_copy_rows(place, problem) for _ in range(2)]
            random = torch.Generator(place.device).manual_seed(number)
            memory[0].view(torch.int64).random_(generator=random)
            inp, out = (
                one.view(-1)[: rows * cols * size].view(kind).view(shape)
                for one, shape in zip(memory, ((rows, cols), (cols, rows)), strict=True)
            )
            self._sets.append((inp, out))
            self._memory.append(memory)
        self.plan = _plan(transpose, self._sets[0][0])
        ours = [partial(transpose, inp, out=out) for inp, out in self._sets]
        copies = [_copy(place, *memory) for memory in self._memory]
        self.contenders = [Contender(OURS, ours), Contender(COPY, copies)]
        self.left_out: dict[str, str] = {}
        for library in place.libraries:
            with _or_left_out(library, self.left_out):
                launches = [_transposed(library, *one) for one in self._sets]
                self.contenders.append(Contender(library.name, launches))

    def spoil(self, number: int) -> None:
        """Make every byte of the result another than it is to be."""
        inp, out = self._memory[number]
        out.view(-1).copy_(inp.view(-1)).bitwise_not_()
        result = self._integers(self._sets[number][1])
        result.copy_(self._true(number)).bitwise_not_()

    def error(self, number: int, name: str) -> tuple[float, float]:
        """0 where all bits are right, else infinite."""
        if name == COPY:
            right = self._torch.equal(*self._memory[number])
        else:
            right = self._torch.equal(self._integers(self._sets[number][1]), self._true(number))
        return (0.0 if right else math.inf), 1.0

    def keep(self, number: int) -> Callable[[], bool]:
        """Whether the result is right, which says that its bits are those of the first time."""
        return lambda: self.error(number, OURS)[0] == 0

    def _true(self, number: int) -> Any:
        return self._integers(self._sets[number][0]).transpose(0, 1)

    def _integers(self, matrix: Any) -> Any:
        """The matrix as integers, with a third axis for the two halves of 16 bytes."""
        if self._parts == 1:
            return matrix.view(self._bits)
        return self._torch.view_as_real(matrix).view(self._bits)


def calls_of(operation: str, count: int, seed: int) -> Callable[[int], Callable[[], object]]:
    """Our calls of a sweep, by the number of the problem, on tensors that nobody has filled.

    For processes that make a call ready and do not launch it (`bench.calls_ahead`).
    """
    from ....operations import matmul, transpose

    torch: Any = import_module("torch")
    wanted = problems(operation, count, seed)

    def of_product(problem: Problem) -> Callable[[], object]:
        rows, cols, depth = problem.shape
        a, b = (
            _empty(torch, shape, by_columns=letter == "T")
            for shape, letter in zip(((rows, depth), (depth, cols)), problem.layout, strict=True)
        )
        return partial(matmul, a, b, out=torch.empty(rows, cols, device="cuda"))

    def of_transpose(problem: Problem) -> Callable[[], object]:
        kind = getattr(torch, DTYPES[problem.itemsize])
        inp = torch.empty(problem.shape, dtype=kind, device="cuda")
        return partial(
            transpose, inp, out=torch.empty_like(inp.T, memory_format=torch.contiguous_format)
        )

    def call(at: int) -> Callable[[], object]:
        torch.cuda.empty_cache()
        return (of_product if operation == "matmul" else of_transpose)(wanted[at])

    return call


def _empty(torch: Any, shape: tuple[int, int], *, by_columns: bool) -> Any:
    made = torch.empty(shape[::-1] if by_columns else shape, device="cuda")
    return made.T if by_columns else made


def _numbers(place: TorchPlace, shape: tuple[int, int], random: Any, *, by_columns: bool) -> Any:
    """A float32 matrix with values in [-1, 1), by rows or by columns."""
    stored = shape[::-1] if by_columns else shape
    made = place.torch.empty(stored, device=place.device).uniform_(-1, 1, generator=random)
    return made.T if by_columns else made


def _product(library: Library, a: Any, b: Any, out: Any) -> Callable[[], object]:
    if library.name == "torch":
        return partial(library.module.mm, a, b, out=out)
    a, b, out = (library.module.asarray(one) for one in (a, b, out))
    return partial(library.module.matmul, a, b, out=out)


def _transposed(library: Library, inp: Any, out: Any) -> Callable[[], object]:
    if library.name == "torch":
        return partial(out.copy_, inp.T)
    inp, out = (library.module.asarray(one) for one in (inp, out))
    return partial(library.module.copyto, out, inp.T)


def _copy_rows(place: TorchPlace, problem: Problem) -> Any:
    """Memory for a matrix, as rows of the copy in bytes."""
    rows = -(-problem.work // 2 // COPY_ROW_BYTES)
    return place.torch.empty((rows, COPY_ROW_BYTES), dtype=place.torch.uint8, device=place.device)


def _copy(place: TorchPlace, inp: Any, out: Any) -> Callable[[], object]:
    if place.device == "cpu":
        return partial(out.copy_, inp)
    from numba import cuda

    words = [cuda.as_cuda_array(one.view(place.torch.float32), sync=False) for one in (out, inp)]
    made = copy_launch(*words)
    started = made.kernel[made.grid, made.block, place.numba_stream()]
    return lambda: started(*made.args)


@contextmanager
def _or_left_out(library: Library, left_out: dict[str, str]) -> Iterator[None]:
    """Note why a library cannot take these matrices, where it cannot."""
    try:
        yield
    except Exception as error:  # a library's own errors, whatever they are
        left_out[library.name] = " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _plan(operation: Any, *arrays: Any) -> str | None:
    """What an operation says it will do, in one line; None if it does not say."""
    said = getattr(operation, "plan", None)
    if said is None:
        return None
    with suppress(SmemnbError):  # a refusal comes again, with its reason, when it is called
        return " ".join(str(said(*arrays)).split())[:200]
    return None


def _set_bytes(problem: Problem) -> int:
    if problem.operation == "transpose":
        return problem.work
    rows, cols, depth = problem.shape
    return 4 * (rows * depth + depth * cols + rows * cols)


def _bytes_needed(problem: Problem, sets: int) -> int:
    """Matrices, what comparing them takes, and 64 MiB for workspaces and code."""
    further = problem.work // 2
    if problem.operation == "matmul":
        rows, cols, depth = problem.shape
        further = 8 * (rows * depth + depth * cols) + (8 * (2 + sets) + 4) * rows * cols
    return sets * _set_bytes(problem) + further + (64 << 20)

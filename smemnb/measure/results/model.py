"""Results of `smemnb bench`: where they were measured, how, and a row per kernel and shape.

Times are milliseconds on the GPU's own clock (events), medians over rounds with both quartiles.
A transpose's rate counts its bytes read and written, a product's two operations per multiply-add.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Protocol

__all__ = ["LIMIT", "NOT_MEASURED", "ROLES"]
__all__ += ["Clocks", "Gpu", "Origin", "Overhead", "Results", "Row"]

ROLES: Final = ("rung", "choice", "limit", "library")
"""A rung of the ladder; the kernel that the operation takes for the shape; the copy; a library."""

LIMIT: Final = "copy_wide"

NOT_MEASURED: Final = "not measured"
"""Why a rung has no time: it is newer than the results."""


@dataclass(frozen=True)
class Gpu:
    """The GPU: `cc` as "9.0", `memory_bytes` and `l2_bytes` in all."""

    name: str
    cc: str
    multiprocessors: int
    memory_bytes: int
    l2_bytes: int


@dataclass(frozen=True)
class Clocks:
    """What nvidia-smi read at a moment; None for what it did not say."""

    when: str
    sm_mhz: float | None
    memory_mhz: float | None
    temperature_c: float | None
    power_w: float | None


@dataclass(frozen=True)
class Row:
    """One contender at one shape.

    Attributes:
        operation: "transpose" or "matmul".
        name: of the rung, of the library, or "fastest" for the choice.
        role: one of `ROLES`.
        kernel: which kernel that was; "" for a library.
        shape: rows and columns of the input; of a product rows, columns and depth.
        itemsize: bytes per element.
        spare: elements between the end of a row and the next row.
        right: values were compared, every element: bits of a transpose, float64 for a product.
        ms: median; None if it was not timed, then `failed` says why.
        low_ms: first quartile.
        high_ms: third quartile.
        rounds: times behind the median.
        beside: the name of the row that `ratio` compares with; None if there was none.
        ratio: time of that row over the time of this one: above 1 this one is faster.
        registers: per thread.
        local_bytes: local memory per thread.
        error: largest error of a product over its largest value, against float64.
        bound_ms: the shortest time that the bounds allow.
        limiter: what sets that bound.
        failed: why there is no time.
    """

    operation: str
    name: str
    role: str
    kernel: str
    shape: tuple[int, ...]
    itemsize: int
    spare: int
    right: bool
    ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    rounds: int = 0
    beside: str | None = None
    ratio: float | None = None
    registers: int | None = None
    local_bytes: int | None = None
    error: float | None = None
    bound_ms: float | None = None
    limiter: str | None = None
    failed: str | None = None

    @property
    def case(self) -> tuple[str, tuple[int, ...], int, int]:
        """What all contenders of one round share."""
        return self.operation, self.shape, self.itemsize, self.spare

    @property
    def key(self) -> tuple[str, tuple[int, ...], int, int, str, str]:
        """What a row of another file must share to be compared with."""
        return (*self.case, self.role, self.name)

    @property
    def rate(self) -> float | None:
        """GB/s of a transpose, TFLOP/s of a product.

        >>> Row("transpose", "naive", "rung", "naive", (1000, 500), 4, 0, True, ms=0.5).rate
        8.0
        """
        return None if self.ms is None else rate(self.operation, self.shape, self.itemsize, self.ms)

    @property
    def over_bound(self) -> float | None:
        """Measured time over the bound: 1 would be the bound itself."""
        if self.ms is None or not self.bound_ms:
            return None
        return self.ms / self.bound_ms


@dataclass(frozen=True)
class Overhead:
    """Host time of one call of an operation beside the bare launch of the kernel it takes.

    `arrays` names the arrays' library; `result` says "given" (out=) or "made", and then the
    launch has an allocation by that library beside it. `call_us` and
    `launch_us` are medians in microseconds, `beyond_us` the median of their difference over the
    rounds and `low_us`, `high_us` its quartiles. `own_us` is what the arrays' own library takes for
    the same; None of Numba's arrays.
    """

    operation: str
    arrays: str
    result: str
    call_us: float
    launch_us: float
    beyond_us: float
    low_us: float
    high_us: float
    rounds: int
    own_us: float | None = None


class Origin(Protocol):
    """Where and how a file of times was measured; `Results` says what each means."""

    @property
    def gpu(self) -> Gpu: ...  # noqa: D102
    @property
    def driver(self) -> str: ...  # noqa: D102
    @property
    def cuda(self) -> str: ...  # noqa: D102
    @property
    def versions(self) -> dict[str, str]: ...  # noqa: D102
    @property
    def libraries(self) -> dict[str, str]: ...  # noqa: D102
    @property
    def date(self) -> str: ...  # noqa: D102
    @property
    def command(self) -> str: ...  # noqa: D102
    @property
    def l2(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Results:
    """A file of results.

    Attributes:
        gpu: where.
        driver: its version.
        cuda: newest CUDA version that the driver runs.
        versions: of Python and of the packages that compile and launch.
        libraries: each library asked for -> its version, or why it is not there.
        date: UTC, ISO 8601.
        command: as given.
        l2: what the L2 cache held when a time began, in words.
        finished: False if the run was interrupted or out of time: the rest is missing.
        clocks: before, after each shape, and after.
        rows: in the order in which they were measured.
        overheads: host time per call.
    """

    gpu: Gpu
    driver: str
    cuda: str
    versions: dict[str, str]
    libraries: dict[str, str]
    date: str
    command: str
    l2: str
    finished: bool = False
    clocks: tuple[Clocks, ...] = ()
    rows: tuple[Row, ...] = ()
    overheads: tuple[Overhead, ...] = ()

    def grown(self, rows: tuple[Row, ...], clocks: tuple[Clocks, ...] = ()) -> Results:
        """With more rows and readings of the clocks."""
        return replace(self, rows=self.rows + rows, clocks=self.clocks + clocks)


def rate(operation: str, shape: tuple[int, ...], itemsize: int, ms: float) -> float:
    """GB/s of a transpose (read and written), TFLOP/s of a product."""
    if operation == "transpose":
        rows, cols = shape
        return 2 * rows * cols * itemsize / ms / 1e6
    rows, cols, depth = shape
    return 2 * rows * cols * depth / ms / 1e9


def unit(operation: str) -> str:
    """Unit of `Row.rate`."""
    return "GB/s" if operation == "transpose" else "TFLOP/s"

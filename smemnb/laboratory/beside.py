"""A product of one's own beside the rungs that were measured: by counts, machine code, the clock.

    beside_rungs(kernel)          which rungs have the same counts, and how fast these were
    code_beside_rungs(kernel)     its loop as compiled, beside that of the rung it is nearest to
    product_here(kernel)          timed on this machine's GPU, with rungs and the library in turns

The kernel takes (out, a, b), a block of 256 threads makes 128 x 128 elements of out, and all sizes
are of whole tiles, as in the rungs from `matmul_8x8` to `matmul_warped`. Counts are those of one
block at a depth of 24. Taught in `36_beside_the_library`.

**Limits**: equal counts are no equal times, as five of the rungs show; nor is equal machine code,
whose order counts as well. Both say which rung a kernel is like, the clock alone how fast it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import SmemnbError
from ..kernels.rung import Rung
from ..measure.results.ladders import NO_GPU, Ladder, shipped_ladder
from ..measure.results.table import shape_words
from .loop_code import CC, loop_codes

if TYPE_CHECKING:
    from ..measure.bench.run import Setting
    from ..measure.results.model import Row

__all__ = [
    "COUNTS",
    "Beside",
    "Counts",
    "beside_rungs",
    "code_beside_rungs",
    "product_here",
    "timed",
]

EDGE, DEPTH, THREADS = 128, 24, 256
SIZE = (4096, 4096, 4096)
LIBRARY = "cublas (torch)"
TYPES = "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])"


class Counts(NamedTuple):
    """What one block does in its loop: requests and wavefronts of shared memory, loads, barriers.

    `loads` are requests to global memory for elements of a and b.
    """

    requests: int
    wavefronts: int
    loads: int
    barriers: int


COUNTS = {
    "matmul_8x8": Counts(3264, 4800, 192, 6),
    "matmul_turned": Counts(3264, 3936, 192, 6),
    "matmul_turned_padded": Counts(3264, 3264, 192, 6),
    "matmul_unguarded": Counts(3264, 3264, 192, 6),
    "matmul_two_blocks": Counts(3264, 3264, 192, 6),
    "matmul_laid_out": Counts(3264, 3264, 192, 6),
    "matmul_unsigned": Counts(3264, 3264, 192, 6),
    "matmul_by_quads": Counts(960, 2496, 192, 6),
    "matmul_primed": Counts(1024, 2560, 192, 7),
    "matmul_wide": Counts(928, 2560, 48, 7),
    "matmul_prefetched": Counts(928, 2560, 48, 4),
    "matmul_warped": Counts(928, 2560, 48, 4),
}
"""The rungs of this launch and their counts; tests trace them."""


@dataclass(frozen=True, repr=False)
class Beside:
    """The counts of a kernel, and the rungs whose counts are equal; `ladder` has their rates."""

    name: str
    counts: Counts
    ladder: Ladder

    @property
    def equal(self) -> tuple[str, ...]:
        """The rungs that have these counts."""
        return tuple(name for name, counts in COUNTS.items() if counts == self.counts)

    def __repr__(self) -> str:
        head = (
            f"{'':22}{'requests':>10}{'wavefronts':>12}{'loads':>7}{'barriers':>10}{'TFLOP/s':>9}"
        )
        rows = [
            _row(name, counts, f"{self.ladder.rate(name):9.1f}")
            + ("  equal counts" if name in self.equal else "")
            for name, counts in COUNTS.items()
        ]
        library = self.ladder.library
        if library is not None and library.rate is not None:
            rows.append(f"{library.name:22}{library.rate:48.1f}")
        launch = f"one block of {THREADS} threads, {EDGE} x {EDGE} of out, {DEPTH} deep (model)"
        said = f"TFLOP/s at {shape_words('matmul', SIZE, 4, 0)}, {self.ladder.source}"
        return "\n".join([launch, head, *rows, self._last(), said])

    def _last(self) -> str:
        if not any(self.counts):
            return f"{self.name} moves nothing yet"
        return _row(self.name, self.counts, f"{'?':>9}")


def _row(name: str, counts: Counts, rate: str) -> str:
    requests, wavefronts, loads, barriers = counts
    return f"{name:22}{requests:10,}{wavefronts:12,}{loads:7}{barriers:10}{rate}"


def beside_rungs(kernel: Any) -> Beside:
    """A product's counts beside those of the rungs, with the rates that these were measured at.

    Raises:
        SmemnbError: what `trace` refuses.
    """
    names = [*COUNTS, LIBRARY]
    return Beside(_name(kernel), counts_of(kernel), shipped_ladder("matmul", SIZE, names))


def counts_of(kernel: Any, *scale: Any) -> Counts:
    """The counts of one block at a depth of 24; `scale` are further arguments, as rungs take them.

    Raises:
        SmemnbError: what `trace` refuses.
    """
    from ..tracing import trace

    out = np.zeros((EDGE, EDGE), np.float32)
    a, b = np.ones((EDGE, DEPTH), np.float32), np.ones((DEPTH, EDGE), np.float32)
    seen = trace(kernel, checks=False)[1, THREADS](out, a, b, *scale)
    loads = [row for row in seen.lines if row.space == "global" and row.kind == "load"]
    return Counts(
        seen.shared.requests,
        seen.shared.wavefronts,
        sum(row.requests for row in loads if row.array != "out"),
        seen.barriers,
    )


def code_beside_rungs(kernel: Any) -> str:
    """The main loop of a product as compiled for cc 9.0, beside the rung that is most like it.

    Most like it is the rung whose counts are equal, if there is one, and whose share of FFMA is the
    nearest. Without the compiler's wheels a sentence says so.
    """
    from ..compiled import available, cubin, machine
    from ..compiled.usage import read_resources

    if not available() or machine.nvdisasm() is None:
        return "The compiler's wheels are not installed here: counts decide alone."
    try:
        elf = cubin(kernel, TYPES, CC)
        code = machine.instructions(elf)
    except SmemnbError as error:
        return f"Not compiled: {error}"
    loop = Counter(one.name.split(".")[0] for one in machine.main_loop(code))
    total, products = sum(loop.values()), loop["FFMA"]
    if not products:
        return f"The code of {_name(kernel)} has no loop with multiply-adds yet."
    share = products / total
    mine, codes = counts_of(kernel), loop_codes()
    near = [name for name, counts in COUNTS.items() if counts == mine]
    best = min(
        near or COUNTS, key=lambda name: abs(codes[name].count("FFMA") / codes[name].total - share)
    )
    registers, code_of = read_resources(elf, CC).registers, codes[best]
    rungs = shipped_ladder("matmul", SIZE, [best])
    return "\n".join(
        [
            _loop(_name(kernel), products, total, registers),
            _loop(best, code_of.count("FFMA"), code_of.total, code_of.registers)
            + f", {rungs.rate(best):.1f} TFLOP/s {rungs.source}",
        ]
    )


def _loop(name: str, products: int, total: int, registers: int) -> str:
    share = products / total
    return f"{name:20} {products} FFMA of {total} instructions, {share:.2f}; {registers} registers"


def product_here(
    kernel: Any, names: tuple[str, ...] = ("matmul_prefetched", "matmul_fastest")
) -> Ladder | str:
    """The kernel timed on this machine's GPU in turns with rungs and the library, or a sentence.

    It runs on the GPU itself: let `check` accept it first.
    """
    from ..simulator import device

    gpu = device()
    if gpu in ("lockstep", "off", "numba simulator"):
        return NO_GPU
    from ..measure.bench.libraries import found
    from ..measure.bench.run import Setting
    from ..measure.bench.timing import GpuClock

    there, _ = found(("torch", "cublas"))
    setting = Setting(GpuClock(), there, ("torch", "cublas"), least=5, most=5)
    rows = timed(kernel, names, SIZE, setting)
    wrong = [
        f"{row.name} was not timed: {row.failed}"
        for row in rows
        if row.role == "rung" and row.failed
    ]
    return wrong[0] if wrong else Ladder(rows, f"measured ({gpu}), now")


def timed(
    kernel: Any, names: Sequence[str], size: tuple[int, int, int], setting: Setting
) -> tuple[Row, ...]:
    """The rows of rungs and of a kernel of one's own, checked, then timed in the same rounds.

    A rung that was wrong or could not run has no time, and its row says why; libraries that are
    not there have no row.
    """
    from ..measure.bench.case import Case
    from ..measure.bench.run import rows_of

    mine = _name(kernel)
    tried = Rung(kernel, "", (THREADS, 1), (EDGE, EDGE), depth=8)
    case = Case("matmul", size, rungs=(*names, mine), tries=((mine, tried),))
    rows = rows_of(case, setting)
    return tuple(row for row in rows if row.ms is not None or row.role == "rung")


def _name(kernel: Any) -> str:
    return str(getattr(kernel, "py_func", kernel).__name__)

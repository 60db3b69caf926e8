"""What a room of patterns measures, in arrays of torch that every contender takes as they are.

    def _prepare(side, number):                       # set `number` of the inputs
        x = side.normal((1 << 28,), number)
        out = side.empty((), "float32")
        runs = {"smemnb": lambda: smemnb_sum(x, out=out), "torch": lambda: side.torch.sum(x)}
        if side.cupy:
            theirs = side.cupy.asarray(x)
            runs["cupy"] = lambda: theirs.sum()
        runs |= side.steps(LADDER, out.view(1), x)    # "rung sum_sequential" ...
        true = x.double().sum()
        return Prepared(runs, lambda result: side.near(result, true, 1e-5))

    PatternCase("sum", "2^28 float32", 4 << 28, _prepare)

A run returns its result, which `right` compares. Runs that are to be captured into a CUDA graph
allocate nothing by the driver and do not wait for the device; torch's and CuPy's own may allocate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from ....kernels.step import Step

__all__ = ["PatternCase", "Prepared", "Side"]


class Prepared(NamedTuple):
    """A set of inputs, ready to be timed.

    Attributes:
        runs: by the names of contenders, `smemnb` among them; each returns its result.
        right: `right(result)`, "" or what is wrong with it.
        rights: the same of contenders that are judged in another way, by name.
    """

    runs: Mapping[str, Callable[[], Any]]
    right: Callable[[Any], str]
    rights: Mapping[str, Callable[[Any], str]] = MappingProxyType({})


@dataclass(frozen=True)
class PatternCase:
    """A case.

    Attributes:
        operation: its name.
        words: size and dtype, such as "2^28 float32".
        moved: bytes that have to be read and written, by whatever kernel.
        prepare: `prepare(side, number)` makes a set of inputs.
        copy: whether a copy of as many bytes stands beside them, as the limit.
    """

    operation: str
    words: str
    moved: int
    prepare: Callable[[Side, int], Prepared]
    copy: bool = False


class Side:
    """Where inputs are made: torch, CuPy if it is there, and their stream.

    Args:
        torch: the module.
        cupy: the module, or None.
        device: "cuda" or "cpu".
        stream: Numba's, on which steps are launched.
    """

    def __init__(self, torch: Any, cupy: Any, device: str, stream: Any) -> None:
        self.torch, self.cupy, self.device, self.stream = torch, cupy, device, stream
        self.kept: list[Any] = []

    def normal(self, shape: tuple[int, ...], number: int, dtype: str = "float32") -> Any:
        """Normally distributed numbers."""
        random = self.torch.Generator(self.device).manual_seed(number)
        kind = getattr(self.torch, dtype)
        return self.torch.randn(shape, generator=random, device=self.device, dtype=kind)

    def uniform(self, shape: tuple[int, ...], number: int, dtype: str = "float32") -> Any:
        """Numbers in [0, 1)."""
        random = self.torch.Generator(self.device).manual_seed(number)
        kind = getattr(self.torch, dtype)
        return self.torch.rand(shape, generator=random, device=self.device, dtype=kind)

    def integers(
        self, low: int, high: int, shape: tuple[int, ...], number: int, dtype: str = "int32"
    ) -> Any:
        """Integers from `low` to below `high`."""
        random = self.torch.Generator(self.device).manual_seed(number)
        kind = getattr(self.torch, dtype)
        return self.torch.randint(
            low, high, shape, generator=random, device=self.device, dtype=kind
        )

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """A new tensor."""
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device=self.device)

    def near(self, result: Any, true: Any, allowed: float) -> str:
        """What is wrong: nothing where a result is within so much of the true one's largest."""
        found = self.torch.as_tensor(result, device=self.device).double()
        wanted = true.double()
        largest = float(wanted.abs().max()) or 1.0
        error = float((found.reshape(wanted.shape) - wanted).abs().max()) / largest
        return "" if error <= allowed else f"error {error:.1e} of the largest value"

    def same(self, result: Any, true: Any) -> str:
        """What is wrong: nothing where a result has the elements of the true one."""
        found = self.torch.as_tensor(result, device=self.device)
        wanted = true.reshape(found.shape).to(found.dtype)
        return "" if self.torch.equal(found, wanted) else "other elements"

    def new(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of zeros for a step of a ladder: of Numba, over memory of torch."""
        import numpy as np
        from numba import cuda

        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        zeros = self.torch.zeros(max(size, 1), dtype=self.torch.uint8, device=self.device)
        self.kept.append(zeros)
        return cuda.as_cuda_array(zeros, sync=False)[:size].view(dtype).reshape(shape)

    def steps(self, ladder: Sequence[Step], out: Any, *inputs: Any) -> dict[str, Any]:
        """Runs of the steps of a ladder that take these tensors, as "rung NAME"."""
        from numba import cuda

        arrays = [cuda.as_cuda_array(one, sync=False) for one in (out, *inputs)]
        found = {}
        for step in ladder:
            if step.fits(*arrays):
                launches = list(step.launches(self.new, *arrays))
                found[f"rung {step.name}"] = _started(launches, self.stream, out)
        return found


def _started(launches: Sequence[Any], stream: Any, out: Any) -> Callable[[], Any]:
    bound = [(one.kernel[one.grid, one.block, stream], one.args) for one in launches]

    def run() -> Any:
        for kernel, args in bound:
            kernel(*args)
        return out

    return run

"""PyTorch tensors, on a GPU or on the host, by their address; PyTorch is not imported here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .array_backend import BEYOND, ArrayBackend, CloserLook
from .matrix_view import HOST, MatrixView, TypeRefused, no_memory


class TorchTensors(ArrayBackend):
    """`torch.Tensor` and what inherits from it."""

    label = "a PyTorch tensor"
    contiguous = "{name}.contiguous()"
    cast = "{name}.to(torch.{dtype})"
    parts = "{name}.real and {name}.imag"
    unsigned_sums = False

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.float32 = torch.float32
        # The function that PyTorch's own generated code asks; the public one makes an object.
        self._raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        graph = getattr(torch.autograd, "graph", None)
        self._count = getattr(graph, "increment_version", None)

    def view(self, name: str, value: Any, stream: int | None = None) -> MatrixView:
        """The matrix in a tensor."""
        place = self._place(name, value)
        size, ndim = value.element_size(), value.dim()
        strides = tuple(stride * size for stride in value.stride())
        try:
            address = value.data_ptr()
        except RuntimeError:  # in torch.func.vmap and its like
            raise TypeRefused(no_memory(name)) from None
        shape = tuple(value.shape) if ndim != 2 else (value.shape[0], value.shape[1])
        return MatrixView(
            name, value, self, address, shape, strides, value.dtype, size, place=place
        )

    def _place(self, name: str, value: Any) -> int:
        torch, device = self.torch, value.device
        if value.layout is not torch.strided:
            raise TypeRefused(f"`{name}` is a tensor of layout {value.layout}: {name}.to_dense()")
        if value.requires_grad and torch.is_grad_enabled():
            raise TypeRefused(
                f"`{name}` requires a gradient, which this operation does not make. Pass"
                f" {name}.detach(), or call it under torch.no_grad()"
            )
        if value.is_conj() or value.is_neg():
            raise TypeRefused(
                f"`{name}` is a view that conjugates or negates when it is read. Pass"
                f" {name}.resolve_conj().resolve_neg()"
            )
        if device.type == "cuda":
            return int(device.index or 0)
        if device.type == "cpu":
            return HOST
        raise TypeRefused(f"`{name}` is on {device}. Pass {name}.cuda(), or {name}.cpu()")

    def number_type(self, dtype: Any) -> np.dtype[Any] | None:
        """NumPy's dtype of the same name; bfloat16 and its like have none."""
        try:
            return np.dtype(str(dtype).removeprefix("torch."))
        except TypeError:
            return None

    def own_type(self, dtype: np.dtype[Any]) -> Any:
        """PyTorch's dtype of the same name."""
        found = getattr(self.torch, dtype.name, None)
        if found is None:
            raise TypeRefused(
                f"the result is of {dtype}, which this version of PyTorch does not have. Pass a"
                " tensor of another dtype"
            )
        return found

    def stream(self, matrix: MatrixView) -> int:
        """PyTorch's current stream of the tensor's device."""
        if matrix.place == HOST:
            return 0
        return self._current(matrix.place)

    def empty(
        self, like: MatrixView, rows: int, cols: int, stream: int | None = None
    ) -> MatrixView:
        """A new tensor, of PyTorch's memory for the stream."""
        with self._on(like.place, stream):
            value = self.torch.empty((rows, cols), dtype=like.dtype, device=like.value.device)
        return self.view("result", value)

    def before_write(self, out: MatrixView) -> None:
        """Let autograd know that the tensor changes, as PyTorch's own functions do."""
        self.wrote(out.value)

    def wrote(self, value: Any) -> None:
        """The same, of the tensor itself."""
        if self._count is not None and not value.is_inference():
            self._count(value)

    def used_on(self, matrix: MatrixView, handle: int) -> None:
        """Let PyTorch not use the memory anew before work on another than its stream is done."""
        if handle != self._current(matrix.place):
            matrix.value.record_stream(self._stream(matrix.place, handle))

    has_current = True

    def glance(self, value: Any) -> tuple[int, int, Any]:
        """Of a tensor on a GPU that is read as it lies."""
        place = value.get_device()
        dtype = value.dtype
        if place < 0 or value.is_neg() or (dtype.is_complex and value.is_conj()):
            raise CloserLook
        if value.requires_grad and self.torch.is_grad_enabled():
            raise CloserLook
        address = value.data_ptr()  # raises where there is no memory, as in torch.func.vmap
        if not address:
            raise CloserLook
        return address, 0, (value.shape, value.stride(), dtype, place, address & BEYOND)

    def current(self, value: Any, named: Sequence[int]) -> int:
        """PyTorch's current stream of the tensor's device."""
        return self._current(value.get_device())

    def _current(self, place: int) -> int:
        if self._raw is not None:
            return int(self._raw(place))
        return int(self.torch.cuda.current_stream(place).cuda_stream)

    def fresh(
        self, like: Any, shape: tuple[int, ...], place: int, handle: int, dtype: Any = None
    ) -> Any:
        """A new tensor for the current stream, which `handle` is."""
        return like.new_empty(shape, dtype=dtype)

    def address(self, value: Any) -> int:
        """Of the first element."""
        return int(value.data_ptr())

    def span(self, value: Any) -> int:
        """Bytes from the first element to behind the last."""
        last = sum(s * (e - 1) for s, e in zip(value.stride(), value.shape, strict=True))
        return int(last + 1) * int(value.element_size()) if value.numel() else 0

    def is_contiguous(self, value: Any) -> bool:
        """Whether elements follow each other in the order of rows, without gaps."""
        return bool(value.is_contiguous())

    def _on(self, place: int, stream: int | None) -> AbstractContextManager[Any]:
        if place == HOST or stream is None:
            return nullcontext()
        found: AbstractContextManager[Any] = self.torch.cuda.stream(self._stream(place, stream))
        return found

    def _stream(self, place: int, handle: int) -> Any:
        cuda = self.torch.cuda
        if handle in (0, 1):
            return cuda.default_stream(place)
        return cuda.ExternalStream(handle, device=place)


def torch_tensors() -> TorchTensors:
    """The backend, for a PyTorch that the caller has imported."""
    return TorchTensors(sys.modules["torch"])

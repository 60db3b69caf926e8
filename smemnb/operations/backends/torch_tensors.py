"""PyTorch tensors, on a GPU or on the host, by their address; PyTorch is not imported here."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .array_backend import ArrayBackend
from .matrix_view import HOST, MatrixView, TypeRefused, no_memory


class TorchTensors(ArrayBackend):
    """`torch.Tensor` and what inherits from it."""

    label = "a PyTorch tensor"
    contiguous = "{name}.contiguous()"
    single = "{name}.float()"

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.float32 = torch.float32

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

    def stream(self, matrix: MatrixView) -> int:
        """PyTorch's current stream of the tensor's device."""
        if matrix.place == HOST:
            return 0
        return int(self.torch.cuda.current_stream(matrix.place).cuda_stream)

    def empty(
        self, like: MatrixView, rows: int, cols: int, stream: int | None = None
    ) -> MatrixView:
        """A new tensor, of PyTorch's memory for the stream."""
        with self._on(like.place, stream):
            value = self.torch.empty((rows, cols), dtype=like.dtype, device=like.value.device)
        return self.view("result", value)

    def before_write(self, out: MatrixView) -> None:
        """Let autograd know that the tensor changes, as PyTorch's own functions do."""
        graph = getattr(self.torch.autograd, "graph", None)
        count = getattr(graph, "increment_version", None)
        if count is not None and not out.value.is_inference():
            count(out.value)

    def _on(self, place: int, stream: int | None) -> AbstractContextManager[Any]:
        if place == HOST or stream is None:
            return nullcontext()
        cuda = self.torch.cuda
        if stream in (0, 1):
            on = cuda.default_stream(place)
        else:
            on = cuda.ExternalStream(stream, device=place)
        found: AbstractContextManager[Any] = cuda.stream(on)
        return found


def torch_tensors() -> TorchTensors:
    """The backend, for a PyTorch that the caller has imported."""
    return TorchTensors(sys.modules["torch"])

"""smemnb.matmul as an operator of PyTorch: for torch.compile, and with gradients."""

import torch

import smemnb


@torch.library.custom_op("smemnb::matmul", mutates_args=())
def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of two float32 matrices, by a kernel of smemnb on PyTorch's current stream."""
    return smemnb.matmul(a, b)


@matmul.register_fake
def _(a, b):
    """What torch.compile needs to know without running it: shape, type and device."""
    return a.new_empty(a.shape[0], b.shape[1])


def keep_operands(ctx, inputs, output):
    """The gradient of each operand is a product with the other."""
    ctx.save_for_backward(*inputs)


def gradients(ctx, grad):
    """Two products, each with a transposed operand, which is read by columns and not copied."""
    a, b = ctx.saved_tensors
    grad = grad.contiguous()  # that of a sum is one number seen as a matrix
    grad_a = matmul(grad, b.T) if ctx.needs_input_grad[0] else None
    grad_b = matmul(a.T, grad) if ctx.needs_input_grad[1] else None
    return grad_a, grad_b


matmul.register_autograd(gradients, setup_context=keep_operands)


@torch.compile(fullgraph=True)
def layer(x, weight, bias):
    """A layer of a network: the product is one node of the compiled graph."""
    return torch.relu(matmul(x, weight) + bias)

"""The operator of PyTorch that `smemnb/operations/README.md` shows: compiled, with gradients.

Without a compiler for PyTorch's own code the graph is run as it is: `aot_eager` traces forwards and
backwards as `inductor` does, and generates nothing.
"""

from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import smemnb.operations

EXAMPLE = Path(__file__).with_name("torch_custom_op.py")
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
on_each_device = pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
)


@pytest.fixture(scope="module")
def example():
    """The example as a module; an operator's name can be taken once in a process."""
    spec = spec_from_file_location("torch_custom_op", EXAMPLE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def operands(device, **words):
    import torch

    torch.manual_seed(1)
    return [torch.randn(*shape, device=device, **words) for shape in ((13, 20), (20, 7), (7,))]


def test_the_readme_shows_it():
    """Letter by letter."""
    readme = Path(smemnb.operations.__file__).with_name("README.md").read_text(encoding="utf-8")
    assert f"```python\n{EXAMPLE.read_text(encoding='utf-8')}```\n" in readme


@needs_torch
@pytest.mark.slow
@on_each_device
def test_contract(example, device):
    """PyTorch's own check of operators: schema, fake tensors, autograd, traced with both."""
    import torch

    a, b, _ = operands(device, requires_grad=True)
    torch.library.opcheck(example.matmul, (a, b))
    torch.library.opcheck(example.matmul, (a.detach(), b.detach()))


@needs_torch
@pytest.mark.slow
@on_each_device
def test_compiled(example, device):
    """One graph, in which the product is one node; the values of PyTorch."""
    import torch

    names = []

    def listing(graph, inputs):
        names.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph

    x, weight, bias = operands(device)
    layer = torch.compile(example.layer._torchdynamo_orig_callable, backend=listing, fullgraph=True)
    found = layer(x, weight, bias)
    assert sum("smemnb" in name for name in names) == 1
    torch.testing.assert_close(found, torch.relu(x @ weight + bias))


@needs_torch
@pytest.mark.slow
@on_each_device
def test_gradients(example, device):
    """Those of PyTorch's own product, eager and compiled, where one and where both are wanted."""
    import torch

    for compiled in (False, True):
        for wanted in ((True, True), (True, False), (False, True)):
            made, known = ([], [])
            for product, grads in ((example.matmul, made), (torch.matmul, known)):
                x, weight, _ = operands(device)
                leaves = [
                    one.requires_grad_(on) for one, on in zip((x, weight), wanted, strict=True)
                ]

                def loss(a, b, product=product):
                    return (product(a, b) ** 2).sum() + product(a, b).sum()

                run = torch.compile(loss, backend="aot_eager", fullgraph=True) if compiled else loss
                run(*leaves).backward()
                grads.extend(one.grad for one in leaves)
            for one, other in zip(made, known, strict=True):
                assert (one is None) == (other is None)
                if one is not None:
                    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)

"""An example that imports PyTorch is no module of tests: `test_torch_custom_op.py` loads it."""

collect_ignore = ["torch_custom_op.py"]

"""A pytest plugin: kernels traced in tests, held to budgets, findings shown where CI shows them.

Switch it on in `conftest.py` (or with `-p smemnb.testing`):

    pytest_plugins = ["smemnb.testing"]

and trace a kernel with the fixture `kernel_trace`; the test fails where the launch goes over its
budget, or where the trace has a finding that is an error or a warning (prices, such as uncoalesced
accesses, change no result and fail a test only if asked):

    def test_transpose(kernel_trace):
        inp = np.random.rand(40, 35).astype(np.float32)
        out = np.zeros((35, 40), np.float32)
        kernel_trace(transpose_padded, extra=0, ways=1)[(2, 2), (32, 32)](out, inp)
        assert (out == inp.T).all()

What may stay is said in the open, with a reason. In the source, for everybody, by a comment at the
line: `# smemnb: allow[kind] reason` (see `smemnb.tracing.waivers`). For a test alone, by the kind,
or by the kind at a line's number, in a part of its source, or in a function:

    kernel_trace(histogram, prices=True, allow={
        "float64_arithmetic": "the sums need it",
        ("uncoalesced", "bins[value"): "bins are where the data say",
    })[grid, block](out, inp)

`pytest --smemnb` watches every launch of a suite that knows nothing of smemnb, and fails the tests
whose launches have such findings, but for those of `--smemnb-allow "kind: reason"` (or
`"kind@place: reason"`). `--smemnb-sarif FILE` stores all findings as SARIF, the waived ones
suppressed; under GitHub Actions the others are shown at their lines. The end of the session lists
what was waived, and what a test allows and its launches do not have. No GPU is needed.

It is not loaded by itself, because to import smemnb plugs numba.cuda where there is no GPU: that
is a choice for a project's own `conftest.py`.
"""

from importlib.util import find_spec

if find_spec("pytest") is None:
    raise ModuleNotFoundError(
        "smemnb.testing is a plugin of pytest, which is not installed here: pip install pytest,"
        ' or smemnb with its extra "test"',
        name="pytest",
    )

from .plugin import (
    kernel_trace,
    pytest_addoption,
    pytest_configure,
    pytest_runtest_call,
    pytest_runtest_makereport,
    pytest_runtest_setup,
)

__all__ = [
    "kernel_trace",
    "pytest_addoption",
    "pytest_configure",
    "pytest_runtest_call",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
]

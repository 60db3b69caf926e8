"""Kernels that are forked: what they have imported, and that their end is noticed."""

import sys

import pytest

from tests.warm_kernels import Forked, arguments_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux alone"),
]


def test_what_a_kernel_has_and_its_end():
    """Numba and nothing of smemnb; a kernel that dies is seen to be dead, and can be killed."""
    from nbval.kernel import RunningKernel

    kernel = RunningKernel("python3")
    try:
        assert isinstance(kernel.km.provisioner.process, Forked)
        asked = {
            "numba": "'numba.cuda' in __import__('sys').modules",
            "smemnb": "[n for n in __import__('sys').modules if n.startswith('smemnb')]",
        }
        message = kernel.kc.execute("", user_expressions=asked)
        while (reply := kernel.get_message(stream="shell", timeout=60)) is not None:
            if reply["parent_header"].get("msg_id") == message:
                break
        said = reply["content"]["user_expressions"]
        texts = {name: said[name]["data"]["text/plain"] for name in asked}
        assert texts == {"numba": "True", "smemnb": "[]"}
        assert kernel.is_alive()
        kernel.kc.execute("import os\nos._exit(3)")
        kernel.km.provisioner.process.wait(60)
        assert not kernel.is_alive()
    finally:
        kernel.stop()


@pytest.mark.parametrize(
    "command",
    [
        ["another", "-m", "ipykernel_launcher", "-f", "x"],
        [sys.executable, "-m", "bash_kernel", "-f", "x"],
        [sys.executable, "-c", "1"],
    ],
)
def test_other_commands_are_left_alone(command):
    with pytest.raises(ValueError):
        arguments_of(command)
    assert arguments_of([sys.executable, "-Xa=b", "-m", "ipykernel_launcher", "-f", "x"]) == [
        "-f",
        "x",
    ]

"""Machine code of the ladders, compiled once per session, whatever its processes."""

import os

import pytest

from tests.kernels.machines import Machines


@pytest.fixture(scope="session")
def machines(request, tmp_path_factory):
    """`machines(name, cc)`; what the tests of this session ask for is compiled side by side."""
    cases = [item.callspec.params for item in request.session.items if asks(item)]
    wanted = [
        (case[key], case["cc"]) for case in cases for key in ("name", "factory") if key in case
    ]
    base = tmp_path_factory.getbasetemp()
    together = os.environ.get("PYTEST_XDIST_WORKER")  # then the folder above is that of all workers
    made = Machines(wanted, (base.parent if together else base) / "machines")
    yield made
    made.close()


def asks(item):
    return "machines" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")

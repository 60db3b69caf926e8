"""Machine code of the ladders, compiled once per session."""

import pytest

from tests.kernels.machines import Machines


@pytest.fixture(scope="session")
def machines(request):
    """`machines(name, cc)`; what the tests of this session ask for is compiled side by side."""
    cases = [item.callspec.params for item in request.session.items if asks(item)]
    made = Machines(
        (case[key], case["cc"]) for case in cases for key in ("name", "factory") if key in case
    )
    yield made
    made.pool.shutdown(cancel_futures=True)


def asks(item):
    return "machines" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")

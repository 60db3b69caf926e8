"""The shipped recordings, where they are there, and the mark of tests that need them."""

import pytest

from smemnb.errors import SmemnbError
from smemnb.laboratory.twins import recording as twins
from smemnb.measure.verify import recording


def _or_none(load):
    try:
        return load()
    except SmemnbError:
        return None


RECORDING = _or_none(recording.load)
VERDICTS = _or_none(twins.load)
needs_recording = pytest.mark.skipif(RECORDING is None, reason="no h200_agreement.json yet")
needs_verdicts = pytest.mark.skipif(VERDICTS is None, reason="no h200_twins.json yet")

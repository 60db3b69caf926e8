"""A sweep on a GPU that others use too: the lock, and when it is taken."""

import fcntl

import pytest

from smemnb.measure.bench.sweep.command import _held


def is_free(lock):
    """Whether another program would get the lock at once."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_everything_is_compiled_before_the_lock_is_taken(tmp_path):
    """It is free while others compile, held within, and free again after an error."""
    lock, free = tmp_path / "lock", []
    with pytest.raises(KeyError), _held(lock, lambda: free.append(is_free(lock))):
        free.append(is_free(lock))
        raise KeyError
    assert [*free, is_free(lock)] == [True, False, True]


def test_without_a_lock_nobody_waits():
    """Compiling goes on while problems are timed."""
    with _held(None, lambda: pytest.fail("waited")):
        pass

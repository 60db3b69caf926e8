"""The fields of a batch in a part of it: each is declared as own, copied or shared."""

import numpy as np
import pytest
from numba import cuda, int32

from smemnb import lockstep
from smemnb.lockstep.batch import Batch, Launch
from smemnb.lockstep.fibers.fiber import FiberBatch, PartOfBatch
from smemnb.lockstep.lanes import EVERY_LANE

FIELDS = set(Batch.__slots__)


def part(**lists):
    """A part of a batch whose fields are all own, but for what `lists` says."""
    lists = {"copied": (), "shared": (), **lists}
    rest = FIELDS - set(lists["copied"]) - set(lists["shared"])
    lists.setdefault("own", tuple(rest))

    class Part(PartOfBatch, **lists):
        pass

    return Part


def batch():
    return Batch(Launch(lambda: None, (4, 1, 1), (64, 1, 1)), 0, 4)


def test_every_field_is_in_the_slots():
    """A field that is not named in `__slots__` cannot be set, so none escapes the lists."""
    whole = batch()
    assert {name for name in FIELDS if hasattr(whole, name)} == FIELDS
    with pytest.raises(AttributeError):
        whole.new_field = 1
    with pytest.raises(AttributeError):
        FiberBatch.__new__(FiberBatch).new_field = 1


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_field_in_no_list_is_refused(name):
    with pytest.raises(TypeError, match=name):
        part(own=tuple(FIELDS - {name}))


def test_a_field_in_two_lists_is_refused():
    with pytest.raises(TypeError, match="shared_top"):
        part(own=tuple(FIELDS), shared=("shared_top",))


def test_a_name_that_is_no_field_is_refused():
    with pytest.raises(TypeError, match="mystery"):
        part(own=(*FIELDS, "mystery"))


def test_shared_fields_are_those_of_the_whole_batch():
    whole = batch()
    one = part(shared=("shared_top",))(whole)
    one.shared_top = 128
    assert (one.shared_top, whole.shared_top) == (128, 128)
    whole.shared_top = 256
    assert one.shared_top == 256


def test_copied_fields_have_the_value_of_the_whole_batch():
    whole = batch()
    one = part(copied=("count", "launch"))(whole)
    assert (one.count, one.launch) == (4, whole.launch)


def test_own_fields_are_unset_until_the_part_sets_them():
    whole = batch()
    one = part()(whole)
    one.live = np.zeros((1, 1, 32), bool)
    assert not hasattr(one, "shape")
    assert whole.live is EVERY_LANE


def shares(out):
    """Two shared arrays per block, and the dynamic one, written by warp 0 and read by warp 1."""
    first = cuda.shared.array(32, int32)
    second = cuda.shared.array(32, int32)
    extra = cuda.shared.array(0, int32)
    tx = cuda.threadIdx.x
    if tx < 32:
        first[tx], second[tx], extra[tx] = tx, 100 + tx, 1000 + tx
    cuda.syncthreads()
    if tx >= 32:
        lane = tx - 32
        out[cuda.blockIdx.x, lane] = first[lane] + second[lane] + extra[lane]


@pytest.mark.parametrize("order", ["reversed", "random"])
def test_fibers_of_a_block_share_its_arrays(order):
    out = np.zeros((3, 32), np.int32)
    lockstep.launch(shares, (3, 1, 1), (64, 1, 1), (out,), shared_bytes=128, order=order)
    assert np.array_equal(out, np.tile(1100 + 3 * np.arange(32), (3, 1)))

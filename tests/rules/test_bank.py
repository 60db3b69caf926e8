from math import gcd
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemnb.measure.recorded import KIND_OF, RETRY_LOOPS, one_warp_requests
from smemnb.rules import bank

LANE = np.arange(32)
ALL = (True,) * 32


# The rule a second time, as sets and loops, from the table in the module's docstring.


def slow_degree(address, lanes, width):
    """Most distinct words in one bank among some lanes."""
    words = {w for i in lanes for w in range(address[i] // 4, (address[i] + width - 1) // 4 + 1)}
    return max((len({w for w in words if w % 32 == b}) for b in range(32)), default=0)


def slow_phases(address, active, width, kind):
    """Lists of the active lanes that are served together."""
    lanes = [i for i in range(32) if active[i]]
    if kind.startswith("atomic") or width <= 4:
        size = 32
    else:
        size = 16 if width == 8 else 8
        partners = [
            all(not active[i ^ x] or address[i ^ x] == address[i] for i in lanes) for x in (1, 2)
        ]
        if kind == "load" and any(partners):
            size *= 2
    return [[i for i in lanes if i // size == p] for p in range(32 // size)]


def slow_counts(address, active, width, kind):
    """Wavefronts, ideal, ways and multicast of one request."""
    phases = slow_phases(address, active, width, kind)
    lanes = [i for i in range(32) if active[i]]
    shared = any(
        address[i] // 4 <= (address[j] + width - 1) // 4
        and address[j] // 4 <= (address[i] + width - 1) // 4
        for i in lanes
        for j in lanes
        if i < j
    )
    if kind in ("atomic_add", "atomic_cas"):
        banks = [address[i] // 4 % 32 for i in lanes]
        passes = max((banks.count(b) for b in banks), default=0)
        passes *= 2 if kind == "atomic_cas" else 1
        return passes, int(bool(lanes)), passes, int(shared)
    degrees = [slow_degree(address, phase, width) for phase in phases]
    ideal = sum(1 for phase in phases if phase)
    return sum(degrees), ideal, max(degrees), int(shared)


def all_counts(address, **how):
    """The public functions' answers, in the order of `bank.Counts`."""
    answers = [f(address, **how) for f in (bank.wavefronts, bank.ideal, bank.ways)]
    how.pop("kind", None)
    return (*map(int, answers), int(bank.multicast(address, **how)))


@st.composite
def requests(draw):
    """A request with few distinct places, so that words are shared and banks collide."""
    kind = draw(st.sampled_from(bank.KINDS))
    only = 4 if kind.startswith("atomic") else 16 if kind.endswith("matrix") else 0
    width = only or draw(st.sampled_from(bank.WIDTHS))
    places = draw(st.lists(st.integers(0, 300), min_size=1, max_size=32))
    step = draw(st.sampled_from([1, 2, 8, 16, 32]))
    base = [draw(st.sampled_from(places)) * step for _ in range(32)]
    if draw(st.booleans()):  # lanes that pair up
        x = draw(st.sampled_from([1, 2, 4]))
        base = [base[i & ~x] for i in range(32)]
    active = draw(
        st.one_of(st.just([True] * 32), st.lists(st.booleans(), min_size=32, max_size=32))
    )
    return [place * width for place in base], active, width, kind


@settings(max_examples=600, deadline=None)
@given(requests())
def test_equals_the_slow_model(request_):
    address, active, width, kind = request_
    got = all_counts(address, width=width, active=active, kind=kind)
    assert got == slow_counts(address, active, width, kind)


@pytest.mark.parametrize(
    "kind, width",
    [
        *((kind, width) for kind in ("load", "store") for width in bank.WIDTHS),
        *((kind, 4) for kind in ("atomic_add", "atomic_increment", "atomic_cas")),
        *((kind, 16) for kind in ("ldmatrix", "stmatrix")),
    ],
)
@pytest.mark.parametrize("places", [2, 40, 4000])
def test_many_at_once_equal_the_slow_model(kind, width, places):
    """Batches go other ways than single requests; 90 rows of each kind, masked."""
    rng = np.random.default_rng(places)
    address = rng.integers(0, places, (90, 32)) * width
    address[::3] = address[::3, LANE & ~1]
    active = rng.random((90, 32)) < rng.random((90, 1)) * 1.3
    got = bank.measure(address, width=width, active=active, kind=kind)
    want = [slow_counts(a, m, width, kind) for a, m in zip(address.tolist(), active, strict=True)]
    assert np.transpose(got).tolist() == [list(counts) for counts in want]


@pytest.mark.parametrize(
    "request_",
    [r for r in one_warp_requests() if r.kind not in RETRY_LOOPS],
    ids=lambda r: f"{r.kind}-{r.width}-{r.name}",
)
def test_equals_the_hardware(request_):
    """Every load, store and integer atomic read on an H200 takes what the rule says."""
    got = bank.wavefronts(
        request_.address,
        width=request_.width,
        active=request_.active,
        kind=KIND_OF[request_.kind],
    )
    assert int(got) == request_.wavefronts_hardware


def test_how_many_readings_are_compared():
    compared = [r.kind for r in one_warp_requests() if r.kind not in RETRY_LOOPS]
    assert sum(kind in ("load", "store") for kind in compared) == 138
    assert sum(kind.startswith("atomic") for kind in compared) == 18


# Tables.


@pytest.mark.parametrize(
    "stride_words, wavefronts",
    [
        *((0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (5, 1), (6, 2), (8, 8), (12, 4), (16, 16)),
        *((24, 8), (32, 32), (33, 1), (48, 16), (64, 32)),
    ],
)
@pytest.mark.parametrize("kind", ["load", "store", "atomic_increment"])
def test_stride(stride_words, wavefronts, kind):
    """A stride of s words takes gcd(s, 32) wavefronts, stride 0 one."""
    address = LANE * stride_words * 4
    assert int(bank.wavefronts(address, width=4, kind=kind)) == wavefronts
    assert int(bank.ways(address, width=4, kind=kind)) == wavefronts
    assert int(bank.extra(address, width=4, kind=kind)) == wavefronts - 1


@pytest.mark.parametrize(
    "width, wavefronts, ideal", [(1, 1, 1), (2, 1, 1), (4, 1, 1), (8, 2, 2), (16, 4, 4)]
)
@pytest.mark.parametrize("kind", ["load", "store"])
def test_consecutive(width, wavefronts, ideal, kind):
    """Consecutive elements never conflict: 128 bytes to a wavefront."""
    how = {"width": width, "kind": kind}
    assert int(bank.wavefronts(LANE * width, **how)) == wavefronts
    assert int(bank.ideal(LANE * width, **how)) == ideal
    assert int(bank.ways(LANE * width, **how)) == 1
    assert int(bank.extra(LANE * width, **how)) == 0


@pytest.mark.parametrize(
    "width, load, store", [(1, 1, 1), (2, 1, 1), (4, 1, 1), (8, 1, 2), (16, 2, 4)]
)
def test_broadcast(width, load, store):
    """One address for all: loads pair up, wide stores keep their phases; nothing is extra."""
    for kind, wavefronts in (("load", load), ("store", store)):
        how = {"width": width, "kind": kind}
        assert all_counts(LANE * 0, **how) == (wavefronts, wavefronts, 1, 1)


@pytest.mark.parametrize(
    "addresses, increment, add, cas", [(32, 1, 1, 2), (8, 1, 4, 8), (2, 1, 16, 32), (1, 1, 32, 64)]
)
def test_atomics_on_few_addresses(addresses, increment, add, cas):
    """Only the add of a constant 1 merges the lanes of one word."""
    address = LANE % addresses * 4
    for kind, passes in (
        ("atomic_increment", increment),
        ("atomic_add", add),
        ("atomic_cas", cas),
    ):
        assert all_counts(address, width=4, kind=kind) == (passes, 1, passes, addresses < 32)


def test_half_warp_of_doubles():
    """Stride 2 in doubles: 2-way in each half, 2 wavefronts extra."""
    address = LANE * 16
    assert all_counts(address, width=8) == (4, 2, 2, 0)
    assert int(bank.extra(address, width=8)) == 2


def test_words_shared_by_bytes():
    """Four bytes of one word are one word: no conflict, and multicast."""
    assert all_counts(LANE, width=1) == (1, 1, 1, 1)
    assert all_counts(LANE * 4, width=1) == (1, 1, 1, 0)


def test_no_lane_active():
    """A request without lanes takes nothing."""
    off = np.zeros(32, bool)
    for kind in bank.KINDS:
        width = 16 if kind.endswith("matrix") else 4
        assert all_counts(LANE * 128, width=width, active=off, kind=kind) == (0, 0, 0, 0)
    for width in bank.WIDTHS:
        assert all_counts(LANE * 128, width=width, active=off) == (0, 0, 0, 0)


def test_one_lane_per_phase():
    """Lane 0 of each quarter on one bank: four phases of one wavefront each."""
    active = LANE % 8 == 0
    assert all_counts(LANE * 128, width=16, active=active, kind="store") == (4, 4, 1, 0)
    assert all_counts(LANE * 128, width=16, active=active, kind="load") == (4, 2, 2, 0)


@pytest.mark.parametrize("kind", ["ldmatrix", "stmatrix"])
@pytest.mark.parametrize(
    ("pitch", "matrices", "counts"),
    [(16, 4, (4, 4, 1)), (32, 4, (8, 4, 2)), (64, 4, (16, 4, 4)), (128, 4, (32, 4, 8)),
     (144, 4, (4, 4, 1)), (128, 2, (16, 2, 8)), (128, 1, (8, 1, 8)), (192, 4, (16, 4, 4)),
     (0, 4, (4, 4, 1))],
)  # fmt: skip
def test_matrices(kind, pitch, matrices, counts):
    """A phase per matrix of 8 rows; rows a multiple of 128 bytes apart lie in the same banks."""
    active = LANE < 8 * matrices
    answer = all_counts(LANE * pitch, width=16, active=active, kind=kind)
    assert answer[:3] == counts


def test_swizzled_rows_of_a_matrix():
    """Chunk ^ row % 8 in rows of 128 bytes: every matrix in one wavefront."""
    row, chunk = LANE % 8, LANE // 8
    for right in range(8):
        address = row * 128 + ((chunk ^ right) ^ row) * 16
        assert all_counts(address, width=16, kind="ldmatrix")[:3] == (4, 4, 1)


def test_a_row_has_16_bytes():
    """Matrices are moved by rows of 16 bytes alone."""
    with pytest.raises(ValueError, match="a row of a matrix has 16"):
        bank.wavefronts(LANE * 8, width=8, kind="ldmatrix")


def test_inactive_lanes_may_hold_anything():
    """Addresses of inactive lanes are not read, not even refused."""
    active = LANE < 16
    address = np.where(active, LANE * 8, -7)
    assert all_counts(address, width=4, active=active) == (1, 1, 1, 0)


def test_bank_of():
    """128 bytes are one turn around the banks."""
    assert bank.bank_of(np.arange(0, 264, 4)).tolist() == [*range(32), *range(32), 0, 1]
    assert bank.bank_of(np.uint64(2**40 + 7)) == 1


# Laws of 4-byte requests.

words = st.lists(st.integers(0, 50_000), min_size=32, max_size=32)


def count(word_list):
    """Wavefronts of a full warp of 4-byte loads."""
    return int(bank.wavefronts(np.array(word_list) * 4, width=4))


@given(st.integers(1, 5000), st.integers(0, 5000))
def test_law_of_strides(stride, first):
    assert count(first + LANE * stride) == gcd(stride, 32)


@given(words, st.permutations(range(32)), st.integers(0, 1000))
def test_order_and_place_do_not_matter(word_list, order, shift):
    assert count([word_list[i] + shift for i in order]) == count(word_list)


@given(words, st.integers(0, 31), st.integers(0, 31))
def test_a_second_lane_on_a_word_is_free(word_list, i, j):
    """Lane i asks what lane j asks: that cannot cost more than what i asked before."""
    doubled = [word_list[j] if lane == i else word for lane, word in enumerate(word_list)]
    alone = bank.wavefronts(np.array(word_list) * 4, width=4, active=LANE != i)
    assert count(doubled) == (int(alone) if i != j else count(word_list))


@given(words)
def test_between_1_and_32(word_list):
    assert 1 <= count(word_list) <= 32
    assert count(word_list) >= -(-len(set(word_list)) // 32)


@given(st.integers(0, 2**40))
def test_far_addresses(block):
    """Only the distance between lanes counts."""
    assert int(bank.wavefronts(block * 128 + LANE * 8, width=4)) == 2


# Shapes, types and many requests.


def test_shape_is_kept():
    address = np.zeros((3, 0, 5, 32), int)
    assert bank.wavefronts(address, width=4).shape == (3, 0, 5)
    address = np.arange(6)[:, None] * LANE * 4
    got = bank.wavefronts(address.reshape(2, 3, 32), width=4)
    assert got.tolist() == [[1, 1, 2], [1, 4, 1]]
    assert got.dtype == np.int64
    assert bank.multicast(address, width=4).dtype == np.bool_


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integer_types(dtype):
    """Small unsigned types do not wrap."""
    address = (LANE * 8).astype(dtype)
    assert int(bank.wavefronts(address, width=4)) == 2


def test_width_of_a_numpy_type():
    """An itemsize read from an array of sizes will do."""
    assert int(bank.wavefronts(LANE * 8, width=np.int64(8))) == 2


def test_mask_broadcasts():
    address = np.array([LANE * 128, LANE * 64])
    assert bank.wavefronts(address, width=4, active=LANE < 3).tolist() == [3, 2]


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 511, 512, 513, 1500])
@pytest.mark.parametrize("width", [4, 8, 16])
def test_one_pattern_moved(rows, width):
    """Many requests of one pattern get the same count as one, and one odd request its own."""
    address = np.arange(rows)[:, None] * width * 3 + LANE * 4 * width
    one = [int(count) for count in bank.measure(address[0], width=width)]
    assert np.transpose(bank.measure(address, width=width)).tolist() == [one] * rows
    address[rows // 2] = LANE * width
    plain = [int(count) for count in bank.measure(LANE * width, width=width)]
    got = np.transpose(bank.measure(address, width=width)).tolist()
    assert got == [plain if row == rows // 2 else one for row in range(rows)]


def test_one_pattern_with_two_masks():
    """Equal addresses under unequal masks are different requests."""
    active = LANE < np.where(np.arange(64) % 2, 32, 5)[:, None]
    address = np.zeros((64, 32), int)
    how = {"width": 4, "active": active, "kind": "atomic_add"}
    assert bank.wavefronts(address, **how).tolist() == [5, 32] * 32
    how = {"width": 8, "active": active, "kind": "store"}
    assert bank.wavefronts(address, **how).tolist() == [1, 2] * 32


def test_moved_by_bytes_is_another_pattern():
    """Bytes 0 and 129 share bank 0; three bytes on, 3 and 132 do not."""
    pattern = np.where(LANE == 1, 129, 0)
    address = pattern + np.arange(64)[:, None] % 2 * 3
    assert bank.wavefronts(address, width=1).tolist() == [2, 1] * 32


def test_input_is_left_alone():
    address, active = LANE * 128, LANE < 9
    before = address.copy(), active.copy()
    bank.wavefronts(address, width=4, active=active)
    assert (address == before[0]).all() and (active == before[1]).all()


# Refusals.


@pytest.mark.parametrize(
    "error, message, address, how",
    [
        (ValueError, "32 addresses on the last axis", LANE[:16], {"width": 4}),
        (ValueError, "32 addresses on the last axis", 0, {"width": 4}),
        (ValueError, "1, 2, 4, 8 or 16 bytes", LANE, {"width": 3}),
        (ValueError, "1, 2, 4, 8 or 16 bytes", LANE, {"width": 32}),
        (ValueError, "known: load, store, atomic_add", LANE, {"width": 4, "kind": "read"}),
        (ValueError, "4-byte integers only", LANE * 8, {"width": 8, "kind": "atomic_add"}),
        (TypeError, "float64", LANE / 2, {"width": 4}),
        (TypeError, "bool; byte addresses are integers", LANE > 3, {"width": 4}),
        (ValueError, "-4 is negative", LANE * 4 - 4, {"width": 4}),
        (ValueError, "2 is not a multiple of the width 4", LANE * 2, {"width": 4}),
        (TypeError, "one bool per lane", LANE, {"width": 1, "active": LANE}),
        (ValueError, "one bool per lane", LANE, {"width": 1, "active": np.ones(31, bool)}),
    ],
)
def test_refused(error, message, address, how):
    """What no warp can ask for is refused in words that say what to write."""
    with pytest.raises(error, match=message):
        bank.wavefronts(address, **how)


def test_bank_of_refuses():
    with pytest.raises(TypeError, match="float64"):
        bank.bank_of(1.5)
    with pytest.raises(ValueError, match="-1 is negative"):
        bank.bank_of([4, -1])


@pytest.mark.slow
def test_speed():
    """At least a million random 4-byte requests a second, counted with no short cut."""
    address = np.random.default_rng(0).integers(0, 58_000, (100_000, 32)) * 4
    seconds = []
    for _ in range(5):
        start = process_time()
        bank.measure(address, width=4)
        seconds.append(process_time() - start)
    assert len(address) / min(seconds) >= 1_000_000

"""Products by the tensor cores: every shape and type against a plain product, lane by lane."""

from functools import cache

import numpy as np
import pytest
from numba import cuda, float32, uint32
from numba.core.errors import TypingError

from smemnb.compiled import cubin
from smemnb.compiled.machine import instructions
from smemnb.errors import KernelStopped, LaunchRefused, TypingRefused
from smemnb.kernels.ptx import tensor
from smemnb.kernels.ptx.tensor import (
    cvt_rn_bf16x2,
    cvt_rn_f16x2,
    cvt_rna_tf32,
    mma_m16n8k16_f32_f16,
    mma_m16n8k16_s32_s8,
)
from smemnb.kernels.unrolled import device, unroll
from smemnb.laboratory.tensor_values import drawn, multiplied, ruled
from smemnb.rules import tensor_core
from smemnb.simulator import devices
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace

NAMES = [name for name in vars(tensor) if name.startswith("mma_")]
PER_WORD = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}


def shape(name):
    """(k, sums, kind, words of b, words of c)."""
    _, m16n8k, sums, kind = name.split("_")
    k = int(m16n8k.removeprefix("m16n8k"))
    return k, sums, kind, k // (4 * PER_WORD[kind]), 2 if sums == "f16" else 4


@cache
def words_of(count):
    """A device function: a tuple of words from a row of an array."""
    if count == 1:
        return cuda.jit(device=True)(lambda row: (row[0],))
    if count == 2:
        return cuda.jit(device=True)(lambda row: (row[0], row[1]))
    return cuda.jit(device=True)(lambda row: (row[0], row[1], row[2], row[3]))


@cache
def kernel_of(name):
    """A kernel of one warp per product: fragments from memory, fragments to memory."""
    _, _, _, of_b, of_c = shape(name)
    mma, load_a, load_b, load_c = (
        getattr(tensor, name), words_of(2 * of_b), words_of(of_b), words_of(of_c)
    )  # fmt: skip

    @cuda.jit
    def products(out, a, b, c):
        lane = cuda.grid(1)
        d = mma(load_a(a[lane]), load_b(b[lane]), load_c(c[lane]))
        for at in range(of_c):
            out[lane, at] = d[at]

    return products


def signature(name):
    """Numba's types of such a kernel's arguments."""
    sums = {"f32": "float32", "f16": "uint32", "s32": "int32"}[shape(name)[1]]
    return f"void({sums}[:, ::1], uint32[:, ::1], uint32[:, ::1], {sums}[:, ::1])"


def small_integers(rng, kind, *size):
    """(numbers, words of 4 bytes): integers that every format holds exactly."""
    numbers = rng.integers(0 if kind == "u8" else -8, 9, size)
    if kind == "f16":
        return numbers, numbers.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return numbers, (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "tf32":
        return numbers, numbers.astype(np.float32).view(np.uint32)
    return numbers, numbers.astype({"s8": np.int8, "u8": np.uint8}[kind]).view(np.uint8)


def fragments(numbers, name):
    """What each lane of a warp holds of a, b and c, by the drawings of the PTX manual.

    Written out lane by lane, unlike the package's own rule.
    """
    a, b, c = numbers
    k, _, kind, _, _ = shape(name)
    per = PER_WORD[kind]
    rows = [[], [], []]
    for lane in range(32):
        group, place = divmod(lane, 4)
        half = 4 * per  # columns of one word of all four lanes
        left = []
        for start in range(0, k, half):
            cols = slice(start + per * place, start + per * place + per)
            left += [a[group, cols], a[group + 8, cols]]
        right = []
        for start in range(0, k, half):
            right.append(b[start + per * place : start + per * place + per, group])
        pair = slice(2 * place, 2 * place + 2)
        rows[0].append(np.concatenate(left))
        rows[1].append(np.concatenate(right))
        rows[2].append(np.concatenate([c[group, pair], c[group + 8, pair]]))
    return [np.ascontiguousarray(np.stack(one)) for one in rows]


@pytest.mark.first(4)
@pytest.mark.parametrize("name", NAMES)
def test_every_product(name):
    """Three warps: d = a b + c of small integers, which no format rounds."""
    k, sums, kind, of_b, _ = shape(name)
    rng, kernel = np.random.default_rng(7), kernel_of(name)
    kept = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[sums]
    given, wanted = [[], [], []], []
    for _ in range(3):
        (a, a_bits), (b, b_bits) = (small_integers(rng, kind, *size) for size in ((16, k), (k, 8)))
        c = rng.integers(-50, 50, (16, 8)).astype(kept)
        for into, one in zip(given, fragments((a_bits, b_bits, c), name), strict=True):
            into.append(one)
        d = (a @ b + c.astype(np.int64)).astype(kept)
        wanted.append(fragments((a_bits, b_bits, d), name)[2])
    a, b = (np.concatenate(one).view(np.uint32) for one in given[:2])
    c, d = (np.concatenate(one) for one in (given[2], wanted))
    assert (a.shape, b.shape) == ((96, 2 * of_b), (96, of_b))
    if sums == "f16":
        c = np.ascontiguousarray(c).view(np.uint32)
    out = np.zeros_like(c)
    kernel[1, 96](out, a, b, c)
    np.testing.assert_array_equal(out.view(kept), d)


def random_words(name, warps, seed=0):
    """Fragments of random numbers around 1, as words of each lane: a, b and c."""
    _, sums, kind, of_b, _ = shape(name)
    rng = np.random.default_rng(seed)
    numbers = [rng.standard_normal((32 * warps, count * PER_WORD[kind])).astype(np.float32)
               for count in (2 * of_b, of_b)]  # fmt: skip
    if kind == "f16":
        a, b = (one.astype(np.float16).view(np.uint32) for one in numbers)
    elif kind == "bf16":
        a, b = ((one.view(np.uint32) >> 16).astype(np.uint16).view(np.uint32) for one in numbers)
    else:
        a, b = (one.view(np.uint32) for one in numbers)
    c = rng.standard_normal((32 * warps, 4)).astype(np.float16 if sums == "f16" else np.float32)
    return a, b, c.view(np.uint32) if sums == "f16" else c


@pytest.mark.parametrize(
    "name", ["mma_m16n8k16_f32_bf16", "mma_m16n8k16_f16_f16", "mma_m16n8k8_f32_tf32"]
)
def test_sums_are_rounded_as_the_rule_says(name):
    """Of random numbers too: element by element the rule's answer, bit by bit."""
    k, sums, kind, _, of_c = shape(name)
    a, b, c = random_words(name, 1)
    out = np.zeros_like(c)
    kernel_of(name)[1, 32](out, a, b, c)
    words = {"f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32}[kind]
    whole = [np.zeros((16, k), words), np.zeros((k, 8), words)]
    places = (tensor_core.places_of_a, tensor_core.places_of_b)
    for matrix, bits, of in zip(whole, (a, b), places, strict=True):
        row, col = (np.moveaxis(x, 1, 0).reshape(32, -1) for x in of(k, PER_WORD[kind]))
        matrix[row, col] = bits.view(words)
    dtype = np.float16 if sums == "f16" else np.float32
    row, col = (np.moveaxis(x, 1, 0).reshape(32, -1) for x in tensor_core.places_of_c(4 // of_c))
    given = np.zeros((16, 8), dtype)
    given[row, col] = c.view(dtype)
    wanted = tensor_core.multiplied(*whole, given, kind=kind)
    np.testing.assert_array_equal(out.view(dtype), wanted[row, col])
    plain = out.view(dtype)[0, 0]
    assert plain != 0


@cuda.jit
def converted(words, x, y):
    i = cuda.grid(1)
    words[0, i] = cvt_rna_tf32(x[i])
    words[1, i] = cvt_rn_f16x2(x[i], y[i])
    words[2, i] = cvt_rn_bf16x2(x[i], y[i])


def test_words():
    """Ties of tf32 go away from 0, of the others to even; the first number lies lowest."""
    x = np.array([1 + 2**-11, -1 - 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, np.nan, 7e4], np.float32)
    y = np.array([2.0, -2.0, 0.5, np.inf, 2.0, 1e-8], np.float32)
    words = np.zeros((3, 6), np.uint32)
    converted[1, 6](words, x, y)
    assert [hex(one) for one in words[0, :4]] == [
        "0x3f802000", "0xbf802000", "0x3f808000", "0x3f818000"
    ]  # fmt: skip
    assert words[0, 4] == 0x7FC00000
    halves = words[1].view(np.float16).reshape(6, 2)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(halves, np.stack([x, y], axis=1).astype(np.float16))
    assert [hex(one) for one in words[2]] == [
        "0x40003f80", "0xc000bf80", "0x3f003f80", "0x7f803f82", "0x40007fff", "0x322c4789"
    ]  # fmt: skip


@cuda.jit
def to_tf32(words, x):
    i = cuda.grid(1)
    words[i] = cvt_rna_tf32(x[i])


def special_singles():
    """Bits of float32: ties, the largest, subnormals, infinities, NaN of all kinds; random ones."""
    tie = 1 << 12
    ones = [0x3F800000, 0x3F802000, 0xBF800000, 0x00000000, 0x00002000, 0x7F7FE000, 0x007FE000]
    around = [one + tie + step for one in ones for step in (-1, 0, 1)]
    odd = [0, 1, 1 << 31, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FFFFFFF,
           0x7F800001, 0xFF801FFF, 0x7F802000, 0xFFFFFFFF]  # fmt: skip
    bits = np.array([*around, *odd], np.int64).astype(np.uint32)
    rest = np.random.default_rng(5).integers(0, 1 << 32, 256 - len(bits)).astype(np.uint32)
    return np.concatenate([bits, rest])


def test_nearest_tf32():
    """Of finite numbers the nearest of 10 bits behind the point, by exact fractions; else cut."""
    bits = special_singles()
    words = np.zeros(256, np.uint32)
    to_tf32[8, 32](words, bits.view(np.float32))
    assert (words & 0x1FFF == 0).all()
    for one, word in zip(bits.tolist(), words.tolist(), strict=True):
        size, sign = one & 0x7FFFFFFF, one & 0x80000000
        if size >= 0x7F800000:
            assert word == one & 0xFFFFE000
            continue
        low = size // 8192 * 8192  # patterns of one sign are ordered as their numbers are
        up = size - low >= (low + 8192) - size  # the same step on both sides, ties away from 0
        assert word == sign | (low + 8192 * up)


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
def test_what_the_compiler_makes_of_cvt_rna_tf32():
    """No instruction of its own: half a last place is added unless it is infinite, then a cut."""
    for cc in ((8, 0), (9, 0)):
        code = instructions(cubin(to_tf32, "void(uint32[::1], float32[::1])", cc))
        begin = next(at for at, one in enumerate(code) if one.name.startswith("LDG"))
        end = next(at for at, one in enumerate(code) if one.name.startswith("STG"))
        made = [(one.name.split(".")[0], one.operands, one.guard) for one in code[begin:end]]
        compared = [where for name, where, _ in made if name == "FSETP"]
        cut = [where for name, where, _ in made if "0xffffe000" in where]
        added = [guard for name, where, guard in made if guard]
        assert [("|" in one, "+INF" in one) for one in compared] == [(True, True)]
        assert (len(cut), len(added)) == (1, 1)
        assert not [name for name, _, _ in made if name in ("F2F", "F2FP", "F2I")]
    bits = special_singles()
    words = np.zeros(256, np.uint32)
    found = trace(to_tf32)[8, 32](words, bits.view(np.float32))
    np.testing.assert_array_equal(found.as_compiled().arrays[0], words)


@cuda.jit
def to_tf32_by_chip(words, x):
    i = cuda.grid(1)
    words[i] = tensor.to_tf32(x[i])


@pytest.mark.parametrize(("cc", "tie", "nan"), [((9, 0), 0x3F800000, 0x7FFFE000),
                                                ((8, 0), 0x3F802000, 0x7FC00000)])  # fmt: skip
def test_one_instruction_rounds_to_tf32(cc, tie, nan):
    """Ties to even from cc 9.0 on, away from zero before; what is no tie is the same."""
    x = np.array([1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-20, -np.inf, np.nan], np.float32)
    words = np.zeros(5, np.uint32)
    before = devices.cc()
    devices.use(cc)
    try:
        to_tf32_by_chip[1, 5](words, x)
    finally:
        devices.use(before)
    assert [int(one) for one in words] == [tie, 0x3F804000, 0x3F802000, 0xFF800000, nan]


@pytest.mark.toolchain
@pytest.mark.parametrize(("cc", "name"), [((9, 0), "F2FP.TF32"), ((8, 0), "FSETP")])
def test_what_the_compiler_makes_of_to_tf32(cc, name):
    """An instruction of its own from cc 9.0 on; on 8.0 the sequence of `cvt.rna`."""
    code = instructions(cubin(to_tf32_by_chip, "void(uint32[::1], float32[::1])", cc))
    assert any(one.name.startswith(name) for one in code)


@pytest.mark.gpu
def test_gpu_rounds_to_tf32_likewise():
    """Bit by bit, also of numbers that are none."""
    bits = special_singles()
    words = np.zeros(256, np.uint32)
    to_tf32[8, 32](words, bits.view(np.float32))
    np.testing.assert_array_equal(words, tensor_core.rounded_to_tf32(bits.view(np.float32)))


@cuda.jit
def short_a(out):
    two, four = (uint32(0), uint32(0)), (float32(0), float32(0), float32(0), float32(0))
    out[0] = mma_m16n8k16_f32_f16(two, two, four)[0]


@cuda.jit
def sums_of_doubles(out):
    two = (uint32(0), uint32(0))
    out[0] = mma_m16n8k16_f32_f16((uint32(0), uint32(0), uint32(0), uint32(0)), two, (0.0,) * 4)[0]


@cuda.jit
def sums_of_floats(out):
    four = (float32(0), float32(0), float32(0), float32(0))
    out[0] = mma_m16n8k16_s32_s8((uint32(0), uint32(0)), (uint32(0),), four)[0]


@cuda.jit
def a_double(out):
    out[0] = cvt_rna_tf32(1.0)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (short_a, "takes a as a tuple of 4 uint32; this is UniTuple(uint32 x 2)"),
        (sums_of_doubles, "takes c as a tuple of 4 float32; this is UniTuple(float64 x 4)"),
        (sums_of_floats, "takes c as a tuple of 4 int32; this is UniTuple(float32 x 4)"),
        (a_double, "cvt_rna_tf32 takes a float32; this is float64"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_types_are_refused_before_anything_runs(kernel, said):
    """Numba's inference says what is wanted and what came."""
    with pytest.raises(TypingRefused) as refused:
        kernel[1, 32](np.zeros(1, np.float32))
    assert said in str(refused.value)


@cuda.jit
def guarded_product(out):
    tx = cuda.threadIdx.x
    two, four = (uint32(0), uint32(0)), (float32(0), float32(0), float32(0), float32(0))
    if tx < 20:
        out[tx] = mma_m16n8k16_f32_f16((uint32(0), uint32(0), uint32(0), uint32(0)), two, four)[0]


def test_all_lanes_take_part():
    """A product inside a branch that divides the warp is refused with its line."""
    with pytest.raises(KernelStopped, match="only 20 of them come to it"):
        guarded_product[1, 32](np.zeros(32, np.float32))


def test_older_gpus():
    """A launch on a GPU of cc 7.5 is refused in words."""
    before = devices.cc()
    devices.use("7.5")
    try:
        with pytest.raises(LaunchRefused, match="compute capability 8.0 or higher; this one has 7"):
            kernel_of("mma_m16n8k16_f32_f16")[1, 32](
                np.zeros((32, 4), np.float32), *random_words("mma_m16n8k16_f32_f16", 1)
            )
    finally:
        devices.use(before)


def test_each_architecture_rounds_its_way():
    """The same launch for cc 8.0 and for 9.0: other last bits, each as its rule says."""
    name, before = "mma_m16n8k16_f32_bf16", devices.cc()
    words, found = drawn(name, "apart", 1), {}
    try:
        for cc, rule in (("8.0", tensor_core.AMPERE), ("9.0", tensor_core.HOPPER)):
            devices.use(cc)
            found[cc] = multiplied(name, words)
            np.testing.assert_array_equal(found[cc], ruled(name, words, rule))
    finally:
        devices.use(before)
    assert (found["8.0"] != found["9.0"]).any()


STEPS = 3


@device
def step(at, a, b, acc):
    """One product of a step; its sums go through a local array."""
    fragment = (a[at, 0], a[at, 1], a[at, 2], a[at, 3])
    sums = mma_m16n8k16_f32_f16(fragment, (b[at, 0], b[at, 1]), (acc[0], acc[1], acc[2], acc[3]))
    for one in range(4):
        acc[one] = sums[one]


steps = unroll(STEPS, step)


@cuda.jit
def unrolled(out, a, b):
    lane = cuda.threadIdx.x
    acc = cuda.local.array(4, float32)
    for at in range(4):
        acc[at] = float32(0)
    steps((a[lane], b[lane], acc))
    for at in range(4):
        out[lane, at] = acc[at]


def test_unrolled():
    """Factories of device functions work with tuples of words: three products in a row."""
    parts = [random_words("mma_m16n8k16_f32_f16", 1, seed) for seed in range(STEPS)]
    a, b = (np.ascontiguousarray(np.stack([one[at] for one in parts], axis=1)) for at in (0, 1))
    out, kernel = np.zeros((32, 4), np.float32), kernel_of("mma_m16n8k16_f32_f16")
    unrolled[1, 32](out, a, b)
    wanted = np.zeros((32, 4), np.float32)
    for one_a, one_b, _ in parts:
        kernel[1, 32](wanted, one_a, one_b, wanted.copy())
    np.testing.assert_array_equal(out, wanted)


MACHINE = {
    "mma_m16n8k16_f32_f16": "HMMA.16816.F32",
    "mma_m16n8k16_f32_bf16": "HMMA.16816.F32.BF16",
    "mma_m16n8k16_f16_f16": "HMMA.16816.F16",
    "mma_m16n8k8_f32_f16": "HMMA.1688.F32",
    "mma_m16n8k8_f32_bf16": "HMMA.1688.F32.BF16",
    "mma_m16n8k8_f16_f16": "HMMA.1688.F16",
    "mma_m16n8k8_f32_tf32": "HMMA.1688.F32.TF32",
    "mma_m16n8k4_f32_tf32": "HMMA.1684.F32.TF32",
    "mma_m16n8k32_s32_s8": "IMMA.16832.S8.S8",
    "mma_m16n8k32_s32_u8": "IMMA.16832.U8.U8",
    "mma_m16n8k16_s32_s8": "IMMA.16816.S8.S8",
    "mma_m16n8k16_s32_u8": "IMMA.16816.U8.U8",
}


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.first(5)
@pytest.mark.parametrize("name", NAMES)
def test_instructions(name):
    """Each is one instruction of the GPU."""
    elf = cubin(kernel_of(name), signature(name), (8, 0))
    assert [one.name for one in instructions(elf) if "MMA" in one.name] == [MACHINE[name]]


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
def test_older_gpus_are_refused_by_the_compiler():
    """With words, not with an error of ptxas."""
    name = "mma_m16n8k16_f32_f16"
    with pytest.raises(TypingError, match="needs a GPU of compute capability 8.0 or higher"):
        cubin(kernel_of(name), signature(name), (7, 5))


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_gpu_and_engine_agree(name):
    """Small integers, which nothing rounds: the places of all elements."""
    k, sums, kind, _, _ = shape(name)
    rng, kernel = np.random.default_rng(11), kernel_of(name)
    kept = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[sums]
    (a, a_bits), (b, b_bits) = (small_integers(rng, kind, *size) for size in ((16, k), (k, 8)))
    c = rng.integers(-50, 50, (16, 8)).astype(kept)
    d = (a @ b + c.astype(np.int64)).astype(kept)
    left, right, given = fragments((a_bits, b_bits, c), name)
    wanted = fragments((a_bits, b_bits, d), name)[2]
    given = given.view(np.uint32) if sums == "f16" else given
    out = np.zeros_like(given)
    kernel[1, 32](out, left.view(np.uint32), right.view(np.uint32), given)
    np.testing.assert_array_equal(out.view(kept), wanted)

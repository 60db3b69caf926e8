"""`matmul` by tensor cores: dtypes, layouts, batches, factors, refusals, plans."""

import numpy as np
import pytest
from numba import cuda

from smemnb import errors
from smemnb.kernels.tensor.tensor_cut import TensorCut
from smemnb.kernels.tensor.variants.staged import tensor_product_of
from smemnb.measure.bench import tensor
from smemnb.operations.backends.find import array_view
from smemnb.operations.backends.matrix_view import MatrixView
from smemnb.operations.laid import Laid
from smemnb.operations.multiplying import matmul
from smemnb.operations.tensor_products import check_chip, kind_of, tensor_launches
from tests.tiers import exhaustive

SMALL = TensorCut(32, 64, warp_rows=32, warp_cols=32, stages=2)


def drawn(shape, seed, dtype=np.float16):
    """Small whole numbers without symmetry: their products are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def right(a, b):
    return np.matmul(a.astype(np.float32), b.astype(np.float32))


def test_halves():
    """float16 gives float16, rounded once; a misaligned operand is copied first."""
    a, b = drawn((37, 51), 1), drawn((51, 24), 2)
    found = matmul(a, b)
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, right(a, b))


def test_rounded_once():
    """A sum that float16 cannot hold is rounded to the nearest, ties to even."""
    a = np.ones((1, 8), np.float16)
    b = np.zeros((8, 8), np.float16)
    b[0], b[1, :4], b[1, 4:] = 2048, 1, 3
    found = matmul(a, b)
    np.testing.assert_array_equal(found[0], [2048] * 4 + [2052] * 4)


@exhaustive
def test_brain_floats():
    """bfloat16 of ml_dtypes gives bfloat16."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a, b = (drawn(shape, 3, ml_dtypes.bfloat16) for shape in ((24, 16), (16, 40)))
    found = matmul(a, b)
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(
        found.astype(np.float32), right(a, b).astype(ml_dtypes.bfloat16).astype(np.float32)
    )


@exhaustive
def test_tf32():
    """On request float32 is rounded to 10 bits, here ties to even, and the result is float32."""
    a, b = np.ones((8, 8), np.float32), np.zeros((8, 8), np.float32)
    b[0] = 1 + 3 * 2.0**-11
    b[1] = -(1 + 2.0**-11)
    b[2], b[3] = 1 + 2.0**-12, -1
    found = matmul(a, b, precision="tf32")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.full((8, 8), 2.0**-9, np.float32))
    np.testing.assert_array_equal(matmul(a, b, precision="float32"), a @ b)


def on_device(name, array):
    """The view of an array, as if its memory were that of a device: it is read as it lies."""
    view = array_view(name, array)
    found = MatrixView.__new__(MatrixView)
    for slot in MatrixView.__slots__:
        setattr(found, slot, getattr(view, slot))
    found.place = 0
    return found


def launched(out, a, b, kind, cut=None, depth_parts=1):
    """Run what is planned for arrays of a device; the launches."""
    held = {"out": out, "a": a, "b": b}
    views = [on_device(name, array) for name, array in held.items()]
    some, new = tensor_launches(tuple(views), kind, cut, depth_parts)
    memory = {name: array.reshape(-1, order="A").view(np.uint8) for name, array in held.items()}
    memory["scratch"] = np.zeros(new.bytes, np.uint8)
    for one in some:
        args = [
            np.ndarray(arg.shape, arg.dtype, memory[arg.source], arg.at, arg.strides)
            if isinstance(arg, Laid)
            else arg
            for arg in one.args
        ]
        one._replace(args=tuple(args)).start()
    return some


@exhaustive
@pytest.mark.parametrize(
    ("a_columns", "b_columns"),
    [
        (True, True),
        *(pytest.param(*one, marks=pytest.mark.nightly) for one in ((False, True), (True, False))),
    ],
)
def test_layouts(a_columns, b_columns):
    """Operands on a device that lie by columns are read as they lie; no copy where rows allow."""
    a, b = drawn((40, 24), 4), drawn((24, 32), 5)
    one = np.asfortranarray(a) if a_columns else a
    other = np.asfortranarray(b) if b_columns else b
    out = np.zeros((40, 32), np.float16)
    some = launched(out, one, other, "f16", SMALL)
    np.testing.assert_array_equal(out, right(a, b))
    assert [launch.kernel for launch in some] == [
        tensor_product_of(SMALL, "f16", a_columns, b_columns, "f16", True, "")
    ]


@exhaustive
def test_launches_in_parts():
    """Rows that begin anywhere are copied first, parts of the depth are added after."""
    a, b = drawn((40, 77), 4), np.asfortranarray(drawn((77, 24), 5))
    out = np.zeros((40, 24), np.float16)
    some = launched(out, a, b, "f16", SMALL, 2)
    names = [launch.kernel.__name__ for launch in some]
    assert names == ["aligned_copy_16", "aligned_copy_16", "tensor_product", "parts_added_f16"]
    np.testing.assert_array_equal(out, right(a, b))


@exhaustive
def test_batches_and_vectors():
    """What `numpy.matmul` does with axes."""
    stacks = drawn((3, 1, 8, 16), 6), drawn((2, 16, 8), 7)
    pairs = [
        stacks,
        (stacks[0][0, 0], stacks[1]),
        (drawn(16, 8), drawn((16, 24), 9)),
        (drawn((24, 16), 9), drawn(16, 8)),
        (drawn(16, 8), drawn(16, 9)),
        (drawn((4, 0), 1), drawn((0, 8), 1)),
        (drawn((0, 8), 1), drawn((8, 8), 1)),
    ]
    for a, b in pairs:
        found = matmul(a, b)
        assert found.shape == right(a, b).shape
        np.testing.assert_array_equal(found, right(a, b))


@exhaustive
def test_out():
    """alpha and beta; an `out` of float32 takes the sums as they are; of no depth, beta alone."""
    a, b, before = drawn((20, 16), 1), drawn((16, 24), 2), drawn((20, 24), 3)
    out = before.copy()
    assert matmul(a, b, out=out, alpha=2, beta=-1) is out
    np.testing.assert_array_equal(out, 2 * right(a, b) - before)
    single = before.astype(np.float32)
    matmul(a, b, out=single, alpha=0.5)
    np.testing.assert_array_equal(single, 0.5 * right(a, b))
    out = before.copy()
    matmul(a[:, :0], b[:0], out=out, beta=3)
    np.testing.assert_array_equal(out, 3 * before)


def in_part(big, part, a, b, **more):
    """Multiply into a part of an array of a device; all of it afterwards, and what it was."""
    before = drawn(big, 7, more.pop("dtype", a.dtype))
    whole = cuda.to_device(before)
    into = whole[part]
    found = matmul(cuda.to_device(a), cuda.to_device(b), out=into, **more)
    assert found is into
    return whole.copy_to_host(), before


@exhaustive
@pytest.mark.parametrize(
    ("dtype", "big", "part", "left", "right_side"),
    [
        (np.float16, (20, 40), np.s_[:, 3:27], (20, 16), (16, 24)),  # begins at 6 bytes
        (np.float32, (3, 2, 9, 24), np.s_[:, :, :8], (3, 2, 8, 16), (2, 16, 24)),
        *(
            pytest.param(*one, marks=pytest.mark.nightly)
            for one in (
                (np.float16, (20, 40), np.s_[:, 8:32], (20, 16), (16, 24)),  # whole chunks
                (np.float32, (21, 33), np.s_[1:, 1:24], (20, 16), (16, 23)),
                (np.float16, (40, 24), np.s_[::2], (20, 16), (16, 24)),
                (np.float16, (1, 40), np.s_[:, 5:29], (1, 16), (16, 24)),
                (np.float32, (2, 8, 32), np.s_[:, :, :24], (2, 8, 16), (16, 24)),
                (np.float16, (4, 8, 24), np.s_[::2], (2, 8, 16), (2, 16, 24)),
                (np.float16, (5, 30), np.s_[1:4, 3:27], (16,), (3, 16, 24)),
                (np.float32, (5, 30), np.s_[1:4, 3:23], (3, 20, 16), (16,)),
            )
        ),
    ],
)
def test_out_with_gaps(dtype, big, part, left, right_side):
    """Rows and matrices of an `out` of a device lie any number of elements apart, anywhere."""
    a, b = drawn(left, 1), drawn(right_side, 2)
    found, wanted = in_part(big, part, a, b, dtype=dtype, alpha=2, beta=-1)
    wanted = wanted.astype(np.float32)
    wanted[part] = 2 * right(a, b) - wanted[part]
    np.testing.assert_array_equal(found, wanted)


@exhaustive
def test_out_with_gaps_elsewhere():
    """Nothing to add up, bfloat16 in its bits, tf32, parts of the depth."""
    part = np.s_[:, 3:27]
    nothing = drawn((20, 0), 1), drawn((0, 24), 2)
    found, wanted = in_part((20, 40), part, *nothing)
    wanted[part] = 0
    np.testing.assert_array_equal(found, wanted)
    a, b = drawn((20, 16), 1, np.float32), drawn((16, 24), 2, np.float32)
    found, wanted = in_part((20, 40), part, a, b, precision="tf32")
    wanted[part] = a @ b
    np.testing.assert_array_equal(found, wanted)
    one, other, big = drawn((40, 77), 4), drawn((77, 24), 5), drawn((40, 30), 6)
    views = [on_device("out", big[:, 2:26]), on_device("a", one), on_device("b", other)]
    some, _ = tensor_launches(tuple(views), "f16", SMALL, 2)
    into = [launch.args[0] for launch in some if launch.args[0].source == "out"]
    assert [(one.shape, one.strides) for one in into] == [((40, 24), (60, 2))]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_an_out_by_columns_is_refused(dtype):
    """Of a device, as `out` of a product in float32 is: its strides are named, it is as it was."""
    before = np.asfortranarray(drawn((8, 8), 3, dtype))
    out = cuda.to_device(before)
    a = cuda.to_device(np.ones((8, 8), np.float16))
    with pytest.raises(errors.LaunchRefused, match=r"`out` has .* strides .* neighbours") as said:
        matmul(a, a, out=out)
    assert f"strides {before.strides}" in str(said.value)
    np.testing.assert_array_equal(out.copy_to_host(), before)
    by_columns = np.asfortranarray(before)  # of the host it is copied
    assert matmul(A, A, out=by_columns) is by_columns
    np.testing.assert_array_equal(by_columns, np.full((8, 8), 8))


A, B = np.ones((8, 8), np.float16), np.ones((8, 8), np.float32)
REFUSED = [
    (lambda out: matmul(A, B, out=out), errors.LaunchRefused, "float32"),
    (lambda out: matmul(B, A, out=out), errors.LaunchRefused, "float16"),
    (lambda out: matmul(A, A, out=out, rung="matmul_tiled"), errors.LaunchRefused, "rung"),
    (lambda out: matmul(A, A, out=out, precision="tf32"), errors.LaunchRefused, "tf32"),
    (lambda out: matmul(A, A, out=out, precision="float32"), errors.LaunchRefused, "precision"),
    (lambda out: matmul(B, B, out=out, precision="bf16"), errors.LaunchRefused, "bf16"),
    (lambda out: matmul(B, B, out=out, precision=32), errors.LaunchRefused, "32"),
    (lambda out: matmul(A, A[:7], out=out), errors.LaunchRefused, "7"),
    (lambda out: matmul(A, A, beta=1), errors.LaunchRefused, "beta"),
    (lambda out: matmul(A, A, out=out.astype(np.float64)), errors.LaunchRefused, "float64"),
    (lambda out: matmul(A, A, out=out[:7]), errors.LaunchRefused, "(7, 8)"),
    (lambda out: matmul(A, out, out=out), errors.LaunchRefused, "memory"),
]


@pytest.mark.parametrize(("call", "kind", "word"), REFUSED)
def test_refused(call, kind, word):
    """What came and what is wanted is said, and `out` is as it was."""
    out = np.full((8, 8), 5, np.float16)
    with pytest.raises(kind) as caught:
        call(out)
    assert word in str(caught.value)
    np.testing.assert_array_equal(out, np.full((8, 8), 5, np.float16))


def test_chips():
    """An architecture before 8.0 is refused with the reason; later ones and the engine are not."""
    for kind in ("f16", "bf16", "tf32"):
        with pytest.raises(errors.LaunchRefused) as caught:
            check_chip((7, 5), kind)
        assert "8.0" in str(caught.value)
        assert "7.5" in str(caught.value)
        for cc in ((8, 0), (9, 0), (12, 0), None):
            check_chip(cc, kind)


def test_plan():
    """Large tiles, copies of misaligned operands, and parts of the depth are named."""
    large = matmul.plan(np.ones((4096, 4096), np.float16), np.ones((4096, 4096), np.float16), 132)
    assert (large.kernel, large.launches, large.workspace) == ("tensor_product", 1, 0)
    assert large.block == (256, 1)
    odd = matmul.plan(np.ones((63, 77), np.float16), np.ones((77, 64), np.float16), 132)
    assert odd.launches == 2  # only rows of 77 begin anywhere
    assert odd.workspace >= 63 * 80 * 2
    deep = matmul.plan(
        np.ones((64, 8192), np.float32), np.ones((8192, 64), np.float32), 132, "tf32"
    )
    assert deep.launches == 2
    assert deep.grid[2] > 1
    assert "parts" in deep.words


def test_kinds():
    """The dtype decides, by whatever library it is written."""
    assert kind_of(np.zeros(1, np.float16)) == "f16"
    assert kind_of(np.zeros(1, np.float64)) is None
    assert kind_of([1.0]) is None
    assert (
        kind_of(
            type(
                "Tensor", (), {"dtype": type("D", (), {"__str__": lambda _: "torch.bfloat16"})()}
            )()
        )
        == "bf16"
    )


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(520, 392, 264), (129, 257, 67), (64, 48, 8192)])
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_on_a_gpu(kind, layout, shape):
    """Every type and layout, whole chunks or not, parts of the depth: as the product in float32."""
    case = tensor.TensorCase(kind, shape, layout)
    arrays = tensor.held(case)
    tensor.product(case, arrays)()
    cuda.synchronize()
    found = tensor.singles(arrays.out.copy_to_host()[arrays.rows], kind)
    error = np.abs(found - arrays.true).max() / np.abs(arrays.true).max()
    assert error <= tensor.LIMITS[kind]

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
    """On request float32 is rounded to 10 bits, ties away from 0, and the result is float32."""
    a, b = np.ones((8, 8), np.float32), np.zeros((8, 8), np.float32)
    b[0] = 1 + 2.0**-11
    b[1] = -(1 + 2.0**-12)
    found = matmul(a, b, precision="tf32")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.full((8, 8), 2.0**-10, np.float32))
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

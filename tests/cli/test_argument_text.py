"""Kernel arguments as they are written on a command line."""

import numpy as np
import pytest

from smemnb.cli.argument_text import argument, extent
from smemnb.errors import LaunchRefused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("float32[2,3]", np.arange(6, dtype=np.float32).reshape(2, 3)),
        ("float32[2x3]", np.arange(6, dtype=np.float32).reshape(2, 3)),
        ("float32[2, 3]F", np.arange(6, dtype=np.float32).reshape(2, 3, order="F")),
        ("int32[4]=7", np.full(4, 7, np.int32)),
        ("float64[3]=-0.5", np.full(3, -0.5)),
        ("uint8[258]", np.arange(258) % 128 + 128 * (np.arange(258) % 256 >= 128)),
        ("int8[130]", np.arange(130) % 128),
        ("bool[3]", np.array([False, True, False])),
        ("int64[3]", np.arange(3)),
        ("uint64[3]", np.arange(3, dtype=np.uint64)),
        ("float16[2050]", np.arange(2050) % 2048),
        ("complex64[2]", np.array([0, 1], np.complex64)),
    ],
)
def test_arrays(text, expected):
    """Dtype, shape, order and contents are those that are written."""
    found = argument(text)
    assert found.shape == expected.shape
    assert found.dtype == np.dtype(text.partition("[")[0])
    assert found.flags.f_contiguous is (found.ndim == 1 or text.endswith("F"))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 5),
        ("-5", -5),
        ("2.5", 2.5),
        ("True", True),
        ("(1, 2)", (1, 2)),
        ("int32(5)", np.int32(5)),
        ("float32(0.5)", np.float32(0.5)),
    ],
)
def test_scalars(text, expected):
    """A number keeps its type; a NumPy scalar has the one that is written."""
    assert argument(text) == expected and type(argument(text)) is type(expected)


def test_random_is_the_same_twice():
    """Random contents do not differ from run to run, and are not constant."""
    first = argument("float32[64]=random")
    assert (first == argument("float32[64]=random")).all()
    assert np.unique(first).size == 64
    assert argument("int32[64]=random").max() < 100


def test_random_below():
    """Whole numbers from 0 to below the one that is written, whose default is 100."""
    for text in ("int32[4096]=random:64", "uint8[9999]=random:256", "uint64[64]=random:2"):
        found, below = argument(text), int(text.partition(":")[2])
        assert found.dtype == np.dtype(text.partition("[")[0])
        assert (found.min(), found.max()) == (0, below - 1)
    assert int(argument(f"uint64[64]=random:{2**64}").max()) > 2**63
    assert (argument("int32[64]=random") == argument("int32[64]=random:100")).all()


def test_saved_array(tmp_path):
    """@FILE.npy is the array as it was saved."""
    np.save(tmp_path / "a.npy", np.arange(3, dtype=np.int16))
    assert argument(f"@{tmp_path / 'a.npy'}").dtype == np.int16


def test_pickles_are_refused(tmp_path):
    """A file that would execute code when it is read is refused."""
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(LaunchRefused, match="not an array written by numpy.save"):
        argument(f"@{tmp_path / 'a.npy'}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("floaty[3]", "floaty is no number type"),
        ("float32(50,100)", r"an array of this shape is written float32\[50,100\]"),
        ("int8(4,)", r"an array of this shape is written int8\[4\]"),
        ("float32(0.5, 2)", "write one number, not a tuple"),
        ("float32[4]=(1, 2)", "write one number, not a tuple"),
        ("object[3]", "object is no number type"),
        ("float32[]", "write the shape as whole numbers"),
        ("float32[a]", "write the shape as whole numbers"),
        ("float32[100000,100000]", "more than 2 GiB"),
        ("float32[3]=many", "is no argument"),
        ("float32[3]=random:9", "random:9 is for whole numbers"),
        ("bool[3]=random:9", "random:9 is for whole numbers"),
        ("int32[3]=random:", "write a whole number from 1 to 2147483648"),
        ("int32[3]=random:0", "write a whole number from 1 to 2147483648"),
        ("int8[3]=random:129", "write a whole number from 1 to 128 after random:"),
        ("inp", "is no argument"),
        ("__import__('os')", "is no argument"),
        ("'text'", "is no argument"),
        ("()", "is no argument"),
        ("@absent.npy", "absent.npy is not there"),
    ],
)
def test_refused(text, said):
    """What is not in the grammar is refused with what to write."""
    with pytest.raises(LaunchRefused, match=said):
        argument(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("4", (4,)), ("4,4", (4, 4)), ("4x4x2", (4, 4, 2)), ("(4, 1)", (4, 1))]
)
def test_extent(text, expected):
    """One to three numbers, with commas or crosses."""
    assert extent(text, "--grid") == expected


@pytest.mark.parametrize("text", ["", "4,4,4,4", "-1", "2.5", "4,,4", "n"])
def test_extent_refused(text):
    """Anything else is refused with the option's name and an example."""
    with pytest.raises(
        LaunchRefused, match='--grid .*write one to three whole numbers, such as "32'
    ):
        extent(text, "--grid")

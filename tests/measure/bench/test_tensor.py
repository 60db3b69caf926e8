"""Tensor products beside the peak loop and cuBLAS: cases, readings, words."""

import itertools

import numpy as np
import pytest

from smemnb.cli.bench_tensor import main
from smemnb.errors import SmemnbError
from smemnb.kernels.tensor.tensor_cut import TensorCut
from smemnb.kernels.tensor.variants.peak import flops
from smemnb.measure.bench import tensor
from tests.tiers import exhaustive

SMALL = TensorCut(32, 64, warp_rows=32, warp_cols=32, stages=2)


class Ticks:
    """A clock whose marks are a second apart."""

    def __init__(self):
        self.now = itertools.count()

    def head_start(self, launches):
        pass

    def mark(self):
        return next(self.now)

    def wait(self):
        pass

    def ms(self, before, after):
        return float(after - before)


def test_cases():
    """Every type in all four layouts at 8192, at 4096, and in ragged shapes."""
    names = [one.name for one in tensor.CASES]
    assert len(names) == len(set(names)) == 24
    for kind in ("bf16", "f16", "tf32"):
        for layout in ("NN", "NT", "TN", "TT"):
            assert f"{kind} 8192x8192x8192 {layout}" in names
    assert tensor.TensorCase("f16", (2, 3, 5)).operations == 60
    for wrong in ("81", "8x8", "8x8x8:XY", "0x8x8"):
        with pytest.raises(SmemnbError, match=wrong):
            tensor.cases_named(["f16"], [wrong])


def test_bits():
    """bfloat16 is rounded to the nearest, ties to even, and back exactly."""
    numbers = np.array([1, 1 + 2.0**-8, 1 + 3 * 2.0**-8, -3.5], np.float32)
    found = tensor.singles(tensor.bits(numbers, "bf16"), "bf16")
    np.testing.assert_array_equal(found, np.array([1, 1, 1 + 2.0**-6, -3.5], np.float32))


@exhaustive
@pytest.mark.parametrize(("kind", "layout"), [("bf16", "NN"), ("tf32", "NT")])
def test_readings(kind, layout):
    """Each contender is run, checked and timed; one that is wrong or fails is named, not timed."""
    case = tensor.TensorCase(kind, (40, 72, 48), layout)
    arrays = tensor.held(case)
    some = list(tensor.contenders(case, arrays, 2, cuts=[SMALL]))
    assert [name for name, _ in some] == ["peak", "smemnb", "32x64x16s2r1w32x32"]

    def broken():
        raise ValueError("not today")

    wrong = tensor.Contender("wrong", lambda: None, result=lambda: arrays.true * 1.5)
    some += [("broken", broken), ("wrong", lambda: wrong)]
    found = {
        one.name: one for one in tensor.read(case, iter(some), arrays, Ticks(), least=1, most=1)
    }
    assert "not today" in found["broken"].failed
    assert found["wrong"].failed
    for name in ("peak", "smemnb", "32x64x16s2r1w32x32"):
        assert (found[name].failed, found[name].ms) == ("", 1.0)
        assert found[name].tflops == case.operations / 1e9
    assert found["smemnb"].error <= tensor.LIMITS[kind]


@exhaustive
def test_rungs_of_hopper():
    """They are timed with the ladder where the GPU has warpgroups, and where rows fit."""
    case = tensor.TensorCase("f16", (40, 72, 48), "NN")
    arrays = tensor.held(case)
    named = dict(tensor.contenders(case, arrays, 2, rungs=True, warpgroups=True))
    names = [one.name for one in tensor.hopper.LADDER]
    assert list(named)[-len(names) :] == names
    found = list(
        tensor.read(case, iter([(names[-1], named[names[-1]])]), arrays, Ticks(), least=1, most=1)
    )
    assert [(one.name, one.failed, one.error <= 1e-3) for one in found] == [(names[-1], "", True)]
    for other in (("NT", 48), ("NN", 50)):
        case = tensor.TensorCase("f16", (40, 72, other[1]), other[0])
        some = tensor.contenders(case, tensor.held(case), 2, rungs=True, warpgroups=True)
        assert not {name for name, _ in some} & set(names)


def test_words(tmp_path, capsys):
    """A table says shares of the peak loop and of cuBLAS; a file that is none is refused."""
    readings = [
        tensor.Reading("f16 1x1x1 NN", "peak", 1, 1, 1, 9, 600.0),
        tensor.Reading("f16 1x1x1 NN", "smemnb", 2, 2, 2, 9, 480.0, 1e-4),
        tensor.Reading("f16 1x1x1 NN", "torch", 1, 1, 1, 9, 800.0, 1e-4),
        tensor.Reading("f16 1x1x1 NN", "other", failed="no room"),
    ]
    (ours,) = [line for line in tensor.lines(readings) if "smemnb" in line]
    assert ours.split()[-2:] == ["0.80", "0.60"]
    assert main(["--list", "--kinds", "tf32", "--sizes", "64x32x16"]) == 0
    assert "tf32 64x32x16 NN" in capsys.readouterr().out
    with pytest.raises(SmemnbError):
        main(["--show", str(tmp_path / "none.json")])


def test_what_is_shipped(capsys):
    """An H200's readings of every case of the command, none wrong; `--show` prints them."""
    found = tensor.loaded()
    ours = {one.case: one for one in found if one.name == "smemnb"}
    assert {case.name for case in tensor.CASES} <= set(ours)
    assert [one for one in found if one.failed] == []
    assert all(one.error <= tensor.LIMITS[one.case.split()[0]] for one in ours.values())
    assert main(["--show"]) == 0
    assert capsys.readouterr().out.count("bf16 8192x8192x8192 NT\n") == 1


def test_operations_of_an_mma():
    """16 x 8 x 16 multiplications and additions, of tf32 half as many."""
    assert flops("f16") == 2 * 16 * 8 * 16
    assert flops("tf32") == 2 * 16 * 8 * 8


@pytest.mark.nightly
def test_checked():
    """Small products are run once, and compared; the ladder is among them where it fits."""
    found = list(tensor.checked(["f16"], ["NN"], [(40, 72, 48)]))
    assert [one.name for one in found[:2]] == ["smemnb", "mma_unswizzled"]
    assert len(found) == 1 + len(tensor.LADDER)
    assert {one.failed for one in found} == {""}

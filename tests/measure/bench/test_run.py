"""Cases measured from end to end, kernels in the engine; only the clock and a library stand in."""

import sys
from dataclasses import dataclass, replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda

from smemnb.compiled import available
from smemnb.hardware import chip
from smemnb.kernels.rung import Rung
from smemnb.kernels.transpose import ladder as transposes
from smemnb.measure.bench import command, contenders, libraries, session
from smemnb.measure.bench.case import CHOICE, Case
from smemnb.measure.bench.libraries import Library
from smemnb.measure.bench.run import Setting, rows_of
from smemnb.measure.results import load
from smemnb.measure.results.model import Clocks, Gpu, Results
from tests.facts import facts
from tests.measure.bench.test_timing import Script

HERE = Results(Gpu("a GPU", "9.0", 132, 1 << 30, 1 << 20), "1.2", "13.0", {}, {}, "", "", "")


class Steps(Script):
    """A clock that goes on by 1, 2, 3, ... ms from mark to mark."""

    def __init__(self):
        super().__init__()
        self.steps = count(1)

    def mark(self):
        self.now += next(self.steps)
        return self.now


def host_library():
    """Something that answers as CuPy does, by NumPy, on the engine's memory."""

    def on_host(array):
        return np.ascontiguousarray(array.copy_to_host())

    def matmul(a, b, out):
        out.copy_to_device(on_host(a) @ on_host(b))
        return out

    return Library(
        "cupy",
        SimpleNamespace(
            __version__="14.2.0",
            asarray=cuda.as_cuda_array,
            ascontiguousarray=lambda turned: cuda.to_device(on_host(turned)),
            matmul=matmul,
            empty=cuda.device_array,
        ),
    )


def measured(case, **words):
    return rows_of(case, Setting(Steps(), least=3, most=3, **words))


@pytest.mark.exhaustive
def test_transpose_from_end_to_end():
    """Rungs, choice, limit and library: right, in this order, with times of interleaved rounds."""
    case = Case("transpose", (12, 20), rungs=("transpose_naive", "transpose_tiled", CHOICE))
    rows = measured(case, libraries=[host_library()], against=("cupy",))
    assert [(row.name, row.role, row.right) for row in rows] == [
        ("transpose_naive", "rung", True),
        ("transpose_tiled", "rung", True),
        ("fastest", "choice", True),
        ("copy_wide", "limit", True),
        ("cupy", "library", True),
    ]
    # marks come 2 per launch: warm rounds use steps 2 ... 20, and the counted ones begin at 22
    # with contenders 0, 1, 2, 3, 4, then 1, 2, 3, 4, 0, then 2, 3, 4, 0, 1
    assert [row.ms for row in rows] == [40, 32, 34, 36, 38]
    assert [(row.low_ms, row.high_ms) for row in rows[:3]] == [(31, 44), (28, 41), (30, 38)]
    assert {row.rounds for row in rows} == {3}
    assert {row.beside for row in rows} == {"copy_wide"}
    assert [row.ratio for row in rows] == [36 / 40, 36 / 32, 36 / 34, 1.0, 36 / 38]
    assert rows[0].rate == 2 * 12 * 20 * 4 / 40e-3 / 1e9
    assert (rows[0].registers is None) is not available()  # the compiler counts them


@pytest.mark.first(1)
@pytest.mark.parametrize("itemsize", [2, 16])
def test_elements_of_every_size(itemsize):
    """The choice and a library agree with the input, bit by bit."""
    rows = measured(
        Case("transpose", (5, 7), itemsize), libraries=[host_library()], against=("cupy",)
    )
    assert [(row.name, row.failed) for row in rows] == [
        (CHOICE, None),
        ("copy_wide", None),
        ("cupy", None),
    ]


def test_product_beside_a_library():
    """Errors against float64 stand beside the library's, and ratios are to it."""
    case = Case("matmul", (18, 20, 5), spare=1, rungs=("matmul_naive", "matmul_wide", CHOICE))
    naive, wide, chosen, library = measured(
        case, libraries=[host_library()], against=("torch", "cublas")
    )
    assert facts(wide.failed) == facts("matmul_wide 4")
    assert (naive.right, chosen.right, library.right) == (True, True, True)
    assert library.name == naive.beside == "cublas (cupy)"
    assert 0 < naive.error < 1e-6 and 0 < library.error < 1e-6
    assert naive.ratio == library.ms / naive.ms


@cuda.jit
def transpose_wrong(out, inp):
    """One element is left as it was."""
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1] and row + col > 0:
        out[col, row] = inp[row, col]


@cuda.jit
def transpose_refused(out, inp):
    """Numba's type inference takes no text for a number."""
    out[0, 0] = "text"


def with_rung(monkeypatch, kernel):
    rung = Rung(kernel, "", (8, 8), (8, 8))
    monkeypatch.setattr(transposes, "LADDER", (*transposes.LADDER, rung))
    return Case("transpose", (8, 8), rungs=(rung.name, "transpose_tiled"))


@pytest.mark.parametrize(
    ("kernel", "said"),
    [(transpose_wrong, "wrong values"), (transpose_refused, "TypingRefused: ")],
    ids=["wrong", "refused"],
)
def test_wrong_is_not_timed(monkeypatch, kernel, said):
    """A wrong or failing kernel has a reason and no time; the others have theirs."""
    bad, good, limit = measured(with_rung(monkeypatch, kernel))
    assert bad.failed.startswith(said)
    assert (bad.right, bad.ms, bad.ratio) == (False, None, None)
    assert (good.right, limit.right) == (True, True)
    assert good.ms is not None


def test_bounds_stand_beside():
    """Bounds are reported before anything is launched, and stand in the rows of their names."""
    case = Case("transpose", (4, 4), rungs=("transpose_naive", CHOICE))
    clock, told = Steps(), []
    found = {"transpose_naive": (1.5, "l1"), "copy_wide": (0.25, "dram")}
    kernels = SimpleNamespace(wait=lambda case: None, bounds=lambda case: found)
    setting = Setting(
        clock, least=1, most=1, foretold=lambda *words: told.append((clock.now, *words))
    )
    rows = rows_of(case, setting, kernels)
    assert told == [(0.0, case, found)]
    assert [(row.bound_ms, row.limiter) for row in rows] == [
        (1.5, "l1"),
        (None, None),
        (0.25, "dram"),
    ]
    assert rows[0].over_bound == rows[0].ms / 1.5


def test_too_large():
    """A case beyond the memory is not begun: nothing is allocated."""
    case = Case("matmul", (1 << 20, 1 << 20, 1 << 20))
    (row,) = measured(case)
    assert row.failed.startswith("needs about 24576.0 GiB")


@dataclass
class Watched:
    """What a session kept, showed and reported."""

    kept: list
    shown: list
    reported: list

    def keeping(self):
        return session.Keeping(
            self.kept.append,
            self.shown.append,
            lambda when: Clocks(when, 1980.0, None, None, None),
            lambda *words: self.reported.append(words),
        )


CASES = [Case("transpose", (4, 4)), Case("transpose", (4, 8)), Case("transpose", (8, 4))]


def test_session_grows():
    """Kept after each case, with the clocks; finished only at the end."""
    watched = Watched([], [], [])
    setting = Setting(Steps(), least=1, most=1)
    found = session.measured(CASES[:2], setting, HERE, watched.keeping())
    assert [len(results.rows) for results in watched.kept] == [2, 4, 4]
    assert [results.finished for results in watched.kept] == [False, False, True]
    assert found == watched.kept[-1]
    assert [one.when for one in found.clocks] == [
        "before",
        "after transpose 4 x 4",
        "after transpose 4 x 8",
        "at the end",
    ]
    assert [len(rows) for rows in watched.shown] == [2, 2]
    assert watched.reported[0] == (0, 2, "transpose 4 x 4: checking")
    assert watched.reported[-1] == (1, 2, "transpose 4 x 8: round 1")


@pytest.mark.parametrize("place", [0, 1])
def test_session_interrupted(place):
    """Ctrl-C in a case: those before it are kept, and the file says that more is missing."""
    watched = Watched([], [], [])

    def interrupted(case):
        if case is CASES[place]:
            raise KeyboardInterrupt

    setting = Setting(Steps(), least=1, most=1)
    kernels = SimpleNamespace(wait=interrupted, bounds=lambda case: {})
    found = session.measured(CASES, setting, HERE, watched.keeping(), kernels=kernels)
    assert [row.shape for row in found.rows] == [(4, 4), (4, 4)] * place
    assert not found.finished
    assert watched.kept[-1] == found


def test_session_out_of_time():
    """After its seconds no further case begins."""
    times = iter([0.0, 1.0, 11.0])
    setting = Setting(Steps(), least=1, most=1)
    found = session.measured(
        CASES, setting, HERE, session.Keeping(), seconds=10.0, now=lambda: next(times)
    )
    assert [row.shape for row in found.rows] == [(4, 4), (4, 4)]
    assert not found.finished


@pytest.mark.slow
def test_command(monkeypatch, tmp_path, capsys):
    """A wish becomes a printed table and a file, in which every row is right and has its bound."""
    monkeypatch.setattr(command, "GpuClock", Steps)
    monkeypatch.setattr(command, "_chip", lambda: chip("H200"))
    wish = command.Wish(
        ("transpose", "matmul"),
        overhead=False,
        sizes=["12"],
        rungs=["transpose_naive", "matmul_naive"],
        against=["none"],
        flushed=False,
        quick=True,
        processes=2,
        command="smemnb bench all --quick",
    )
    results = command.measure(wish, out=tmp_path / "a.json", force=False)
    assert load(tmp_path / "a.json") == results
    assert [(row.name, row.right, row.rounds) for row in results.rows] == [
        ("transpose_naive", True, 5),
        ("copy_wide", True, 5),
        ("matmul_naive", True, 5),
    ]
    assert all(row.over_bound for row in results.rows)
    assert (results.finished, results.l2) == (True, "left as it is: resident")
    said = capsys.readouterr().out
    assert said.index("transpose 12 x 12: at least, in ms") < said.index("x bound")
    assert said.endswith(f"results: {tmp_path / 'a.json'}\n")


@pytest.mark.gpu
def test_on_a_gpu(tmp_path):
    """Events, compiled kernels handed over, libraries that are there: everything is right."""
    wish = command.Wish(
        ("transpose", "matmul"),
        overhead=True,
        sizes=["512"],
        rungs=["transpose_padded", "matmul_wide", CHOICE],
        against=["torch", "cupy", "cublas"],
        quick=True,
        processes=4,
    )
    results = command.measure(wish, out=tmp_path / "a.json", force=False)
    assert load(tmp_path / "a.json") == results
    assert results.finished
    for row in results.rows:
        assert row.failed is None and row.right, row
        assert row.role == "library" or row.registers, row
    assert len(results.overheads) >= 4


def test_libraries_that_are_not_there(monkeypatch):
    """Each name that was asked for is answered; what is missing is left out."""
    for name in ("torch", "cupy"):
        monkeypatch.setitem(sys.modules, name, None)
    assert libraries.found(("torch", "cupy")) == (
        (),
        {"torch": "not installed", "cupy": "not installed"},
    )
    assert libraries.found(("none",)) == ((), {})
    with pytest.raises(contenders.SmemnbError, match="--against tourch: known are torch, cupy"):
        libraries.found(("tourch",))


def test_which_libraries_stand_beside():
    """cuBLAS is asked for by its name or through a library; a transpose needs the library."""
    case = Case("matmul", (4, 5, 6))
    held = contenders.stand_ins(case)
    arrays = SimpleNamespace(
        out=held[0], inputs=[cuda.to_device(np.array(one)) for one in held[1:]]
    )
    cupy = host_library()
    other = replace(cupy, name="other")

    def names(*asked, there=(cupy,)):
        return [one.name for one in libraries.baselines(case, arrays, there, asked)]

    assert names("cublas") == ["cublas (cupy)"]
    assert names("cublas", there=(other, cupy)) == ["cublas (other)"]
    assert names("cupy", "cublas", there=(other, cupy)) == ["cublas (cupy)"]
    assert names("torch") == []

"""Every rung of row normalisation: values, special values, counts per request, barriers."""

import ast
import importlib.util
import inspect
import math
from itertools import pairwise

import numpy as np
import pytest

from smemnb.exercises.source import show_change, show_source
from smemnb.kernels.rows import ladder
from smemnb.tracing import trace
from tests.tiers import exhaustive, sampled

SOFTMAX = [step.name for step in ladder.SOFTMAX]
ALL = [step.name for step in ladder.LADDER]
LOWEST = float(np.finfo(np.float32).min)


def new(shape, dtype):
    return np.zeros(shape, dtype)


def drawn(shape, seed):
    """float32 without symmetry, of both signs."""
    return (np.random.default_rng(seed).standard_normal(shape) * 4 + 1).astype(np.float32)


def softmax(x):
    """By float64; NaN where PyTorch has it."""
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        powers = np.exp(wide - wide.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)


def ran(step, out, *arrays):
    """What the launches of a step do to `out`, and their traces."""
    reports = []
    for launch in step.launches(new, out, *arrays):
        reports.append(trace(launch.kernel)[launch.grid, launch.block](*launch.args))
    return reports


def arguments(name, x):
    """What a step takes after `out`, and the result by float64."""
    wide, n = x.astype(np.float64), x.shape[-1]
    weight, bias, eps = drawn(n, 5), drawn(n, 6), np.float32(1e-3)
    if name.startswith("layer"):
        shifted = wide - wide.mean(-1, keepdims=True)
        scaled = shifted / np.sqrt((shifted**2).mean(-1, keepdims=True) + 1e-3)
        return (x, weight, bias, eps), scaled * weight + bias
    if name.startswith("rms"):
        scaled = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-3)
        return (x, weight, eps), scaled * weight
    if name.startswith("log"):
        shifted = wide - wide.max(-1, keepdims=True)
        return (x,), shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return (x,), softmax(x)


SHAPES = [
    (1, 1),
    (5, 7),
    (17, 31),
    (9, 33),
    (3, 100),
    (33, 128),
    (1, 256),
    (3, 257),
    (5, 1000),
    (2, 1024),
    (2, 1025),
    (129, 40),
    (2, 8192),
    (2, 8196),
    (1, 20_000),
]


@pytest.mark.parametrize(
    ("name", "shape"),
    sampled([(name, shape) for name in ALL for shape in SHAPES], 1, by=lambda case: case[0]),
)
def test_values(name, shape):
    """Within 3e-6, on any shape that a step takes, and with no finding but the taught one."""
    step, x = ladder.step_named(name), drawn(shape, sum(shape))
    args, expected = arguments(name, x)
    out = np.full(shape, np.nan, np.float32)
    if not step.fits(out, *args):
        assert shape[1] % 4 or shape[1] > 128
        return
    if name == "softmax_naive" and shape[1] > 1025:
        return  # a lane adds up a row one by one: exact to fewer digits, and slow
    reports = ran(step, out, *args)
    scale = 1 if name.startswith("softmax") else max(1, np.abs(expected).max())
    np.testing.assert_allclose(out, expected, rtol=3e-6, atol=3e-7 * scale)
    kinds = {found.kind for report in reports for found in report.findings}
    kinds -= {"uncoalesced"} if name == "softmax_naive" else set()
    assert kinds == set()


SPECIAL = {
    "all -inf": [-math.inf] * 8,
    "some -inf": [1, -math.inf, 2, -math.inf, -math.inf, 0, 3, -math.inf],
    "inf": [1, 2, math.inf, 4, 5, 6, 7, 8],
    "both": [-math.inf, 2, math.inf, 4, 5, 6, 7, 8],
    "NaN": [1, math.nan, 3, 4, 5, 6, 7, 8],
    "NaN and -inf": [-math.inf, math.nan, -math.inf, 4, 5, 6, 7, 8],
    "lowest": [LOWEST] * 7 + [LOWEST / 2],
    "largest": [-LOWEST, 0, 1, LOWEST, 0, 0, 0, 0],
    "far below": [0, -200, -88, -1, -104, -300, -87, -90],
}
"""Rows; torch.softmax gives what `softmax` above gives: NaN for inf, NaN and nothing but -inf."""


@pytest.mark.parametrize("name", sampled([*SOFTMAX, "log_softmax_wide"], 4))
def test_special_values(name):
    """-inf is 0, or -inf for the logarithm; a row of -inf alone, with inf or NaN is NaN."""
    step = ladder.step_named(name)
    x = np.array([*SPECIAL.values()], np.float32)
    out = np.zeros_like(x)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        ran(step, out, x)
        expected = softmax(x)
        if name.startswith("log"):
            shifted = x - x.max(-1, keepdims=True).astype(np.float64)
            expected = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        expected = expected.astype(np.float32)  # a difference of two finite ones may be -inf
    np.testing.assert_allclose(out, expected, rtol=2e-6, atol=1e-37)


LINE, QUADS = (0, 4), (0, 16)  # wavefronts and sectors of a request
ONE = (1, 0)
BY_ELEMENT = {"inp": {LINE}, "out": {LINE}}
BY_QUADS = {"inp": {QUADS}, "out": {QUADS}}
COUNTS = {
    "softmax_naive": {"inp": {(0, 32)}, "out": {(0, 32)}},
    "softmax_block": {**BY_ELEMENT, "shared": {ONE}},
    "softmax_online": {**BY_ELEMENT, "shared": {ONE}},
    "softmax_staged": {**BY_ELEMENT, "shared": {ONE}, "staged": {ONE}},
    "softmax_shuffled": {**BY_ELEMENT, "tops": {ONE}, "sums": {ONE}, "staged": {ONE}},
    "softmax_held": {**BY_ELEMENT, "tops": {ONE}, "sums": {ONE}},
    "softmax_warps": BY_ELEMENT,
    "softmax_packed": BY_ELEMENT,
    "softmax_wide": {**BY_QUADS, "tops": {ONE}, "sums": {ONE}},
    "softmax_split": {
        **BY_QUADS,
        "tops": {ONE},
        "sums": {ONE},
        "part_tops": {(0, 1)},
        "part_sums": {(0, 1)},
    },
    "log_softmax_wide": {**BY_QUADS, "tops": {ONE}, "sums": {ONE}},
    "layer_norm_wide": {
        **BY_QUADS,
        "weight": {QUADS},
        "bias": {QUADS},
        "sums": {ONE},
        "squares": {ONE},
    },
    "rms_norm_wide": {**BY_QUADS, "weight": {QUADS}, "squares": {ONE}},
}
COUNTS["softmax_joined"] = COUNTS["softmax_split"] | {"number": {ONE}, "flags": {(0, 1)}}
COUNTS["softmax_trailing"] = COUNTS["softmax_joined"]
LENGTHS = {"softmax_warps": 1024, "softmax_packed": 128}


@pytest.mark.parametrize("name", sampled(ALL, 5))
def test_counts(name):
    """The numbers in the comments: wavefronts and sectors of each request, by array."""
    step = ladder.step_named(name)
    x = drawn(
        (32 if name in ("softmax_naive", "softmax_packed") else 4, LENGTHS.get(name, 8192)), 3
    )
    if name == "softmax_naive":
        x = x[:, :64].copy()
    args, _ = arguments(name, x)
    found: dict[str, set[tuple[float, float]]] = {}
    for report in ran(step, np.zeros_like(x), *args):
        for row in report.lines:
            array = next(
                word
                for word in sorted(COUNTS[name], key=len, reverse=True)
                if word in row.text.replace("(", " ").replace("[", " ").replace(",", " ").split()
            )
            each = row.wavefronts / row.requests, row.sectors / row.requests
            found.setdefault(array, set()).add(each)
    assert found == COUNTS[name]


READS = {
    **{"softmax_naive": 3, "softmax_block": 3, "softmax_online": 2, "softmax_split": 2},
    "softmax_trailing": 2,  # the second one from the cache
}


@pytest.mark.parametrize("name", SOFTMAX)
def test_reads_of_a_row(name):
    """Elements that global loads ask for, per element: three passes, two, one."""
    step = ladder.step_named(name)
    x = drawn((4, 128), 4)
    loads = [
        row.requests * 32 * (4 if "load16" in row.text else 1)
        for report in ran(step, np.zeros_like(x), x)
        for row in report.lines
        if row.kind == "load" and "inp" in row.text
    ]
    lanes = {"softmax_naive": 8}.get(name, 1)  # 4 of 32 lanes have a row
    assert sum(loads) == READS.get(name, 1) * x.size * lanes


@pytest.mark.parametrize(
    ("name", "barriers"),
    [("softmax_block", 19), ("softmax_staged", 19), ("softmax_shuffled", 2), ("softmax_wide", 2)],
)
def test_barriers(name, barriers):
    """19 of two trees, one after each round; 2 where lanes exchange by shuffles."""
    x = drawn((1, 512), 9)
    (report,) = ran(ladder.step_named(name), np.zeros_like(x), x)
    assert report.barriers == barriers


def test_every_change_can_be_shown():
    """A step and the one it follows differ in what `show_change` shows: 8 of 10 lines at most."""
    before = {after.name: first.name for first, after in pairwise(ladder.LADDER)} | ladder.BEFORE
    for step in ladder.LADDER[1:]:
        first = ladder.step_named(before[step.name])
        shown = repr(show_change(first.kernels[0], step.kernels[0])).split("\n")
        lines = len(inspect.getsource(step.kernels[0].py_func).split("\n"))
        assert 0 < sum(line[:2] == "+ " for line in shown) <= 0.8 * lines, step.name


IMPORTED = {"cuda", "float32", "uint32", "jit", "device", "load16", "store16", "math"}
FREE = {"range", "max", "float32", "uint32"}


@pytest.mark.parametrize("name", ALL)
def test_texts_are_whole(name):
    """A file is named after its kernel and imports intrinsics alone; its source can be shown."""
    step = ladder.step_named(name)
    function = step.kernels[0].py_func
    tree = ast.parse(inspect.getsource(inspect.getmodule(function)))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            assert {one.name for one in node.names} <= IMPORTED
    assert inspect.getmodule(function).__name__.endswith(f".{name}")
    assert name in repr(show_source(step.kernels[0]))
    assert function.__doc__


BARRIERS = [
    (name, number)
    for name, several in {"softmax_block": 5, "softmax_online": 5, "softmax_shuffled": 2}.items()
    for number in range(several)
]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *sampled([("softmax_block", 2)], 1),
        *(
            pytest.param(*case, marks=exhaustive)
            for case in BARRIERS
            if case != ("softmax_block", 2)
        ),
    ],
)
def test_every_barrier_counts(tmp_path, name, number):
    """Without one of its barriers a kernel has a race; number 2 is that between two reductions."""
    step = ladder.step_named(name)
    module = inspect.getmodule(step.kernels[0].py_func)
    lines = inspect.getsource(module).replace("from ...", "from smemnb.kernels.").split("\n")
    places = [at for at, line in enumerate(lines) if "cuda.syncthreads()" in line]
    assert len(places) == dict(_barriers())[name]
    lines[places[number]] = lines[places[number]].split("cuda.")[0] + "pass"
    file = tmp_path / f"{name}_{number}.py"
    file.write_text("\n".join(lines), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    x = drawn((2, 600), 8)
    report = trace(getattr(twin, name))[2, module.THREADS](np.zeros_like(x), x)
    assert "race" in {found.kind for found in report.findings}


def _barriers():
    counted: dict[str, int] = {}
    for name, number in BARRIERS:
        counted[name] = max(counted.get(name, 0), number + 1)
    return counted.items()

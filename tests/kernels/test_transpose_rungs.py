"""Every rung of the transpose: values on awkward shapes, counts per request, the choice."""

import ast
import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.kernels.transpose import ladder
from smemnb.kernels.transpose.rungs.transpose_gathered import transpose_gathered
from smemnb.kernels.transpose.variants import turned, wide
from smemnb.tracing import trace

WORDS = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.uint64}
DEAR = {"transpose_naive", "transpose_gathered"}


def scattered(shape, seed, dtype=np.float32):
    return np.random.default_rng(seed).integers(0, 250, shape).astype(dtype)


def counts(rung, rows, cols, dtype=np.float32):
    """{(space, kind): {(wavefronts, sectors) per request}} of a launch over whole tiles."""
    inp = scattered((rows, cols), 1, dtype)
    out = np.zeros((cols, rows), dtype)
    found: dict[tuple[str, str], set[tuple[float, float]]] = {}
    for row in trace(rung.kernel)[rung.grid(rows, cols), rung.block](out, inp).lines:
        found.setdefault((row.space, row.kind), set()).add(
            (row.wavefronts / row.requests, row.sectors / row.requests)
        )
    np.testing.assert_array_equal(out, inp.T)
    return found


NARROW = {
    ("global", "load"): {(0, 4)},
    ("shared", "store"): {(1, 0)},
    ("shared", "load"): {(1, 0)},
    ("global", "store"): {(0, 4)},
}
CHUNKED = {
    ("global", "load"): {(0, 16)},
    ("shared", "store"): {(4, 0)},
    ("shared", "load"): {(1, 0)},
    ("global", "store"): {(0, 16)},
}


NAMES = [rung.name for rung in ladder.LADDER]
SEVERAL = [rung for rung in ladder.LADDER if rung.aligned == 1 and rung.block != (32, 32)]
BY_CHUNKS = [rung for rung in ladder.LADDER if rung.aligned > 1]


def test_kinds_of_rungs():
    """Five that move several elements per thread one by one, two that move chunks."""
    assert (len(SEVERAL), len(BY_CHUNKS)) == (5, 2)


@pytest.mark.parametrize("rung", SEVERAL, ids=lambda rung: rung.name)
def test_counts_of_narrow_rungs(rung):
    """4 sectors and one wavefront per request, whatever the block and the tile."""
    assert counts(rung, 128, 192) == NARROW


@pytest.mark.parametrize("rung", BY_CHUNKS, ids=lambda rung: rung.name)
def test_counts_of_wide_rungs(rung):
    """16 sectors per request; 4 wavefronts per stored chunk and 1 per column read: none extra."""
    assert counts(rung, 128, 192) == CHUNKED


@pytest.mark.parametrize("itemsize", [1, 2, 8])
def test_counts_of_other_elements(itemsize):
    """The chunks stay free of extra wavefronts; 8-byte reads take two passes at best."""
    rows, cols = wide.TILES[itemsize]
    rung = ladder.fastest(*shown(itemsize, rows << 7, cols << 7))
    assert rung.name == "transpose_fastest"
    expected = dict(CHUNKED)
    expected["shared", "load"] = {(2 if itemsize == 8 else 1, 0)}
    assert counts(rung, 2 * rows, 2 * cols, WORDS[itemsize]) == expected


def shown(itemsize, rows, cols, rows_apart=0):
    """Matrices that are too large to be made, as a choice looks at them: output and input."""
    dtype, spare = np.dtype(f"V{itemsize}"), rows_apart * itemsize
    return tuple(
        SimpleNamespace(shape=shape, dtype=dtype, strides=(shape[1] * itemsize + spare, itemsize))
        for shape in ((cols, rows), (rows, cols))
    )


def test_gathered_counts():
    """The load down a column touches 32 sectors, the store 4."""
    (rung,) = [one for one in ladder.LADDER if one.kernel is transpose_gathered]
    found = counts(rung, 64, 96)
    assert found == {("global", "load"): {(0, 32)}, ("global", "store"): {(0, 4)}}


def test_copy_counts():
    """The limit moves 16 sectors per request, both ways."""
    rung, inp = ladder.COPY, scattered((12, 260), 2)
    out = np.zeros_like(inp)
    trace(rung.kernel)[rung.grid(12, 260), rung.block](out, inp)
    np.testing.assert_array_equal(out, inp)


@pytest.mark.parametrize(
    "shape", [(64, 64), (1, 70), (70, 1), (40, 35), (97, 3), (0, 5), (132, 68)]
)
@pytest.mark.parametrize("rung", ladder.LADDER, ids=lambda rung: rung.name)
def test_values(rung, shape):
    """Any rectangle; without races; nothing is out of bounds."""
    if rung.aligned > 1:  # rows of both begin at multiples of 4 elements
        shape = tuple(-(-extent // 4) * 4 for extent in shape)
    inp = scattered(shape, 3)
    out = np.full(shape[::-1], np.nan, np.float32)
    found = trace(rung.kernel)[rung.grid(*shape), rung.block](out, inp).findings
    assert {one.kind for one in found} <= {"uncoalesced"}
    assert rung.name in DEAR or found == ()
    np.testing.assert_array_equal(out, inp.T)


@pytest.mark.first(2)
@pytest.mark.parametrize("itemsize", WORDS)
@pytest.mark.parametrize("spare", [0, 1, 16])
@pytest.mark.parametrize("shape", [(128, 144), (65, 130), (1, 1)])
def test_fastest_of_any_rows(itemsize, spare, shape):
    """Rows that lie apart, aligned or not, of all element sizes: the kernel that fits is right."""
    rows, cols = shape
    inp_host = scattered((rows, cols + spare), 4, WORDS[itemsize])
    out_host = np.zeros((cols, rows + spare), WORDS[itemsize])
    inp, out = cuda.to_device(inp_host), cuda.to_device(out_host)
    part, result = inp[:, :cols], out[:, :rows]
    rung = ladder.fastest(result, part)
    found = trace(rung.kernel)[rung.grid(rows, cols), rung.block](result, part).findings
    assert {one.kind for one in found} <= ({"unused_barrier"} if shape == (1, 1) else set())
    expected = out_host.copy()
    expected[:, :rows] = inp_host[:, :cols].T
    np.testing.assert_array_equal(out.copy_to_host(), expected)


@pytest.mark.parametrize("shape", [(64, 96), (33, 65), (1, 40), (1, 1)])
def test_elements_of_16_bytes(shape):
    """complex128 of any rectangle, without a tile: 16 sectors per request where rows are even."""
    rows, cols = shape
    inp = scattered((rows, 2 * cols), 5, np.float64).view(np.complex128)
    out = np.zeros((cols, rows), np.complex128)
    rung = ladder.fastest(out, inp)
    pairs = out.view(np.uint64), inp.view(np.uint64)
    found = trace(rung.kernel)[rung.grid(rows, cols), rung.block](*pairs)
    assert {one.kind for one in found.findings} <= {"unused_barrier"}
    np.testing.assert_array_equal(out, inp.T)
    prices = {(row.wavefronts / row.requests, row.sectors / row.requests) for row in found.lines}
    assert shape != (64, 96) or prices == {(0, 16)}


@pytest.mark.parametrize("shape", [(32, 48), (33, 17), (1, 5)])
def test_tiles_of_16_bytes(shape):
    """By tiles, which odd rows have: 16 sectors and 4 wavefronts per request of whole ones."""
    rows, cols = shape
    inp = scattered((rows, 2 * cols), 5, np.uint64)
    out = np.zeros((cols, 2 * rows), np.uint64)
    rung = ladder.fastest(*shown(16, 4095, 1025))
    assert rung.name == "transpose_pairs"
    found = trace(rung.kernel)[rung.grid(rows, cols), rung.block](out, inp)
    assert all(one.price for one in found.findings)
    np.testing.assert_array_equal(out.view(np.complex128), inp.view(np.complex128).T)
    prices = {(row.wavefronts / row.requests, row.sectors / row.requests) for row in found.lines}
    assert shape != (32, 48) or prices == {(0, 16), (4, 0)}


CHOSEN = [
    (4, 4096, 4096, 0, "transpose_fastest", (64, 64)),
    (4, 1024, 1024, 0, "transpose_turned", (64, 32)),
    (4, 9000, 8999, 0, "transpose_shifted", (32, 120)),
    (4, 5001, 5003, 0, "transpose_turned", (64, 32)),
    (8, 8192, 8192, 0, "transpose_fastest", (32, 64)),
    (8, 1001, 1003, 0, "transpose_turned", (32, 32)),
    (8, 5001, 5003, 0, "transpose_turned", (64, 32)),
    (2, 4096, 4096, 0, "transpose_fastest", (64, 64)),
    (2, 4095, 4097, 0, "transpose_words", (64, 64)),
    (2, 999, 999, 0, "transpose_turned", (64, 64)),
    (1, 9999, 9999, 0, "transpose_packed", (224, 128)),
    (1, 999, 999, 0, "transpose_turned", (64, 64)),
    (16, 1024, 1024, 0, "transpose_direct", (32, 16)),
    (16, 1023, 1025, 0, "transpose_pairs", (16, 16)),
    (16, 101, 99, 0, "transpose_direct", (32, 16)),
    (4, 10**7, 3, 0, "transpose_narrow", (1344, 3)),
    (4, 10**6, 3, 0, "transpose_narrow", (672, 3)),
    (4, 10**5, 3, 0, "transpose_narrow", (320, 3)),
    (1, 100, 10**6, 0, "transpose_flat", (100, 256)),
    (2, 10**6, 100, 0, "transpose_narrow", (128, 100)),
    (4, 101, 10**6, 0, "transpose_turned", (64, 32)),
    (4, 9, 43306, 0, "transpose_direct_flat", (9, 56)),
    (8, 10, 54712, 0, "transpose_direct_flat", (10, 51)),
    (16, 3, 350787, 0, "transpose_direct_flat", (3, 170)),
    (16, 4, 350787, 0, "transpose_flat", (4, 256)),
    (8, 67708, 2, 0, "transpose_direct_narrow", (256, 2)),
    (8, 200000, 2, 0, "transpose_narrow", (256, 2)),
    (4, 1, 10**6, 0, "transpose_line", (1, 1024)),
    (4, 1, 10**6, 3, "transpose_direct_flat", (1, 512)),
    (4, 10**6, 1, 3, "transpose_narrow", (2048, 1)),
]


@pytest.mark.parametrize(("itemsize", "rows", "cols", "apart", "name", "tile"), CHOSEN)
def test_choice(itemsize, rows, cols, apart, name, tile):
    """By the bytes of an element and of the matrix, its narrower side, and where rows begin."""
    found = ladder.fastest(*shown(itemsize, rows, cols, apart))
    assert (found.name, found.tile) == (name, tile)


@pytest.mark.parametrize("rung", (*ladder.LADDER, ladder.COPY), ids=lambda rung: rung.name)
def test_rung_is_one_text(rung):
    """What a rung calls stands in its file, or is a load or a store: no call hides an access."""
    imported = {
        (node.module, alias.name)
        for node in ast.walk(ast.parse(inspect.getsource(inspect.getmodule(rung.kernel.py_func))))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    own = {(module, name) for module, name in imported if module not in ("__future__", "numba")}
    accesses = {("ptx", name) for name in ("load1", "load16", "store1", "store16")}
    assert own <= accesses | {("unrolled", "device"), ("unrolled", "jit")}
    assert rung.kernel.py_func.__closure__ is None


@pytest.mark.parametrize("rung", ladder.LADDER, ids=lambda rung: rung.name)
def test_what_a_rung_changes(rung):
    """The rung that it is compared with comes before it, and the code of the two differs."""
    at = NAMES.index(rung.name)
    if at == 0:
        assert rung.name not in ladder.BEFORE
        return
    before = ladder.BEFORE.get(rung.name, NAMES[at - 1])
    assert NAMES.index(before) < at
    base = ladder.LADDER[NAMES.index(before)]
    modules = [inspect.getmodule(one.kernel.py_func) for one in (base, rung)]
    codes = [inspect.getsource(one.kernel.py_func).split('"""')[-1] for one in (base, rung)]
    constants = [
        {name: value for name, value in vars(module).items() if isinstance(value, int)}
        for module in modules
    ]
    assert codes[0] != codes[1] or constants[0] != constants[1]


SIBLINGS = {
    "transpose_turned": turned.transpose_turned_of(float32),
    "transpose_fastest": wide.transpose_fastest_of(float32),
}


@pytest.mark.parametrize("name", SIBLINGS)
@pytest.mark.parametrize("shape", [(128, 192), (132, 68)])
def test_variant_of_a_rung(name, shape):
    """What the factory makes for float32 does as the rung does: results, requests, counts."""
    (rung,) = [one for one in ladder.LADDER if one.name == name]
    inp, found = scattered(shape, 6), []
    for kernel in (rung.kernel, SIBLINGS[name]):
        out = np.full(shape[::-1], np.nan, np.float32)
        trace_of = trace(kernel)[rung.grid(*shape), rung.block](out, inp)
        np.testing.assert_array_equal(out, inp.T)
        rows = [
            (row.space, row.kind, row.width, row.requests, row.wavefronts, row.sectors)
            for row in trace_of.lines
        ]
        found.append({key: sum_of(rows, key) for key in {row[:3] for row in rows}})
    assert found[0] == found[1]


def sum_of(rows, key):
    """Requests, wavefronts and sectors of all rows of a space, kind and width."""
    return tuple(sum(row[at] for row in rows if row[:3] == key) for at in (3, 4, 5))
